"""Does a word look at the content word of its sentence that is most related to it in meaning?

A case is a content word of which another one is related to it (RELATED); SEMANTIC_APART has those in which the two are
neither tied in the tree nor side by side. Control: the sentence's other content words that are not most related to the
same one.

What is related is told by a source that is no head: the cosine of the embedded encoder's input word embeddings, their
mean removed. For the heads of that encoder this is a circle in part, for they read these very embeddings; for another
model's heads it is none. The candidates of a content word are all others but forms of itself; in a decoder those before
it. Only words that are one token of that encoder count, since the mean of tokens is no word's embedding.

Sources: Mikolov et al. 2013 for the cosine; Mu and Viswanath 2018, section 2, for the mean that is removed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.errors import InputError
from mha_core.heads import baselines
from mha_core.heads.cases import Case, Columns, Frame, Units
from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.question_set import Controls, QuestionSet, mean_of_units
from mha_core.heads.questions.syntax import Tree
from mha_core.heads.word_weights import BoolArray, merge_words, visible_words, word_bounds
from mha_core.models.load import load_model
from mha_core.models.model_list import EMBEDDED
from mha_core.text.tokens import Tokenizer

CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ"))
MIN_CANDIDATES = 3
# Of random pairs of content words of a treebank one in a hundred has a cosine of 0.27: these are related.
RELATED = 0.25
SEMANTIC, SEMANTIC_APART = "semantic", "semantic-apart"
CONTROL = "other content words look most at the same word"
STEM = 4  # letters; words that share them are taken for forms of one word


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Embeddings (vocabulary, d) of the words that are one token of a tokenizer, and their mean (d,)."""

    tokenizer: Tokenizer
    table: FloatArray
    mean: FloatArray

    def of(self, sentence: Sentence, n: int) -> tuple[IntArray, FloatArray]:
        """Return which of the first n words have content and a vector of their own, (m,), and its direction from the
        mean, (m, d)."""
        tokens = self.tokenizer.encode_words(sentence.words[:n])
        words = tokens.words[: len(tokens.words) - bool(tokens.n_cut)]
        places = [
            place
            for place, word in enumerate(words)
            if word.stop - word.first == 1
            and sentence.tags[place] in CONTENT
            and _is_word(sentence.words[place])
        ]
        ids = [tokens.pieces[words[place].first].id for place in places]
        vectors = self.table[ids] - self.mean
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.array(places, dtype=np.intp), vectors / np.maximum(lengths, 1e-12)


def _is_word(form: str) -> bool:
    return form.isalpha() and len(form) > 2


def word_vectors() -> WordVectors:
    """Return those of the embedded encoder."""
    model = load_model(EMBEDDED)
    table = model.encoder.get_parameter("embeddings.word.weight").detach().float().cpu().numpy()
    return WordVectors(model.tokenizer, table, table.mean(0))


