"""The parts of a page that run without the rest of it: a sentence with its picture, and the picture alone.

In: how they are drawn. Out: nothing of what stands above is computed or sent anew for a sentence or for a click.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from pages.parts.frame import menu, shell, state
from pages.parts.frame.request import Request
from pages.parts.picture.attention_view import bring_library

WHOLE, PICTURE = "whole-page", "picture-too"  # what runs: all of a page, or its picture as well


def sentence_and_picture(
    draw: Callable[[Request], None],
    title: str,
    *,
    question: str,
    lead: str,
    examples: bool = False,
    comparison: bool = False,
) -> None:
    """A page of one sentence and its picture, see `shell.page`: after another sentence or option these run, and nothing
    else of the page; after a choice in the picture what `draw` hands to `picture`, and nothing else.

    `examples` puts the example sentences beneath the box and makes all above the picture small; `comparison` adds what
    it is compared with, as `Request.other`. `draw` lives as long as its reader does: it holds no record.
    """
    said = shell.frame(title, question, lead, examples)
    with st.container(key="library"):
        bring_library()
    st.session_state[WHOLE] = True
    try:
        _sentence_and_picture(draw, title, examples, comparison, said)
    finally:
        st.session_state.pop(WHOLE, None)  # also where the run broke off before its picture
        st.session_state.pop(PICTURE, None)
        shell.complete()


@st.fragment
def _sentence_and_picture(
    draw: Callable[[Request], None], title: str, examples: bool, comparison: bool, said: Sequence[str]
) -> None:
    whole = st.session_state.pop(WHOLE, False)
    request = shell.asked(
        title, said if whole else state.enter(title), examples=examples, comparison=comparison
    )
    st.session_state[PICTURE] = True
    try:
        draw(request)
    finally:
        st.session_state.pop(PICTURE, None)
        if not whole:
            menu.carry()
            state.write()


def picture(draw: Callable[[Request], None], title: str, request: Request) -> None:
    """Draw what a choice in a picture changes: after such a choice this part of the page runs, and nothing else.

    `title` is the page's. `draw` lives as long as its reader does: it holds no record.
    """
    _picture(draw, title, request, state.asked())


@st.fragment
def _picture(draw: Callable[[Request], None], title: str, request: Request, asked: state.Asked) -> None:
    if st.session_state.pop(PICTURE, False):
        draw(request)
        return
    # Another text, from a word that was changed in the picture or said by the model.
    if state.asked() != asked:
        st.rerun()
    state.link(title)
    try:
        draw(request.measured(st.session_state["measure"]))
    finally:
        menu.carry()
        state.write()
