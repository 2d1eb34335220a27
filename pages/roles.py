"""Roles: what each attention head does, with the evidence; and the atlas of the same heads over ordinary text."""

import streamlit as st

from pages.parts.frame import shell, state
from pages.parts.frame.links import link_to
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import markup
from pages.parts.frame.pages import CARRIED
from pages.parts.roles.atlas import atlas
from pages.parts.roles.view import roles

# Of each part: what draws it, the heading, and the sentence beneath.
PARTS = {
    "roles": (
        roles,
        "Which head has which role?",
        "A head has a role only if it clearly beats every baseline.",
    ),
    "atlas": (
        atlas,
        "Top examples of every head",
        "Where each head looks hardest in ordinary text.",
    ),
}


def draw() -> None:
    """The part that the address names."""
    part = state.own_part("part", tuple(PARTS))
    drawn, question, lead = PARTS[part]
    request = shell.page("Roles", question=question, lead=lead, shown=shell.Shown(sentence=False))
    st.html(shell.CSS / "roles.css")
    say_unknown("part", tuple(PARTS), part)
    markup(_tabs(part))
    drawn(request)


def _tabs(chosen: str) -> str:
    """The parts as links, which take along what is chosen."""
    links = "".join(
        f'<a href="{link_to("Roles", {"part": part})}" data-carries="{" ".join(CARRIED)}"'
        f"{' aria-current=page' * (part == chosen)}>{part.title()}</a>"
        for part in PARTS
    )
    return f'<nav class="hs-tabs" aria-label="Parts of Roles">{links}</nav>'
