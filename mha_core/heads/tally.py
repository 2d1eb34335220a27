"""What is kept of a question's cases: sums by document, in whole numbers, so that parts add up to the very same sums.

Every sum counts steps of 2^-24: adding whole numbers gives the same bits in any order and any grouping. Documents are
known by a digest of what tells them apart. Where they are more than MOST_DOCUMENTS they are gathered into groups by the
first bits of their digests, as few bits less as that takes: groups drawn at random stand for documents in intervals.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mha_core.heads.questions.base import BY_PLACE, Measured, Question
from mha_core.heads.words import FloatArray, IntArray

STEP = 1 << 24
# A relation has eighty questions beside it, each with sums of every head for every document; pronouns have four.
MOST_DOCUMENTS = {"coreference": 4096}
MOST_OTHERS = 1024


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums by key: `columns` by name (key, ...), in steps. `shift`: so many last bits the keys have lost, that there
    are no more than `most`."""

    keys: npt.NDArray[np.uint64]
    columns: Mapping[str, IntArray]
    shift: int = 0
    most: int = MOST_OTHERS

    @classmethod
    def of(cls, keys: npt.ArrayLike, columns: Mapping[str, FloatArray], most: int = MOST_OTHERS) -> "Sums":
        """Sum columns (row, ...) by the key of each row."""
        steps = {name: np.rint(values * float(STEP)).astype(np.int64) for name, values in columns.items()}
        return cls(np.asarray(keys).astype(np.uint64), steps, 0, most)._gathered(0)

    def __add__(self, other: "Sums") -> "Sums":
        shift = max(self.shift, other.shift)
        keys = [one.keys >> np.uint64(shift - one.shift) for one in (self, other)]
        columns = {name: np.concatenate([self.columns[name], other.columns[name]]) for name in self.columns}
        return Sums(np.concatenate(keys), columns, shift, self.most)._gathered(0)

    def __getitem__(self, name: str) -> FloatArray:
        values: FloatArray = self.columns[name] / float(STEP)
        return values

    def __len__(self) -> int:
        return len(self.keys)

    def _gathered(self, more: int) -> "Sums":
        """One row a key, and no more than `most`."""
        keys = self.keys >> np.uint64(more)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=~keys[order][:1]))
        if len(first) > self.most:
            return self._gathered(more + 1)
        columns = {
            name: np.add.reduceat(values[order], first) if len(first) else values
            for name, values in self.columns.items()
        }
        return Sums(keys[order][first], columns, self.shift + more, self.most)


@dataclass(frozen=True)
class TalliedRule:
    """A baseline without its cases. `answers`: it has an answer of its own; `middle`: it is the middle head."""

    name: str
    does: str
    by_place: bool
    answers: bool
    middle: bool


@dataclass(frozen=True, eq=False)
class Tally:
    """All cases of one question, added up by document, by the distance of the right answer (`steps`), and in all.

    Of documents: `n` and `right` by half, what each rule `hits`, right minus `control` in so many `controlled`, right
    minus each rule's answer where that is wrong (`rather`, in `rather_n`), right where all rules are wrong (`hard`, in
    `hard_n`). The names in `others` are those of columns of `whole`.
    """

    question: Question
    rules: tuple[TalliedRule, ...]
    others: tuple[str, ...]
    has_mass: bool
    binary: bool
    documents: Sums
    steps: Sums
    whole: Sums

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.question,
            self.rules,
            self.others,
            self.has_mass,
            self.binary,
            self.documents + other.documents,
            self.steps + other.steps,
            self.whole + other.whole,
        )

    @property
    def in_halves(self) -> bool:
        """Whether both halves have a case."""
        return bool(self.documents["n"].sum(0).all())


def tally(found: Measured) -> Tally:
    """Add up the cases of a question."""
    rows, n_heads = found.right.shape
    size, rules = found.size[:, None], found.baselines
    right, nothing = found.right.astype(np.float64), np.full((rows, n_heads), np.nan)
    hits = np.array([np.zeros(rows) if one.hits is None else one.hits for one in rules]).reshape(-1, rows).T
    same = np.array([nothing if one.same is None else one.same for one in rules])
    same = same.reshape(-1, rows, n_heads).transpose(1, 0, 2)
    wrong = (hits == 0) & np.array([one.same is not None for one in rules], dtype=bool)
    known = wrong & np.isfinite(same).any(-1)
    hard = np.all(wrong | np.array([one.same is None for one in rules], dtype=bool), axis=1) & wrong.any(1)
    if found.chance is None or found.question.kind in BY_PLACE:
        hard = np.zeros(rows, dtype=bool)
    control, paired = nothing if found.control is None else found.control, True
    if len(control) != rows:
        control, paired = nothing, False
    there = np.isfinite(control[:, 0])
    halves = np.stack([~found.second_half, found.second_half], 1)
    documents = {
        "n": size * halves,
        "right": (size * right)[:, None] * halves[..., None],
        "hits": size * hits,
        "control": np.where(there[:, None], right - control, 0),
        "controlled": there.astype(float),
        "rather": np.where(known[..., None], right[:, None] - np.nan_to_num(same), 0),
        "rather_n": known.astype(float),
        "hard": right * hard[:, None],
        "hard_n": hard.astype(float),
    }
    kept = control if paired or found.control is None else found.control
    whole = {
        **_known("control", kept),
        **_known("same", same),
        **_known("wrong_same", np.where(wrong[..., None], same, np.nan)),
        "wrong_right": (right[:, None] * wrong[..., None]).sum(0),
        "wrong": wrong.sum(0).astype(float),
        "mass": np.zeros(n_heads) if found.mass is None else found.mass * found.n,
        "chance": np.array(0.0 if found.chance is None else float(found.chance[hard].sum())),
    }
    for name, values in found.others.items():
        whole |= _known(name, values)
    return Tally(
        found.question,
        tuple(
            TalliedRule(one.name, one.does, one.by_place, one.same is not None, one.hits is None)
            for one in rules
        ),
        tuple(found.others),
        found.mass is not None,
        found.binary,
        Sums.of(found.clusters, documents, MOST_DOCUMENTS.get(found.question.kind, MOST_OTHERS)),
        _steps(found, hard),
        Sums.of(np.zeros(1), {name: np.asarray(values)[None] for name, values in whole.items()}),
    )


def _known(name: str, values: FloatArray) -> dict[str, Any]:
    """The sum of the cases that have a value, (case, ...) → (...), and how many they are."""
    there = np.isfinite(values)
    return {
        name: np.where(there, values, 0).sum(0, dtype=np.float64),
        f"{name}_n": there.sum(0).astype(float),
    }


def _steps(found: Measured, hard: npt.NDArray[np.bool_]) -> Sums:
    """How far the right answers stand where all rules are wrong, and how far every head looks there."""
    n_heads = found.right.shape[1]
    if found.steps is None:
        return Sums.of(np.zeros(0), {"answers": np.zeros(0), "looks": np.zeros((0, n_heads))})
    answers, looks = (steps[hard].astype(np.int64) for steps in found.steps)
    keys = np.unique(np.concatenate([answers, looks.ravel()]))
    counts = np.stack([(looks == key).sum(0) for key in keys]) if len(keys) else np.zeros((0, n_heads))
    told = np.array([(answers == key).sum() for key in keys], dtype=float)
    return Sums.of(keys.astype(np.uint64), {"answers": told, "looks": counts.astype(float)})
