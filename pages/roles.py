"""Roles: what each attention head does, with the evidence; and the atlas of the same heads over ordinary text."""

import streamlit as st

from pages.parts.explore.checkpoint_slider import at_checkpoint
from pages.parts.frame import shell
from pages.parts.roles.atlas import atlas
from pages.parts.roles.view import roles

# Of each part: what draws it, the heading, and the sentence beneath.
PARTS = {
    "roles": (roles, "Which head has which role?", "A role beats every baseline."),
    "atlas": (atlas, "Top examples of every head", "Its strongest links in ordinary text."),
}


def draw() -> None:
    """Draw the part that the address names."""
    draw_part, question, lead = PARTS[shell.tab_of("Roles")]
    request = shell.page("Roles", question=question, lead=lead, shown=shell.Shown(sentence=False))
    st.html(shell.CSS / "roles.css")
    draw_part(at_checkpoint(request, plays=False))
