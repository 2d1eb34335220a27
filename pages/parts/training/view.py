"""A part of the training page: choose, guess, start, watch, read the results.

In: the reader's choices. Out: the page. One training runs at a time for all readers; this page says how many wait.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from mha_core.display_names import count_noun
from mha_core.draw.bundle import ASSETS
from mha_core.seeds import MAX_SEED
from mha_core.training.tasks import TEXT
from pages.parts.frame import state
from pages.parts.frame.option_row import is_loose, loose, option_row, say_unknown
from pages.parts.frame.page_text import heading, quoted, say
from pages.parts.frame.progress import reader, watch
from pages.parts.frame.shell import or_show_error
from pages.parts.serve.jobs import Job
from pages.parts.training import after, boards
from pages.parts.training.live import TRAININGS, Course, course_of
from pages.parts.training.parts import (
    EXPECTED,
    GUESSES,
    HEADS,
    LAYERS,
    LIMITS,
    UP_TO,
    Choice,
    Report,
    expected_words,
    induction_choice,
    induction_guess_said,
    induction_said,
    induction_why,
    jobs_choice,
    jobs_guess_said,
    jobs_said,
    jobs_why,
    roles_said,
)

TICK = 1.0  # seconds


def style() -> None:
    """The little that this page adds to the frame's own style."""
    st.html(ASSETS / "css" / "training.css")


def jobs_part() -> None:
    """One head or four: three jobs in one stream."""
    _said(
        f"Task: repeat, mirror or rotate {TEXT} random tokens; the first token says which. Models A and B have one "
        "layer and the same size, but different numbers of [[head|heads]]."
    )
    with _choices():
        left, right = _pick("Model A heads", HEADS, 1, "left"), _pick("Model B heads", HEADS, 4, "right")
        choice = or_show_error(jobs_choice, left, right, seed_of(0), _limit(LIMITS, 8_000, "limit"))
        if choice is None:
            return
        guess = st.segmented_control(
            f"Your guess: how accurate will {choice.names()[0]} be?",
            tuple(GUESSES),
            key="guess",
            bind="query-params",
        )
    reports = _trained(choice)
    if reports:
        names = choice.names()
        _verdict(
            jobs_guess_said(guess, names[0], reports[0]),
            *(jobs_said(name, report) for name, report in zip(names, reports, strict=True)),
            jobs_why(choice, reports),
        )
        after.take_away(choice, reports)
        after.downloads(choice, reports)


def induction_part() -> None:
    """Two heads that need each other: repeated random text."""
    _said(
        "Task: predict random tokens that repeat. After the first copy, a model that finds the earlier token can "
        "predict the next one ([[induction]], Olsson et al. 2022)."
    )
    with _choices():
        shallow = _pick("Model A layers", LAYERS, 1, "shallow")
        deep = _pick("Model B layers", LAYERS, 2, "deep")
        heads = _pick("Heads per layer", HEADS, 4, "each")
        choice = or_show_error(
            induction_choice, shallow, deep, heads, seed_of(0), _limit(UP_TO, 1_500, "upto")
        )
        if choice is None:
            return
        names = choice.names()
        guess = st.segmented_control(
            "Your guess: which will learn it?",
            EXPECTED,
            key="expect",
            bind="query-params",
            format_func=lambda key: expected_words(names)[key],
        )
    reports = _trained(choice)
    if reports:
        _verdict(
            induction_guess_said(guess, names, reports),
            *(induction_said(name, report) for name, report in zip(names, reports, strict=True)),
            *(roles_said(name, report) for name, report in zip(names, reports, strict=True)),
            induction_why(choice, reports),
        )
        after.take_away(choice, reports)
        after.in_a_real_model()
        after.downloads(choice, reports)


def _said(text: str) -> None:
    boards.show_text("training-question", text, style="big")


def _choices() -> Any:
    return st.container(key="training-choices", horizontal=True, vertical_alignment="bottom", gap="medium")


def _pick(label: str, options: Sequence[int], first: int, key: str) -> int:
    return option_row(label, options, key, first=first)


def seed_of(first: int) -> int:
    """The seed that the link says, also after Back and from another part; else the first one of this part."""
    said = state.params().get("seed", "")
    known = re.fullmatch(r"[0-9]{1,10}", said) and int(said) <= MAX_SEED
    if said and not known:
        say(f"Unknown seed {quoted(said)} in the link. Showing “{first}”.", "notice")
    st.session_state["seed"] = int(said) if known else first
    return int(
        st.number_input("Seed", 0, MAX_SEED, key="seed", on_change=_keep_seed, args=(first,), width=130)
    )


def _keep_seed(first: int) -> None:
    """Have the link say the reader's seed. A browser's first message tells of one that nobody has changed."""
    chosen = str(st.session_state["seed"])
    if chosen != state.params().get("seed", str(first)):
        state.change({"seed": chosen})


def _limit(options: Sequence[int], first: int, key: str) -> int:
    if is_loose(key, options):
        say_unknown(key, options, first)
        return loose(st.selectbox, "Max steps", options, key, first, index=None, width=130, format_func=str)
    chosen = st.selectbox(
        "Max steps",
        options,
        options.index(first),
        key=key,
        bind="query-params",
        width=130,
        format_func=str,
    )
    return chosen if chosen in options else first


def _trained(choice: Choice) -> list[Report]:
    """Start, watch and stop it; the two reports once both models are trained, else nothing."""
    job = training("small", choice.settings, "Up to a minute.", partial(boards.live, choice))
    if job is None or not job.finished or job.problem:
        return []
    return [run["report"] for run in course_of(job).now["runs"]]


def training(
    kind: str, settings: Mapping[str, Any], takes: str, draw: Callable[[Course], None]
) -> Job[Course] | None:
    """The button, then how far a training is, and its pictures; None where this user has neither begun nor opened it:
    what others have run is only offered."""
    TRAININGS.worker.warm()
    job = TRAININGS.begun(kind, settings, reader())
    others = job if job is not None and reader() not in job.looks else None
    job = None if others else job
    with st.container(key="training-progress"):
        if job is None or job.problem:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                start = (kind, settings, reader())
                st.button("Start", key="training-start", type="primary", on_click=TRAININGS.start, args=start)
                if others and others.finished and not others.problem:
                    show = (others, reader())
                    st.button("Show a finished run", key="training-show", on_click=TRAININGS.show, args=show)
            say(takes, "label")
        if job is not None:
            found = job
            again = partial(TRAININGS.restart, kind, settings, reader())
            watch(TRAININGS.line, found, "training", _how_far, lambda: _pictures(found, draw), TICK, again)
    return job


def _pictures(job: Job[Course], draw: Callable[[Course], None]) -> None:
    course = course_of(job)
    if course.rows:
        draw(course)


def _how_far(job: Job[Course]) -> str:
    """Where a training stands, in one sentence."""
    if not job.goes_on_for(reader()):
        return "Stopped."
    ahead = TRAININGS.line.ahead(job)
    if ahead:
        return f"{count_noun(ahead, 'training')} ahead of you …"
    return "Training …" if job.step else "Starting …"


def _verdict(*sentences: str) -> None:
    heading("Results")
    boards.show_text("training-verdict", *filter(None, sentences), style="verdict")
