"""One head's walk from X to the output: its steps, every number from this very sentence.

In: what the reader asked for. Out: the page.
"""

from dataclasses import replace

import streamlit as st

from mha_core import HeadScopeError, Record
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request
from pages.parts.inside.edit import edit, edit_controls, weights_controls
from pages.parts.inside.mixing import equal, output
from pages.parts.inside.rotation import rotation
from pages.parts.inside.scene import make_plain, pick, run_of
from pages.parts.inside.steps import one_query, projections, weights


@st.fragment
def walk_view(request: Request, record: Record) -> None:
    """The steps. A fragment: a click on a token redraws them and nothing else of the page."""
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    steps = [projections, weights, one_query, output, equal, edit]
    if scene.plain.rotary is not None:
        steps.insert(1, rotation)
    places = [st.container(key=f"inside-step-{step.__name__}", gap="small") for step in steps]
    # The controls come first, whatever their place: all that is drawn depends on them.
    with places[steps.index(weights)]:
        edits = weights_controls(scene)
    with places[-1]:
        edits = edit_controls(scene, edits)
    try:
        scene = replace(scene, now=run_of(request, record.tokens, scene.head[0], edits))
    except HeadScopeError as error:
        say(str(error), "problem")
    for place, step in zip(places, steps, strict=True):
        with place:
            step(scene)
