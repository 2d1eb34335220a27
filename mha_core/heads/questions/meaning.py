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

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.base import Baseline, Measured, Question
from mha_core.heads.questions.syntax import Tree
from mha_core.heads.stats import half_of
from mha_core.heads.words import BoolArray, FloatArray, IntArray, merge_words, word_bounds
from mha_core.load import load_model
from mha_core.model_list import EMBEDDED
from mha_core.tokens import Tokenizer

CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ"))
MIN_CANDIDATES = 3
# Of random pairs of content words of a treebank one in a hundred has a cosine of 0.27: who has this is related.
RELATED = 0.25
SEMANTIC, APART = "semantic", "semantic-apart"
CONTROL = "other content words look most at the same word"
SAME_KIND = "the nearest content word of its own part of speech"
TRIES = 20  # draws of a distance until one fits
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
    """One sentence: `places` (m,) of its content words, how alike they are (m, m), -1 where the column's word is no
    candidate of the row's, and `at` (head, m), which of them every one looks at most."""

    sentence: Sentence
    places: IntArray
    likeness: FloatArray
    at: IntArray

    @cached_property
    def partner(self) -> IntArray:
        """The most related candidate of each, (m,)."""
        found: IntArray = self.likeness.argmax(-1)
        return found

    @cached_property
    def asked(self) -> list[int]:
        """The words that are cases: with enough candidates, and one that is related."""
        enough = (self.likeness > -1).sum(-1) >= MIN_CANDIDATES
        return [int(i) for i in np.flatnonzero(enough & (self.likeness.max(-1) >= RELATED))]

    def apart(self, row: int) -> bool:
        """Are a word and its partner neither side by side nor one the other's dependent?"""
        a, b = int(self.places[row]), int(self.places[self.partner[row]])
        heads = self.sentence.heads
        return abs(a - b) > 1 and heads[a] != b and heads[b] != a


class RelatedLog:
    """Remembers at which other content word every content word looks most, for every head."""

    def __init__(self, known: Meanings, is_causal: bool = False) -> None:
        self.known, self.is_causal = known, is_causal
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
        allowed = _candidates(item.sentence, places, self.is_causal)
        likeness = np.where(allowed, vectors @ vectors.T, np.float32(-1))
        looks = merge_words(weights, word_bounds(item.tokens)[places])
        looks = np.where(likeness > -1, looks.reshape(-1, *looks.shape[-2:]), -1.0)
        self.found.append(Kept(item.sentence, places, likeness, looks.argmax(-1).astype(np.int16)))


def _candidates(sentence: Sentence, places: IntArray, is_causal: bool) -> BoolArray:
    """(m, m): may the column's word be what the row's looks for?"""
    stems = np.array([sentence.words[i].lower()[:STEM] for i in places])
    found: BoolArray = stems[:, None] != stems
    return np.tril(found, -1) if is_causal else found


@dataclass(frozen=True)
class _Case:
    """A word (`row`) of a sentence, and the one it should look at (`answer`), as places among the content words."""

    number: int
    row: int
    answer: int


def related_measured(
    found: Sequence[Kept], corpus: str, shuffled: np.random.Generator | None = None
) -> Iterator[Measured]:
    """Both questions, where there are cases on both halves; with `shuffled` gold every word has as partner the
    candidate that stands where the partner of another case stands."""
    for key in (SEMANTIC, APART):
        cases = [
            _Case(number, row, int(one.partner[row]))
            for number, one in enumerate(found)
            for row in one.asked
            if key == SEMANTIC or one.apart(row)
        ]
        if shuffled is not None:
            cases = _shuffled(cases, found, shuffled)
        halves = np.array(
            [half_of(found[case.number].sentence.pair or found[case.number].sentence.text) for case in cases],
            dtype=bool,
        )
        if len(np.unique(halves)) == 2:
            yield _measured(key, corpus, cases, found, halves)


def _shuffled(cases: list[_Case], found: Sequence[Kept], random: np.random.Generator) -> list[_Case]:
    steps = np.array([case.answer - case.row for case in cases])

    def other(case: _Case) -> _Case:
        allowed = set(np.flatnonzero(found[case.number].likeness[case.row] > -1).tolist())
        drawn = (case.row + int(step) for step in random.choice(steps, TRIES))
        return _Case(case.number, case.row, next((place for place in drawn if place in allowed), case.answer))

    return [other(case) for case in cases]


def _measured(
    key: str, corpus: str, cases: list[_Case], found: Sequence[Kept], halves: BoolArray
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
    sources = np.unique([one.sentence.source for one in found], return_inverse=True)[1]
    does = "looks from a word to the word most related to it"
    return Measured(
        Question(key, "semantic", title, does, f"{asks}?", corpus, control=CONTROL),
        right,
        sources[[case.number for case in cases]],
        halves,
        _baselines(cases, found, halves),
        control,
        chance=np.array([1 / len(_among(found[case.number], case)) for case in cases]),
        steps=(np.array([case.answer for case in cases]) - rows, at - rows[:, None]),
    )


def _answered(one: Kept, case: _Case) -> tuple[FloatArray, FloatArray]:
    """(head,) both: right, and how many of the other words that have another partner look there as well."""
    hits = (one.at == case.answer).astype(np.float32)
    free = (one.likeness[:, case.answer] > -1) & (one.partner != case.answer)
    free[case.row] = False
    return hits[:, case.row], hits[:, free].mean(-1) if free.any() else np.full(len(hits), np.nan)


def _baselines(cases: list[_Case], found: Sequence[Kept], halves: BoolArray) -> tuple[Baseline, ...]:
    """Every simple rule on every case; what has to be learnt is learnt on the other half."""
    learnt = [_learnt([case for case, half in zip(cases, halves, strict=True) if half != mine], found)
              for mine in (False, True)]  # fmt: skip
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
    return tuple(sorted(made, key=lambda rule: -rule.score))


def _learnt(cases: list[_Case], found: Sequence[Kept]) -> dict[str, Prefers]:
    """By name, what each rule prefers: of a sentence, a word and its candidates the one with the largest number."""
    steps = Counter(case.answer - case.row for case in cases)
    known = {id(found[case.number]): found[case.number].sentence for case in cases}
    counts = Counter(word.lower() for sentence in known.values() for word in sentence.words)

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


def _among(one: Kept, case: _Case) -> IntArray:
    found: IntArray = np.flatnonzero(one.likeness[case.row] > -1)
    return found
