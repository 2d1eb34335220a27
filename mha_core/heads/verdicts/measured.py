"""One question asked of all heads on one corpus: every case, every simple rule, the control. No conclusions yet.

In: nothing. Out: `Measured`, which treebank.py, choices.py and habits.py fill and entries.py concludes from.
"""

from dataclasses import dataclass, field

import numpy as np

from mha_core.heads.words import BoolArray, FloatArray, IntArray

BACK = ":back"
SEMANTIC, APART = "semantic", "semantic-apart"
# Of random pairs of content words of a treebank one in a hundred has a cosine of 0.27: who has this is related.
RELATED = 0.25
# What tells which words are related, since no head may; and for whose heads it is a circle all the same.
RELATED_BY = "cosine of MiniLM's input word embeddings, their mean removed"
CIRCLE = (
    "MiniLM's own heads read these embeddings, so for them it is a circle in part, and for no other model's"
)


@dataclass(frozen=True)
class Question:
    """What is asked: `kind` as in jobs.py, `corpus` a key. Of a relation its name in UD, and both its ends in words:
    what looks, and what is looked at; `reads_column`: it is the largest entry of the dependent's column."""

    key: str
    kind: str
    title: str
    question: str
    corpus: str
    relation: str = ""
    looks: str = ""
    at: str = ""
    reads_column: bool = False
    control_name: str = ""

    @property
    def label(self) -> str:
        """What a head is called for it."""
        rests = {"separator": "looks at ", "sink": "rests on "}
        return rests.get(self.kind, "") + self.title


@dataclass(frozen=True, eq=False)
class RuleHits:
    """One simple rule, learnt on one half and asked on the other: right or wrong in every case (case,)."""

    name: str
    short: str
    hits: FloatArray
    by_place: bool = True
    side: int = 0

    @property
    def score(self) -> float:
        """The share that it gets right."""
        return float(self.hits.mean())


@dataclass(frozen=True, eq=False)
class Measured:
    """All heads on all cases: `right` and `control` (case, head) from 0 to 1, nan where a case has no control;
    `clusters` (case,) the sentence of each; `second_half` (case,) which half it lies in; `mass` (head,).

    `others`: the same heads from other words with the same features, by name: (case, head), nan where there are none.
    `binary`: a case is right or wrong, not a share.
    """

    asked: Question
    right: FloatArray
    clusters: IntArray
    second_half: BoolArray
    rules: tuple[RuleHits, ...]
    control: FloatArray | None = None
    others: dict[str, FloatArray] = field(default_factory=dict)
    mass: FloatArray | None = None
    binary: bool = True

    @property
    def n(self) -> int:
        """How many cases there are."""
        return len(self.right)

    @property
    def n_clusters(self) -> int:
        """From how many sentences."""
        return len(np.unique(self.clusters))
