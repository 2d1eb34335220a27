"""Answers and marks that survive a reload: kept in the user's own browser by `assets/js/memory.js`.

In: the answers of this session. Out: what the browser kept from before, taken into it once.
"""

from collections.abc import Mapping

import streamlit as st

from mha_core.draw.bundle import bundle
from pages.parts.frame.component_event import component_event
from pages.parts.learn.exercises import controls, exercises, parts
from pages.parts.learn.progress import forget, here, known_answers, known_marks, take

KEY = "lesson-memory"
FORGOT = "lesson-forgot"

_mount = st.components.v2.component("headscope_memory", js=bundle("memory"))


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
    forget()


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
