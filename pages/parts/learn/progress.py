"""Progress in the lesson: the step, and the answers and marks, which survive a reload in the user's own browser.

In: the URL's `step`; what `assets/js/memory.js` kept, taken in once. Out: a `Lesson` whose every value is checked.
Nothing is stored on the server beyond the session.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import streamlit as st

from mha_core.draw.bundle import bundle
from pages.parts.frame import url_params
from pages.parts.learn.exercises import controls, exercises, parts, steps
from pages.parts.picture.attention_view import component_event

KEPT = "lesson"
KEY = "lesson-memory"
FORGOT = "lesson-forgot"
MAX_ANSWERS, MAX_CHARS = 200, 2_000
BUDGET = "budget"  # done in the first step without being typed

_mount = st.components.v2.component("headscope_memory", js=bundle("memory"))


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


def remember() -> None:
    """Hand the browser the answers, and take in those that it kept."""
    place, count = here(), st.session_state.get(FORGOT, 0)
    save = {"answers": dict(place.answers), "done": list(place.done)}
    _mount(key=KEY, data={"save": save, "forget": count}, on_kept_change=_take_in)


def forget_all() -> None:
    """Take away every answer and mark, here and in the browser."""
    st.session_state[FORGOT] = st.session_state.get(FORGOT, 0) + 1
    for key in list(st.session_state):
        if str(key).startswith(("answer-", "predict-", "lesson-tests", "lesson-shown")):
            del st.session_state[key]
    st.session_state[KEPT] = Lesson(here().step)


def _take_in() -> None:
    """Take the browser's answers to what is not answered otherwise in this session."""
    browser = component_event(KEY, "kept")
    if not isinstance(browser, Mapping):
        return
    before = here().answers
    new = {key: text for key, text in known_answers(browser.get("answers")).items() if key not in before}
    take(new, known_marks(browser.get("done")))
    for key, typed in new.items():
        fill(key, typed)


def fill(key: str, typed: str) -> None:
    """Put an answer into the boxes of its question, where they are empty and can hold it."""
    exercise = exercises().get(key)
    if exercise is None:
        return
    names, texts = controls(exercise), parts(exercise, typed)
    is_offered = exercise.kind != "choice" or any(option["text"] == typed for option in exercise.options)
    if typed and is_offered and len(texts) == len(names) and not any(map(st.session_state.get, names)):
        st.session_state.update(zip(names, map(str.strip, texts), strict=True))
