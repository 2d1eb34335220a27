"""One head's walk from X to the output, a screen at a time, every number from this very sentence.

In: what the reader asked for. Out: the page.
"""

from dataclasses import replace

import numpy as np
import streamlit as st

from mha_core import AttentionRecord, HeadScopeError
from mha_core.wording import percent
from pages.parts.frame import state
from pages.parts.frame.page_text import say, visible
from pages.parts.frame.request import Request
from pages.parts.inside import changes, link_controls
from pages.parts.inside.scene import Scene, make_plain, pick, run_of
from pages.parts.inside.walk import show
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve import cache


@st.fragment
def walk_view(request: Request) -> None:
    """One screen. A fragment: a click redraws it and nothing else of the page."""
    record = cache.record(request)  # a fragment lives as long as its reader, and so does what it is given
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    scene = _changed(scene, request, record)
    _bar(scene)
    controls = {"scaled": lambda: _switches(scene), "qkv": _matrices, "output": _matrices}
    show(scene, first=_first(), controls=controls)


def _first() -> str:
    """Where a link without a screen opens: at the numbers that it changes, else at the beginning."""
    return "scaled" if any(key in state.params() for key in ("divide", "causal", "temperature")) else ""


def _changed(scene: Scene, request: Request, record: AttentionRecord) -> Scene:
    """The scene with what the link changes in this layer."""
    edits, said = changes.edits_of(state.params(), scene.plain, scene.head[0])
    for sentence in said[:3]:
        say(sentence, "notice")
    with_matrices = link_controls.on("matrices", first=False)
    try:
        now = run_of(request, record.tokens, scene.head[0], edits)
    except HeadScopeError as error:
        say(str(error), "problem")
        now = scene.plain
    return replace(scene, now=now, with_matrices=with_matrices)


def _bar(scene: Scene) -> None:
    """What was changed, by how much the output moved, and the way back."""
    if not scene.changed:
        return
    i = scene.query
    moved = float(np.linalg.norm(scene.now.output[i] - scene.plain.output[i]))
    length = float(np.linalg.norm(scene.plain.output[i]))
    said = ", ".join(changes.said_changes(scene.now.edits, scene.labels))
    with st.container(key="inside-changed", horizontal=True, gap="small", vertical_alignment="center"):
        board = Board()
        board.add(
            paragraph(
                f"You changed this layer: {said}. The output of {{token}} moved by "
                f"**{percent(moved / length if length else 0.0)}** of its length.",
                "changed wide-words",
                token=visible(scene.token),
            )
        )
        board.show("inside-changes")
        st.button("Undo", key="inside-undo-button", on_click=changes.undo)
        st.button("Reset", key="inside-reset-button", on_click=changes.reset, args=(scene.head[0],))


def _matrices() -> None:
    link_controls.switch("Show W", "matrices", first=False)


def _switches(scene: Scene) -> None:
    """What can be changed between the products and the softmax."""
    with st.container(key="inside-switches", gap="xsmall"):
        with st.container(horizontal=True, gap="small"):
            link_controls.switch(
                f"Divide by √{scene.sizes.d_k}", "divide", first=True, told=changes.change_link
            )
            if scene.plain.is_causal:
                st.toggle("Causal mask", True, disabled=True, key="causal-fixed")
            else:
                link_controls.switch("Causal mask", "causal", first=False, told=changes.change_link)
        edits = scene.now.edits
        st.session_state["inside-temperature"] = edits.temperature
        st.session_state["inside-unseen"] = list(edits.hidden_keys)
        st.slider("Temperature", 0.1, 5.0, step=0.1, key="inside-temperature", on_change=_warmed)
        # What names an option is kept with the session, and the whole scene would be with it.
        labels = scene.labels
        st.multiselect(
            "Mask tokens",
            range(len(labels)),
            key="inside-unseen",
            format_func=lambda i: f"{i + 1} · {visible(labels[i])}",
            placeholder="none",
            on_change=_hidden,
        )


def _warmed() -> None:
    warm = float(st.session_state["inside-temperature"])
    changes.change_link({"temperature": None if warm == 1.0 else f"{warm:g}"})


def _hidden() -> None:
    unseen = st.session_state["inside-unseen"]
    changes.change_link({"unseen": ",".join(str(i + 1) for i in sorted(unseen)) or None})
