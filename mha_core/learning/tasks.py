"""What the small models learn: texts of random tokens, made on the spot, in which some next tokens can be known.

In: a source of random numbers. Out: a `Batch` of texts with the answers. "Three jobs" asks for one of three copies of
a text, named by the first token; "induction" repeats a random stretch, which whoever has seen it once can go on with
(Olsson et al. 2022).
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from mha_core.errors import InputError
from mha_core.learning.small import Shape

JOBS = ("repeat", "mirror", "rotate")
TURN = 3  # places by which `rotate` turns the text
TEXT = 24
JOB_TOKENS = 32
STRETCH = (8, 24)
INDUCTION_TOKENS, INDUCTION_TEXT, THETA = 64, 48, 100.0


@dataclass(frozen=True)
class Batch:
    """Texts `ids` (batch, n + 1): from the tokens up to a place the next one is to be said.

    The loss counts answers from place `learns_from` of the n, accuracy those from `asked_from`; `groups` (batch,)
    is the number of each text's job.
    """

    ids: Tensor
    learns_from: int
    asked_from: int
    groups: Tensor


class Task(Protocol):
    """A task: its name, the jobs it is made of (one at least), how many texts of each make a batch, in which share
    of the steps, at their end, the learning rate falls, and which accuracy in every job ends the training."""

    @property
    def name(self) -> str: ...
    @property
    def groups(self) -> tuple[str, ...]: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def held_out_size(self) -> int: ...
    @property
    def falls(self) -> float: ...
    @property
    def learnt(self) -> float: ...

    def shape(self, layers: int, heads: int) -> Shape:
        """The model that learns it."""
        ...

    def batch(self, size: int, random: torch.Generator) -> Batch:
        """`size` texts of every job."""
        ...

    def example(self, random: torch.Generator) -> Batch:
        """One text of every job, to look at while it is learnt."""
        ...

    def labels(self, ids: Tensor) -> list[str]:
        """Tokens (n,) as people read them."""
        ...


@dataclass(frozen=True)
class Jobs:
    """Repeat the text, mirror it, or rotate it by TURN places: the first token says which.

    ids (batch, 49): the job, TEXT random tokens, and the same tokens in the job's order. One layer of attention cannot
    let a token know the job before it looks: a head can only look elsewhere when the job is not its own.
    """

    name: str = "jobs"
    groups: tuple[str, ...] = JOBS
    batch_size: int = 11
    held_out_size: int = 64
    falls: float = 0.25
    learnt: float = 0.995

    def shape(self, layers: int, heads: int) -> Shape:
        return Shape(JOB_TOKENS, 2 * TEXT, layers, heads)

    def batch(self, size: int, random: torch.Generator) -> Batch:
        return _all_jobs(torch.randint(len(JOBS), JOB_TOKENS, (len(JOBS), size, TEXT), generator=random))

    def example(self, random: torch.Generator) -> Batch:
        text = len(JOBS) + torch.randperm(JOB_TOKENS - len(JOBS), generator=random)[:TEXT]
        return _all_jobs(text.expand(len(JOBS), 1, TEXT))

    def labels(self, ids: Tensor) -> list[str]:
        return [JOBS[i] if i < len(JOBS) else _letter(i - len(JOBS)) for i in ids.tolist()]


def _all_jobs(text: Tensor) -> Batch:
    """Of texts (job, size, TEXT) the whole batch."""
    size = text.shape[1]
    again = torch.stack([text[0], text[1].flip(-1), text[2].roll(-TURN, -1)])
    job = torch.arange(len(JOBS))[:, None, None].expand(len(JOBS), size, 1)
    ids = torch.cat([job, text, again], dim=-1).flatten(0, 1)
    return Batch(ids, TEXT, TEXT, torch.arange(len(JOBS)).repeat_interleave(size))


def answer_places(job: str) -> Tensor:
    """Where the answer stands for each of the TEXT rows from TEXT on, (row,): the place a head should look at."""
    place = torch.arange(1, TEXT + 1)
    return {"repeat": place, "mirror": place.flip(0), "rotate": place.roll(-TURN)}[job]


@dataclass(frozen=True)
class Induction:
    """A stretch of 8 to 24 random tokens, said again and again until the text is full.

    ids (batch, 48). The loss counts everywhere, also where nobody can know; accuracy in the second half alone, where
    every token has been seen.
    """

    name: str = "induction"
    groups: tuple[str, ...] = ("induction",)
    batch_size: int = 16
    held_out_size: int = 64
    falls: float = 0.0
    learnt: float = 0.985

    def shape(self, layers: int, heads: int) -> Shape:
        return Shape(INDUCTION_TOKENS, INDUCTION_TEXT - 1, layers, heads, theta=THETA)

    def batch(self, size: int, random: torch.Generator) -> Batch:
        low, high = STRETCH
        length = torch.randint(low, high + 1, (size, 1), generator=random)
        stretch = torch.randint(INDUCTION_TOKENS, (size, high), generator=random)
        return _said_again(stretch, length)

    def example(self, random: torch.Generator) -> Batch:
        stretch = torch.randperm(INDUCTION_TOKENS, generator=random)[None, : STRETCH[1]]
        return _said_again(stretch, torch.tensor([[INDUCTION_TEXT // 3]]))

    def labels(self, ids: Tensor) -> list[str]:
        return [_letter(i) for i in ids.tolist()]


def _said_again(stretch: Tensor, length: Tensor) -> Batch:
    ids = stretch.gather(1, torch.arange(INDUCTION_TEXT)[None] % length)
    return Batch(ids, 0, STRETCH[1] - 1, torch.zeros(len(ids), dtype=torch.long))


def _letter(number: int) -> str:
    """A token of a text without meaning."""
    return (string.ascii_letters + string.digits + "&#")[number]


TASKS: Mapping[str, Task] = {"jobs": Jobs(), "induction": Induction()}


def task_called(name: str) -> Task:
    """The task of that name. Raises InputError."""
    if name not in TASKS:
        raise InputError(f"Unknown task '{name}'. Choose one of: {', '.join(TASKS)}.")
    return TASKS[name]
