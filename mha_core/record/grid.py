"""The weights of a text between its pieces or its words, ready to be read, ranked, drawn and put into a frame.

Axes of the weights: (layer, head, query, key), all from 0. Layers and heads keep the model's own numbers: one that has
no attention weights is zero and is not in `heads`; a key that a query cannot see is zero and is not in `visible`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array, Mask, ReadOnlyArrays
from mha_core.display_names import Head, count_noun, head_name, parse_head, size_in_words
from mha_core.errors import InputError
from mha_core.record.links import find_unit, places_of, ranked_heads
from mha_core.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

Specials = Literal["shown", "hidden", "renormalised"]


@dataclass(frozen=True)
class Unit:
    """One row or column of a picture: a piece or a word, as typed; its characters, its pieces."""

    label: str
    start: int
    end: int
    segment: int
    special: bool
    pieces: tuple[int, ...]
    mark: str = ""

    @property
    def bare(self) -> str:
        """Label without the mark of a piece that continues a word."""
        return self.label.removeprefix(self.mark)

    @property
    def is_word(self) -> bool:
        """True if it is of the text, and no mark."""
        return not self.special and any(map(str.isalnum, self.label))


@dataclass(frozen=True, eq=False, repr=False)
class HeadWeights(ReadOnlyArrays):
    """One head's weights (query, key) with the labels of both. `name`: as a person reads it, "4-2".

    `visible`: True where the query can see the key; None where every query sees every key.
    """

    name: str
    weights: Array
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    visible: Mask | None = None

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas DataFrame, a row for every query and a column for every key; nan where a query cannot look.

        Labels can stand twice; `.iloc` counts positions.
        """
        import pandas as pd

        seen = self.weights if self.visible is None else np.where(self.visible, self.weights, np.nan)
        rows, columns = (
            pd.Index(labels, name=name) for labels, name in ((self.queries, "query"), (self.keys, "key"))
        )
        return pd.DataFrame(seen, index=rows, columns=columns)

    def __repr__(self) -> str:
        return f"Head {self.name}: {len(self.queries)} queries x {len(self.keys)} keys; .weights, .to_frame()"


@dataclass(frozen=True, eq=False, repr=False)
class Grid(ReadOnlyArrays):
    """The weights between units: (layer, head, query, key). Rows sum to one, less what `sink` took, unless specials are
    "hidden".

    `visible`: (layer, query, key), True where the query can see the key; None where every unit sees every other.
    `heads`: (layer, head), True for heads with weights; None: all. `sink`: (layer, head, query), the share of a row
    that a learned sink took, which is no token; None: nothing. `sharing`: number of neighbouring heads that read the
    same keys and values. `key_units`: those of the columns, where they are another text's (cross-attention).
    """

    units: tuple[Unit, ...]
    weights: Array
    words: bool
    specials: Specials
    visible: Mask | None = None
    sharing: int = 1
    key_units: tuple[Unit, ...] | None = None
    heads: Mask | None = None
    sink: Array | None = None

    def __len__(self) -> int:
        return len(self.units)

    @property
    def columns(self) -> tuple[Unit, ...]:
        """Units of the columns."""
        return self.units if self.key_units is None else self.key_units

    @property
    def labels(self) -> tuple[str, ...]:
        """One label a row."""
        return tuple(unit.label for unit in self.units)

    @property
    def key_labels(self) -> tuple[str, ...]:
        """One label a column."""
        return tuple(unit.label for unit in self.columns)

    @property
    def is_causal(self) -> bool:
        """True if no unit sees a later one, in any layer."""
        return self.visible is not None and not np.triu(distinct(self.visible), 1).any()

    @property
    def reach(self) -> NDArray[np.intp] | None:
        """First and last key that each query sees, (layer, query, 2); None where that is all, or all up to itself."""
        n_keys = len(self.columns)
        if self.visible is None or (distinct(self.visible) == np.tri(len(self), n_keys, dtype=bool)).all():
            return None
        last = n_keys - 1 - self.visible[..., ::-1].argmax(axis=-1)
        return np.stack([self.visible.argmax(axis=-1), last], axis=-1)

    def has(self, head: Head) -> bool:
        """Return whether the head (layer and head from 0) has weights."""
        return self.heads is None or bool(self.heads[head])

    def find(self, word: str, *, among_keys: bool = False) -> tuple[int, ...]:
        """Return every place of a word or piece, in the rows or `among_keys` in the columns, without regard to case."""
        return places_of(self.columns if among_keys else self.units, word)

    def __getitem__(self, name: str) -> HeadWeights:
        """Return one head by its name, layer and head from 1: grid["4-2"]. Raises InputError for another name."""
        head = head_from_name(name, *self.weights.shape[:2])
        if not self.has(head):
            raise InputError(f"{name} has no attention weights in this model.")
        visible = None if self.visible is None else self.visible[head[0]]
        return HeadWeights(head_name(head), self.weights[head], self.labels, self.key_labels, visible)

    def rank(self, source: str, target: str | None = None) -> "pd.DataFrame":
        """Rank all heads by their weight from one unit to another, strongest first; both by their spelling ("it#2"
        is the second). Without a target, by the largest weight in the row of `source`.

        Returns a frame: rank, head ("4-2"), layer and number in the layer from 1 (`head_in_layer`), weight, key (the
        target's position from 0), key_text. Raises InputError for an unknown unit, and for one that cannot be seen.
        """
        to = None if target is None else find_unit(self.columns, target)
        return ranked_heads(self, find_unit(self.units, source), to)

    def to_frame(self) -> "pd.DataFrame":
        """Return all weights as a tidy pandas DataFrame, a row a weight: layer and head from 1, query and key from 0,
        their labels, and the weight. A pair of which the query cannot see the key has no row, and neither has a head
        without weights; the share of a learned sink stands in rows of key -1 and text "(sink)".
        """
        import pandas as pd

        layers, heads, queries, keys = (axis.ravel() for axis in np.indices(self.weights.shape))
        has_row = np.ones(len(layers), dtype=bool)
        if self.visible is not None:
            has_row &= self.visible[layers, queries, keys]
        if self.heads is not None:
            has_row &= self.heads[layers, heads]
        columns: list[NDArray[Any]] = [
            column[has_row] for column in (layers, heads, queries, keys, self.weights.ravel())
        ]
        if self.sink is not None:  # its rows look at key -1, whose label is the last
            of_sink = np.argwhere(
                np.broadcast_to(True if self.heads is None else self.heads[..., None], self.sink.shape)
            )
            rows = (*of_sink.T, np.full(len(of_sink), -1), self.sink[tuple(of_sink.T)])
            columns = [np.concatenate(pair) for pair in zip(columns, rows, strict=True)]
        frame = pd.DataFrame(dict(zip(("layer", "head", "query", "key"), columns, strict=False)))
        frame["query_text"] = np.array(self.labels, dtype=object)[frame["query"]]
        frame["key_text"] = np.array([*self.key_labels, SINK], dtype=object)[frame["key"]]
        return frame.assign(layer=frame["layer"] + 1, head=frame["head"] + 1, weight=columns[-1])

    def __repr__(self) -> str:
        layers, heads, rows, columns = self.weights.shape
        unit = "words" if self.words else "pieces"
        size = f"{count_noun(layers, 'layer')} x {count_noun(heads, 'head')}"
        return f"Grid of {size}, {rows} x {columns} {unit}, specials {self.specials}"


