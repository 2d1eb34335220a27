"""The toy model at every checkpoint of its training: a slider, and play.

In: a request. Out: the request with the model as it was at the slider's step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import HeadScopeError
from mha_core.display_names import percent
from mha_core.models.model_list import CLASSROOM
from mha_core.models.toy_checkpoints import CHECKPOINT_STEPS, report
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request

PLAYING, NEXT = "moment-playing", "moment-next"
TICK = 1.5  # seconds a checkpoint


def at_checkpoint(request: Request) -> Request:
    """Draw the slider; return the request, and what it is compared with, at its step. Other models have no slider."""
    if not any(side and has_checkpoints(side) for side in (request, request.other)):
        st.session_state.pop(PLAYING, None)
        return request
    if NEXT in st.session_state:
        st.session_state["moment"] = st.session_state.pop(NEXT)
    playing = bool(st.session_state.get(PLAYING))
    with st.container(key="moments", horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.button("Pause" if playing else "Play", key="moment-play", on_click=_toggle)
        step = st.select_slider(
            "Steps of its training, from untrained to trained",
            CHECKPOINT_STEPS,
            CHECKPOINT_STEPS[-1],
            format_func=lambda step: f"{step:,}",
            key="moment",
            bind="query-params",
        )
    say(checkpoint_text(next((card for card in _cards() if card["step"] == step), None)), "note")
    if playing:
        st.fragment(_advance, run_every=TICK)(step)
    return at_step(request, step)


def has_checkpoints(request: Request) -> bool:
    """Return whether the request is for the model that the slider moves."""
    return request.model == CLASSROOM and request.trained


def at_step(request: Request, step: int) -> Request:
    """Return the request, and what it is compared with, at a step; the last one is the model itself."""
    if step == CHECKPOINT_STEPS[-1]:
        return request
    other = at_step(request.other, step) if request.other else None
    model = f"{CLASSROOM}@{step}" if has_checkpoints(request) else request.model
    return replace(request, model=model, other=other)


def checkpoint_text(card: Mapping[str, Any] | None) -> str:
    """Return the model's score at a checkpoint, in words; "" where the report has none."""
    if card is None:
        return ""
    share = percent(card["pass"])
    return (
        f"After {card['step']:,} steps its best head, {card['head']}, passes {share} of {card['pairs']} unseen pairs "
        f"of words. To pass, `it` gives the right noun 60% or more and the other 15% or less, in both texts. "
        f"Where `it` is hidden it names the noun in {percent(card['answers']['exact'])}."
    )


def _cards() -> Sequence[Mapping[str, Any]]:
    """Return the report's card of every checkpoint; none where it is missing."""
    try:
        cards: Sequence[Mapping[str, Any]] = report()["moments"]
    except HeadScopeError:
        return ()
    return cards


def _toggle() -> None:
    """Play from the start when it stands at the end."""
    playing = not st.session_state.get(PLAYING)
    st.session_state[PLAYING] = playing
    if playing and st.session_state.get("moment") == CHECKPOINT_STEPS[-1]:
        st.session_state[NEXT] = CHECKPOINT_STEPS[0]


def _advance(shown: int) -> None:
    """Go one checkpoint on, and stop at the last. The first run draws what is shown; those after it go on."""
    if st.session_state.get("moment-shown") != shown:
        st.session_state["moment-shown"] = shown
        return
    later = [step for step in CHECKPOINT_STEPS if step > shown]
    if later:
        st.session_state[NEXT] = later[0]
    if len(later) <= 1:
        st.session_state[PLAYING] = False
        st.session_state.pop("moment-shown", None)
    st.rerun()
