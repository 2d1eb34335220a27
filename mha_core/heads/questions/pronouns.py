"""Of a pronoun and two mentions, which one does a head choose, and is it the pronoun that makes it choose so?

A case is a pronoun with two names of which one is right; EVEN has those whose names are equally frequent. Control: the
same comparison from every other row of the text (back: every other column). A head that prefers the right name from
there as well has a favourite name, no antecedent. In a decoder the control's rows are those that have seen both.

Source: Webster et al. 2018 (GAP) for the rules; two models of surface features stand beside them, since one rule alone
is a weak opponent.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.heads.baselines import (
    Fit,
    fit_blind,
    fit_first,
    fit_last,
    fit_logistic,
    fit_most_mentioned,
    fit_nearest,
    fit_trees,
)
from mha_core.heads.cases import TIE, Case, Columns, Frame, Units
from mha_core.heads.corpora import PronounCase
from mha_core.heads.questions.base import BACK, Question
from mha_core.heads.questions.choices import Choice, mention_scores, other_rows, sees_both
from mha_core.heads.questions.question_set import Controls, QuestionSet
from mha_core.heads.surface import mentions

CONTROL = "the text's other rows prefer the right name"
ANTECEDENT, EVEN = "antecedent", "antecedent-even"


class ChoiceQuestions(QuestionSet):
    """The antecedent of a pronoun, of all names and of those equally frequent, in both directions."""

    name = "choices"
    noun = "name"
    fits: Sequence[Fit] = (
        fit_nearest,
        fit_first,
        fit_most_mentioned,
        fit_last,
        fit_logistic,
        fit_trees,
        fit_blind,
    )
    keys: tuple[str, ...] = (ANTECEDENT, EVEN)

    def text_of(self, item: Choice) -> PronounCase:
        """Return the pronoun and its mentions as characters."""
        return item.source

    def observe(self, weights: FloatArray, item: Choice) -> Columns | None:
        """Return one row: the mention that every head prefers, 0, 1 or TIE, and the mean preference of other rows, from
        -1 for the first to 1 for the second, nan without any; (row, direction, head) both."""
        sees = sees_both(item, self.visibility)
        if not sees[:, item.pronoun[0]].any():
            return None
        scores = mention_scores(weights, item).reshape(2, *weights.shape[:3], 2)
        prefers = np.sign(scores[..., 1] - scores[..., 0]) * sees[:, None]
        prefers = prefers.reshape(2, -1, prefers.shape[-1])
        rows = other_rows(item)
        rows = rows[sees[:, rows].any(0)]
        others = prefers[:, :, rows].mean(-1) if len(rows) else np.full(prefers.shape[:2], np.nan)
        own = prefers[:, :, item.pronoun[0]]
        looks = np.where(own == 0, TIE, own > 0).astype(np.int8)
        return {"looks": looks[None], "others": others[None].astype(np.float32)}

    def cases(self, frame: Frame) -> dict[str, list[Case]]:
        """Return every pronoun in each direction; units are both mentions and the pronoun."""
        cases: dict[str, list[Case]] = defaultdict(list)
        for number, source in enumerate(cast("tuple[PronounCase, ...]", frame.texts)):
            spans = (*source.candidates, source.pronoun)
            names = [source.text[slice(*span)] for span in spans]
            start, end = zip(*spans, strict=True)
            case = Case(
                Units(source, self.noun, names, (), start, end), 2, source.answer, (0, 1), number, number
            )
            counts = [max(mentions(source.text, name), 1) for name in names[:2]]
            for key in self.keys if counts[0] == counts[1] else self.keys[:1]:
                for back in (False,) if self.is_causal else (False, True):
                    cases[key + BACK * back].append(case)
        return cases

    def order(self, n: Mapping[str, int]) -> list[str]:
        """Return all names first, each direction after the other."""
        return [key + back for key in self.keys for back in ("", BACK) if key + back in n]

    def fitted_on(self, key: str) -> str:
        """Return the question of all names: its baselines are asked of some of them, too."""
        del key
        return self.keys[0]

    def question(self, key: str, corpus: str) -> Question:
        """Return the question of a key."""
        back = key.endswith(BACK)
        title = "antecedent → its pronoun" if back else "pronoun → its antecedent"
        asks = "Of two names, does a pronoun look more at the one it stands for?"
        if back:
            asks = "Does the right one of two names look more at a pronoun?"
        does = (
            "looks from a name to its pronoun" if back else "looks from a pronoun to the name it stands for"
        )
        if key.startswith(EVEN):
            title += ", names equally frequent"
            asks = asks[:-1] + ", where both names occur equally often?"
        return Question(key, "coreference", title, does, asks, corpus, control=CONTROL)

    def looks(self, key: str, frame: Frame) -> IntArray:
        """Return the mention that every head prefers in a question's direction."""
        looks: IntArray = frame.columns["looks"][:, int(key.endswith(BACK))]
        return looks

    def controls(self, key: str, frame: Frame, cases: Sequence[Case]) -> Controls:
        """Return how often the other rows prefer the right mention."""
        others = frame.columns["others"][[case.row for case in cases], int(key.endswith(BACK))]
        return (1 + others * _side(cases)[:, None]) / 2, {}

    def steps(self, cases: Sequence[Case], looks: IntArray) -> None:
        """Return None: no distance leads from a pronoun to one of two names."""


def _side(cases: Iterable[Case]) -> FloatArray:
    """Return 1 where the second mention is right, else -1, (case,)."""
    return np.array([1.0 if case.answer == 1 else -1.0 for case in cases])
