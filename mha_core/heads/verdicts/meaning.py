"""Which content words of a sentence are related in meaning, and which of them does every head look at most?

In: weights (layer, head, query, key) of one sentence and its tree. Out: a `Kept` for every sentence. What is related is
told by a source that is no head: the cosine of the embedded encoder's input word embeddings, their mean removed. For
the heads of that encoder this is a circle in part, for they read these very embeddings; for another model's heads it is
none.

The candidates of a content word are all others but forms of itself; in a decoder those before it. Only words that are
one token of that encoder count, since the mean of pieces is no word's embedding.

Sources: Mikolov et al. 2013 for the cosine; Mu and Viswanath 2018, section 2, for the mean that is removed.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.corpora import Sentence
from mha_core.heads.verdicts.looks import Tree
from mha_core.heads.verdicts.measured import RELATED
from mha_core.heads.words import BoolArray, FloatArray, IntArray, merge_words, word_bounds
from mha_core.load import load_model
from mha_core.shelf import EMBEDDED
from mha_core.tokens import Tokenizer

CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ"))
MIN_CANDIDATES = 3
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
