"""Does a word look at the content word of its sentence that is most related to it in meaning?

In: weights (layer, head, query, key) of one sentence with parts of speech. Out: a `Measured` for all cases, and for
those in which the two words are neither tied in the tree nor side by side. A case is a content word of which another
one is related to it (RELATED). Control: the sentence's other content words that are not most related to the same one.

What is related is told by a source that is no head: the cosine of the embedded encoder's input word embeddings, their
mean removed. For the heads of that encoder this is a circle in part, for they read these very embeddings; for another
model's heads it is none. The candidates of a content word are all others but forms of itself; in a decoder those before
it. Only words that are one token of that encoder count, since the mean of pieces is no word's embedding.

Sources: Mikolov et al. 2013 for the cosine; Mu and Viswanath 2018, section 2, for the mean that is removed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.base import Baseline, Measured, Question
from mha_core.heads.questions.syntax import Tree
from mha_core.heads.stats import digests_of, half_of
from mha_core.heads.words import BoolArray, FloatArray, IntArray, merge_words, visible_words, word_bounds
from mha_core.load import load_model
from mha_core.model_list import EMBEDDED
from mha_core.tokens import Tokenizer
from mha_core.visibility import EVERYTHING, Visibility

CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ"))
MIN_CANDIDATES = 3
# Of random pairs of content words of a treebank one in a hundred has a cosine of 0.27: who has this is related.
RELATED = 0.25
SEMANTIC, APART = "semantic", "semantic-apart"
CONTROL = "other content words look most at the same word"
SAME_KIND = "the nearest content word of its own part of speech"
Prefers = Callable[["Kept", int, IntArray], FloatArray]
STEM = 4  # letters; words that share them are taken for forms of one word


@dataclass(frozen=True, eq=False)
class Meanings:
    """Unit vectors (vocabulary, d) of the words that are one token of a tokenizer."""

    tokenizer: Tokenizer
    vectors: FloatArray

    def among(self, sentence: Sentence, n: int) -> tuple[IntArray, FloatArray]:
        """Of the first n words those with content and a vector of their own, and the vectors: (m,), (m, d)."""
        tokens = self.tokenizer.encode_words(sentence.words[:n])
        words = tokens.words[: len(tokens.words) - bool(tokens.n_cut)]
        kept = [
            i
            for i, word in enumerate(words)
            if word.stop - word.first == 1 and sentence.tags[i] in CONTENT and _is_word(sentence.words[i])
        ]
        ids = [tokens.pieces[words[i].first].id for i in kept]
        return np.array(kept, dtype=np.intp), self.vectors[ids]


def _is_word(form: str) -> bool:
    return form.isalpha() and len(form) > 2


def meanings() -> Meanings:
    """Those of the embedded encoder."""
    model = load_model(EMBEDDED)
    table = model.encoder.get_parameter("embeddings.word.weight").detach().float().cpu().numpy()
    table = table - table.mean(0)
    return Meanings(model.tokenizer, table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12))


@dataclass(frozen=True, eq=False)
class Kept:
    """One sentence: `places` (m,) of its content words, the most related candidate of each, `partner` (m,), those that
    are cases, `asked` (k,), and `at` (head, m), which of them every one looks at most; `visible` (layer, m, m)."""

    sentence: Sentence
    places: IntArray
    partner: IntArray
    asked: IntArray
    at: IntArray
    visible: BoolArray

    @cached_property
    def by_layer(self) -> BoolArray:
        """(layer, m, m): may the column's word be what the row's looks for?"""
        stems = np.array([self.sentence.words[i].lower()[:STEM] for i in self.places])
        found: BoolArray = self.visible & (stems[:, None] != stems)
        return found

    @property
    def allowed(self) -> BoolArray:
        """(m, m): the same in any layer."""
        found: BoolArray = np.logical_or.reduce(self.by_layer)
        return found

    def apart(self, row: int) -> bool:
        """Are a word and its partner neither side by side nor one the other's dependent?"""
        a, b = int(self.places[row]), int(self.places[self.partner[row]])
        heads = self.sentence.heads
        return abs(a - b) > 1 and heads[a] != b and heads[b] != a


