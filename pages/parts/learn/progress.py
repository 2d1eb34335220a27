"""Progress in the lesson: the step, and what was answered, from the URL, this session, or the user's own browser.

In: the URL's `step`; what the browser kept. Out: a `Lesson` whose every value is checked. Nothing is stored on the
server beyond the session.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import streamlit as st

from pages.parts.frame import url_params
from pages.parts.learn.exercises import exercises, steps

KEPT = "lesson"
MAX_ANSWERS, MAX_CHARS = 200, 2_000
BUDGET = "budget"  # done in the first step without being typed


@dataclass(frozen=True)
class Lesson:
    """The step from 1, the exercises solved, and the typed answer of each."""

    step: int
    done: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)


def here() -> Lesson:
    """Return the user's place: the URL's step, else the one left for another page, else the first."""
    place = st.session_state.get(KEPT)
    place = place if isinstance(place, Lesson) else Lesson(1)
    step = step_called(url_params.params().get("step", "")) or min(max(place.step, 1), len(steps()))
    return replace(place, step=step)


def step_called(name: str) -> int | None:
    """Return the step (from 1) of a key, or of the key of an older step that was merged into it."""
    return next((i for i, step in enumerate(steps(), 1) if name in (step.key, *step.former_keys)), None)


def known_marks(keys: object) -> tuple[str, ...]:
    """Return the exercises among the marks that a browser gives."""
    keys = keys if isinstance(keys, list | tuple) else ()
    return tuple(dict.fromkeys(key for key in keys if key == BUDGET or key in exercises()))


def known_answers(given: object) -> dict[str, str]:
    """Return the answers among what a browser gives: that may be anything."""
    answers = {
        key: value
        for key, value in (given.items() if isinstance(given, Mapping) else ())
        if isinstance(key, str)
        and isinstance(value, str)
        and re.fullmatch(r"[\w.@-]{1,80}", key)
        and key.partition("@")[0] in exercises()
        and len(value) <= MAX_CHARS
    }
    return dict(list(answers.items())[:MAX_ANSWERS])


def go(step: int) -> None:
    """Open another step; beyond the ends nothing happens."""
    step = min(max(step, 1), len(steps()))
    st.session_state[KEPT] = replace(here(), step=step)
    url_params.change({"step": steps()[step - 1].key})


def solve(key: str) -> None:
    """Remember an exercise as done."""
    take(done=(key,))


def answer(key: str, typed: str) -> None:
    """Remember a typed answer."""
    if here().answers.get(key) != typed:
        take({key: typed[:MAX_CHARS]})


def take(answers: Mapping[str, str] | None = None, done: tuple[str, ...] = ()) -> None:
    """Add answers and marks."""
    place = here()
    marks = tuple(dict.fromkeys((*place.done, *done)))
    merged = {**place.answers, **(answers or {})}
    st.session_state[KEPT] = Lesson(place.step, marks, dict(list(merged.items())[-MAX_ANSWERS:]))


def forget() -> None:
    """Drop all answers and marks."""
    st.session_state[KEPT] = Lesson(here().step)
