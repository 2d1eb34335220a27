"""What the heads of a small model do, by the measures and the rules that name the heads of real models.

In: a trained small model. Out: for every head the mass on the previous token, the first, an earlier copy and what
came after it there, on random tokens said twice; for the three jobs the mass on the place where each job's answer
stands; the head's role; and what taking it away costs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.questions.repeated import AFTER, peaks_at
from mha_core.heads.verdict import Evidence, judge
from mha_core.heads.word_weights import FloatArray, IntArray
from mha_core.learning.descent import random_for
from mha_core.learning.small import SmallModel, gates_without
from mha_core.learning.tasks import STRETCH, TEXT, Jobs, Task, answer_places
from mha_core.learning.train import examine, held_out
from mha_core.wording import Head, head_name

TEXTS_A_LENGTH = 4
MEASURES = ("previous", "first", *AFTER)
NAMED_BY = ("previous", "induction")  # the roles that such texts can show


@dataclass(frozen=True)
class HeadScore:
    """One head, (layer, head) from 0: shares of its mass, from 0 to 1; `role` is its name, or None.

    `jobs`: in the rows of each of the three jobs, the mass on the place where the answer stands.
    """

    head: Head
    previous: float
    first: float
    duplicate: float
    induction: float
    jobs: Mapping[str, float]
    role: str | None

    def row(self) -> dict[str, Any]:
        """As it stands in files: layer and head from 1."""
        layer, head = self.head
        measured = {name: getattr(self, name) for name in MEASURES}
        named = {"head": head_name(self.head), "layer": layer + 1, "number": head + 1}
        return named | measured | ({"jobs": dict(self.jobs)} if self.jobs else {}) | {"role": self.role}


@dataclass(frozen=True)
class Effect:
    """Without one head: the accuracy, that of each job, and the induction mass that is left in the other heads."""

    head: Head
    accuracy: float
    jobs: Mapping[str, float]
    induction: FloatArray

    def row(self, whole: Mapping[str, float]) -> dict[str, Any]:
        """As it stands in files; `cost` is what is lost of `whole`, the accuracy of each job with all heads."""
        line: dict[str, Any] = {
            "head": head_name(self.head),
            "accuracy": self.accuracy,
            "cost": sum(whole.values()) / len(whole) - self.accuracy,
        }
        if len(self.jobs) > 1:
            return line | {"jobs": dict(self.jobs)}
        left = {head_name((i, j)): value for (i, j), value in np.ndenumerate(self.induction)}
        return line | {"induction_left": {name: v for name, v in left.items() if name != line["head"]}}


@cache
def _said_twice(vocab_size: int, first: int, n_tokens: int) -> tuple[Tensor, ...]:
    """Stretches of many lengths, so that no fixed distance finds the copy; no token twice in a stretch."""
    random = random_for("said twice", 0)
    made = []
    low, high = STRETCH
    for length in range(low, min(high, n_tokens // 2) + 1):
        for _ in range(TEXTS_A_LENGTH):
            stretch = first + torch.randperm(vocab_size - first, generator=random)[:length]
            made.append(torch.cat([stretch, stretch]))
    return tuple(made)


def texts_for(model: SmallModel, task: Task) -> tuple[Tensor, ...]:
    """Return the texts, ids (n,), on which MEASURES are taken; tokens that name a job are left out."""
    first = len(task.groups) if len(task.groups) > 1 else 0
    return _said_twice(model.shape.vocab_size, first, model.shape.n_tokens)


def _runs(model: SmallModel, task: Task, without: Sequence[Head] = ()) -> Iterator[FloatArray]:
    """Every text's weights, (layer, head, query, key)."""
    gates = gates_without(model.shape, without) if without else None
    for ids in texts_for(model, task):
        yield torch.cat(model(ids[None], gates, need_weights=True)[1]).numpy()


