"""Questions that are answered together: what is collected of a text, which cases there are, and how they are scored.

A set of questions says what its cases are (`observe`, `cases`, `question` and, where it has them, `controls`); the rest
is here: collecting texts, drawing cases, fitting baselines on all texts, and scoring texts a block at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from operator import itemgetter
from typing import Any

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.engine.visibility import EVERYTHING, Visibility
from mha_core.heads.baselines import Fit, Fitted, answers_of, fit_on_halves
from mha_core.heads.cases import Case, Columns, Frame, ScoredCases, agreement, frame_of
from mha_core.heads.cluster_stats import digests_of
from mha_core.heads.corpora import PronounCase, Sentence
from mha_core.heads.questions.base import Question

MAX_FITTED = 8192  # cases of a question that baselines are fitted on
Controls = tuple[FloatArray | None, Mapping[str, FloatArray]]


class QuestionSet:
    """Some questions, of a model in which layers see what `visibility` says.

    `fits`: the baselines that are fitted, none for a set whose texts can be scored one by one. `min_cases`: a question
    with fewer is not asked.
    """

    name = ""
    fits: Sequence[Fit] = ()
    min_cases = 1

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility, self.is_causal = visibility, visibility.is_causal

    def text_of(self, item: Any) -> Sentence | PronounCase | None:
        """Return what an item's tokens are of, as baselines see it; None where no case needs it."""
        text: Sentence | PronounCase = item.sentence
        return text

    def source_of(self, item: Any) -> tuple[str, str]:
        """Return what an item is resampled together with, and what decides its half."""
        text = self.text_of(item)
        return ("", "") if text is None else (text.source, text.pair or text.text)

    def observe(self, weights: FloatArray, item: Any) -> Columns | None:
        """Return what heads do in a text, columns (row, ...) by name, from weights (layer, head, query, key); None
        where it has no case."""
        raise NotImplementedError

    def cases(self, frame: Frame) -> dict[str, list[Case]]:
        """Return all cases of a frame by the question's key."""
        raise NotImplementedError

    def question(self, key: str, corpus: str) -> Question:
        """Return the question of a key."""
        raise NotImplementedError

    def order(self, n: Mapping[str, int]) -> list[str]:
        """Return the keys in the order of the table, from the number of cases of each."""
        return list(n)

    def fitted_on(self, key: str) -> str:
        """Return the question on whose cases the baselines of a question are fitted."""
        return key

    def looks(self, key: str, frame: Frame) -> IntArray:
        """Return the unit that every head looks at, (row, head)."""
        del key
        looks: IntArray = frame.columns["looks"]
        return looks

    def controls(self, key: str, frame: Frame, cases: Sequence[Case]) -> Controls:
        """Return the control (case, head), and by name the same heads from other units (case, head)."""
        raise NotImplementedError

    def chance(self, frame: Frame, case: Case) -> float:
        """Return how often a blind choice is right in a case."""
        del frame
        return 1 / len(case.candidates)

    def steps(self, cases: Sequence[Case], looks: IntArray) -> tuple[IntArray, IntArray] | None:
        """Return how far the right answers stand (case,) and what heads look at (case, head)."""
        queries = np.array([case.query for case in cases])
        return np.array([case.answer for case in cases]) - queries, looks - queries[:, None]

    def named(self, key: str, rules: Sequence[Fitted]) -> Sequence[Fitted]:
        """Return the baselines by the names that they have in this question."""
        del key
        return rules

    def score(
        self, key: str, frame: Frame, cases: Sequence[Case], rules: Sequence[Fitted], corpus: str
    ) -> ScoredCases:
        """Score heads and fitted baselines on cases of one question."""
        texts = np.array([case.text for case in cases])
        looks, second = self.looks(key, frame)[[case.row for case in cases]], frame.halves[texts]
        control, others = self.controls(key, frame, cases)
        return ScoredCases(
            self.question(key, corpus),
            agreement(looks, np.array([case.answer for case in cases])),
            frame.documents[texts],
            second,
            answers_of(self.named(key, rules), cases, second, looks),
            control,
            others,
            chance=np.array([self.chance(frame, case) for case in cases]),
            steps=self.steps(cases, looks),
        )

    def scored(self, frame: Frame, corpus: str) -> Iterator[ScoredCases]:
        """Yield every question that a frame has cases enough for, its baselines fitted on the frame alone."""
        corpus_baselines = CorpusBaselines(self)
        corpus_baselines.read(frame)
        yield from corpus_baselines.scored(frame, corpus)


class FrameCollector:
    """Collects what heads do in texts, fed text by text."""

    def __init__(self, questions: QuestionSet) -> None:
        self.questions = questions
        self.sources: list[tuple[str, str]] = []
        self.texts: list[Sentence | PronounCase] = []
        self.rows: list[Columns] = []

    def add(self, weights: FloatArray, item: Any) -> None:
        """Collect one text; weights (layer, head, query, key) over its tokens."""
        if columns := self.questions.observe(weights, item):
            self.sources.append(self.questions.source_of(item))
            self.rows.append(columns)
            if text := self.questions.text_of(item):
                self.texts.append(text)

    def frame(self) -> Frame:
        """Return what was collected."""
        return frame_of(self.sources, self.texts, self.rows)


class CorpusBaselines:
    """The baselines of a set of questions, fitted on all texts of a corpus, that are read block by block.

    They are fitted on all cases of a question or, where these are more than MAX_FITTED, on so many, drawn by the digest
    of their texts.
    """

    def __init__(self, questions: QuestionSet) -> None:
        self.questions = questions
        self.n: Counter[str] = Counter()
        self.drawn: dict[str, list[tuple[int, int, int, Case, bool]]] = defaultdict(list)

    def read(self, frame: Frame) -> None:
        """Count the cases of a block, and draw from them."""
        digests = digests_of(text.text for text in frame.texts).tolist()
        for key, cases in self.questions.cases(frame).items():
            self.n[key] += len(cases)
            if self.questions.fitted_on(key) == key:
                places = ((case.units.start[case.query], case.units.start[case.answer]) for case in cases)
                new = [
                    (digests[case.text], *place, case, bool(frame.halves[case.text]))
                    for case, place in zip(cases, places, strict=True)
                ]
                self.drawn[key] = nsmallest(MAX_FITTED, self.drawn[key] + new, key=itemgetter(0, 1, 2))

    @cached_property
    def fitted(self) -> dict[str, tuple[Fitted, ...]]:
        """The baselines by question, those with enough cases; asked for when all texts are read."""
        keys = [key for key, n in self.n.items() if n >= self.questions.min_cases]
        drawn = {key: self.drawn[key] for key in map(self.questions.fitted_on, keys)}
        rules = {
            key: fit_on_halves(self.questions.fits, [each[3] for each in cases], [each[4] for each in cases])
            for key, cases in drawn.items()
        }
        return {
            key: rules[self.questions.fitted_on(key)] for key in self.questions.order(self.n) if key in keys
        }

    def scored(self, frame: Frame, corpus: str) -> Iterator[ScoredCases]:
        """Yield every question of a block, once all are read."""
        cases = self.questions.cases(frame)
        for key, rules in self.fitted.items():
            if cases.get(key):
                yield self.questions.score(key, frame, cases[key], rules, corpus)


def mean_of_units(values: FloatArray, among: Iterable[bool] | np.ndarray) -> FloatArray:
    """Return the mean of some units (unit, head) → (head,); nan where there are none."""
    chosen = values[np.asarray(among)]
    mean: FloatArray = chosen.mean(0) if len(chosen) else np.full(values.shape[1], np.nan, dtype=np.float32)
    return mean
