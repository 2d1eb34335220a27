"""Counts of a question's cases: sums by document, in whole numbers, so that parts add up to the very same sums.

Every sum counts steps of 2^-24: adding whole numbers gives the same bits in any order and any grouping. Documents are
known by a digest of what tells them apart. Where they are more than `most` they are gathered into groups by the first
bits of their digests, as few bits less as that takes: groups drawn at random stand for documents in intervals.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mha_core.arrays import FloatArray, IntArray
from mha_core.heads.cases import ScoredCases
from mha_core.heads.questions.base import POSITIONAL_KINDS, Question
from mha_core.heads.verdict import MIN_CASES, min_errors

STEP = 1 << 24
# A relation has eighty questions beside it, each with sums of every head for every document; pronouns have four.
MAX_DOCUMENTS = {"coreference": 4096}
MAX_DOCUMENTS_ELSE = 1024


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Sums by key: `columns` by name (key, ...), in steps. `shift`: so many last bits the keys have lost, that there
    are no more than `most`."""

    keys: npt.NDArray[np.uint64]
    columns: Mapping[str, IntArray]
    shift: int = 0
    most: int = MAX_DOCUMENTS_ELSE

    @classmethod
    def of(
        cls, keys: npt.ArrayLike, columns: Mapping[str, FloatArray], most: int = MAX_DOCUMENTS_ELSE
    ) -> "ClusterSums":
        """Sum columns (row, ...) by the key of each row."""
        steps = {name: np.rint(values * float(STEP)).astype(np.int64) for name, values in columns.items()}
        return cls(np.asarray(keys).astype(np.uint64), steps, 0, most)._gathered(0)

    def __add__(self, other: "ClusterSums") -> "ClusterSums":
        shift = max(self.shift, other.shift)
        keys = [sums.keys >> np.uint64(shift - sums.shift) for sums in (self, other)]
        columns = {name: np.concatenate([self.columns[name], other.columns[name]]) for name in self.columns}
        return ClusterSums(np.concatenate(keys), columns, shift, self.most)._gathered(0)

    def __getitem__(self, name: str) -> FloatArray:
        values: FloatArray = self.columns[name] / float(STEP)
        return values

    def __len__(self) -> int:
        return len(self.keys)

    def _gathered(self, more: int) -> "ClusterSums":
        """Return one row a key, and no more than `most`."""
        keys = self.keys >> np.uint64(more)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=~keys[order][:1]))
        if len(first) > self.most:
            return self._gathered(more + 1)
        columns = {
            name: np.add.reduceat(values[order], first) if len(first) else values
            for name, values in self.columns.items()
        }
        return ClusterSums(keys[order][first], columns, self.shift + more, self.most)


@dataclass(frozen=True)
class BaselineInfo:
    """A baseline without its cases. `answers`: it has an answer of its own; `middle`: it is the middle head."""

    name: str
    does: str
    by_place: bool
    answers: bool
    middle: bool


@dataclass(frozen=True, eq=False)
class QuestionCounts:
    """All cases of one question, added up by document, by the distance of the right answer (`steps`), and in all.

    Of documents: `n` and `right` by half, what each baseline `hits`, right minus `control` in so many `controlled`,
    right minus each baseline's answer where that is wrong (`lead`, in `lead_n`), right where all baselines are wrong
    (`hard`, in `hard_n`). `whole` has the sums of all cases, those of `others` by their names.
    """

    question: Question
    baselines: tuple[BaselineInfo, ...]
    others: tuple[str, ...]
    has_mass: bool
    binary: bool
    documents: ClusterSums
    steps: ClusterSums
    whole: ClusterSums

    def __add__(self, other: "QuestionCounts") -> "QuestionCounts":
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("documents", "steps", "whole")}
        return replace(self, **sums)

    @property
    def is_answerable(self) -> bool:
        """True where both halves have a case."""
        return bool(self.documents["n"].sum(0).all())

    def is_decidable(self, n_comparisons: int) -> bool:
        """Return whether a perfect head could be told from every baseline, were n enough.

        Where a baseline leaves too few errors, no head could.
        """
        n = self.documents["n"].sum()
        n_errors = n - self.documents["hits"].sum(0).max(initial=0)
        return bool(n_errors >= min_errors(n_comparisons) or n < MIN_CASES)


