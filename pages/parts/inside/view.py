"""The walk through one head of a real layer, from X to the output, with the user's changes in it.

In: a request. Out: the page.
"""

from dataclasses import replace

import numpy as np
import streamlit as st

from mha_core import AttentionRecord, HeadScopeError
from mha_core.display_names import percent
from pages.parts.frame import state
from pages.parts.frame.page_text import say, visible
from pages.parts.frame.request import Request
from pages.parts.inside import changes, link_controls
from pages.parts.inside.scene import WalkState, make_plain, pick, run_of
from pages.parts.inside.walk import show
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve import cache


@st.fragment
def walk_view(request: Request) -> None:
    """Draw one screen. A fragment: a click redraws it and nothing else of the page."""
    record = cache.record(request)  # a fragment lives as long as its user, and so does what it is given
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    scene = _changed(scene, request, record)
    if scene.changed:
        _changes_bar(scene)
    # A link that changes numbers opens at them.
    show(scene, first="scaled" if {"divide", "causal", "temperature"} & state.params().keys() else "")


def _changed(scene: WalkState, request: Request, record: AttentionRecord) -> WalkState:
    """Return the scene with what the URL changes in this layer."""
    edits, problems = changes.edits_of(state.params(), scene.plain, scene.head[0])
    for problem in problems[:3]:
        say(problem, "notice")
    with_matrices = link_controls.is_on("matrices", first=False)
    try:
        run = run_of(request, record.tokens, scene.head[0], edits)
    except HeadScopeError as error:
        say(str(error), "problem")
        run = scene.plain
    return replace(scene, now=run, with_matrices=with_matrices)


def _changes_bar(scene: WalkState) -> None:
    """Draw what was changed, by how much the output moved, and the way back."""
    before, after = scene.plain.output[scene.query], scene.now.output[scene.query]
    length = float(np.linalg.norm(before))
    share = percent(float(np.linalg.norm(after - before)) / length if length else 0.0)
    text = ", ".join(changes.change_texts(scene.now.edits, scene.labels))
    with st.container(key="inside-changed", horizontal=True, gap="small", vertical_alignment="center"):
        board = Board()
        board.add(
            paragraph(
                f"You changed this layer: {text}. The output of {{token}} moved by **{share}** of its length.",
                "changed wide-words",
                token=visible(scene.token),
            )
        )
        board.show("inside-changes")
        st.button("Undo", key="inside-undo-button", on_click=changes.undo)
        st.button("Reset", key="inside-reset-button", on_click=changes.reset, args=(scene.head[0],))
