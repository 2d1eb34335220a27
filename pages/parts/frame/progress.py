"""Long work on a page: how far it is from the first second, Stop, and what there is so far.

In: a job, or a key and how to begin one. Out: the page's part, drawn anew twice a second while it goes on. All readers
share the work of a key; each may stop looking.
"""

import secrets
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import streamlit as st

from mha_core.causal import PartialResult
from mha_core.display_names import count_noun
from pages.parts.frame.page_text import say
from pages.parts.serve.jobs import JOBS, Job, JobQueue, Parts

T = TypeVar("T")
TICK = 0.5  # seconds


def tab_id() -> str:
    """A name for this tab, by which a job knows who still looks."""
    return str(st.session_state.setdefault("reader", secrets.token_hex(8)))


def show_job(
    key: tuple[str, ...],
    begin: Callable[[], Iterator[PartialResult[T]]],
    draw: Callable[[T | None], None],
    *,
    unit: str,
    single: str = "",
) -> bool:
    """Begin the work of a key and `draw` what there is; return whether it is done.

    `unit` is what is counted ("passages"), `single` the word for one of them where it differs.
    """

    def parts() -> Parts[T]:
        yield from begin()

    job = JOBS.ask(key, parts)

    def progress_text(job: Job[T]) -> str:
        n = job.step.n if job.step else 0
        done = f"{n:,} {(single or unit, unit)[n != 1]}"
        if not job.goes_on_for(tab_id()):
            return f"Stopped after {done}. Partial results below."
        return done + time_left(job)

    watch(JOBS, job, key[0], progress_text, lambda: draw(job.read(lambda step: step.result)))
    return job.finished and not job.problem


def watch(
    line: JobQueue,
    job: Job[Any],
    name: str,
    text: Callable[[Job[Any]], str],
    draw: Callable[[], None] = lambda: None,
    tick: float = TICK,
    again: Callable[[], None] | None = None,
) -> None:
    """Show how far a job is, as `text` and as a bar, with its buttons, and what `draw` adds, while it runs.

    Who comes to work that is not done looks along; `name` makes the keys; `again`: the callback that restarts it.
    """
    if not job.finished and tab_id() not in job.last_seen:
        line.start(job, tab_id())
    working = job.goes_on_for(tab_id())
    st.fragment(_watch, run_every=tick if working else None)(line, job, name, text, draw, working, again)


def _watch(
    line: JobQueue,
    job: Job[Any],
    name: str,
    text: Callable[[Job[Any]], str],
    draw: Callable[[], None],
    was_working: bool,
    again: Callable[[], None] | None,
) -> None:
    line.look(job, tab_id())
    working = job.goes_on_for(tab_id())
    if working != was_working:
        st.rerun()  # a button was pressed, or the work is done: the page around has to change too
    if not job.finished:
        with st.container(
            key=f"progress-row-{name}", horizontal=True, vertical_alignment="bottom", gap="medium"
        ):
            st.progress(min(job.step.fraction if job.step else 0.0, 1.0), text=text(job))
            if working:
                st.button("Stop", key=f"stop-{name}", on_click=line.stop, args=(job, tab_id()))
            else:
                st.button("Continue", key=f"go-{name}", on_click=line.start, args=(job, tab_id()))
                if again and st.button("Start again", key=f"again-{name}", type="tertiary"):
                    again()
                    st.rerun()  # the page around has another job now
    if job.problem:
        say(job.problem, "problem")
    draw()


def time_left(job: Job[Any]) -> str:
    """ ", about 5 seconds left", where that is known; else nothing."""
    left = job.remaining
    if left is None:
        return ""
    return f", about {count_noun(round(left), 'second') if left < 90 else count_noun(round(left / 60), 'minute')} left"
