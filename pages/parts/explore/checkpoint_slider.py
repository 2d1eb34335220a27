"""A model at every checkpoint of its training: a slider, and play. The toy model has them, and the owner's own.

In: a request. Out: the request with the model as it was at the slider's step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from mha_core import HeadScopeError
from mha_core.display_names import percent
from mha_core.models.model_list import CLASSROOM
from mha_core.models.toy_checkpoints import CHECKPOINT_STEPS, report
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request, own_checkpoints

PLAYING, NEXT, SHOWN = "moment-playing", "moment-next", "moment-shown"
TICK = 1.5  # seconds a checkpoint
Step = int | str


@dataclass(frozen=True)
class Series:
    """Checkpoints of one training: `models`, their names by step, in order; `key`: the step's name in the address."""

    key: str
    models: Mapping[Step, str]

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self.models)


_LAST = CHECKPOINT_STEPS[-1]
TOY = Series(
    "moment",
    {step: CLASSROOM if step == _LAST else f"{CLASSROOM}@{step}" for step in CHECKPOINT_STEPS},
)


def checkpoints_of(request: Request) -> Series | None:
    """Return the checkpoints that the request's model is one of; None for untrained weights and other models."""
    own = Series("checkpoint", {name.partition("@")[2]: name for name in own_checkpoints()})
    among = (series for series in (TOY, own) if request.trained and request.model in series.models.values())
    return next((series for series in among if len(series.models) > 1), None)


def at_checkpoint(request: Request, *, plays: bool = True) -> Request:
    """Draw the slider, with `plays` a button that moves it and the toy model's score.

    Return the request, and what it is compared with, at its step. Other models have no slider.
    """
    sides = [side for side in (request, request.other) if side and checkpoints_of(side)]
    series = checkpoints_of(sides[0]) if sides else None
    if series is None:
        st.session_state.pop(PLAYING, None)
        return request
    if NEXT in st.session_state:
        st.session_state[series.key] = st.session_state.pop(NEXT)
    playing = plays and bool(st.session_state.get(PLAYING))
    steps = series.steps
    with st.container(key="moments", horizontal=True, vertical_alignment="bottom", gap="medium"):
        if plays:
            st.button("Pause" if playing else "Play", key="moment-play", on_click=_toggle, args=(series,))
        step = st.select_slider(
            "Steps of its training, from untrained to trained"
            if series is TOY
            else "Checkpoints of its training",
            steps,
            next(step for step in steps if series.models[step] == sides[0].model),
            format_func=step_text,
            key=series.key,
            bind="query-params",
        )
    if plays and series is TOY:
        say(checkpoint_text(next((card for card in _cards() if card["step"] == step), None)), "note")
    if playing:
        st.fragment(_advance, run_every=TICK)(series, step)
    return at_step(request, step)


def step_text(step: Step) -> str:
    """Return a step's name on the slider."""
    return f"{step:,}" if isinstance(step, int) else step


def at_step(request: Request, step: Step) -> Request:
    """Return the request, and what it is compared with, at a step: the first side that has checkpoints, and the other
    where it is the same model."""
    sides = [side for side in (request, request.other) if side and checkpoints_of(side)]
    series = checkpoints_of(sides[0]) if sides else None
    if series is None:
        return request
    before, after = sides[0].model, series.models[step]

    def moved(side: Request) -> Request:
        return replace(side, model=after) if side.trained and side.model == before else side

    return replace(moved(request), other=moved(request.other) if request.other else None)


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


def _toggle(series: Series) -> None:
    """Play from the start when it stands at the end."""
    playing = not st.session_state.get(PLAYING)
    st.session_state[PLAYING] = playing
    if playing and st.session_state.get(series.key) == series.steps[-1]:
        st.session_state[NEXT] = series.steps[0]


def _advance(series: Series, shown: Step) -> None:
    """Go one checkpoint on, and stop at the last. The first run draws what is shown; those after it go on."""
    if st.session_state.get(SHOWN) != shown:
        st.session_state[SHOWN] = shown
        return
    later = series.steps[series.steps.index(shown) + 1 :]
    if later:
        st.session_state[NEXT] = later[0]
    if len(later) <= 1:
        st.session_state[PLAYING] = False
        st.session_state.pop(SHOWN, None)
    st.rerun()
