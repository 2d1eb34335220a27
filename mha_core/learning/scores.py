"""What the heads of a small model do, by the measures and the rules that name the heads of real models.

In: a trained small model. Out: for every head the mass on the previous token, the first, an earlier copy and what
came after it there (`RepeatedTable`), on random tokens said twice; for the three jobs the mass on the place where each
job's answer stands; what the head is called; and what taking it away costs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mha_core.heads.jobs import KIND_OF
from mha_core.heads.repeated import AFTER, Copies, RepeatedSums, RepeatedTable, found_in
from mha_core.heads.verdict import Claim, Evidence, called, tries
from mha_core.heads.words import FloatArray
from mha_core.learning.descent import random_for
from mha_core.learning.small import SmallModel, gates_without
from mha_core.learning.tasks import STRETCH, TEXT, Jobs, Task, answer_places
from mha_core.learning.train import examine, held_out
from mha_core.wording import Head, head_name

TEXTS_A_LENGTH = 4
MEASURES = ("previous", "first", *AFTER)


@dataclass(frozen=True)
class HeadScore:
    """One head, (layer, head) from 0: shares of its mass, from 0 to 1; `role` is what it is called, or None.

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


@dataclass(frozen=True)
class _Text:
    """Random tokens said twice, ids (n,), and where the copies stand."""

    ids: Tensor
    where: Copies


@cache
def _said_twice(vocab_size: int, first: int, n_tokens: int) -> tuple[_Text, ...]:
    """Stretches of many lengths, so that no fixed distance finds the copy; no token twice in a stretch."""
    random = random_for("said twice", 0)
    made = []
    low, high = STRETCH
    for length in range(low, min(high, n_tokens // 2) + 1):
        rows = np.arange(length, 2 * length)
        for _ in range(TEXTS_A_LENGTH):
            stretch = first + torch.randperm(vocab_size - first, generator=random)[:length]
            made.append(_Text(torch.cat([stretch, stretch]), Copies(rows, rows - length, rows - length)))
    return tuple(made)


def texts_for(model: SmallModel, task: Task) -> tuple[_Text, ...]:
    """The texts on which previous, first, copy and induction are measured; tokens that name a job are left out."""
    first = len(task.groups) if len(task.groups) > 1 else 0
    return _said_twice(model.shape.vocab_size, first, model.shape.n_tokens)


@torch.no_grad()
def repeated_table(model: SmallModel, task: Task, without: Sequence[Head] = ()) -> RepeatedTable:
    """The measures of heads/repeated.py of every head, with some heads taken away."""
    sums = RepeatedSums()
    for text, weights in _runs(model, task, without):
        sums.count(weights, text.where)
    return sums.result()


def _runs(model: SmallModel, task: Task, without: Sequence[Head] = ()) -> Iterator[tuple[_Text, FloatArray]]:
    gates = gates_without(model.shape, without) if without else None
    for text in texts_for(model, task):
        _, weights = model(text.ids[None], gates, need_weights=True)
        yield text, torch.cat(weights).numpy()


@torch.no_grad()
def head_scores(model: SmallModel, task: Task) -> list[HeadScore]:
    """Every head's measures and its name."""
    table, roles, places = repeated_table(model, task), _roles(model, task), _job_masses(model, task)
    return [
        HeadScore(
            head=(i, j),
            jobs={job: float(mass[i, j]) for job, mass in places.items()},
            role=roles[i, j],
            **{name: float(getattr(table, name)[i, j]) for name in MEASURES},
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
    """What the rules of heads/verdict.py call every head, of the two jobs that can be asked of such texts."""
    heads = list(np.ndindex(model.shape.n_layers, model.shape.n_heads))
    found: dict[str, list[FloatArray]] = {"positional": [], "induction": []}
    masses: dict[str, list[FloatArray]] = {"positional": [], "induction": []}
    offsets: dict[int, int] = {}
    for text, weights in _runs(model, task):
        flat = weights.reshape(-1, *weights.shape[-2:])
        rows = np.arange(1, flat.shape[-1])
        asked = {"positional": (rows, rows - 1), "induction": (text.where.rows, text.where.first + 1)}
        for kind, (at, target) in asked.items():
            right, mass = found_in(flat, at, target)
            found[kind].append(right)
            masses[kind].append(mass)
        distance = int(text.where.rows[0] - text.where.first[0]) - 1
        offsets[distance] = offsets.get(distance, 0) + len(text.where.rows)
    return {head: _named(i, found, masses, offsets, len(heads)) for i, head in enumerate(heads)}


def _named(
    i: int,
    found: Mapping[str, Sequence[FloatArray]],
    masses: Mapping[str, Sequence[FloatArray]],
    offsets: Mapping[int, int],
    n_heads: int,
) -> str | None:
    """The name of head `i`; the rules to beat are a blind choice, and the distance that is right most often."""
    n = {kind: sum(len(part) for part in parts) for kind, parts in found.items()}
    score = {kind: float(np.concatenate(parts)[:, i].mean()) for kind, parts in found.items()}
    mass = {kind: float(np.concatenate(parts)[:, i].mean()) for kind, parts in masses.items()}
    blind = float(np.mean(np.concatenate([1 / np.arange(2, len(part) + 2) for part in found["positional"]])))
    tried = tries(n_heads, len(found))
    place = Evidence(
        "positional", score["positional"], n["positional"], blind, "a blind choice", tried, mass["positional"]
    )
    nearest = max(offsets.values()) / sum(offsets.values())
    after = Evidence(
        "induction", score["induction"], n["induction"], nearest, "one distance", tried, mass["induction"]
    )
    claim = called([Claim(place, "previous token", ""), Claim(after, KIND_OF["induction"].name, "")])
    return claim.label if claim else None


@torch.no_grad()
def effects(model: SmallModel, task: Task) -> list[Effect]:
    """What is left of the accuracy, and of the other heads' induction, without each head in turn."""
    found = []
    for head in np.ndindex(model.shape.n_layers, model.shape.n_heads):
        _, jobs = examine(model, task, [head])
        left = repeated_table(model, task, [head]).induction
        found.append(Effect(head, sum(jobs.values()) / len(jobs), jobs, left))
    return found
