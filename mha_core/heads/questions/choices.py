"""Two mentions, and a word that stands for one of them: the item, and which one every head chooses.

In: weights (layer, head, query, key) over the tokens of a text, with its pronoun and mentions. Out: the mention that
each head prefers, in both directions.

Pronoun to mention: the score of a mention is the sum over its tokens of the pronoun's row (the mean over the rows of a
pronoun of several tokens). Back: the same with rows and columns exchanged. The larger score is the choice; a tie counts
one half. In a decoder only pronoun to mention is asked, where both mentions came before the pronoun.

Source: Clark et al. 2019, section 4.3.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.engine.visibility import Visibility
from mha_core.errors import InputError
from mha_core.heads.corpora import PronounCase, Span
from mha_core.heads.word_weights import BoolArray, tokens_in
from mha_core.text.tokens import Tokenizer, Tokens, clean_text

SHRINK = 0.8
LONGEST_PIECE = 16  # characters a token, in the most generous estimate of what a model can read


@dataclass(frozen=True)
class Choice:
    """A pronoun with two mentions in tokens: those of the pronoun and of each mention. `is_cut`: only a window of the
    text is read."""

    tokens: Tokens
    pronoun: IntArray
    candidates: tuple[IntArray, IntArray]
    source: PronounCase
    is_cut: bool = False


def choice_of(source: PronounCase, tokenizer: Tokenizer) -> Choice:
    """Tokenise a choice; a text beyond the model's limit is cut to a window around the three mentions.

    Raises InputError where even the stretch between them is too long, and where the tokens of a mention do not spell
    it: it has none, or the tokenizer took the text for another (a special token at its beginning).
    """
    text, spans, tokens = _window(source, tokenizer.encode, tokenizer.max_tokens)
    pronoun, a, b = (np.array(tokens_in(tokens, span), dtype=np.intp) for span in spans)
    for span, pieces in zip(spans, (pronoun, a, b), strict=True):
        if not len(pieces):
            raise InputError("a mention has no token of its own.")
        _check_spelling(tokens, pieces, text[slice(*span)])
    return Choice(tokens, pronoun, (a, b), source, len(text) < len(source.text))


def _check_spelling(tokens: Tokens, pieces: IntArray, mention: str) -> None:
    """Raise InputError unless the pieces spell the mention; a sign beside it may be part of its last piece."""
    first, last = tokens.pieces[pieces[0]], tokens.pieces[pieces[-1]]
    spelled = tokens.text[first.start : last.end]
    if _bare(spelled) != _bare(clean_text(mention)):
        raise InputError(f"the tokens at the place of {mention[:30]!r} spell {spelled[:30]!r}.")


def _bare(text: str) -> str:
    return re.sub(r"^\W+|\W+$", "", text)


def _window(
    choice: PronounCase, encode: Callable[[str], Tokens], max_tokens: int
) -> tuple[str, tuple[Span, ...], Tokens]:
    """Return the text, or the longest stretch tried around the mentions that the model reads whole, with its spans and
    tokens."""
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
    """Return the border of words furthest from `place`, at most `margin` characters away (negative: to the left)."""
    if margin <= 0:
        start = max(place + margin, 0)
        return start if start == 0 else text.find(" ", start, place) + 1 or place
    stop = min(place + margin, len(text))
    space = text.rfind(" ", place, stop)
    return stop if stop == len(text) else place if space < 0 else space


def mention_scores(weights: FloatArray, item: Choice) -> FloatArray:
    """Return what every token gives to a mention, or gets from it: (direction, head, row, mention).

    The rows of the pronoun's tokens all hold the pronoun's own score: the mean over them when the pronoun looks, their
    sum when it is looked at.
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


def sees_both(item: Choice, visibility: Visibility) -> BoolArray:
    """Return which tokens see both mentions whole, (layer, token)."""
    mentions = visibility.mask(len(item.tokens))[..., np.concatenate(item.candidates)]
    visible: BoolArray = np.logical_and.reduce(mentions, axis=-1)
    return visible


def other_rows(item: Choice) -> IntArray:
    """Return the tokens that are neither the pronoun, nor a mention, nor inserted."""
    taken = {int(i) for pieces in (item.pronoun, *item.candidates) for i in pieces}
    rows = [i for i, p in enumerate(item.tokens.pieces) if not p.special and i not in taken]
    return np.array(rows, dtype=np.intp)
