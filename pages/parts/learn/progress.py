"""How far a reader is in the lesson, and what was answered: from the link, this session, or the reader's own browser.

In: the query parameter `step`, a step's key; what the browser kept. Out: a `Lesson` whose every value is checked.
Nothing is stored on the server beyond the session.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from pages.parts.frame import state
from pages.parts.learn.exercises import exercises, steps

KEPT = "lesson"
ANSWERS_AT_MOST, CHARS_AT_MOST = 200, 2_000
BUDGET = "budget"  # what is done in the first step without being typed


@dataclass(frozen=True)
class Lesson:
    """Where the reader is: the step from 1, the exercises solved, and what was typed for each."""

    step: int
    done: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)


def here() -> Lesson:
    """Where this reader is."""
    return read_place(state.params(), st.session_state.get(KEPT))


def read_place(query: Mapping[str, str], kept: object) -> Lesson:
    """The place from the link, else as it was left when another page was opened, else the beginning."""
    place = kept if isinstance(kept, Lesson) else Lesson(1)
    found = step_called(query.get("step", ""))
    return Lesson(found or min(max(place.step, 1), len(steps())), place.done, place.answers)


def step_called(name: str) -> int | None:
    """The step (from 1) of a key, or of the key of an older step whose matter it took."""
    return next((i for i, step in enumerate(steps(), 1) if name in (step.key, *step.was)), None)


def known_marks(keys: object) -> tuple[str, ...]:
    """Those of what a link or a browser gave that are exercises."""
    given = keys if isinstance(keys, list | tuple) else ()
    return tuple(dict.fromkeys(key for key in given if key == BUDGET or key in exercises()))


def known_answers(given: object) -> dict[str, str]:
    """Those of what a browser gave that may be answers: a browser may give anything."""
    if not isinstance(given, Mapping):
        return {}
    fit = {
        key: value
        for key, value in given.items()
        if isinstance(key, str)
        and isinstance(value, str)
        and re.fullmatch(r"[\w.@-]{1,80}", key)
        and key.partition("@")[0] in exercises()
        and len(value) <= CHARS_AT_MOST
    }
    return dict(list(fit.items())[:ANSWERS_AT_MOST])


def go(step: int) -> None:
    """To another step; beyond the ends nothing happens."""
    place = here()
    step = min(max(step, 1), len(steps()))
    _keep(Lesson(step, place.done, place.answers))
    state.change({"step": steps()[step - 1].key})


def solve(key: str) -> None:
    """Remember an exercise as done."""
    take(done=(key,))


def answer(key: str, typed: str) -> None:
    """Remember what was typed."""
    if here().answers.get(key) != typed:
        take({key: typed[:CHARS_AT_MOST]})


def take(answers: Mapping[str, str] | None = None, done: tuple[str, ...] = ()) -> None:
    """More answers and marks."""
    place = here()
    marks = tuple(dict.fromkeys((*place.done, *done)))
    every = {**place.answers, **(answers or {})}
    _keep(Lesson(place.step, marks, dict(list(every.items())[-ANSWERS_AT_MOST:])))


def forget() -> None:
    """Neither answers nor marks."""
    _keep(Lesson(here().step))


def _keep(place: Lesson) -> None:
    st.session_state[KEPT] = place
