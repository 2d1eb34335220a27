"""The frame of every question: what heads did in texts, the cases in it, and all cases of a question, scored.

A `Frame` has what is collected of texts, in arrays that concatenate. A `Case` is a unit of a text (a word, a pronoun)
that is given, the unit that is the right answer, and those that may be chosen: all that a baseline may see.
`ScoredCases` say what every head and every baseline gets right in each case of one question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mha_core.arrays import FloatArray, IntArray
from mha_core.heads.cluster_stats import digests_of, half_of
from mha_core.heads.corpora import LinkedText, PronounCase, Sentence
from mha_core.heads.questions.base import Question
from mha_core.heads.word_weights import BoolArray

TIE = -1  # what a head looks at that prefers none of the candidates
Columns = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a text that baselines see: each one's form, part of speech, and first and last place in the text.

    `noun` is what they are called ("word", "name"). Places are words, or characters where the text is not split.
    """

    source: Sentence | PronounCase
    noun: str
    words: Sequence[str]
    tags: Sequence[str]
    start: Sequence[int]
    end: Sequence[int]

    def distance(self, unit: int, other: int) -> int:
        """Return how many places lie between two units; 0 for neighbouring characters or the same word."""
        return max(self.start[unit] - self.end[other], self.start[other] - self.end[unit])


class Case(NamedTuple):
    """One case: the unit that is given, the right answer, and the candidates, as indices of `units`.

    `text` and `row` are its text and its row in a Frame.
    """

    units: Units
    query: int
    answer: int
    candidates: Sequence[int]
    text: int = 0
    row: int = 0


@dataclass(frozen=True, eq=False)
class Frame:
    """What heads did in texts, a row a unit.

    `documents` and `halves` (text,): the digest of each text's document, and whether it is in the second half; `text`
    (row,): the text of each row; `columns` (row, ...) by name. `texts` are empty where no case needs them.
    """

    texts: tuple[Sentence | LinkedText | PronounCase, ...]
    documents: npt.NDArray[np.uint64]
    halves: BoolArray
    text: IntArray
    columns: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def rows(self) -> list[slice]:
        """The rows of each text."""
        ends = np.searchsorted(self.text, np.arange(len(self) + 1)).tolist()
        return [slice(*ends[i : i + 2]) for i in range(len(self))]


def frame_of(
    sources: Sequence[tuple[str, str]], texts: Sequence[Sentence | PronounCase], rows: Sequence[Columns]
) -> Frame:
    """Return the frame of texts: (document, what decides the half) of each, and its rows."""
    sizes = [len(next(iter(columns.values()))) for columns in rows]
    return Frame(
        tuple(texts),
        digests_of(document for document, _ in sources),
        np.array([half_of(half) for _, half in sources], dtype=bool),
        np.repeat(np.arange(len(rows)), sizes),
        {name: np.concatenate([columns[name] for columns in rows]) for name in (rows[0] if rows else ())},
    )


def joined(frames: Sequence[Frame]) -> Frame:
    """Return frames one after the other; of one, itself."""
    if len(frames) == 1:
        return frames[0]
    starts = np.cumsum([0, *map(len, frames)])
    return Frame(
        tuple(text for frame in frames for text in frame.texts),
        np.concatenate([frame.documents for frame in frames]),
        np.concatenate([frame.halves for frame in frames]),
        np.concatenate([frame.text + start for frame, start in zip(frames, starts, strict=False)]),
        {name: np.concatenate([frame.columns[name] for frame in frames]) for name in frames[0].columns},
    )


def without_heads(frame: Frame, chosen: BoolArray) -> Frame:
    """Return the chosen texts (text,) of a frame, with the columns (row,) alone: all that cases follow from."""
    rows = chosen[frame.text]
    return Frame(
        tuple(text for text, is_chosen in zip(frame.texts, chosen.tolist(), strict=True) if is_chosen),
        frame.documents[chosen],
        frame.halves[chosen],
        (np.cumsum(chosen) - 1)[frame.text[rows]],
        {name: column[rows] for name, column in frame.columns.items() if column.ndim == 1},
    )


@dataclass(frozen=True, eq=False)
class Baseline:
    """One simple rule on every case, fitted on other cases than it is scored on.

    `hits` (case,): 1 right, 0 wrong, between for a tie; None for the middle one of all heads' scores. `same` (case,
    head): whether a head gives the rule's answer, nan where the rule has several; None for a rule without an answer of
    its own. `does` completes "looks at ...". `by_place`: it does not know the parts of speech.
    """

    name: str
    does: str
    hits: FloatArray | None
    by_place: bool = True
    same: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class ScoredCases:
    """All heads on cases of one question.

    `right`, `control` (case, head): 0 to 1, nan where a case has no control. `documents` (case,): the document of each,
    a whole number; `second_half` (case,); `chance` (case,): of a blind choice. `steps`: how far the right answer stands
    from the unit that is given, (case,), and what every head looks at, (case, head). `others`: the same heads from
    other units with the same features, by name, (case, head). `mass` (head,): the mean mass on the target. `binary`: a
    case is right or wrong, not a share. `weight` (case,): a row is the mean of so many cases; of one without.
    """

    question: Question
    right: FloatArray
    documents: IntArray
    second_half: BoolArray
    baselines: tuple[Baseline, ...]
    control: FloatArray | None = None
    others: Mapping[str, FloatArray] = field(default_factory=dict)
    mass: FloatArray | None = None
    chance: FloatArray | None = None
    steps: tuple[IntArray, IntArray] | None = None
    binary: bool = True
    weight: FloatArray | None = None

    @property
    def size(self) -> FloatArray:
        """The number of cases of every row, (row,)."""
        return np.ones(len(self.right)) if self.weight is None else self.weight

    @property
    def n(self) -> int:
        """The number of cases."""
        return int(self.size.sum())


def agreement(looks: IntArray, places: IntArray) -> FloatArray:
    """Return whether heads (case, head) look at a place (case,): 1, 0, or one half for a TIE."""
    return np.where(looks == TIE, 0.5, looks == places[:, None]).astype(np.float32)