SINK = "(sink)"  # text of a learned sink where a token's would stand


def units_of(tokens: Tokens, words: bool = False, specials: Specials = "shown") -> tuple[Unit, ...]:
    """Return the rows and columns of a grid of that text, see `AttentionRecord.grid`."""
    units = word_units(tokens) if words else piece_units(tokens)
    return units if specials == "shown" else tuple(unit for unit in units if not unit.special)


def piece_units(tokens: Tokens) -> tuple[Unit, ...]:
    """Return one unit a piece, as typed; a piece that continues a word begins with its mark."""
    return tuple(
        Unit(tokens.label(piece), piece.start, piece.end, piece.segment, piece.special, (i,), piece.mark)
        for i, piece in enumerate(tokens.pieces)
    )


def word_units(tokens: Tokens) -> tuple[Unit, ...]:
    """Return one unit a word, and one for every special token, in order."""
    units: list[Unit] = []
    for position, piece in enumerate(tokens.pieces):
        if piece.word is None:
            label = tokens.spelling(piece)
            units.append(Unit(label, piece.start, piece.end, piece.segment, piece.special, (position,)))
        elif position == tokens.words[piece.word].first:
            word = tokens.words[piece.word]
            pieces = tuple(range(word.first, word.stop))
            units.append(Unit(word.text, word.start, word.end, word.segment, False, pieces))
    return tuple(units)


def pool_to_units(
    weights: Array, rows: tuple[Unit, ...], columns: tuple[Unit, ...], n: tuple[int, int]
) -> Array:
    """Pool (..., query, key) between `n` pieces to units: the sum over the key's pieces, the mean over the query's
    (Clark et al. 2019, section 4.1). Units of one piece each leave the weights as they are."""
    if n == (len(rows), len(columns)):
        return weights
    to_keys = np.add.reduceat(weights, [unit.pieces[0] for unit in columns], axis=-1)
    counts = np.array([len(unit.pieces) for unit in rows], dtype=np.float32)
    sums: Array = np.add.reduceat(to_keys, [unit.pieces[0] for unit in rows], axis=-2)
    return sums / counts[:, None]


def distinct(visible: Mask) -> Mask:
    """Return masks (layer, query, key), one alone where every layer has the same (a view that repeats it)."""
    return visible if visible.strides[0] else visible[:1]


def pool_visibility(visible: Mask, rows: tuple[Unit, ...], columns: tuple[Unit, ...]) -> Mask:
    """Pool (layer, query, key) between pieces to units: one sees another if any of its pieces sees any of its."""
    if visible.shape[1:] == (len(rows), len(columns)):
        return visible
    to_keys = np.logical_or.reduceat(visible, [unit.pieces[0] for unit in columns], axis=-1)
    seen: Mask = np.logical_or.reduceat(to_keys, [unit.pieces[0] for unit in rows], axis=-2)
    return seen


def head_from_name(name: object, n_layers: int, n_heads: int) -> Head:
    """Return a head from 0, by its name from 1. Raises InputError for another text, and a head that is not there."""
    head = parse_head(name)
    if head is None:
        raise InputError(
            f"{str(name)[:40]!r} is not a head. Write layer and head counted from 1, such as 4-2."
        )
    check_heads([head], n_layers, n_heads)
    return head


def check_heads(heads: Iterable[Head], n_layers: int, n_heads: int) -> None:
    """Raise InputError for a head that the model does not have."""
    for layer, head in heads:
        if not (0 <= layer < n_layers and 0 <= head < n_heads):
            raise InputError(
                f"Unknown head {head_name((layer, head))}. The model has {size_in_words(n_layers, n_heads)}."
            )
