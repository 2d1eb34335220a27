"""Long work on a page: a button that begins it, how far it is from the first second, Stop, and what there is so far.

In: a key that says what is computed, and how to begin. Out: the page's part, drawn anew with every slice of work. All
readers share the work of a key; each may stop looking.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import streamlit as st

from mha_core.experiments import Part
from pages.parts.frame.prose import say
from pages.parts.serve import cache
from pages.parts.serve.slices import bar, slice_of, time_left
from pages.parts.serve.tasks import BackgroundTask, ReaderControl, Step

T = TypeVar("T")
TICK = 0.2


def steps(parts: Iterator[Part[T]]) -> Iterator[Step[T]]:
    """A sweep of the engine as work in slices, in turn with everybody else's runs."""
    for part in cache.in_turns(parts):
        yield Step(part.fraction, part.n, part.result)


def work(
    key: tuple[str, ...],
    begin: Callable[[], Iterator[Part[T]]],
    draw: Callable[[T | None], None],
    *,
    unit: str,
    one: str = "",
    button: str = "",
) -> bool:
    """The button, then the work and `draw` of what there is; `unit` is what is counted ("passages"), `one` the same
    of a single one where that reads otherwise. Without a button it begins by itself. Returns whether it is done."""
    job: BackgroundTask[T] | None = cache.begun(key)
    if job is None and not button:
        _begin(key, begin)
        job = cache.begun(key)
    if job is None:
        st.button(button, key=f"begin-{key[0]}", type="primary", on_click=_begin, args=(key, begin))
        draw(None)
        return False
    watch = cache.reader_control(key)
    working = watch.running and not job.finished
    st.fragment(_slice, run_every=TICK if working else None)(
        job, watch, draw, key[0], (one or unit, unit), working
    )
    return job.finished and not job.problem


def _begin(key: tuple[str, ...], begin: Callable[[], Iterator[Part[T]]]) -> None:
    cache.task(key, lambda: steps(begin()))
    cache.reader_control(key).go_on()


def _slice(
    job: BackgroundTask[T],
    watch: ReaderControl,
    draw: Callable[[T | None], None],
    name: str,
    units: tuple[str, str],
    was_working: bool,
) -> None:
    with slice_of(job, watch, was_working) as working:
        if not job.finished:
            keys = {"row": f"progress-row-{name}", "stop": f"stop-{name}", "go": f"go-{name}"}
            bar(job, watch, working, _how_far(job, watch, units), **keys)
        if job.problem:
            say(job.problem, "problem")
        draw(job.read(lambda step: step.result))


def _how_far(job: BackgroundTask[T], watch: ReaderControl, units: tuple[str, str]) -> str:
    n = job.step.n if job.step else 0
    said = f"{n:,} {units[n != 1]}"
    if not watch.running:
        return f"Stopped after {said}; what is shown is what was tried."
    return said + time_left(job)
