"""Questions that are answered together: what is collected of a text, which cases there are, and how they are scored.

A set of questions says what its cases are (`observe`, `cases`, `question` and, where it has them, `controls`); the rest
is here: collecting texts, drawing cases, fitting baselines on all texts, and scoring texts a block at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.engine.visibility import EVERYTHING, Visibility
from mha_core.heads.baselines import Fit, Fitted, answers_of, fit_on_halves
from mha_core.heads.cases import (
    Case,
    Columns,
    Frame,
    ScoredCases,
    agreement,
    frame_of,
    joined,
    without_heads,
)
from mha_core.heads.cluster_stats import digests_of
from mha_core.heads.corpora import PronounCase, Sentence
from mha_core.heads.questions.base import Question

MAX_FITTED = 4096  # cases of a question that baselines are fitted on
Controls = tuple[FloatArray | None, Mapping[str, FloatArray]]


@dataclass(frozen=True, eq=False)
class DrawnCases:
    """Cases to fit baselines on: `n`, how many each question has in all; and the texts of those that were drawn."""

    n: Mapping[str, int]
    frame: Frame


@dataclass(frozen=True, eq=False)
class FittedBaselines:
    """The questions that have cases enough, in the order of the table, and the baselines by what they are fitted on."""

    order: tuple[str, ...]
    fitted: Mapping[str, tuple[Fitted, ...]]


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

    def draw(self, frame: Frame) -> DrawnCases:
        """Return the cases of a frame that baselines may be fitted on, MAX_FITTED a question."""
        cases, order = self.cases(frame), _drawing_order(frame)
        is_drawn = np.zeros(len(frame), dtype=bool)
        for key, each in cases.items():
            if self.fitted_on(key) == key:
                is_drawn[[case.text for case in nsmallest(MAX_FITTED, each, key=order)]] = True
        return DrawnCases({key: len(each) for key, each in cases.items()}, without_heads(frame, is_drawn))

    def draw_all(self, every: Iterable[DrawnCases]) -> DrawnCases | None:
        """Return those drawn from all that were drawn; None of none. What it keeps does not grow with their number."""
        n, frames, limit = Counter[str](), list[Frame](), MAX_FITTED
        for drawn in every:
            n.update(drawn.n)
            frames.append(drawn.frame)
            if sum(map(len, frames)) > limit:
                frames = [self.draw(joined(frames)).frame]
                limit = max(MAX_FITTED, 2 * len(frames[0]))
        return DrawnCases(n, joined(frames)) if frames else None

    def fit(self, drawn: DrawnCases) -> FittedBaselines:
        """Return the baselines of every question with enough cases, fitted on the cases that were drawn."""
        order = tuple(key for key in self.order(drawn.n) if drawn.n[key] >= self.min_cases)
        frame, fitted = drawn.frame, dict[str, tuple[Fitted, ...]]()
        cases, draws = self.cases(frame), _drawing_order(frame)
        for key in dict.fromkeys(map(self.fitted_on, order)):
            chosen = nsmallest(MAX_FITTED, cases[key], key=draws)
            halves = frame.halves[[case.text for case in chosen]].tolist()
            fitted[key] = fit_on_halves(self.fits, chosen, halves)
        return FittedBaselines(order, fitted)

    def scored_by(self, baselines: FittedBaselines, frame: Frame, corpus: str) -> Iterator[ScoredCases]:
        """Yield every question of a frame, with baselines that are fitted on all texts."""
        cases = self.cases(frame)
        for key in baselines.order:
            if cases.get(key):
                rules = baselines.fitted[self.fitted_on(key)]
                yield self.score(key, frame, cases[key], rules, corpus)

    def scored(self, frame: Frame, corpus: str) -> Iterator[ScoredCases]:
        """Yield every question that a frame has cases enough for, its baselines fitted on the frame alone."""
        yield from self.scored_by(self.fit(self.draw(frame)), frame, corpus)


def _drawing_order(frame: Frame) -> Callable[[Case], tuple[int, ...]]:
    """Return what the cases of a frame are drawn by, the smallest first: the digest of their text, then their place."""
    digests = digests_of(text.text for text in frame.texts).tolist()
    documents = frame.documents.tolist()

    def order(case: Case) -> tuple[int, ...]:
        start = case.units.start
        return digests[case.text], start[case.query], start[case.answer], documents[case.text]

    return order


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


def mean_of_units(values: FloatArray, among: Iterable[bool] | np.ndarray) -> FloatArray:
    """Return the mean of some units (unit, head) → (head,); nan where there are none."""
    chosen = values[np.asarray(among)]
    mean: FloatArray = chosen.mean(0) if len(chosen) else np.full(values.shape[1], np.nan, dtype=np.float32)
    return mean
