"""The record of one run: what every head of a model did with one text. Frozen, on the CPU, in NumPy.

Everything above (analysis, figures, pages) reads this and knows no model; everything below makes it and knows
no screen. Axes of the weights: (layer, head, query, key), all from 0.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import HeadScopeError, InputError, SizeError
from mha_core.summary import quoted, summary, summary_html
from mha_core.tokens import Tokens
from mha_core.views import Frozen, GridViews, RecordViews
from mha_core.wording import head_name

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]
Specials = Literal["shown", "hidden", "renormalised"]
ENGINE = "mha_core"


@dataclass(frozen=True)
class ModelInfo:
    """What a reader must know of the model: sizes, whether it is trained, and the digest of its weights.

    `files`: name and SHA-256 of every file it was made from; `pinned`: whether they were compared with digests that
    were known before. `computed_by`: what computed the numbers, ENGINE or another library or the caller. Of a model
    that another one computed `trained` can be None (unknown), and sizes that it does not say are 0.
    """

    name: str
    title: str
    trained: bool | None
    n_layers: int
    n_heads: int
    d_model: int
    d_k: int
    n_parameters: int
    max_tokens: int
    digest: str
    n_kv_heads: int | None = None  # None: as many as query heads
    is_causal: bool = False
    files: tuple[tuple[str, str], ...] = ()
    pinned: bool = False
    computed_by: str = ENGINE

    @property
    def short_digest(self) -> str:
        """The first letters of the digest, for people; "untrained, seed 0" is none, and stays whole."""
        return self.digest[:12] if re.match("[0-9a-f]{12}", self.digest) else self.digest

    @property
    def is_ours(self) -> bool:
        """Whether this engine computed the numbers."""
        return self.computed_by == ENGINE


@dataclass(frozen=True)
class Unit:
    """One row and column of a picture: a piece or a word, in the reader's spelling; its characters, its pieces."""

    label: str
    start: int
    end: int
    segment: int
    special: bool
    pieces: tuple[int, ...]
    mark: str = ""

    @property
    def bare(self) -> str:
        """The label without the mark of a piece that continues a word."""
        return self.label.removeprefix(self.mark)


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Frozen, GridViews):
    """The weights between units: (layer, head, query, key). Rows sum to one unless specials are "hidden".

    `visible`: (query, key), whether the query can see the key at all; None where every unit sees every other.
    `sharing`: how many heads in a row read the same keys and values. `key_units`: those of the columns, where they are
    another text's (cross-attention); None where they are those of the rows.
    """

    units: tuple[Unit, ...]
    weights: Array
    words: bool
    specials: Specials
    visible: Mask | None = None
    sharing: int = 1
    key_units: tuple[Unit, ...] | None = None

    def __len__(self) -> int:
        return len(self.units)

    @property
    def labels(self) -> tuple[str, ...]:
        """One label a unit."""
        return tuple(unit.label for unit in self.units)

    @property
    def key_labels(self) -> tuple[str, ...]:
        """One label a column."""
        return self.labels if self.key_units is None else tuple(unit.label for unit in self.key_units)

    def find(self, word: str, *, among_keys: bool = False) -> tuple[int, ...]:
        """Where that word or piece stands (in the rows, or `among_keys` in the columns), without regard to case; empty
        if nowhere."""
        wanted = word.strip().casefold()
        units = self.key_units if among_keys and self.key_units is not None else self.units
        return tuple(i for i, unit in enumerate(units) if unit.bare.casefold() == wanted)


@dataclass(frozen=True, eq=False, repr=False)
class Record(RecordViews):
    """One text through one model. Raises SizeError if the weights are not finite rows that sum to one.

    `interventions`: what was done to its heads on the way, as in `Run`; the weights are those after it.
    """

    model: ModelInfo
    tokens: Tokens
    weights: Array
    versions: Mapping[str, str] = field(default_factory=dict)
    gates: Array | None = None
    interventions: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.tokens)
        expected = (self.model.n_layers, self.model.n_heads, n, n)
        if self.weights.shape != expected or self.weights.dtype != np.float32:
            raise SizeError(
                f"A record of {n} tokens needs float32 weights of shape {expected}; given are "
                f"{self.weights.dtype} of {self.weights.shape}."
            )
        check_rows(self.weights)
        freeze(self.weights)
        if self.model.is_causal and any(np.triu(layer, 1).any() for layer in self.weights):
            raise HeadScopeError("The model gave attention to tokens that come later; it is no decoder.")
        if self.gates is not None:
            freeze(self.gates)
        object.__setattr__(self, "versions", MappingProxyType(dict(self.versions)))

    @property
    def said(self) -> str:
        """What it is of, in a line."""
        text = self.tokens.text if self.tokens.pair is None else f"{self.tokens.text} | {self.tokens.pair}"
        return quoted(text, len(self.tokens), len(self.tokens.words))

    @property
    def changed(self) -> tuple[str, ...]:
        """What was done to its heads: with it, and by the gates."""
        gates = {} if self.gates is None else dict(np.ndenumerate(self.gates))
        gated = (
            f"{head_name((layer, head))} times {gate:g}" for (layer, head), gate in gates.items() if gate != 1
        )
        return (*map(str, self.interventions), *gated)

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return self.model.n_layers

    @property
    def n_heads(self) -> int:
        """How many heads a layer has."""
        return self.model.n_heads

    def grid(self, words: bool = False, specials: Specials = "shown") -> Grid:
        """The weights between pieces or words.

        Words by Clark et al. 2019, section 4.1: attention to a split word is the sum over its pieces, from it
        the mean. `specials`: "shown"; "hidden" (their rows and columns removed, the rest as it is, so rows sum
        to less than one); "renormalised" (removed, and every row divided by its sum).
        """
        return grid_of(self.tokens, self.weights, words, specials, model=self.model)

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return summary_html(self)


