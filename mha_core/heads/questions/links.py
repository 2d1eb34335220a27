"""Does a head find the words that a gold standard of the user's own links a word to, and would a simple rule?

A case is a word with one link or more: right is any word that it is linked to. Baselines are fitted on single links.
Special tokens and the word itself are no candidates; in a decoder only links to earlier words are asked.

Control: the same head from words that no link ties to the right answer.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import cast

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.heads import baselines
from mha_core.heads.baselines import Fitted
from mha_core.heads.cases import Case, Frame, ScoredCases, Units
from mha_core.heads.corpora import LinkedText
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.question_set import Controls, mean_of_units
from mha_core.heads.questions.syntax import RelationQuestions

CONTROL = "words without a link to it look at the same word"


class LinkQuestions(RelationQuestions):
    """A question for each name of links, the most frequent first."""

    name = "links"
    fits = (  # type: ignore[assignment]
        *(baselines.fit_offset, baselines.fit_form, baselines.fit_first, baselines.fit_last),
        *(baselines.fit_same_word, baselines.fit_first_same_word),
    )
    min_cases = 1

    def cases(self, frame: Frame) -> dict[str, list[Case]]:
        """Return every link between words that the model reads, those of one word together, the shortest first."""
        cases: dict[str, list[Case]] = defaultdict(list)
        texts = cast("tuple[LinkedText, ...]", frame.texts)
        for number, (text, rows) in enumerate(zip(texts, frame.rows, strict=True)):
            n, places = rows.stop - rows.start, range(len(text.words))
            units = Units(text, "word", text.words, text.tags, places, places)
            for query, answer in sorted(text.links, key=lambda link: (link[0], abs(link[1] - link[0]))):
                if max(query, answer) < n and not (self.is_causal and answer > query):
                    candidates = range(query if self.is_causal else n)
                    case = Case(units, query, answer, candidates, number, rows.start + query)
                    cases[f"link:{text.name}"].append(case)
        return cases

    def question(self, key: str, corpus: str) -> Question:
        """Return the question of a name."""
        name = key.removeprefix("link:")
        title, does = f"word → its {name}", f"looks from a word to its {name}"
        asks = f"Does a word look most at a word that it is linked to ({name})?"
        return Question(key, "linked", title, does, asks, corpus, name, CONTROL)

    def score(
        self, key: str, frame: Frame, cases: Sequence[Case], rules: Sequence[Fitted], corpus: str
    ) -> ScoredCases:
        """Score heads and fitted baselines on every word with links: right is any of its answers."""
        links = super().score(key, frame, cases, rules, corpus)
        starts = np.flatnonzero(np.diff([case.row for case in cases], prepend=-1))

        def total(values: FloatArray | None) -> FloatArray:
            return np.add.reduceat(np.asarray(values), starts)

        rules_hits = (replace(each, hits=total(each.hits)) for each in links.baselines)
        return replace(
            links,
            right=total(links.right),
            documents=links.documents[starts],
            second_half=links.second_half[starts],
            baselines=tuple(
                each if each.same is None else replace(each, same=each.same[starts]) for each in rules_hits
            ),
            control=total(links.control),
            chance=np.minimum(total(links.chance), 1),
            steps=links.steps and (links.steps[0][starts], links.steps[1][starts]),
        )

    def controls(self, key: str, frame: Frame, cases: Sequence[Case]) -> Controls:
        """Return how many of the words that no link ties to the answer look at it."""
        all_looks, control = self.looks(key, frame), []
        for number, of_text in groupby(cases, key=lambda case: case.text):
            looks = all_looks[frame.rows[number]]
            is_linked = np.eye(len(looks), dtype=bool)
            for link in cast("LinkedText", frame.texts[number]).links:
                if max(link) < len(looks):
                    is_linked[link] = is_linked[link[::-1]] = True
            for case in of_text:
                unrelated = ~is_linked[case.answer]
                unrelated[: case.answer * self.is_causal] = False
                control.append(mean_of_units((looks == case.answer).astype(np.float32), unrelated))
        return np.array(control), {}
