"""What a head is asked, and whether it is right: on any weights of it, with a head before it or without.

In: a text with gold, and weights (run, query, key) of one head over its pieces. Out: (run,), how many cases are right.
What is right is what relations.py and coreference.py count.
"""

from dataclasses import dataclass, field

import numpy as np

from mha_core.heads.coreference import ChoiceCase, looks_back, mention_scores
from mha_core.heads.positions import HasTokens
from mha_core.heads.relations import RelationCases
from mha_core.heads.words import FloatArray, IntArray, merge_words, word_bounds


@dataclass(frozen=True)
class Choice:
    """Does the pronoun look more at the right one of two candidates, or (`reverse`) that one more at the pronoun?"""

    reverse: bool = False


@dataclass(frozen=True)
class Relation:
    """Does a dependent look most at its head word, or (`reverse`) that one, of all words, at the dependent?"""

    name: str
    reverse: bool = False


Question = Choice | Relation


@dataclass(frozen=True)
class Asked:
    """One text as cases: a choice between two mentions, or words (`places`) and where each should look (`targets`)."""

    item: HasTokens
    reverse: bool
    places: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    targets: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @staticmethod
    def of(question: Question, item: HasTokens, is_causal: bool) -> "Asked | None":
        """A text as cases of a question; None where it is none."""
        if isinstance(question, Choice) and isinstance(item, ChoiceCase):
            return None if is_causal and not looks_back(item) else Asked(item, question.reverse)
        if not isinstance(question, Relation) or not isinstance(item, RelationCases):
            return None
        own = [
            i
            for i, name in enumerate(item.relations)
            if name == question.name and (not is_causal or item.heads[i] < item.dependents[i])
        ]
        return Asked(item, question.reverse, item.dependents[own], item.heads[own]) if own else None

    def right(self, weights: FloatArray) -> FloatArray:
        """How many of the cases are right, (run,), from weights (run, query, key) over pieces; a tie is one half."""
        if isinstance(self.item, ChoiceCase):
            scores = mention_scores(weights, self.item)[int(self.reverse)][:, self.item.pronoun[0]]
            sign = np.sign(scores[:, self.item.answer] - scores[:, 1 - self.item.answer])
            return np.asarray((1 + sign) / 2, dtype=float)
        words = merge_words(weights, word_bounds(self.item.tokens))
        every = np.arange(words.shape[-1])
        words[:, every, every] = -1.0
        found = words[:, :, self.places].argmax(-2) if self.reverse else words[:, self.places].argmax(-1)
        return np.asarray((found == self.targets).sum(-1), dtype=float)

    @property
    def n(self) -> int:
        """How many cases."""
        return 1 if isinstance(self.item, ChoiceCase) else len(self.places)

    @property
    def cluster(self) -> str | None:
        """The same for the two versions of a minimal pair; None where there is only one."""
        return self.item.pair if isinstance(self.item, ChoiceCase) else None
