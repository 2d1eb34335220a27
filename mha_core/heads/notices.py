"""What a person should know before reading a picture: a text that was cut, unknown tokens, random weights, a measure.

In: a record and what is drawn. Out: sentences, each with its number.
"""

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.display_names import Per, count_noun
from mha_core.heads.measures import BY_KEY, RAW
from mha_core.record.grid import Grid
from mha_core.record.record import AttentionRecord

RAW_WEIGHTS = {
    "head": "the raw weights",
    "layer": "the mean of the layer's raw weights",
    "model": "the mean of the last layer's raw weights",
}


def unread(record: AttentionRecord) -> tuple[str, ...]:
    """Say where the model did not read what was written: a text that was cut, tokens that its vocabulary lacks."""
    sentences = []
    if cut := record.tokens.n_cut:
        most = record.model.max_tokens
        left = count_noun(cut, "token", ("is", "are"))
        sentences.append(f"The text was cut: the model reads {most} tokens at most, so {left} left out.")
    if unknown := [piece.text for piece in record.tokens.pieces if piece.role == "unknown"]:
        lacks = count_noun(len(unknown), "token", ("is", "are"))
        sentences.append(f"{lacks} not in the model's vocabulary: the model sees only `{unknown[0]}` there.")
    return tuple(sentences)


def untrained(record: AttentionRecord) -> str:
    """Say that the weights are random, if it is known that they are; else empty."""
    if record.model.trained is not False:
        return ""
    chance = "Any pattern here comes from chance and the network's shape, not from language."
    return f"The {record.model.n_parameters:,} weights are random. {chance}"


def differing_rows(record: AttentionRecord, grid: Grid, measure: str) -> tuple[str, list[int]]:
    """Return in how many rows the top word differs from the raw weights: a sentence with `{}` in place of a head's
    number, and the numbers of all heads, layer by layer; empty for the raw weights."""
    if measure == RAW.key:
        return "", []
    per: Per = BY_KEY[measure].per
    raw = record.grid(grid.words, grid.specials).weights
    numbers = (_differing(raw, grid.weights) * len(grid)).round().astype(int)
    return (
        f"In {{}} of {len(grid)} rows the top word differs from {RAW_WEIGHTS[per]}.",
        numbers.ravel().tolist(),
    )


def _differing(raw: FloatArray, other: FloatArray) -> FloatArray:
    """The share of rows whose largest entry lies elsewhere, (layer, head); raw is averaged where heads are mixed."""
    if other.shape[1] != raw.shape[1]:
        raw = raw.mean(axis=1, keepdims=True)
    if other.shape[0] != raw.shape[0]:
        raw = raw[-1:]
    return np.asarray((raw.argmax(-1) != other.argmax(-1)).mean(-1))
