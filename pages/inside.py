"""Inside: attention computed step by step, from the sentence to the output."""

import streamlit as st

from mha_core.draw.bundle import ASSETS
from pages.parts.frame import shell
from pages.parts.inside.example import example_view
from pages.parts.inside.view import layer_view


def draw() -> None:
    """Draw the chosen part, of the user's sentence or of numbers by hand."""
    part = shell.tab_of("Inside")
    request = shell.page(
        "Inside",
        question="How does a head compute attention?",
        shown=shell.Shown(sentence=part != "By hand", as_read=True),
    )
    st.html(ASSETS / "css" / "inside.css")
    if request.present:
        st.html(ASSETS / "css" / "inside_present.css")
    if part == "By hand":
        example_view(request)
    elif shell.read(request) is not None:
        layer_view(part, request)
