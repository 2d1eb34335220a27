"""Counts of a question's cases: sums by document, in whole numbers, so that parts add up to the very same sums.

Every sum counts steps of 2^-24: adding whole numbers gives the same bits in any order and any grouping. Documents are
known by a digest of what tells them apart. Where they are more than `most` they are gathered into groups by the first
bits of their digests, as few bits less as that takes: groups drawn at random stand for documents in intervals.
"""

import shutil
import weakref
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import add
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import numpy.typing as npt

from mha_core import npz
from mha_core.arrays import FloatArray, IntArray
from mha_core.heads.cases import ScoredCases
from mha_core.heads.questions.base import POSITIONAL_KINDS, Question
from mha_core.heads.verdict import MIN_CASES, min_errors

STEP = 1 << 24
# A relation has eighty questions beside it, each with sums of every head for every document; pronouns have four.
MAX_DOCUMENTS = {"coreference": 4096}
MAX_DOCUMENTS_ELSE = 1024
SUMS = ("documents", "steps", "whole")
N_BUCKETS = 16  # of questions in a file
Key = tuple[str, str]  # a corpus, and a question or a set of them


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Sums by key, in steps: `table` (key, column) has columns of these `shapes` by name, side by side.

    `shift`: so many last bits the keys have lost, that there are no more than `most`.
    """

    keys: npt.NDArray[np.uint64]
    table: IntArray
    shapes: Mapping[str, tuple[int, ...]]
    shift: int = 0
    most: int = MAX_DOCUMENTS_ELSE

    @classmethod
    def of(
        cls, keys: npt.ArrayLike, columns: Mapping[str, FloatArray], most: int = MAX_DOCUMENTS_ELSE
    ) -> "ClusterSums":
        """Sum columns (row, ...) by the key of each row."""
        shapes = {name: values.shape[1:] for name, values in columns.items()}
        flat = [values.reshape(len(values), prod(shapes[name])) for name, values in columns.items()]
        table = _in_steps(np.concatenate(flat, axis=1)).astype(np.int64)
        every = np.asarray(keys).astype(np.uint64)
        order = np.argsort(every, kind="stable")
        return cls(every[order], table[order], shapes, 0, most)._gathered(0)

    def __add__(self, other: "ClusterSums") -> "ClusterSums":
        shift = max(self.shift, other.shift)
        both = [sums._at(shift) for sums in (self, other)]
        keys = np.union1d(both[0].keys, both[1].keys)
        table = np.zeros((len(keys), self.table.shape[1]), self.table.dtype)
        for sums in both:
            table[np.searchsorted(keys, sums.keys)] += sums.table
        total = replace(both[0], keys=keys, table=table)
        return total._gathered(1) if len(total) > self.most else total

    def __getitem__(self, name: str) -> FloatArray:
        start = 0
        for column, shape in self.shapes.items():
            if column == name:
                values = self.table[:, start : start + prod(shape)].reshape(len(self), *shape)
                return values / float(STEP)
            start += prod(shape)
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self.keys)

    def _at(self, shift: int) -> "ClusterSums":
        """Return them with keys that have lost so many bits."""
        return self if shift == self.shift else self._gathered(shift - self.shift)

    def _gathered(self, more: int) -> "ClusterSums":
        """Return one row a key, with so many bits of the keys less, or more where they would be more than `most`."""
        keys, first = np.unique(self.keys >> np.uint64(more), return_index=True)
        if len(keys) > self.most:
            return self._gathered(more + 1)
        table = np.add.reduceat(self.table, first) if len(first) else self.table
        return replace(self, keys=keys, table=table, shift=self.shift + more)


def _in_steps(values: FloatArray) -> FloatArray:
    """Return values as whole numbers of steps, whose sums are exact in any order."""
    steps: FloatArray = np.rint(values * float(STEP))
    return steps


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
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        return replace(self, **sums)

    @property
    def key(self) -> Key:
        """The corpus and the question."""
        return self.question.corpus, self.question.key

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
        "wrong_right": _in_steps(right[:, None] * wrong[..., None]).sum(0) / STEP,
        "wrong": wrong.sum(0).astype(float),
        "mass": np.zeros(n_heads) if cases.mass is None else cases.mass * cases.n,
        "chance": np.array(0.0 if cases.chance is None else _in_steps(cases.chance[hard]).sum() / STEP),
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
    total = _in_steps(np.where(known, values, 0).astype(np.float64)).sum(0) / STEP
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


def added_up(
    counted: Mapping[Key, QuestionCounts], more: Iterable[QuestionCounts]
) -> dict[Key, QuestionCounts]:
    """Return counts with more added to those of the same corpus and question."""
    total = dict(counted)
    for counts in more:
        total[counts.key] = total[counts.key] + counts if counts.key in total else counts
    return total


@dataclass(frozen=True, eq=False)
class Bucket:
    """Counts of some questions, as a file holds them."""

    counts: tuple[QuestionCounts, ...]


def in_buckets(every: Iterable[QuestionCounts]) -> dict[int, Bucket]:
    """Return counts by the number of their bucket, the same for a question in every file."""
    buckets = defaultdict[int, list[QuestionCounts]](list)
    for counts in every:
        buckets[zlib.crc32("-".join(counts.key).encode()) % N_BUCKETS].append(counts)
    return {number: Bucket(tuple(buckets[number])) for number in sorted(buckets)}


class SpooledCounts(Mapping[Key, QuestionCounts]):
    """Counts of files, added up a bucket at a time and read from a temporary folder one question at a time, so that
    memory goes by the largest bucket of questions, whatever the number of files.

    `files`: zip archives with a member `name`-00, ... for each bucket.
    """

    def __init__(self, files: Sequence[Path], name: str) -> None:
        folder = mkdtemp(prefix="headscope-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.paths = dict[Key, Path]()
        for number in range(N_BUCKETS):
            self.paths |= _spool(files, folder, f"{name}-{number:02}")

    def __getitem__(self, key: Key) -> QuestionCounts:
        return npz.from_bytes(QuestionCounts, self.paths[key].read_bytes())

    def __iter__(self) -> Iterator[Key]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def _spool(files: Sequence[Path], folder: str, name: str) -> dict[Key, Path]:
    """Add up one bucket of all files, and write each question's counts into a folder.

    Sums of about the same size are added, so that the large ones are copied rarely.
    """
    stacks = defaultdict[Key, list[QuestionCounts]](list)
    for file in files:
        with zipfile.ZipFile(file) as archive:
            every = npz.from_bytes(Bucket, archive.read(name)).counts if name in archive.NameToInfo else ()
        for counts in every:
            stack = stacks[counts.key]
            while stack and len(stack[-1].documents) <= len(counts.documents):
                counts = stack.pop() + counts  # noqa: PLW2901 - grows
            stack.append(counts)
    paths = {key: Path(folder) / f"{name}-{i}" for i, key in enumerate(stacks)}
    for key, path in paths.items():
        path.write_bytes(npz.to_bytes(reduce(add, reversed(stacks.pop(key)))))
    return paths
