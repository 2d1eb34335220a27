"""Scores of the heads of an attention-only model, by the measures and thresholds that name the heads of real models.

In: a trained model. Out: every head's mass on the previous token, the first, an earlier copy and the token after it,
on repeated random tokens; its mass on the answers of each job; its role; and what ablating it costs.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import FloatArray, IntArray
from mha_core.display_names import Head, head_name
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.questions.repeated import AFTER, peaks_at
from mha_core.heads.verdict import Evidence, judge
from mha_core.training.attention_only import AttentionOnlyModel, gates_without
from mha_core.training.tasks import STRETCH, TEXT, Task
from mha_core.training.train import evaluate_model, held_out
from mha_core.training.trainer import random_for

TEXTS_PER_LENGTH = 4
MEASURES = ("previous", "first", *AFTER)
NAMED_BY = ("previous", "induction")  # the roles that such texts can show


@cache
def _repeated_twice(vocab_size: int, first: int, n_tokens: int) -> tuple[Tensor, ...]:
    """Draw stretches of many lengths, so that no fixed distance leads to the copy; no token twice in a stretch."""
    random = random_for("said twice", 0)
    low, high = STRETCH
    lengths = [n for n in range(low, min(high, n_tokens // 2) + 1) for _ in range(TEXTS_PER_LENGTH)]
    stretches = (first + torch.randperm(vocab_size - first, generator=random)[:n] for n in lengths)
    return tuple(torch.cat([stretch, stretch]) for stretch in stretches)


def texts_for(task: Task) -> tuple[Tensor, ...]:
    """Return the texts, ids (n,), on which MEASURES are taken, without the tokens that name a job."""
    return _repeated_twice(task.vocab_size, len(task.groups) if len(task.groups) > 1 else 0, task.n_tokens)


def _weights(model: AttentionOnlyModel, task: Task, without: Sequence[Head] = ()) -> Iterator[FloatArray]:
    """Yield every text's weights, (layer, head, query, key)."""
    gates = gates_without(model.config, without)
    for ids in texts_for(task):
        yield model(ids[None], gates=gates).weights[:, 0].numpy()


def _rows_and_keys(n: int) -> dict[str, tuple[IntArray, IntArray]]:
    """Return the rows of a text of n tokens that each of MEASURES is taken on, and the key of each row."""
    rows, copy = np.arange(1, n), np.arange(n // 2, n)
    places: dict[str, tuple[IntArray, IntArray]]
    places = {"previous": (rows, rows - 1), "first": (rows, np.zeros_like(rows))}
    return places | {name: (copy, copy - n // 2 + after) for name, after in AFTER.items()}


@torch.no_grad()
def mean_masses(model: AttentionOnlyModel, task: Task, without: Sequence[Head] = ()) -> dict[str, FloatArray]:
    """Return each of MEASURES, (layer, head): mean mass over rows and texts, with the heads `without` ablated."""
    masses: dict[str, list[FloatArray]] = {name: [] for name in MEASURES}
    for weights in _weights(model, task, without):
        for name, (rows, keys) in _rows_and_keys(weights.shape[-1]).items():
            masses[name].append(weights[..., rows, keys].mean(-1, dtype=np.float64))
    return {name: np.mean(values, axis=0) for name, values in masses.items()}


def head_rows(model: AttentionOnlyModel, task: Task) -> list[dict[str, Any]]:
    """Return a row a head: `head`, `layer` and `number` from 1, MEASURES, masses on the answers of `jobs`, `role`."""
    masses, roles, jobs = mean_masses(model, task), _roles(model, task), _answer_masses(model, task)
    return [
        {"head": head_name((i, j)), "layer": i + 1, "number": j + 1}
        | {name: float(mass[i, j]) for name, mass in masses.items()}
        | ({"jobs": {job: float(mass[i, j]) for job, mass in jobs.items()}} if jobs else {})
        | {"role": roles[i, j]}
        for i, j in roles
    ]


@torch.no_grad()
def _answer_masses(model: AttentionOnlyModel, task: Task) -> dict[str, FloatArray]:
    """Return for each job the mean mass on the keys that hold the answers, (layer, head)."""
    if not task.answer_keys:
        return {}
    batch, rows = held_out(task.name), torch.arange(TEXT, 2 * TEXT)
    weights = model(batch.ids[:, :-1]).weights.transpose(0, 1)  # (text, layer, head, query, key)
    return {
        job: weights[batch.groups == i][..., rows, keys].double().mean((0, -1)).numpy()
        for i, (job, keys) in enumerate(task.answer_keys.items())
    }


@torch.no_grad()
def _roles(model: AttentionOnlyModel, task: Task) -> dict[Head, str | None]:
    """Return every head's role by heads/verdict.py: the first of NAMED_BY that it has, or None."""
    texts = [weights.reshape(-1, *weights.shape[2:]) for weights in _weights(model, task)]
    roles: dict[Head, str | None] = dict.fromkeys(np.ndindex(model.config.n_layers, model.config.n_heads))
    n_comparisons = len(roles) * len(NAMED_BY)
    for kind in reversed(NAMED_BY):
        peaks = [peaks_at(weights, *_rows_and_keys(weights.shape[-1])[kind]) for weights in texts]
        right, mass = (np.concatenate(rows) for rows in zip(*peaks, strict=True))  # (row, head)
        for head, score, share in zip(roles, right.mean(0), mass.mean(0), strict=True):
            n, baseline = len(right), _baselines(task)[kind]
            if judge(Evidence(kind, float(score), n, n, baseline, n_comparisons, float(share))) == "role":
                roles[head] = KIND_OF[kind].name
    return roles


def _baselines(task: Task) -> dict[str, tuple[str, float]]:
    """Return for each of NAMED_BY the baseline's name and its share of right answers in the texts."""
    lengths = [len(ids) for ids in texts_for(task)]
    uniform = np.concatenate([1 / np.arange(2, n + 1) for n in lengths])
    rows_by_distance = np.bincount([n // 2 - 1 for n in lengths], weights=[n // 2 for n in lengths])
    return {
        "previous": ("looking everywhere alike", float(uniform.mean())),
        "induction": ("always one distance", float(rows_by_distance.max() / rows_by_distance.sum())),
    }


def ablated(model: AttentionOnlyModel, task: Task, heads: Sequence[Head]) -> dict[str, Any]:
    """Return `accuracy`, that of each of `jobs`, and all heads' `induction` mass, with these heads ablated.

    Raises InputError for a head that the model does not have.
    """
    _, jobs = evaluate_model(model, task, heads)
    left = mean_masses(model, task, heads)["induction"]
    masses = {head_name((i, j)): float(mass) for (i, j), mass in np.ndenumerate(left)}
    return {"accuracy": sum(jobs.values()) / len(jobs), "jobs": jobs, "induction": masses}


def ablation_rows(model: AttentionOnlyModel, task: Task, accuracy: float) -> list[dict[str, Any]]:
    """Return a row a head, ablated alone: accuracy, `cost` against the model's `accuracy`, and accuracy of each job;
    or, with one job, the induction mass left in the other heads."""
    rows = []
    for head in np.ndindex(model.config.n_layers, model.config.n_heads):
        left, name = ablated(model, task, [head]), head_name(head)
        row = {"head": name, "accuracy": left["accuracy"], "cost": accuracy - left["accuracy"]}
        others = {other: mass for other, mass in left["induction"].items() if other != name}
        rows.append(row | ({"jobs": left["jobs"]} if len(task.groups) > 1 else {"induction_left": others}))
    return rows