class RelatedWordQuestions(QuestionSet):
    """The related word, and the related word apart."""

    name = "related"
    fits = (
        baselines.fit_nearest,
        baselines.fit_first,
        baselines.fit_last,
        baselines.fit_usual_place,
        baselines.fit_frequent,
        baselines.fit_rarest,
        baselines.fit_blind,
        baselines.fit_own_tag,
    )

    @cached_property
    def vectors(self) -> WordVectors:
        """The vectors that tell which words are related."""
        return word_vectors()

    def observe(self, weights: FloatArray, item: Tree) -> Columns | None:
        """Return a row a content word: its place, which content word is most related to it, whether that is a case, and
        at which every head looks most (word, head)."""
        sentence = item.sentence
        if not sentence.tags or item.whole < 2:
            return None
        try:
            places, vectors = self.vectors.of(sentence, item.whole)
        except InputError:  # words that this model tells apart, and the source of vectors does not
            return None
        if len(places) <= MIN_CANDIDATES:
            return None
        bounds = word_bounds(item.tokens)[places]
        visible = visible_words(self.visibility.mask(len(item.tokens)), bounds)  # (layer, m, m)
        seen_anywhere: BoolArray = np.logical_or.reduce(visible)
        first, last = seen_anywhere.argmax(-1), len(places) - 1 - seen_anywhere[:, ::-1].argmax(-1)
        candidates = self._candidates(sentence, places, first, last)
        likeness = np.where(candidates, vectors @ vectors.T, np.float32(-1))
        partner, by_layer = likeness.argmax(-1), visible & candidates
        is_case = (candidates.sum(-1) >= MIN_CANDIDATES) & (likeness.max(-1) >= RELATED)
        looks = np.where(by_layer[:, None], merge_words(weights, bounds), -1.0).argmax(-1)
        sees_partner = by_layer[:, np.arange(len(places)), partner]
        chance = (sees_partner / np.maximum(by_layer.sum(-1), 1)).max(0)
        columns = {"place": places, "partner": partner, "first": first, "last": last}
        columns["looks"] = looks.reshape(-1, len(places)).T
        return {
            **{name: each.astype(np.int16) for name, each in columns.items()},
            "is_case": is_case,
            "chance": chance,
        }

    def _candidates(self, sentence: Sentence, places: IntArray, first: IntArray, last: IntArray) -> BoolArray:
        """Return whether a content word may look for another, (m, m): no form of itself, and none out of sight.

        `first`, `last` (m,): the first and the last content word that each can see.
        """
        stems = np.array([sentence.words[place].lower()[:STEM] for place in places])
        order = np.arange(len(places))
        candidates: BoolArray = (
            (stems[:, None] != stems) & (order >= first[:, None]) & (order <= last[:, None])
        )
        return candidates

    def _candidates_of(self, frame: Frame, number: int) -> BoolArray:
        places, first, last = (frame.columns[name][frame.rows[number]] for name in ("place", "first", "last"))
        return self._candidates(cast("Sentence", frame.texts[number]), places, first, last)

    def chance(self, frame: Frame, case: Case) -> float:
        """Return how often a blind choice is right, in the layer where it is most often."""
        return float(frame.columns["chance"][case.row])

    def cases(self, frame: Frame) -> dict[str, list[Case]]:
        """Return all cases, and those whose words are apart."""
        cases: dict[str, list[Case]] = defaultdict(list)
        sentences = cast("tuple[Sentence, ...]", frame.texts)
        for number, (sentence, rows) in enumerate(zip(sentences, frame.rows, strict=True)):
            places, partner, is_case = (frame.columns[name][rows] for name in ("place", "partner", "is_case"))
            candidates, of_words = self._candidates_of(frame, number), places.tolist()
            words, tags = ([each[place] for place in of_words] for each in (sentence.words, sentence.tags))
            units = Units(sentence, "content word", words, tags, of_words, of_words)
            for row in np.flatnonzero(is_case).tolist():
                options = np.flatnonzero(candidates[row]).tolist()
                case = Case(units, row, int(partner[row]), options, number, rows.start + row)
                cases[SEMANTIC].append(case)
                a, b = of_words[row], of_words[case.answer]
                if abs(a - b) > 1 and sentence.heads[a] != b and sentence.heads[b] != a:
                    cases[SEMANTIC_APART].append(case)
        return cases

    def order(self, n: Mapping[str, int]) -> list[str]:
        """Return all cases first."""
        return [key for key in (SEMANTIC, SEMANTIC_APART) if key in n]

    def question(self, key: str, corpus: str) -> Question:
        """Return the question of all cases, or of those apart."""
        title = "word → the word most related in meaning"
        asks = "Of the other content words, does a word look most at the one most related to it in meaning"
        if key == SEMANTIC_APART:
            title += ", apart"
            asks += ", where neither depends on the other nor stands beside it"
        does = "looks from a word to the word most related to it"
        return Question(key, "semantic", title, does, f"{asks}?", corpus, control=CONTROL)

    def controls(self, key: str, frame: Frame, cases: Sequence[Case]) -> Controls:
        """Return how many of the other words that have another partner look there as well."""
        control = []
        for case in cases:
            rows = frame.rows[case.text]
            hits = (frame.columns["looks"][rows] == case.answer).astype(np.float32)
            others = self._candidates_of(frame, case.text)[:, case.answer]
            others = others & (frame.columns["partner"][rows] != case.answer)
            others[case.query] = False
            control.append(mean_of_units(hits, others))
        return np.array(control), {}
