"""The parts of Inside that show a layer of the model on the user's sentence.

In: a request and the name of a part. Out: the page.
"""

from dataclasses import replace

import numpy as np
import streamlit as st

from mha_core import HeadScopeError
from mha_core.display_names import percent, visible
from pages.parts.frame import shell, url_params
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request
from pages.parts.inside import changes
from pages.parts.inside.controls import is_on
from pages.parts.inside.costs import cost_screens
from pages.parts.inside.many import SCREENS as MANY
from pages.parts.inside.scene import WalkState, read_scene, run_of
from pages.parts.inside.screens import show
from pages.parts.inside.selectable import draw_bar
from pages.parts.inside.variants import variant_screens
from pages.parts.inside.walk import walk_screens
from pages.parts.picture.tiles import paragraph, show_text
from pages.parts.serve import cache

CHANGING = {"divide", "causal", "temperature"}  # a URL that changes numbers opens at them


@st.fragment
def layer_view(part: str, request: Request) -> None:
    """Draw one screen of a part. A fragment: a click redraws it and nothing else of the page."""
    record = cache.record(request)  # a fragment lives as long as its user, and so does what it is given
    scene = read_scene(request, record)
    if scene is None:
        return
    if part == "Sizes and costs":
        show("sizes", cost_screens(scene), scene)
        return
    draw_bar(scene)
    if part == "One head or many":
        show("many", MANY, scene)
    elif part == "Variants":
        if screens := shell.or_show_error(variant_screens, scene):
            show("variants", screens, scene)
    else:
        scene = _with_changes(scene)
        show("walk", walk_screens(scene), scene, "scaled" if CHANGING & url_params.params().keys() else "")


def _with_changes(scene: WalkState) -> WalkState:
    """Return the scene with what the URL changes in this layer; say what that is, with the way back."""
    edits, problems = changes.edits_of(url_params.params(), scene.plain, scene.head[0])
    for problem in problems[:3]:
        say(problem, "notice")
    try:
        run = run_of(scene, edits)
    except HeadScopeError as error:
        say(str(error), "problem")
        run = scene.plain
    scene = replace(scene, run=run, with_matrices=is_on("matrices", first=False))
    if scene.changed:
        _changes_bar(scene)
    return scene


def _changes_bar(scene: WalkState) -> None:
    before, after = scene.plain.output[scene.query], scene.run.output[scene.query]
    length = float(np.linalg.norm(before))
    share = percent(float(np.linalg.norm(after - before)) / length if length else 0.0)
    text = ", ".join(changes.change_texts(scene.run.edits, scene.labels))
    with st.container(key="inside-changed", horizontal=True, gap="small", vertical_alignment="center"):
        text = f"You changed this layer: {text}. The output of {{token}} moved by **{share}** of its length."
        show_text("inside-changes", paragraph(text, "changed wide-words", token=visible(scene.token)))
        st.button("Undo", key="inside-undo-button", on_click=changes.undo)
        st.button("Reset", key="inside-reset-button", on_click=changes.reset, args=(scene.head[0],))
