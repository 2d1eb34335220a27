"""How the shipped classroom model came about: its tasks and its heads over the moments of the report card.

In: the report card's `moments`. Out: for every task the share of right answers at each, and for every head its job and
when it got it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mha_core.learning.classroom.tasks import TASKS

CLEAR = 0.5  # of a head's attention, on average: from here on it has a job


@dataclass(frozen=True)
class HeadCourse:
    """One head: the job in which it ends with most attention, its mean attention there at every moment, and the step
    from which on it was never below CLEAR; None if it ends below."""

    head: str
    job: str
    masses: tuple[float, ...]
    since: int | None


def steps_of(moments: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """The steps of the moments."""
    return tuple(one["step"] for one in moments)


def task_courses(moments: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """The share of right answers in every task, at every moment."""
    return {task: tuple(one["tasks"][task] for one in moments) for task in TASKS}


def head_courses(moments: Sequence[Mapping[str, Any]]) -> tuple[HeadCourse, ...]:
    """Every head with its job."""
    return tuple(_course(head, moments) for head in moments[-1]["jobs"])


def _course(head: str, moments: Sequence[Mapping[str, Any]]) -> HeadCourse:
    last = moments[-1]["jobs"][head]
    job = max(last, key=lambda name: float(last[name]))
    masses = tuple(float(one["jobs"][head][job]) for one in moments)
    since = None
    for step, mass in zip(reversed(steps_of(moments)), reversed(masses), strict=True):
        if mass < CLEAR:
            break
        since = step
    return HeadCourse(head, job, masses, since)
