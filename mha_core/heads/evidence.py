"""The built-in sentences as cases, one for each thing a head could look at: which head does which job, and
where?

In: weights (layer, head, query, key) of one sentence at a time, and its gold spans. Out: for every job a `JobTable`:
the share of cases each head gets right, its Wilson interval, the baseline it must beat, and the cases themselves.

A case is a sentence: rows of one sentence are not independent, so they do not add to n (scoring.py says what is
right in a case, verdict.py who is a specialist). Of random tokens said twice (repeated.py) every token said again
is a case, for they are independent.
"""

from dataclasses import dataclass, field

import numpy as np

from mha_core.heads.builtin import SEMANTIC, SPLIT
from mha_core.heads.intervals import wilson
from mha_core.heads.job_table import JobTable
from mha_core.heads.jobs import CHOICES, STEPS, Job, jobs_of
from mha_core.heads.positions import DISTANCES
from mha_core.heads.repeated import AFTER, IN_ORDER, copies, found_in
from mha_core.heads.samples import Sample
from mha_core.heads.scoring import Scored, score_case
from mha_core.heads.verdict import tries
from mha_core.heads.verdicts.halves import effective
from mha_core.heads.words import FloatArray, IntArray


@dataclass
class _Log:
    cases: list[Sample] = field(default_factory=list)
    right: list[FloatArray] = field(default_factory=list)
    mass: list[FloatArray] = field(default_factory=list)
    rows: list[IntArray] = field(default_factory=list)
    control: list[FloatArray] = field(default_factory=list)
    chance: list[float] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    rests: list[FloatArray] = field(default_factory=list)

    def keep(self, item: Sample, found: Scored) -> None:
        """One case more."""
        self.cases.append(item)
        self.right.append(found.right)
        self.mass.append(found.mass)
        self.rows.append(found.rows if found.rows is not None else np.zeros((2, len(found.right)), np.int16))
        self.chance.append(found.chance)
        self.control += [] if found.control is None else [found.control]
        self.offsets += [] if found.offset is None else [found.offset]
        self.rests += [] if found.rests is None else [found.rests]

    def keep_repeated(self, flat: FloatArray, item: Sample, after: int, is_causal: bool) -> None:
        """Every token that is said again is a case; in a twin it tells of the control and of fixed distances."""
        where = copies(item)
        if item.sentence.role != IN_ORDER:
            self.control += list(found_in(flat, where.rows, where.as_far + after)[0])
            self.offsets += (where.first + after - where.rows).tolist()
            return
        right, mass = found_in(flat, where.rows, where.first + after)
        for row, is_right, weight in zip(where.rows.tolist(), right, mass, strict=True):
            rows = np.full((2, len(is_right)), row, np.int16)
            chance = 1 / (row + 1 if is_causal else flat.shape[-1])
            self.keep(item, Scored(is_right, weight, chance, rows=rows))


class EvidenceLog:
    """Remembers every case: right or wrong for each head, and the mass on the target. For some hundred
    sentences.
    """

    def __init__(self, n_layers: int, n_heads: int, is_causal: bool = False) -> None:
        self.shape = (n_layers, n_heads)
        self.is_causal = is_causal
        self.asked = jobs_of(is_causal)
        self.logs = {job.name: _Log() for job in self.asked}

    def add(self, weights: FloatArray, item: Sample) -> None:
        """Count one sentence for every job it has cases of; weights (layer, head, query, key) over its
        pieces.
        """
        flat = weights.reshape(-1, *weights.shape[-2:])
        if item.said_twice:
            for name, after in AFTER.items():
                self.logs[name].keep_repeated(flat, item, after, self.is_causal)
            return
        related = item.sentence.role == SEMANTIC
        for job in self.asked:
            if related != (job.kind == SEMANTIC):
                continue
            found = score_case(flat, item, job, self.is_causal)
            if found is not None and job.kind == "rare" and item.sentence.kind == SPLIT:
                self.logs[job.name].control.append(found.right)
            elif found is not None:
                self.logs[job.name].keep(item, found)

    def result(self) -> dict[str, JobTable]:
        """A table for every job that has cases, by the job's name."""
        return {job.name: self._table(job) for job in self.asked if self.logs[job.name].cases}

    def _table(self, job: Job) -> JobTable:
        log, n = self.logs[job.name], len(self.logs[job.name].cases)
        right = np.array(log.right, dtype=np.float32).reshape(n, *self.shape)
        score = right.mean(0, dtype=np.float64)
        worth = _independent(job, log, right)
        low, high = wilson(score * worth, worth)
        baseline, name = _baseline(job, log, score)
        mass = np.array(log.mass, dtype=np.float32).reshape(n, *self.shape)
        rows = np.array(log.rows, dtype=np.int16).reshape(n, 2, *self.shape)
        control = np.array(log.control).mean(0).reshape(self.shape) if log.control else None
        rests = np.array(log.rests).mean(0).reshape(-1, *self.shape) if log.rests else None
        return JobTable(
            job,
            tuple(log.cases),
            right,
            mass,
            rows,
            score,
            low,
            high,
            self._tried(),
            baseline,
            name,
            control,
            rests,
            worth,
        )

    def _tried(self) -> int:
        """The attempts: every head at each job that has cases, and at each distance that has no job of its own."""
        there = sum(bool(log.cases) for log in self.logs.values())
        return tries(self.shape[0] * self.shape[1], there + len(DISTANCES) - len(STEPS))


def _independent(job: Job, log: _Log, right: FloatArray) -> FloatArray:
    """How many independent cases there are, as good as, (layer, head): twins are one cluster. Tokens of random texts
    were drawn one by one.
    """
    if job.repeated:
        return np.full(right.shape[1:], float(len(right)))
    clusters = np.unique([case.family for case in log.cases], return_inverse=True)[1]
    return effective(right, clusters)


def _baseline(job: Job, log: _Log, score: FloatArray) -> tuple[float, str]:
    """The best lazy rule there is for the job, and its name."""
    if job.kind in CHOICES:
        known = np.array([case.choice.baselines for case in log.cases if case.choice is not None])
        nearest, first = (float(share) for share in known[:, :2].mean(0))
        rules = [(0.5, "a coin"), (nearest, "the nearest candidate"), (first, "the first candidate")]
        return max([*rules, (1 - first, "the last candidate")], key=lambda rule: rule[0])
    if job.kind == "broad":
        return float(np.median(score)), "the middle head"
    chance = (float(np.mean(log.chance)), "a blind choice")
    if not log.offsets:
        return chance
    offset, hits = max(((o, log.offsets.count(o)) for o in set(log.offsets)), key=lambda pair: pair[1])
    return max(chance, (hits / len(log.offsets), _always(offset, "token" if job.repeated else "word")))


def _always(offset: int, word: str) -> str:
    words = word if abs(offset) == 1 else f"{word}s"
    return f"always {abs(offset)} {words} {'on' if offset > 0 else 'back'}"
