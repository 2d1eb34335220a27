"""Tokens and records of what was computed elsewhere: arrays of one's own with tokens as strings.

Nothing here runs a model. `ModelInfo.computed_by` says that the numbers are not this engine's, and so do exports and
what a record prints.
"""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from mha_core.cross import CrossRecord
from mha_core.errors import InputError, SizeError
from mha_core.families.bert import SPECIALS as BERT
from mha_core.record import Array, ModelInfo, Record
from mha_core.spelling import WORDPIECE
from mha_core.tokens import Piece, Tokens, Word

CALLER = "the caller (arrays of one's own)"
LARGEST_ERROR = 1e-2  # of the sum of a row
SPECIAL = (BERT.begin, BERT.separator, BERT.padding, "<s>", "</s>", "<pad>")
Given = Sequence[str] | Tokens


@overload
def record_of(
    weights: ArrayLike, tokens: Given, *, keys: None = ..., special: Sequence[str] = ..., causal: bool | None = ...,
    title: str = ..., computed_by: str = ..., versions: Mapping[str, str] | None = ...,
) -> Record: ...  # fmt: skip


@overload
def record_of(
    weights: ArrayLike, tokens: Given, *, keys: Given, special: Sequence[str] = ..., causal: bool | None = ...,
    title: str = ..., computed_by: str = ..., versions: Mapping[str, str] | None = ...,
) -> CrossRecord: ...  # fmt: skip


def record_of(
    weights: ArrayLike,
    tokens: Given,
    *,
    keys: Given | None = None,
    special: Sequence[str] = SPECIAL,
    causal: bool | None = None,
    title: str = "Weights of one's own",
    computed_by: str = CALLER,
    versions: Mapping[str, str] | None = None,
) -> Record | CrossRecord:
    """A record of attention weights (layer, head, query, key) between tokens given as strings.

    `weights`: an array, a tensor, or what transformers calls `attentions`, a sequence of layers of (1, head, query,
    key). `keys`: the tokens of the columns where they are another text's; the result is then a CrossRecord. Each string
    is a piece, and a word, but one that begins with BERT's sign for it goes on with the word before it; those in
    `special` are no words. `causal`: whether a token sees only what stands before it; None: it does if no weight says
    otherwise.

    Raises SizeError for another shape, InputError for rows that do not sum to one, or tokens that are no strings.
    """
    array = _four_axes(weights)
    rows = tokens_of(tokens, special)
    columns = rows if keys is None else tokens_of(keys, special)
    if array.shape[2:] != (len(rows), len(columns)):
        raise SizeError(
            f"Weights of shape {array.shape} were given with {len(rows)} tokens of rows and {len(columns)} of columns."
        )
    sums = array.sum(axis=-1)
    if not np.isfinite(sums).all() or (array < 0).any() or np.abs(sums - 1).max(initial=0) > LARGEST_ERROR:
        raise InputError("Attention weights are from 0 to 1 and every row sums to one; these are not.")
    alone = keys is None
    ahead = alone and any(np.triu(layer, 1).any() for layer in array)
    if causal and ahead:
        raise InputError("These weights look at later tokens, which causal ones do not.")
    is_causal = (alone and len(rows) > 1 and not ahead) if causal is None else causal
    layers, heads = array.shape[:2]
    info = ModelInfo(
        title, title, None, layers, heads, 0, 0, 0, max(len(rows), len(columns)), "", None, is_causal and alone,
        computed_by=computed_by,
    )  # fmt: skip
    said = versions or {}
    return Record(info, rows, array, said) if alone else CrossRecord(info, rows, columns, array, said)


def tokens_of(given: Given, special: Sequence[str] = ()) -> Tokens:
    """Strings as tokens. Raises InputError for what is no list of strings."""
    if isinstance(given, Tokens):
        return given
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise InputError(f"Tokens are a list of strings; {type(given).__name__} was given.")
    pieces, words, text = list[Piece](), list[Word](), ""
    for at, label in enumerate(given):
        if not isinstance(label, str) or not label:
            raise InputError(f"Token {at} is {label!r:.40}; tokens are strings that are not empty.")
        if label in special:  # the reader did not write it
            pieces.append(Piece(label, at, len(text), len(text), 0, None, special=True))
            continue
        goes_on = (
            label.startswith(WORDPIECE) and len(label) > 2 and bool(words) and pieces[-1].word is not None
        )
        spelt = label.removeprefix(WORDPIECE) if goes_on else label
        start = len(text) if goes_on or not text else len(text) + 1
        text = text + " " * (start - len(text)) + spelt
        if goes_on:
            last = words[-1]
            words[-1] = Word(text[last.start :], last.start, len(text), 0, last.first, at + 1)
        else:
            words.append(Word(spelt, start, len(text), 0, at, at + 1))
        mark = WORDPIECE if goes_on else ""
        pieces.append(Piece(label, at, start, len(text), 0, len(words) - 1, special=False, mark=mark))
    return Tokens(text, None, tuple(pieces), tuple(words))


def _four_axes(weights: ArrayLike) -> Array:
    """A float32 copy of (layer, head, query, key). Raises SizeError for another shape, InputError for no numbers."""
    if isinstance(weights, list | tuple):
        layers = [_numbers(layer) for layer in weights]
        if len({layer.shape for layer in layers}) > 1:
            raise SizeError("The layers' weights have different shapes; every layer has as many heads.")
        array = np.stack(layers) if layers else np.zeros((0,))
    else:
        array = _numbers(weights)
    if array.ndim == 5 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 4 or 0 in array.shape:
        raise SizeError(f"Weights are (layer, head, query, key); these have shape {array.shape}.")
    return np.array(array, dtype=np.float32)


def _numbers(given: Any) -> Array:
    if hasattr(given, "detach"):
        given = given.detach().float().cpu()
    try:
        found: Array = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError(f"Weights are an array of numbers; {type(given).__name__} was given.") from None
    return found