class RelatedLog:
    """Remembers at which other content word every content word looks most, for every head."""

    def __init__(self, known: Meanings, visibility: Visibility = EVERYTHING) -> None:
        self.known, self.visibility = known, visibility
        self.found: list[Kept] = []

    def add(self, weights: FloatArray, item: Tree) -> None:
        """Keep one sentence; weights (layer, head, query, key) over its pieces."""
        if not item.sentence.tags or item.whole < 2:
            return
        try:
            places, vectors = self.known.among(item.sentence, item.whole)
        except InputError:  # words that this model tells apart, and the source of meanings does not
            return
        if len(places) <= MIN_CANDIDATES:
            return
        bounds = word_bounds(item.tokens)[places]
        visible = visible_words(self.visibility.mask(len(item.tokens)), bounds)
        kept = Kept(item.sentence, places, places, places, places, visible)
        likeness = np.where(kept.allowed, vectors @ vectors.T, np.float32(-1))
        # With enough candidates, and one that is related.
        asked = (kept.allowed.sum(-1) >= MIN_CANDIDATES) & (likeness.max(-1) >= RELATED)
        looks = np.where(kept.by_layer[:, None], merge_words(weights, bounds), -1.0)
        found = likeness.argmax(-1), np.flatnonzero(asked), looks.argmax(-1).reshape(-1, len(places))
        partner, rows, at = (each.astype(np.int16) for each in found)
        self.found.append(replace(kept, partner=partner, asked=rows, at=at))


@dataclass(frozen=True)
class _Case:
    """A word (`row`) of a sentence, and the one it should look at (`answer`), as places among the content words."""

    number: int
    row: int
    answer: int


class Related:
    """What rules learn of each half, read sentence by sentence: how far away the partner is, and how often words are in
    sentences with cases; by the question's key and the half."""

    def __init__(self) -> None:
        self.steps: dict[tuple[str, bool], Counter[int]] = defaultdict(Counter)
        self.words: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)

    def read(self, found: Sequence[Kept]) -> None:
        """Count the cases of some sentences."""
        for key in (SEMANTIC, APART):
            for number, one in enumerate(found):
                half = key, _second(one)
                steps = [case.answer - case.row for case in _cases(key, found[number : number + 1])]
                self.steps[half].update(steps)
                self.words[half].update(word.lower() for word in one.sentence.words if steps)

    def measured(self, found: Sequence[Kept], corpus: str) -> Iterator[Measured]:
        """Yield both questions on the cases of some sentences, where there are any."""
        for key in (SEMANTIC, APART):
            if cases := _cases(key, found):
                learnt = [
                    _learnt(self.steps[key, not half], self.words[key, not half]) for half in (False, True)
                ]
                yield _measured(key, corpus, cases, found, learnt)


def related_measured(found: Sequence[Kept], corpus: str) -> Iterator[Measured]:
    """Yield both questions, on these sentences alone."""
    known = Related()
    known.read(found)
    return known.measured(found, corpus)


def _second(one: Kept) -> bool:
    return bool(half_of(one.sentence.pair or one.sentence.text))


def _cases(key: str, found: Sequence[Kept]) -> list[_Case]:
    return [
        _Case(number, row, int(one.partner[row]))
        for number, one in enumerate(found)
        for row in one.asked.tolist()
        if key == SEMANTIC or one.apart(row)
    ]


