"""Does a head look at a place rather than at a meaning: neighbours, itself, the ends, separators; how
sharply?

In: weights (layer, head, query, key) over pieces, one text at a time. Out: for every head the mass on each
place, meaned over all rows (those of special tokens too) and then over texts; the mass at every distance
from -10 to 10; the share of rows whose largest weight lies at a distance; entropy and confidence.

Previous is to the left, next to the right. Entropy is in nats, of 0.9999 a + 0.0001 / n, so that a weight of
zero costs nothing (Clark et al. 2019, section 3.3). Confidence is the mean of a row's largest weight, and the
share of maxima at one distance is what makes a head positional (Voita et al. 2019, sections 4 and 5.2).
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mha_core.heads.seen import evenly, seen
from mha_core.heads.words import BoolArray, FloatArray
from mha_core.tokens import Tokens

REACH = 10
DISTANCES = np.arange(-REACH, REACH + 1)
SMOOTHING = 0.0001
# "Mass" is a mean weight over all rows; what a head "looks at most" is the share of rows, and a job (jobs.py).
LABELS = {
    "previous": "mass on the previous token",
    "next": "mass on the next token",
    "self": "mass on the token itself",
    "first": "mass on the first token of the text",
    "last": "mass on the last token of the text",
    "cls": "mass on {begin}",
    "sep": "mass on {separator}",
    "period": "mass on periods",
    "comma": "mass on commas",
    "entropy": "entropy in nats",
    "confidence": "mean of the largest weight",
}
MEASURES = tuple(LABELS)
# The measures of special tokens, and the role of the token.
SPECIAL = {"cls": "begin", "sep": "separator"}


class HasTokens(Protocol):
    """Whatever a measure over whole texts is fed with."""

    @property
    def tokens(self) -> Tokens: ...


@dataclass(frozen=True)
class PositionTable:
    """Means over `n_texts` texts; every measure is (layer, head), `distance` and `peak` (layer, head,
    distance).

    `first`, `last`: the first and last piece of the reader's own text. `cls`, `sep`: the special token in
    front and those that separate; `names` (by role) are those that the model has. `peak_rows` (distance,): the
    rows behind `peak`. `even`: every measure of a head that looks everywhere equally.
    """

    n_texts: int
    values: dict[str, FloatArray]
    distance: FloatArray
    peak: FloatArray
    peak_rows: FloatArray
    even: dict[str, float]
    names: dict[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, str]:
        """The measures there are, each with its words; none of special tokens that the model does not have."""
        there = {key: label for key, label in LABELS.items() if SPECIAL.get(key) in {None, *self.names}}
        return {key: label.format_map(self.names) for key, label in there.items()}

    def __getitem__(self, measure: str) -> FloatArray:
        return self.values[measure]

    def baseline(self, measure: str) -> float | None:
        """What a head that looks everywhere equally would have; None where the text decides that."""
        if measure in ("period", "comma"):
            return None
        return self.even[measure]

    @property
    def uniform_entropy(self) -> float:
        """The entropy of a head that looks everywhere equally, in nats."""
        return self.even["entropy"]

    @property
    def uniform_share(self) -> float:
        """What such a head gives each token that it can see."""
        return self.even["confidence"]


class PositionSums:
    """Sums over texts, which can be merged."""

    def __init__(self, n_layers: int, n_heads: int, is_causal: bool = False) -> None:
        self.shape = (n_layers, n_heads)
        self.is_causal = is_causal
        self.names: dict[str, str] = {}
        heads = n_layers * n_heads
        self.n_texts = 0
        self.sums = np.zeros((len(MEASURES), heads))
        self.distance = np.zeros((heads, len(DISTANCES)))
        self.peaks = np.zeros((heads, len(DISTANCES)))
        self.peak_rows = np.zeros(len(DISTANCES))
        self.even = np.zeros(len(MEASURES))

    def add(self, weights: FloatArray, item: HasTokens) -> None:
        """Count one text; weights (layer, head, query, key) over its pieces."""
        flat = weights.reshape(-1, *weights.shape[-2:])
        n = flat.shape[-1]
        diagonals = _diagonals(flat)
        self.n_texts += 1
        self.distance += diagonals
        columns = _columns(item.tokens)
        self.sums[:9] += _masses(flat, diagonals, columns)
        can = seen(n, self.is_causal)
        self.names |= special_names(item.tokens)
        self.sums[9] += entropy(flat, can).mean(-1)
        self.sums[10] += flat.max(-1).mean(-1)
        self._count_peaks(flat.argmax(-1), n)
        alike = evenly(n, self.is_causal)[None]
        self.even[:9] += _masses(alike, _diagonals(alike), columns)[:, 0]
        self.even[9:] += np.log(can.sum(-1)).mean(), (1 / can.sum(-1)).mean()

    def _count_peaks(self, looks_at: np.ndarray, n: int) -> None:
        """A row counts for a distance only if the text reaches that far."""
        heads = len(looks_at)
        away = looks_at - np.arange(n)
        near = np.abs(away) <= REACH
        cells = (np.arange(heads)[:, None] * len(DISTANCES) + away + REACH)[near]
        self.peaks += np.bincount(cells, minlength=self.peaks.size).reshape(self.peaks.shape)
        self.peak_rows += np.maximum(n - np.abs(DISTANCES), 0) * ((DISTANCES <= 0) | (not self.is_causal))

    def result(self) -> PositionTable:
        """The means so far."""
        n = max(self.n_texts, 1)
        return PositionTable(
            self.n_texts,
            {name: row.reshape(self.shape) / n for name, row in zip(MEASURES, self.sums, strict=True)},
            self.distance.reshape(*self.shape, -1) / n,
            (self.peaks / np.maximum(self.peak_rows, 1)).reshape(*self.shape, -1),
            self.peak_rows.copy(),
            dict(zip(MEASURES, (self.even / n).tolist(), strict=True)),
            dict(self.names),
        )


def entropy(weights: FloatArray, can: BoolArray | None = None) -> FloatArray:
    """Entropy of every row (..., query, key) → (..., query), in nats, with Clark's smoothing over what the row
    can see (`can`, query by key; everything without it).
    """
    share = np.float32(SMOOTHING) / (weights.shape[-1] if can is None else can.sum(-1, keepdims=True))
    smooth = weights * np.float32(1 - SMOOTHING) + share.astype(np.float32)
    logs = np.log(smooth) if can is None else np.where(can, np.log(smooth), np.float32(0))
    found: FloatArray = -(smooth * logs).sum(-1)
    return found


def special_names(tokens: Tokens) -> dict[str, str]:
    """What the tokenizer calls the special tokens in front of a text and between texts, by their role."""
    named = ((str(piece.role), piece.text) for piece in tokens.pieces)
    return {role: name for role, name in named if role in SPECIAL.values()}


def _diagonals(flat: FloatArray) -> FloatArray:
    """(head, distance): mass at every distance, over the number of all rows (a row without a neighbour has
    none).
    """
    n = flat.shape[-1]
    return np.stack([np.diagonal(flat, d, 1, 2).sum(-1) / n for d in DISTANCES], axis=-1)


def _masses(flat: FloatArray, diagonals: FloatArray, columns: FloatArray) -> FloatArray:
    """(measure, head): the nine measures of mass, in the order of LABELS."""
    near = [diagonals[:, REACH - 1], diagonals[:, REACH + 1], diagonals[:, REACH]]
    return np.stack([*near, *(flat.mean(axis=1) @ columns).T])


def _columns(tokens: Tokens) -> FloatArray:
    """(piece, 6): which pieces are the first, the last, the one in front, a separator, a period, a comma."""
    special = np.array([piece.special for piece in tokens.pieces])
    text = np.array([piece.bare for piece in tokens.pieces])
    roles = np.array([piece.role for piece in tokens.pieces], dtype=object)
    own = np.flatnonzero(~special)
    found = np.zeros((len(special), 6), dtype=np.float32)
    if len(own):
        found[own[0], 0] = found[own[-1], 1] = 1
    found[:, 2], found[:, 3] = roles == "begin", roles == "separator"
    found[:, 4] = (text == ".") & ~special
    found[:, 5] = (text == ",") & ~special
    return found
