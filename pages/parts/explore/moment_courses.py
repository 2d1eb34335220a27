"""Beside the slider over the classroom's training: how every task and every head got to where it is.

In: the moments of the report card and the step that is shown. Out: curves, and a table of when each head got its job.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from mha_core.learning.classroom.courses import CLEAR, HeadCourse, head_courses, steps_of, task_courses
from mha_core.learning.classroom.tasks import N_TEXTS
from mha_core.wording import percent
from pages.parts.picture.classroom import ASKED, JOBS
from pages.parts.picture.course import course
from pages.parts.picture.tiles import Block, Board, column, paragraph, row

Moments = Sequence[Mapping[str, Any]]
NOTE = (
    f"Shares of {N_TEXTS} texts a task, new ones of the training's grammar, one word hidden. A head's job is what it "
    "ends with most attention on, on average: from the hidden word to the one that it can be known from, from “it” in "
    "texts with “because”. It has the job from the first moment after which it never has less than "
    f"{percent(CLEAR)} there. Of two names a blind guess finds one in two."
)


def courses(moments: Moments, step: int) -> None:
    """A box under the slider; nothing is drawn until it is opened."""
    box = st.expander("How every task and every head got there", key="moment-courses", on_change="rerun")
    if box.open:
        with box:
            board_of(moments, step).show("moment-board")


def board_of(moments: Moments, step: int) -> Board:
    """Two curves side by side, and every head's job below."""
    board, steps, heads = Board(), steps_of(moments), head_courses(moments)
    tasks = [
        (ASKED[task], list(zip(steps, shares, strict=True))) for task, shares in task_courses(moments).items()
    ]
    jobs = [(one.head, list(zip(steps, one.masses, strict=True))) for one in heads]
    board.add(
        row(
            column(_course(board, "moment-tasks", "Right answers, by task", tasks, step), size="half"),
            column(
                _course(board, "moment-heads", "Each head's attention in its job", jobs, step), size="half"
            ),
        ),
        table_of(heads, steps, step),
        paragraph(NOTE, "quiet"),
    )
    return board


def _course(board: Board, key: str, name: str, ways: Sequence[Any], step: int) -> Block:
    """Lines over steps on a logarithmic axis, with a mark where the slider stands."""
    made = course(board, key, f"{name} (steps on a logarithmic axis)", ways, 1.0, now=step)
    return made | {"log": True, "now": step}


def table_of(heads: Sequence[HeadCourse], steps: Sequence[int], step: int) -> Block:
    """A line a head: its job, its attention there now and at the end, and since when."""
    now = list(steps).index(step)
    lines = [
        [
            one.head,
            JOBS[one.job],
            percent(one.masses[now]),
            percent(one.masses[-1]),
            "never has it" if one.since is None else f"{one.since:,}",
        ]
        for one in heads
    ]
    return {
        "type": "grid",
        "id": "moment-jobs",
        "label": "Every head's job",
        "head": ["head", "most attention on", f"after {step:,} steps", "at the end", "has it from step"],
        "rows": lines,
    }