def grid_of(
    tokens: Tokens,
    weights: Array,
    words: bool = False,
    specials: Specials = "shown",
    *,
    model: ModelInfo | None = None,
) -> Grid:
    """Any numbers between the pieces of a text, (layer, head, query, key), as a grid; see `Record.grid`.

    `model` says what its tokens can see and which heads share keys; without it, all and none. Raises SizeError if the
    weights are not between these pieces.
    """
    if specials not in ("shown", "hidden", "renormalised"):
        raise InputError(f"Specials can be shown, hidden or renormalised, not '{specials}'.")
    if weights.ndim != 4 or weights.shape[2:] != (len(tokens), len(tokens)):
        raise SizeError(
            f"Weights of shape {weights.shape} are not between the {len(tokens)} pieces of this text."
        )
    units = units_of(tokens, words)
    if words:
        weights = merge_words(weights, [unit.pieces[0] for unit in units])
    if specials != "shown":
        kept = [i for i, unit in enumerate(units) if not unit.special]
        units, weights = tuple(units[i] for i in kept), weights[:, :, kept][:, :, :, kept]
        if specials == "renormalised":
            sums = weights.sum(axis=-1, keepdims=True)
            weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    visible = seen_back(units) if model and model.is_causal else None
    return Grid(units, freeze(weights), words, specials, visible, sharing(model, weights.shape[1]))


def units_of(tokens: Tokens, words: bool = False, specials: Specials = "shown") -> tuple[Unit, ...]:
    """The rows and columns of a grid of that text, see `Record.grid`."""
    units = word_units(tokens) if words else piece_units(tokens)
    return units if specials == "shown" else tuple(unit for unit in units if not unit.special)


def seen_back(units: tuple[Unit, ...]) -> Mask:
    """(query, key): a unit of a decoder sees the units that begin no later than its own last piece."""
    first = np.array([unit.pieces[0] for unit in units], dtype=np.intp)
    last = np.array([unit.pieces[-1] for unit in units], dtype=np.intp)
    visible: Mask = first[None, :] <= last[:, None]
    visible.setflags(write=False)
    return visible


def sharing(model: ModelInfo | None, n_heads: int) -> int:
    """How many neighbouring heads read one key head; 1 where a picture has no heads of its own (heads mixed)."""
    if model is None or not model.n_kv_heads or n_heads != model.n_heads:
        return 1
    return n_heads // model.n_kv_heads


def merge_words(weights: Array, starts: list[int]) -> Array:
    """(..., n, n) between pieces to (..., m, m) between words whose first pieces are `starts`: the sum over
    the key's pieces, the mean over the query's (Clark et al. 2019, section 4.1)."""
    n = weights.shape[-1]
    to_words = np.add.reduceat(weights, starts, axis=-1)
    counts = np.diff([*starts, n]).astype(np.float32)
    sums: Array = np.add.reduceat(to_words, starts, axis=-2)
    return sums / counts[:, None]


def check_rows(weights: Array) -> None:
    """Raise HeadScopeError unless all rows are finite numbers from 0 that sum to one."""
    sums = weights.sum(axis=-1)
    if not np.isfinite(sums).all() or np.abs(sums - 1).max(initial=0) > 1e-2 or (weights < 0).any():
        raise HeadScopeError("The model gave attention rows that do not sum to one; its weights are damaged.")


def piece_units(tokens: Tokens) -> tuple[Unit, ...]:
    """One unit a piece, in the reader's spelling; a piece that continues a word begins with its mark."""
    return tuple(
        Unit(tokens.label(piece), piece.start, piece.end, piece.segment, piece.special, (i,), piece.mark)
        for i, piece in enumerate(tokens.pieces)
    )


def word_units(tokens: Tokens) -> tuple[Unit, ...]:
    """One unit a word, and one for every special token, in order."""
    units: list[Unit] = []
    position = 0
    while position < len(tokens):
        piece = tokens.pieces[position]
        if piece.word is None:
            label = tokens.spelling(piece)
            units.append(Unit(label, piece.start, piece.end, piece.segment, piece.special, (position,)))
            position += 1
        else:
            word = tokens.words[piece.word]
            pieces = tuple(range(word.first, word.stop))
            units.append(Unit(word.text, word.start, word.end, word.segment, False, pieces))
            position = word.stop
    return tuple(units)


def freeze(array: Array) -> Array:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array
