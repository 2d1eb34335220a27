"""Tokens and records of what was computed elsewhere: arrays of one's own with tokens as strings.

Nothing here runs a model. `ModelInfo.computed_by` says that the numbers are not this engine's, and so do exports and
what a record prints.
"""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from mha_core.bpe import joined_runs, placed
from mha_core.cross import CrossRecord
from mha_core.errors import InputError, SizeError
from mha_core.families.bert import SPECIALS as BERT
from mha_core.record import Array, ModelInfo, Record
from mha_core.tokens import Piece, Tokens, Word

CALLER = "the caller (arrays of one's own)"
LARGEST_ERROR = 1e-2  # of the sum of a row
WORDPIECE = BERT.continuation
SPECIAL = (BERT.begin, BERT.separator, BERT.padding, "<s>", "</s>", "<pad>")
SPACES, END_OF_WORD = ("▁", "Ġ"), "</w>"
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


def tokens_from_spans(
    texts: Sequence[str],
    names: Sequence[str],
    ids: Sequence[int],
    spans: Sequence[tuple[int, int]],
    segments: Sequence[int | None],
) -> Tokens:
    """Pieces as another tokenizer cut them, with their spans in the reader's text (one, or a pair); `segments` says in
    which text a piece stands, None for those that were put around."""
    pieces, words, current = list[Piece](), list[Word](), 0
    for segment, (start, stop) in _stretches(segments):
        if segment is None:
            current = 0 if not pieces else current
            pieces += [Piece(names[i], ids[i], 0, 0, current, None, special=True) for i in range(start, stop)]
            continue
        current, text, first = segment, texts[segment], len(words)
        places = range(start, stop)
        rows = placed(
            text, [names[i] for i in places], [ids[i] for i in places], [spans[i] for i in places],
            joined_runs(text), [False] * len(places),
        )  # fmt: skip
        known = dict[int, int]()
        for name, identity, low, high, group, mark in rows:
            number = known.setdefault(group or 0, first + len(known))
            if number == len(words):
                words.append(Word(text[low:high], low, high, segment, len(pieces), len(pieces) + 1))
            else:
                last = words[number]
                end = max(last.end, high)
                words[number] = Word(
                    text[last.start : end], last.start, end, segment, last.first, len(pieces) + 1
                )
            own_mark = WORDPIECE if mark and name.startswith(WORDPIECE) else mark
            pieces.append(Piece(name, identity, low, high, segment, number, special=False, mark=own_mark))
    return Tokens(texts[0], texts[1] if len(texts) > 1 else None, tuple(pieces), tuple(words))


def spelt_by(names: Sequence[str], special: Sequence[bool]) -> tuple[str, list[tuple[int, int]]]:
    """The text that pieces spell, where their tokenizer tells no spans, and the span of each: "▁" and "Ġ" stand for a
    space, "</w>" for one after the piece, BERT's sign for none."""
    text, spans, ended = "", list[tuple[int, int]](), False
    for name, is_special in zip(names, special, strict=True):
        if is_special:
            spans.append((0, 0))
            continue
        begins = name[:1] in SPACES or ended
        ended = name.endswith(END_OF_WORD)
        bare = name.removeprefix(WORDPIECE).removesuffix(END_OF_WORD)
        bare = bare[1:] if bare[:1] in SPACES else bare
        start = len(text) + (1 if begins and text else 0)
        text = text.ljust(start) + bare
        spans.append((start, len(text)))
    return text, spans


def _stretches(segments: Sequence[int | None]) -> list[tuple[int | None, tuple[int, int]]]:
    found = list[tuple[int | None, tuple[int, int]]]()
    for at, segment in enumerate(segments):
        if found and found[-1][0] == segment:
            found[-1] = (segment, (found[-1][1][0], at + 1))
        else:
            found.append((segment, (at, at + 1)))
    return found


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
