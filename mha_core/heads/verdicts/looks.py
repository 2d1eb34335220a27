"""What every head looks at in a treebank: kept word by word, so that every question after it needs no model.

In: weights (layer, head, query, key) of one sentence and its tree. Out: for every word the word that it looks at most,
and the word that looks at it most; the word itself and special tokens are no candidates. Two bytes a head and word.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.corpora import Reading, Sentence
from mha_core.heads.words import FloatArray, IntArray, merge_words, word_bounds
from mha_core.tokens import Tokenizer, Tokens


@dataclass(frozen=True)
class Tree:
    """A treebank sentence, tokenised from its words; `whole`: so many of its words the model reads."""

    sentence: Sentence
    tokens: Tokens

    @property
    def whole(self) -> int:
        """The last word of a text that was cut may have lost its end."""
        return len(self.tokens.words) - bool(self.tokens.n_cut)


@dataclass(frozen=True)
class Looks:
    """One sentence: `at` (direction, head, word), the word that a word looks at most, and by which it is looked at
    most."""

    sentence: Sentence
    at: IntArray

    @cached_property
    def heads(self) -> IntArray:
        """The position of each word's head, -1 for the root and for one that the model does not read, (word,)."""
        n = self.at.shape[-1]
        found = np.array(self.sentence.heads[:n], dtype=np.intp)
        return np.where(found < n, found, -1)

    @cached_property
    def relations(self) -> np.ndarray:
        """The relation of each word to its head, (word,)."""
        return np.array(self.sentence.relations[: self.at.shape[-1]])


def trees(
    sentences: Iterable[Sentence], tokenizer: Tokenizer, reading: Reading | None = None
) -> Iterator[Tree]:
    """Treebank sentences with their tokens; one whose words the tokenizer cannot tell apart is left out."""
    reading = reading or Reading()
    for sentence in sentences:
        try:
            yield Tree(sentence, tokenizer.encode_words(sentence.words))
        except InputError as flaw:
            reading.left_out(sentence.line, str(flaw))


class LooksLog:
    """Remembers what every word of every sentence looks at, for every head."""

    def __init__(self, is_causal: bool = False) -> None:
        self.is_causal = is_causal
        self.found: list[Looks] = []

    def add(self, weights: FloatArray, item: Tree) -> None:
        """Keep one sentence; weights (layer, head, query, key) over its pieces."""
        whole = item.whole
        if whole < 2:
            return
        words = merge_words(weights, word_bounds(item.tokens)[:whole])
        flat = words.reshape(-1, whole, whole)
        every = np.arange(whole)
        flat[:, every, every] = -1.0
        if self.is_causal:
            flat[:, np.triu(np.ones((whole, whole), dtype=bool), 1)] = -1.0
        ways = [flat.argmax(-1)] if self.is_causal else [flat.argmax(-1), flat.argmax(-2)]
        self.found.append(Looks(item.sentence, np.array(ways, dtype=np.int16)))
