"""A pronoun and two mentions: which one does a head choose, and is it the pronoun that makes it choose so?

In: weights (layer, head, query, key) over the pieces of one text, and its pronoun and mentions. Out: for
every head and direction the share of right choices with its interval, four baselines, the share of minimal
pairs in which a head changes its preference, and the control.

pronoun->mention: the score of a mention is the sum over its pieces of the pronoun's row (the mean over the
rows of a pronoun of several pieces). mention->pronoun: the same with rows and columns exchanged. The larger
score is the choice; a tie counts one half. Control: the same comparison from every other row (for
mention->pronoun, every other column) of the text. A head that prefers the right name from there as well has a
favourite name, no antecedent. In a decoder only pronoun->mention is asked for, where both mentions came before
the pronoun, and the control's rows are those that have seen both.

Sources: Clark et al. 2019, section 4.3; Webster et al. 2018 (GAP); Levesque et al. 2012 for minimal pairs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.coreference_table import DIRECTIONS, CoreferenceTable
from mha_core.heads.corpora import PronounCase, Span
from mha_core.heads.intervals import wilson
from mha_core.heads.words import FloatArray, IntArray
from mha_core.tokens import Tokenizer, Tokens, clean_text

BASELINES = ("nearest", "first", "most frequent", "uniform")
MAX_PENDING = 100_000
SHRINK = 0.8
LONGEST_PIECE = 16  # characters a token, in the most generous estimate of what a model can read


@dataclass(frozen=True)
class ChoiceCase:
    """A choice in pieces: which belong to the pronoun and to each mention. `baselines`: 1 right, 0 wrong, 0.5
    tie. `is_cut`: only a window of the text is read.
    """

    tokens: Tokens
    pronoun: IntArray
    candidates: tuple[IntArray, IntArray]
    answer: int
    pair: str | None
    baselines: tuple[float, ...]
    kind: str | None = None
    is_cut: bool = False


def choice_case(choice: PronounCase, tokenizer: Tokenizer, kind: str | None = None) -> ChoiceCase:
    """A choice tokenised; a text beyond the model's limit is cut to a window around the three mentions.

    Raises InputError where even the stretch between them is too long, and where the pieces of a mention do not
    spell it: it has none, or the tokenizer took the text for another (a special token at its beginning).
    """
    text, spans, tokens = _window(choice, tokenizer.encode, tokenizer.max_tokens)
    found = [_pieces(tokens, span) for span in spans]
    for span, pieces in zip(spans, found, strict=True):
        if not len(pieces):
            raise InputError("a mention has no token of its own.")
        _check_spelling(tokens, pieces, text[slice(*span)])
    pronoun, a, b = found
    is_cut = len(text) < len(choice.text)
    return ChoiceCase(tokens, pronoun, (a, b), choice.answer, choice.pair, _baselines(choice), kind, is_cut)


def _check_spelling(tokens: Tokens, pieces: IntArray, mention: str) -> None:
    """Raise InputError unless the pieces spell the mention; a sign beside it may be part of its last piece."""
    first, last = tokens.pieces[pieces[0]], tokens.pieces[pieces[-1]]
    spelled = tokens.text[first.start : last.end]
    if _bare(spelled) != _bare(clean_text(mention)):
        raise InputError(f"the tokens at the place of {mention[:30]!r} spell {spelled[:30]!r}.")


def _bare(text: str) -> str:
    return re.sub(r"^\W+|\W+$", "", text)


def _pieces(tokens: Tokens, span: Span) -> IntArray:
    inside = [
        i
        for i, piece in enumerate(tokens.pieces)
        if not piece.special and piece.segment == 0 and piece.start < span[1] and span[0] < piece.end
    ]
    return np.array(inside, dtype=np.intp)


def _window(
    choice: PronounCase, encode: Callable[[str], Tokens], max_tokens: int
) -> tuple[str, tuple[Span, ...], Tokens]:
    """The text, or the longest stretch tried around the mentions that the model can read whole; with its tokens."""
    spans = (choice.pronoun, *choice.candidates)
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    most = max_tokens * LONGEST_PIECE
    if last - first > most or encode(choice.text[first:last]).n_cut:
        raise InputError("the mentions are further apart than the model can read.")
    margin = max(first, len(choice.text) - last)
    start, stop = 0, len(choice.text)
    if margin > most:
        margin = most
        start, stop = _at_a_space(choice.text, first, -margin), _at_a_space(choice.text, last, margin)
    while (tokens := encode(choice.text[start:stop])).n_cut:
        share = len(tokens) / (len(tokens) + tokens.n_cut)
        # Far beyond the limit, not through all the steps between.
        margin = int(margin * min(SHRINK, 2 * share))
        start, stop = _at_a_space(choice.text, first, -margin), _at_a_space(choice.text, last, margin)
    return choice.text[start:stop], tuple((a - start, b - start) for a, b in spans), tokens


def _at_a_space(text: str, place: int, margin: int) -> int:
    """The border of words furthest from `place`, at most `margin` characters away (negative: to the left)."""
    if margin <= 0:
        start = max(place + margin, 0)
        return start if start == 0 else text.find(" ", start, place) + 1 or place
    stop = min(place + margin, len(text))
    found = text.rfind(" ", place, stop)
    return stop if stop == len(text) else place if found < 0 else found


def _baselines(choice: PronounCase) -> tuple[float, ...]:
    """Are the nearest mention, the first, the one named most often (of two, the nearer), and a coin right?"""
    a, b = choice.candidates
    gaps = [max(span[0] - choice.pronoun[1], choice.pronoun[0] - span[1]) for span in (a, b)]
    near = _right(-gaps[0], -gaps[1], choice.answer)
    counts = [_count(choice.text, choice.text[slice(*span)]) for span in (a, b)]
    frequent = near if counts[0] == counts[1] else _right(counts[0], counts[1], choice.answer)
    return (near, _right(-a[0], -b[0], choice.answer), frequent, 0.5)


def _count(text: str, name: str) -> int:
    """How often the text has the last word of the name (a person's surname)."""
    return len(re.findall(rf"(?<!\w){re.escape(name.split()[-1])}(?!\w)", text))


def _right(a: float, b: float, answer: int) -> float:
    return 0.5 if a == b else float((a < b) == bool(answer))


class CoreferenceSums:
    """Sums over texts, which can be merged; of the pairs only those whose second version is still to come."""

    def __init__(self, n_layers: int, n_heads: int, is_causal: bool = False) -> None:
        self.shape = (n_layers, n_heads)
        self.is_causal = is_causal
        self.n_later = 0
        heads = n_layers * n_heads
        self.n = 0
        self.hits = np.zeros((2, heads))
        self.control = np.zeros((2, heads))
        self.n_control = 0
        self.baselines = np.zeros(len(BASELINES))
        self.n_pairs = 0
        self.pairs = np.zeros((2, 2, heads))
        self.pending: dict[str, tuple[np.ndarray, int]] = {}

    def add(self, weights: FloatArray, item: ChoiceCase) -> None:
        """Count one text; weights (layer, head, query, key) over its pieces."""
        if self.is_causal and not looks_back(item):
            self.n_later += 1
            return
        scores = mention_scores(weights, item)
        prefers = np.sign(scores[..., 1] - scores[..., 0]).astype(np.int8)
        right = (1 + prefers * (1 if item.answer else -1)) / 2
        chosen = right[:, :, item.pronoun[0]]
        self.n += 1
        self.hits += chosen
        self.baselines += item.baselines
        others = other_rows(item, self.is_causal)
        if len(others):
            self.n_control += 1
            self.control += right[:, :, others].mean(-1)
        if item.pair is not None:
            self._add_pair(item.pair, prefers[:, :, item.pronoun[0]], item.answer)

    def _add_pair(self, pair: str, prefers: np.ndarray, answer: int) -> None:
        other = self.pending.pop(pair, None)
        if other is None:
            if len(self.pending) == MAX_PENDING:
                raise InputError(f"More than {MAX_PENDING:,} pairs are waiting for their second version.")
            self.pending[pair] = (prefers, answer)
            return
        self.n_pairs += 1
        sides = [(prefers, answer), other]
        self.pairs[0] += np.all([choice == (1 if right else -1) for choice, right in sides], axis=0)
        self.pairs[1] += prefers * other[0] == -1

    def result(self) -> CoreferenceTable:
        """The shares so far."""
        shape = (2, *self.shape)
        n, n_control, n_pairs = (max(count, 1) for count in (self.n, self.n_control, self.n_pairs))
        low, high = wilson(self.hits, self.n)
        return CoreferenceTable(
            self.n,
            (self.hits / n).reshape(shape),
            (self.control / n_control).reshape(shape),
            low.reshape(shape),
            high.reshape(shape),
            dict(zip(BASELINES, (self.baselines / n).tolist(), strict=True)),
            self.n_pairs,
            (self.pairs[0] / n_pairs).reshape(shape),
            (self.pairs[1] / n_pairs).reshape(shape),
            DIRECTIONS[:1] if self.is_causal else DIRECTIONS,
            self.n_later,
        )


def mention_scores(weights: FloatArray, item: ChoiceCase) -> FloatArray:
    """(direction, head, row, mention): what every piece gives to a mention, or gets from it.

    The rows of the pronoun's pieces all hold the pronoun's own score: the mean over them when the pronoun
    looks, their sum when it is looked at.
    """
    flat = weights.reshape(-1, *weights.shape[-2:])
    n = flat.shape[-1]
    inside = np.zeros((n, 2), dtype=flat.dtype)
    for mention, pieces in enumerate(item.candidates):
        inside[pieces, mention] = 1
    given = (flat.reshape(-1, n) @ inside).reshape(-1, n, 2)
    received = np.swapaxes((inside / inside.sum(0)).T @ flat, 1, 2)
    given[:, item.pronoun] = given[:, item.pronoun].mean(1, keepdims=True)
    received[:, item.pronoun] = received[:, item.pronoun].sum(1, keepdims=True)
    return np.stack([given, received])


def looks_back(item: ChoiceCase) -> bool:
    """Do both mentions come before the pronoun, where a decoder can see them?"""
    return max(int(pieces[-1]) for pieces in item.candidates) < int(item.pronoun[0])


def other_rows(item: ChoiceCase, is_causal: bool = False) -> IntArray:
    """The pieces of the text that are neither the pronoun, nor a mention, nor inserted; in a decoder only those
    that have seen both mentions.
    """
    first = max(int(pieces[-1]) for pieces in item.candidates) if is_causal else 0
    taken = {int(i) for pieces in (item.pronoun, *item.candidates) for i in pieces}
    rows = [i for i, p in enumerate(item.tokens.pieces) if not p.special and i not in taken and i >= first]
    return np.array(rows, dtype=np.intp)
