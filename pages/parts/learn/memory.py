"""Answers and marks that survive a reload: kept in the reader's own browser by `assets/js/memory.js`.

In: what is answered in this session. Out: what the browser kept from before, taken into it once.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from mha_core.draw.bundle import bundle
from pages.parts.frame.mounts import heard_from
from pages.parts.learn.exercises import controls, exercises, parts
from pages.parts.learn.progress import forget, here, known_answers, known_marks, take

KEY = "lesson-memory"
FORGOT = "lesson-forgot"

_mount = st.components.v2.component("headscope_memory", js=bundle("memory"))


def remember() -> None:
    """Hand the browser what is answered, and take in what it kept."""
    place = here()
    _mount(
        key=KEY,
        data={
            "save": {"answers": dict(place.answers), "done": list(place.done)},
            "forget": st.session_state.get(FORGOT, 0),
        },
        on_kept_change=_heard,
    )


def forget_all() -> None:
    """Take away every answer and mark, here and in the browser."""
    st.session_state[FORGOT] = st.session_state.get(FORGOT, 0) + 1
    for key in [
        key
        for key in st.session_state
        if str(key).startswith(("answer-", "predict-", "lesson-tests", "lesson-shown"))
    ]:
        del st.session_state[key]
    forget()


def _heard() -> None:
    take_in(heard_from(KEY, "kept"))


def take_in(kept: Any) -> None:
    """What the browser kept, as far as it is not answered otherwise in this session."""
    if not isinstance(kept, Mapping):
        return
    before = here().answers
    new = {key: typed for key, typed in known_answers(kept.get("answers")).items() if key not in before}
    take(new, known_marks(kept.get("done")))
    for key, typed in new.items():
        fill(key, typed)


def fill(key: str, typed: str) -> None:
    """Put an answer into the boxes of its question, where they are empty and can hold it."""
    exercise = exercises().get(key)
    if exercise is None:
        return
    names, given = controls(exercise), parts(exercise, typed)
    offered = exercise.kind != "choice" or any(option["text"] == typed for option in exercise.options)
    if typed and offered and len(given) == len(names) and not any(map(st.session_state.get, names)):
        st.session_state.update(zip(names, map(str.strip, given), strict=True))
