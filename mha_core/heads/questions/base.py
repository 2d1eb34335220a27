"""What is asked of every head, and all cases of one question before anything is concluded."""

from dataclasses import dataclass, field

import numpy as np

from mha_core.heads.words import BoolArray, FloatArray, IntArray

BACK = ":back"


@dataclass(frozen=True)
class Kind:
    """A kind of role: the name of a head that has it, a word for where room is scarce, its colour on maps."""

    key: str
    name: str
    word: str
    colour: str


# Okabe and Ito's colours, told apart by all. The order is that of legends.
KINDS = (
    Kind("previous", "previous-token head", "previous token", "#0072b2"),
    Kind("next", "next-token head", "next token", "#4a90d9"),
    Kind("self", "same-token head", "same token", "#33658a"),
    Kind("syntactic", "syntactic head", "syntactic", "#009e73"),
    Kind("semantic", "related-word head", "related word", "#7a4fbf"),
    Kind("coreference", "coreference head", "coreference", "#d55e00"),
    Kind("agreement", "agreement head", "agreement", "#cc79a7"),
    Kind("duplicate", "duplicate-token head", "duplicate token", "#e69f00"),
    Kind("induction", "induction head", "induction", "#8a3324"),
    Kind("mover", "name mover", "name mover", "#c2185b"),
    Kind("suppression", "copy-suppression head", "copy suppression", "#5f7a00"),
    Kind("rare", "rare-word head", "rare word", "#b8a800"),
    Kind("sink", "attention sink", "attention sink", "#808080"),
    Kind("diffuse", "diffuse head", "diffuse", "#56b4e9"),
)
KIND_OF = {kind.key: kind for kind in KINDS}
# The kinds that are told by a place or by where the attention lies; the others need a right answer.
BY_PLACE = ("previous", "next", "self", "sink", "diffuse")
# The kinds that are told by what a head writes; where it looks is asked besides, as the mass.
BY_WRITING = ("mover", "suppression")


@dataclass(frozen=True)
class Question:
    """A question with a known answer; `key` is unique in a table, `corpus` the key of what it is asked on.

    `title` is what is looked for ("determiner → its noun"), `does` completes "Usually ..." ("looks at the noun of a
    determiner"), `asks` is the question in words. `relation`: in UD's names. `control`: what the control is.
    """

    key: str
    kind: str
    title: str
    does: str
    asks: str
    corpus: str
    relation: str = ""
    control: str = ""


@dataclass(frozen=True, eq=False)
class Baseline:
    """One simple rule, learnt on one half and asked on the other.

    `hits` (case,): 1 right, 0 wrong, between for a tie; None for the middle one of all heads' scores. `same` (case,
    head): whether a head gives the rule's answer; None for a rule without an answer of its own. `does` completes "looks
    at ...". `by_place`: it is not told the parts of speech.
    """

    name: str
    does: str
    hits: FloatArray | None
    by_place: bool = True
    same: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """All heads on cases of one question.

    `right`, `control` (case, head): 0 to 1, nan where a case has no control. `clusters` (case,): the document of each,
    a whole number;
    `second_half` (case,): which half it lies in; `chance` (case,): a blind choice. `steps`: how far the right answer
    stands from the word that is given, (case,), and what every head looks at, (case, head). `others`: the same heads
    from other words with the same features, by name, (case, head). `mass` (head,): the mean mass on the target.
    `binary`: a case is right or wrong, not a share. `weight` (case,): a row is the mean of so many cases; one without.
    """

    question: Question
    right: FloatArray
    clusters: IntArray
    second_half: BoolArray
    baselines: tuple[Baseline, ...]
    control: FloatArray | None = None
    others: dict[str, FloatArray] = field(default_factory=dict)
    mass: FloatArray | None = None
    chance: FloatArray | None = None
    steps: tuple[IntArray, IntArray] | None = None
    binary: bool = True
    weight: FloatArray | None = None

    @property
    def size(self) -> FloatArray:
        """How many cases every row is, (row,)."""
        return np.ones(len(self.right)) if self.weight is None else self.weight

    @property
    def n(self) -> int:
        """How many cases there are."""
        return int(self.size.sum())


def binary_baseline(name: str, does: str, hits: FloatArray, right: FloatArray) -> Baseline:
    """Return a rule for a choice between two: who differs from a wrong rule is right."""
    wrong, known = hits[:, None] == 0, hits[:, None] != 0.5
    same = np.where(known, np.where(wrong, 1 - right, right), np.nan)
    return Baseline(name, does, hits, True, same)