def _places(n: int) -> dict[str, tuple[IntArray, IntArray]]:
    """For each of MEASURES the rows of a text of n tokens, and the key that each row is measured on."""
    every, again = np.arange(1, n), np.arange(n // 2, n)
    places: dict[str, tuple[IntArray, IntArray]] = {
        "previous": (every, every - 1),
        "first": (every, np.zeros_like(every)),
    }
    return places | {name: (again, again - n // 2 + after) for name, after in AFTER.items()}


@torch.no_grad()
def mean_masses(model: SmallModel, task: Task, without: Sequence[Head] = ()) -> dict[str, FloatArray]:
    """Return each of MEASURES, (layer, head): the mean mass over the rows and texts, with some heads taken away."""
    found: dict[str, list[FloatArray]] = {name: [] for name in MEASURES}
    for weights in _runs(model, task, without):
        for name, (rows, keys) in _places(weights.shape[-1]).items():
            found[name].append(weights[..., rows, keys].mean(-1, dtype=np.float64))
    return {name: np.mean(masses, axis=0) for name, masses in found.items()}


@torch.no_grad()
def head_scores(model: SmallModel, task: Task) -> list[HeadScore]:
    """Every head's measures and its role."""
    masses, roles, places = mean_masses(model, task), _roles(model, task), _job_masses(model, task)
    return [
        HeadScore(
            head=(i, j),
            jobs={job: float(mass[i, j]) for job, mass in places.items()},
            role=roles[i, j],
            **{name: float(mass[i, j]) for name, mass in masses.items()},
        )
        for i, j in np.ndindex(model.shape.n_layers, model.shape.n_heads)
    ]


def _job_masses(model: SmallModel, task: Task) -> dict[str, FloatArray]:
    """(layer, head) for each job: the mean mass of its rows on the place where the answer stands."""
    if not isinstance(task, Jobs):
        return {}
    batch = held_out(task.name)
    _, every = model(batch.ids[:, :-1], need_weights=True)
    weights = torch.stack(every, 1)  # (text, layer, head, query, key)
    rows = torch.arange(TEXT, 2 * TEXT)
    return {
        job: weights[batch.groups == i][..., rows, answer_places(job)].double().mean((0, -1)).numpy()
        for i, job in enumerate(task.groups)
    }


@torch.no_grad()
def _roles(model: SmallModel, task: Task) -> dict[Head, str | None]:
    """The role of every head by heads/verdict.py, the first of NAMED_BY that it has."""
    heads = list(np.ndindex(model.shape.n_layers, model.shape.n_heads))
    found: dict[str, list[FloatArray]] = {kind: [] for kind in NAMED_BY}
    masses: dict[str, list[FloatArray]] = {kind: [] for kind in NAMED_BY}
    blind, distances = list[float](), list[int]()
    for weights in _runs(model, task):
        n = weights.shape[-1]
        for kind in NAMED_BY:
            right, mass = peaks_at(weights.reshape(-1, n, n), *_places(n)[kind])
            found[kind].append(right)
            masses[kind].append(mass)
        blind += (1 / np.arange(2, n + 1)).tolist()
        distances += [n // 2 - 1] * (n // 2)
    best = {
        "previous": ("looking everywhere alike", float(np.mean(blind))),
        "induction": ("always one distance", max(map(distances.count, set(distances))) / len(distances)),
    }
    roles: dict[Head, str | None] = dict.fromkeys(heads)
    for kind in reversed(NAMED_BY):
        right, mass = np.concatenate(found[kind]), np.concatenate(masses[kind]).mean(0)
        n, tried = len(right), len(heads) * len(NAMED_BY)
        for i, head in enumerate(heads):
            score = float(right[:, i].mean())
            if judge(Evidence(kind, score, n, n, best[kind], tried, float(mass[i]))) == "role":
                roles[head] = KIND_OF[kind].name
    return roles


@torch.no_grad()
def effects(model: SmallModel, task: Task) -> list[Effect]:
    """What is left of the accuracy, and of the other heads' induction, without each head in turn."""
    found = []
    for head in np.ndindex(model.shape.n_layers, model.shape.n_heads):
        _, jobs = examine(model, task, [head])
        left = mean_masses(model, task, [head])["induction"]
        found.append(Effect(head, sum(jobs.values()) / len(jobs), jobs, left))
    return found
