"""Long work on a page: one slice of it with each run of a fragment, and the bar with Stop and Go on.

with slice_of(job, watch, was_working) as working:
    bar(job, watch, working, "12 heads", row="progress", stop="stop", go="go-on")
    ...  # what there is so far
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from mha_core.wording import counted
from pages.parts.serve.streamlit_private import end_if_left
from pages.parts.serve.tasks import BackgroundTask, ReaderControl


@contextmanager
def slice_of(job: BackgroundTask[Any], watch: ReaderControl, was_working: bool) -> Iterator[bool]:
    """Whether the work goes on; after what is drawn inside it is moved on for less than a second.

    Drawn first, worked afterwards: a run that the next one overtakes has then shown all there is to show.
    """
    working = watch.running and not job.finished
    if working != was_working:
        # The button was pressed, or another reader's page finished the work: the page around has to change too.
        st.rerun()
    yield working
    if working:
        job.advance(between=end_if_left)
        if job.finished:
            st.rerun()


def time_left(job: BackgroundTask[Any]) -> str:
    """ ", about 5 seconds left", where that is known; else nothing."""
    left = job.remaining
    return "" if left is None else f", about {counted(round(left), 'second')} left"


def bar(
    job: BackgroundTask[Any], watch: ReaderControl, working: bool, said: str, *, row: str, stop: str, go: str
) -> None:
    """How far the work is, in `said` and as a bar, with its button; `row`, `stop` and `go` are the keys."""
    with st.container(key=row, horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.progress(min(job.step.fraction if job.step else 0.0, 1.0), text=said)
        if working:
            st.button("Stop", key=stop, on_click=watch.stop)
        elif not job.finished:
            st.button("Go on", key=go, on_click=watch.go_on)
