"""Does a head look at a place rather than at a meaning: neighbours, itself, the ends, separators; how
sharply?

In: weights (layer, head, query, key) over pieces, one text at a time. Out: for every head the mass on each
place, meaned over all rows (those of [CLS] and [SEP] too) and then over texts; the mass at every distance
from -10 to 10; the share of rows whose largest weight lies at a distance; entropy and confidence.

Previous is to the left, next to the right. Entropy is in nats, of 0.9999 a + 0.0001 / n, so that a weight of
zero costs nothing (Clark et al. 2019, section 3.3). Confidence is the mean of a row's largest weight, and the
share of maxima at one distance is what makes a head positional (Voita et al. 2019, sections 4 and 5.2).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mha_core.errors import SizeError
from mha_core.heads.words import FloatArray
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
    "cls": "mass on [CLS]",
    "sep": "mass on [SEP]",
    "period": "mass on periods",
    "comma": "mass on commas",
    "entropy": "entropy in nats",
    "confidence": "mean of the largest weight",
}
MEASURES = tuple(LABELS)


class HasTokens(Protocol):
    """Whatever a measure over whole texts is fed with."""

    @property
    def tokens(self) -> Tokens: ...


@dataclass(frozen=True)
class PositionTable:
    """Means over `n_texts` texts; every measure is (layer, head), `distance` and `peak` (layer, head,
    distance).

    `first`, `last`: the first and last piece of the reader's own text. `cls`, `sep`: the special pieces at
    the start and all later ones. `peak_rows` (distance,): the rows behind `peak`. `uniform_entropy`: what a
    head that looks everywhere equally would have.
    """

    n_texts: int
    values: dict[str, FloatArray]
    distance: FloatArray
    peak: FloatArray
    peak_rows: FloatArray
    uniform_entropy: float
    uniform_share: float

    def __getitem__(self, measure: str) -> FloatArray:
        return self.values[measure]

    def baseline(self, measure: str) -> float | None:
        """What a head that looks everywhere equally would have; None where the text decides that."""
        if measure in ("period", "comma"):
            return None
        return self.uniform_entropy if measure == "entropy" else self.uniform_share


class PositionSums:
    """Sums over texts, which can be merged."""

    def __init__(self, n_layers: int, n_heads: int) -> None:
        self.shape = (n_layers, n_heads)
        heads = n_layers * n_heads
        self.n_texts = 0
        self.sums = np.zeros((len(MEASURES), heads))
        self.distance = np.zeros((heads, len(DISTANCES)))
        self.peaks = np.zeros((heads, len(DISTANCES)))
        self.peak_rows = np.zeros(len(DISTANCES))
        self.uniform = np.zeros(2)

    def add(self, weights: FloatArray, item: HasTokens) -> None:
        """Count one text; weights (layer, head, query, key) over its pieces."""
        flat = weights.reshape(-1, *weights.shape[-2:])
        n = flat.shape[-1]
        diagonals = _diagonals(flat)
        self.n_texts += 1
        self.distance += diagonals
        places = [diagonals[:, REACH - 1], diagonals[:, REACH + 1], diagonals[:, REACH]]
        columns = flat.mean(axis=1) @ _columns(item.tokens)
        self.sums[:9] += [*places, *columns.T]
        self.sums[9] += entropy(flat).mean(-1)
        self.sums[10] += flat.max(-1).mean(-1)
        self._count_peaks(flat.argmax(-1), n)
        self.uniform += np.log(n), 1 / n

    def _count_peaks(self, looks_at: np.ndarray, n: int) -> None:
        """A row counts for a distance only if the text reaches that far."""
        heads = len(looks_at)
        away = looks_at - np.arange(n)
        near = np.abs(away) <= REACH
        cells = (np.arange(heads)[:, None] * len(DISTANCES) + away + REACH)[near]
        self.peaks += np.bincount(cells, minlength=self.peaks.size).reshape(self.peaks.shape)
        self.peak_rows += np.maximum(n - np.abs(DISTANCES), 0)

    def merge(self, other: "PositionSums") -> None:
        """Add the sums of other texts."""
        if self.shape != other.shape:
            raise SizeError(f"Sums of {self.shape} heads and of {other.shape} heads cannot be merged.")
        self.n_texts += other.n_texts
        self.sums += other.sums
        self.distance += other.distance
        self.peaks += other.peaks
        self.peak_rows += other.peak_rows
        self.uniform += other.uniform

    def result(self) -> PositionTable:
        """The means so far."""
        n = max(self.n_texts, 1)
        return PositionTable(
            self.n_texts,
            {name: row.reshape(self.shape) / n for name, row in zip(MEASURES, self.sums, strict=True)},
            self.distance.reshape(*self.shape, -1) / n,
            (self.peaks / np.maximum(self.peak_rows, 1)).reshape(*self.shape, -1),
            self.peak_rows.copy(),
            float(self.uniform[0] / n),
            float(self.uniform[1] / n),
        )


def entropy(weights: FloatArray) -> FloatArray:
    """Entropy of every row (..., query, key) → (..., query), in nats, with Clark's smoothing."""
    n = weights.shape[-1]
    smooth = weights * np.float32(1 - SMOOTHING) + np.float32(SMOOTHING / n)
    found: FloatArray = -(smooth * np.log(smooth)).sum(-1)
    return found


def _diagonals(flat: FloatArray) -> FloatArray:
    """(head, distance): mass at every distance, over the number of all rows (a row without a neighbour has
    none).
    """
    n = flat.shape[-1]
    return np.stack([np.diagonal(flat, d, 1, 2).sum(-1) / n for d in DISTANCES], axis=-1)


def _columns(tokens: Tokens) -> FloatArray:
    """(piece, 6): which pieces are the first, the last, [CLS], [SEP], a period, a comma."""
    special = np.array([piece.special for piece in tokens.pieces])
    text = np.array([piece.text for piece in tokens.pieces])
    own = np.flatnonzero(~special)
    found = np.zeros((len(special), 6), dtype=np.float32)
    if len(own):
        found[own[0], 0] = found[own[-1], 1] = 1
    found[0, 2] = special[0]
    found[1:, 3] = special[1:]
    found[:, 4] = (text == ".") & ~special
    found[:, 5] = (text == ",") & ~special
    return found