def _measured(
    key: str, corpus: str, cases: list[_Case], found: Sequence[Kept], learnt: list[dict[str, Prefers]]
) -> Measured:
    title = "word → the word most related in meaning"
    asks = "Of the other content words, does a word look most at the one most related to it in meaning"
    if key == APART:
        title += ", apart"
        asks += ", where neither depends on the other nor stands beside it"
    answers = [_answered(found[case.number], case) for case in cases]
    right, control = (np.array(each, dtype=np.float32) for each in zip(*answers, strict=True))
    rows = np.array([case.row for case in cases])
    at = np.array([found[case.number].at[:, case.row] for case in cases])
    halves = np.array([_second(found[case.number]) for case in cases], dtype=bool)
    does = "looks from a word to the word most related to it"
    return Measured(
        Question(key, "semantic", title, does, f"{asks}?", corpus, control=CONTROL),
        right,
        digests_of([found[case.number].sentence.source for case in cases]),
        halves,
        _baselines(cases, found, halves, learnt),
        control,
        chance=np.array([_blind(found[case.number], case) for case in cases]),
        steps=(np.array([case.answer for case in cases]) - rows, at - rows[:, None]),
    )


def _answered(one: Kept, case: _Case) -> tuple[FloatArray, FloatArray]:
    """(head,) both: right, and how many of the other words that have another partner look there as well."""
    hits = (one.at == case.answer).astype(np.float32)
    free = one.allowed[:, case.answer] & (one.partner != case.answer)
    free[case.row] = False
    return hits[:, case.row], hits[:, free].mean(-1) if free.any() else np.full(len(hits), np.nan)


def _baselines(
    cases: list[_Case], found: Sequence[Kept], halves: BoolArray, learnt: list[dict[str, Prefers]]
) -> tuple[Baseline, ...]:
    """Every simple rule on every case; what has to be learnt is learnt on the other half."""
    made = []
    for name in learnt[0]:
        hits, same = zip(
            *(
                _hit(found[case.number], case, learnt[int(half)][name])
                for case, half in zip(cases, halves, strict=True)
            ),
            strict=True,
        )
        made.append(Baseline(name, name, np.array(hits), name != SAME_KIND, np.array(same)))
    return tuple(made)


def _learnt(steps: Counter[int], counts: Counter[str]) -> dict[str, Prefers]:
    """By name, what each rule prefers: of a sentence, a word and its candidates the one with the largest number."""

    def often(one: Kept, among: IntArray) -> FloatArray:
        return np.array([counts[one.sentence.words[one.places[i]].lower()] for i in among], dtype=float)

    def alike(one: Kept, row: int, among: IntArray) -> FloatArray:
        tags = [one.sentence.tags[one.places[i]] for i in among]
        same = np.array([tag == one.sentence.tags[one.places[row]] for tag in tags])
        return np.where(same, 0.0, -1e6) - _away(one, row, among)

    return {
        "the nearest content word": lambda one, row, among: -_away(one, row, among),
        "the first content word": lambda _, __, among: -among.astype(float),
        "the last content word": lambda _, __, among: among.astype(float),
        "the place where such a word stands most often": lambda _, row, among: np.array(
            [steps[int(i) - row] for i in among], dtype=float
        ),
        "the most frequent content word": lambda one, _, among: often(one, among),
        "the rarest content word": lambda one, _, among: -often(one, among),
        "a blind choice": lambda _, __, among: np.zeros(len(among)),
        SAME_KIND: alike,
    }


def _away(one: Kept, row: int, among: IntArray) -> FloatArray:
    away: FloatArray = np.abs(one.places[among] - one.places[row]).astype(float)
    return away


def _hit(one: Kept, case: _Case, prefers: Prefers) -> tuple[float, FloatArray]:
    """Is the candidate that a rule prefers the right one, and do the heads (head,) look at it? Of several that it
    prefers alike, a share, and no head's answer is the rule's."""
    among = _among(one, case)
    scores = prefers(one, case.row, among)
    best = among[scores == scores.max()]
    looks = one.at[:, case.row]
    same = (looks == best[0]).astype(np.float32) if len(best) == 1 else np.full(len(looks), np.nan)
    return float(case.answer in best) / len(best), same


def _blind(one: Kept, case: _Case) -> float:
    """How often a blind choice is right, in the layer where it is most often."""
    candidates = one.by_layer[:, case.row]
    return float((candidates[:, case.answer] / np.maximum(candidates.sum(-1), 1)).max())


def _among(one: Kept, case: _Case) -> IntArray:
    found: IntArray = np.flatnonzero(one.allowed[case.row])
    return found
