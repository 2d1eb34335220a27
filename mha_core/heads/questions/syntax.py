"""Does a head find the word that another depends on, and would a simple rule?

A case is a word with a gold head. Row: the word that a dependent looks at most is its head. Back: the word that looks
most at the dependent is its head; in a decoder, where no later word can be looked at, the head's own row peaks at a
dependent before it. The word itself and special tokens are no candidates.

Control: the same head from the other words of the sentence that do not depend on the same word. `others`: from the
other dependents of that word: a head that finds it from them as well ties words to it, not this relation.

Source: Clark et al. 2019, section 4.2; Voita et al. 2019 for the offset that a syntactic head must beat.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.heads.baselines import (
    Fitted,
    FittedBaseline,
    fit_first,
    fit_form,
    fit_last,
    fit_offset,
    fit_own_tag_after,
    fit_own_tag_before,
    fit_tags,
)
from mha_core.heads.cases import Case, Columns, Frame, Units
from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.base import BACK, Question
from mha_core.heads.questions.question_set import Controls, QuestionSet, mean_of_units
from mha_core.heads.questions.relation_names import named
from mha_core.heads.word_weights import merge_words, visible_words, word_bounds
from mha_core.text.tokens import Tokens

NOT_ASKED = ("root", "punct", "_")  # the last: a word of which no gold is known
CONTROL = "other words of the sentence look at the same word"
SIBLINGS = "other dependents of the same word"


@dataclass(frozen=True)
class Tree:
    """A sentence with gold, and its tokens; `whole`: so many of its words the model reads."""

    sentence: Sentence
    tokens: Tokens

    @property
    def whole(self) -> int:
        """The number of words read whole: the last word of a text that was cut may have lost its end."""
        return len(self.tokens.words) - bool(self.tokens.n_cut)


class RelationQuestions(QuestionSet):
    """Every relation of a treebank with MIN_RELATION cases, in both directions, the most frequent first."""

    name = "relations"
    fits = (fit_offset, fit_form, fit_first, fit_last, fit_own_tag_before, fit_own_tag_after, fit_tags)
    # With fewer cases, what is left of a score after correction says nothing.
    min_cases = 100

    def observe(self, weights: FloatArray, item: Tree) -> Columns | None:
        """Return the word that every word looks at most and, in an encoder, by which it is looked at most: (word,
        direction, head); and among how many, in the layer that sees fewest, (word,)."""
        n = item.whole
        if n < 2:
            return None
        bounds = word_bounds(item.tokens)[:n]
        visible = visible_words(self.visibility.mask(len(item.tokens)), bounds) & ~np.eye(n, dtype=bool)
        flat = np.where(visible[:, None], merge_words(weights, bounds), -1.0).reshape(-1, n, n)
        peaks = [flat.argmax(-1)] if self.is_causal else [flat.argmax(-1), flat.argmax(-2)]
        n_candidates = visible.sum(-1).min(0).astype(np.int16)
        return {"looks": np.array(peaks, dtype=np.int16).transpose(2, 0, 1), "n_candidates": n_candidates}

    def cases(self, frame: Frame) -> dict[str, list[Case]]:
        """Return every word with a head that the model reads, by relation and direction."""
        cases: dict[str, list[Case]] = defaultdict(list)
        sentences = cast("tuple[Sentence, ...]", frame.texts)
        for number, (sentence, rows) in enumerate(zip(sentences, frame.rows, strict=True)):
            places, n = range(len(sentence.words)), rows.stop - rows.start
            units = Units(sentence, "word", sentence.words, sentence.tags, places, places)
            for dependent, (head, relation) in enumerate(
                zip(sentence.heads[:n], sentence.relations, strict=False)
            ):
                if not 0 <= head < n or relation in NOT_ASKED:
                    continue
                for back in (False, True):
                    ends = (head, dependent) if back and self.is_causal else (dependent, head)
                    if not self.is_causal or ends[1] < ends[0]:
                        case = Case(units, *ends, places, number, rows.start + ends[0])
                        cases[relation + BACK * back].append(case)
        return cases

    def order(self, n: Mapping[str, int]) -> list[str]:
        """Return the most frequent relations first, each before its other direction."""

        def rank(key: str) -> tuple[int, str, bool]:
            relation = key.removesuffix(BACK)
            return -n.get(relation, 0) - n.get(relation + BACK, 0), relation, key != relation

        return sorted(n, key=rank)

    def question(self, key: str, corpus: str) -> Question:
        """Return the question of a relation."""
        relation = key.removesuffix(BACK)
        looks, target = named(relation) if key == relation else reversed(named(relation))
        article = "an" if looks[0] in "aeiou" else "a"
        return Question(
            key,
            "syntactic",
            f"{looks} → its {target}",
            f"looks from {article} {looks} to its {target}",
            f"Does {article} {looks} look at its {target}?",
            corpus,
            relation,
            CONTROL,
        )

    def looks(self, key: str, frame: Frame) -> IntArray:
        """Return what every head looks at or, in an encoder's other direction, is looked at by."""
        looks: IntArray = frame.columns["looks"][:, int(key.endswith(BACK) and not self.is_causal)]
        return looks

    def chance(self, frame: Frame, case: Case) -> float:
        """Return a blind choice among all other words that can be seen and that the model reads."""
        return 1 / max(int(frame.columns["n_candidates"][case.row]), 1)

    def controls(self, key: str, frame: Frame, cases: Sequence[Case]) -> Controls:
        """Return how many other words give the same answer, and how many other dependents of the answer do."""
        all_looks, control, siblings = self.looks(key, frame), [], []
        for case in cases:
            hits = (all_looks[frame.rows[case.text]] == case.answer).astype(np.float32)
            sentence = cast("Sentence", case.units.source)
            heads, names = (np.array(each[: len(hits)]) for each in (sentence.heads, sentence.relations))
            free = names != "punct"
            free[[case.query, case.answer]] = False
            tied = heads == case.answer
            unrelated = free & ~tied
            if 0 <= heads[case.answer] < len(heads):
                unrelated[heads[case.answer]] = False
            control.append(mean_of_units(hits, unrelated))
            siblings.append(mean_of_units(hits, free & tied & (names != names[case.query])))
        from_dependent = not (key.endswith(BACK) and self.is_causal)
        return np.array(control), {SIBLINGS: np.array(siblings)} if from_dependent else {}

    def named(self, key: str, rules: Sequence[Fitted]) -> Sequence[Fitted]:
        """Return the baselines as they are called in a column, where the answer is what is given."""
        if self.is_causal or not key.endswith(BACK):
            return rules
        dependent = named(key.removesuffix(BACK))[0]

        def from_other(rule: FittedBaseline) -> FittedBaseline:
            side = {1: "before it", -1: "after it", 0: "near it"}[rule.side]
            return replace(rule, name=f"{rule.name}, from the other word", does=f"the {dependent} {side}")

        return [(from_other(a), from_other(b), from_other(c)) for a, b, c in rules]