def count_cases(cases: ScoredCases) -> QuestionCounts:
    """Add up the cases of a question."""
    rows, n_heads = cases.right.shape
    size, baselines = cases.size[:, None], cases.baselines
    right, nothing = cases.right.astype(np.float64), np.full((rows, n_heads), np.nan)
    hits = (
        np.array([np.zeros(rows) if each.hits is None else each.hits for each in baselines])
        .reshape(-1, rows)
        .T
    )
    same = np.array([nothing if each.same is None else each.same for each in baselines])
    same = same.reshape(-1, rows, n_heads).transpose(1, 0, 2)
    has_answer = np.array([each.same is not None for each in baselines], dtype=bool)
    wrong = (hits == 0) & has_answer
    known = wrong & np.isfinite(same).any(-1)
    hard = np.all(wrong | ~has_answer, axis=1) & wrong.any(1)
    if cases.chance is None or cases.question.kind in POSITIONAL_KINDS:
        hard = np.zeros(rows, dtype=bool)
    # A control of other cases than these is compared as a whole alone.
    control = nothing if cases.control is None or len(cases.control) != rows else cases.control
    controlled = np.isfinite(control[:, 0])
    halves = np.stack([~cases.second_half, cases.second_half], 1)
    documents = {
        "n": size * halves,
        "right": (size * right)[:, None] * halves[..., None],
        "hits": size * hits,
        "control": np.where(controlled[:, None], right - control, 0),
        "controlled": controlled.astype(float),
        "lead": np.where(known[..., None], right[:, None] - np.nan_to_num(same), 0),
        "lead_n": known.astype(float),
        "hard": right * hard[:, None],
        "hard_n": hard.astype(float),
    }
    whole = {
        **_sum_and_number("control", control if cases.control is None else cases.control),
        **_sum_and_number("same", same),
        **_sum_and_number("wrong_same", np.where(wrong[..., None], same, np.nan)),
        "wrong_right": (right[:, None] * wrong[..., None]).sum(0),
        "wrong": wrong.sum(0).astype(float),
        "mass": np.zeros(n_heads) if cases.mass is None else cases.mass * cases.n,
        "chance": np.array(0.0 if cases.chance is None else float(cases.chance[hard].sum())),
    }
    for name, values in cases.others.items():
        whole |= _sum_and_number(name, values)
    return QuestionCounts(
        cases.question,
        tuple(
            BaselineInfo(each.name, each.does, each.by_place, each.same is not None, each.hits is None)
            for each in baselines
        ),
        tuple(cases.others),
        cases.mass is not None,
        cases.binary,
        ClusterSums.of(
            cases.documents, documents, MAX_DOCUMENTS.get(cases.question.kind, MAX_DOCUMENTS_ELSE)
        ),
        _step_counts(cases, hard),
        ClusterSums.of(np.zeros(1), {name: np.asarray(values)[None] for name, values in whole.items()}),
    )


def _sum_and_number(name: str, values: FloatArray) -> dict[str, FloatArray]:
    """Return the sum of the cases that have a value, (case, ...) → (...), and how many they are."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(0, dtype=np.float64)
    return {name: total, f"{name}_n": known.sum(0).astype(float)}


def _step_counts(cases: ScoredCases, hard: npt.NDArray[np.bool_]) -> ClusterSums:
    """Count how far the right answers stand where all baselines are wrong, and how far every head looks there."""
    n_heads = cases.right.shape[1]
    if cases.steps is None:
        return ClusterSums.of(np.zeros(0), {"answers": np.zeros(0), "looks": np.zeros((0, n_heads))})
    answers, looks = (steps[hard].astype(np.int64) for steps in cases.steps)
    keys = np.unique(np.concatenate([answers, looks.ravel()]))
    counts = np.stack([(looks == key).sum(0) for key in keys]) if len(keys) else np.zeros((0, n_heads))
    answer_counts = np.array([(answers == key).sum() for key in keys], dtype=float)
    return ClusterSums.of(keys.astype(np.uint64), {"answers": answer_counts, "looks": counts.astype(float)})
