"""Roles: what each attention head does, with the evidence; and the atlas of the same heads over ordinary text."""

import streamlit as st

from pages.parts.frame import shell, state
from pages.parts.frame.links import link_to
from pages.parts.frame.pages import CARRIED
from pages.parts.frame.prose import markup
from pages.parts.roles.atlas import atlas
from pages.parts.roles.view import roles

# Of each part: what draws it, the heading, and the sentence beneath.
PARTS = {
    "roles": (
        roles,
        "Which head has which role?",
        "A head has a role only if it beats every baseline on questions with known answers.",
    ),
    "atlas": (
        atlas,
        "What does each head do over ordinary text?",
        "A head is described only where one of a fixed list of features sets its top examples apart.",
    ),
}


def draw() -> None:
    """The part that the address names."""
    part = state.own_part("part", tuple(PARTS))
    drawn, question, lead = PARTS[part]
    request = shell.page("Roles", question=question, lead=lead, shown=shell.Shown(sentence=False))
    st.html(shell.CSS / "roles.css")
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
