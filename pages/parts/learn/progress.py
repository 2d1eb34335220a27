"""How far a reader is in the lesson: read from the link, else as it was left; the one place that writes it.

In: query parameters `step` and `done`. Out: a `Lesson` whose every value is checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.parts.frame import state
from pages.parts.learn.exercises import exercises, steps

KEPT = "lesson"


@dataclass(frozen=True)
class Lesson:
    """Where the reader is: the step from 1, and the exercises solved."""

    step: int
    done: tuple[str, ...]


def here() -> Lesson:
    """Where this reader is."""
    return read_place(state.params(), st.session_state.get(KEPT))


def read_place(query: Mapping[str, str], kept: object) -> Lesson:
    """The place from the link, else as it was left when another page was opened, else the beginning."""
    step, done = (kept.step, kept.done) if isinstance(kept, Lesson) else (1, ())
    if query.get("step", "").isdecimal() and len(query["step"]) < 4:
        step = int(query["step"])
    if "done" in query:
        done = tuple(key for key in query["done"].split(",") if key in exercises())
    return Lesson(min(max(step, 1), len(steps())), tuple(dict.fromkeys(done)))


def go(step: int) -> None:
    """To another step; beyond the ends nothing happens."""
    _keep(Lesson(min(max(step, 1), len(steps())), here().done))


def solve(key: str) -> None:
    """Remember an exercise as done."""
    place = here()
    if key not in place.done:
        _keep(Lesson(place.step, (*place.done, key)))


def _keep(place: Lesson) -> None:
    st.session_state[KEPT] = place
    state.change({"step": str(place.step), "done": ",".join(place.done) or None})
