"""Which heads connect two tokens: a grid in, the heads by their weight out, strongest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import InputError
from mha_core.thumbnails import strongest_pair
from mha_core.wording import head_name

if TYPE_CHECKING:
    from mha_core.grid import Grid, Unit


@dataclass(frozen=True)
class RankedHead:
    """A head (layer and head from 0) with the weight it was ranked by, and the unit it looks at."""

    layer: int
    head: int
    weight: float
    target: int

    @property
    def name(self) -> str:
        """As a person reads it: "4-2"."""
        return head_name((self.layer, self.head))


@dataclass(frozen=True)
class HeadFilter:
    """What of a record is wanted: one layer or head (from 1, None for all), and a ranking of heads."""

    layer: int | None = None
    head: int | None = None
    ranking: tuple[RankedHead, ...] | None = None
    top: int = 10

    def has(self, ranked: RankedHead) -> bool:
        """Whether the head is in the layer, or is the head, that is wanted."""
        return self.layer in (None, ranked.layer + 1) and self.head in (None, ranked.head + 1)

    def check(self, n_layers: int, n_heads: int) -> None:
        """Raise InputError for a layer or head that the model does not have."""
        for name, value, count in (("layer", self.layer, n_layers), ("head", self.head, n_heads)):
            if value is not None and not 1 <= value <= count:
                raise InputError(f"There is no {name} {value}; this model has {name}s 1 to {count}.")
        if self.head is not None and self.layer is None:
            raise InputError("A head was given without its layer; head numbers start again in every layer.")
        if self.top < 0:
            raise InputError(f"{self.top} heads cannot be listed; give 0 for all, or a number above it.")


def strongest_heads(grid: "Grid", source: int, target: int | None = None) -> tuple[RankedHead, ...]:
    """All heads by their weight from unit `source` to unit `target`, strongest first; of layers in which the source can
    see the target.

    Without a target: by the largest weight in the source's row, each with the unit that it falls on. Raises
    InputError for a target that the source can see in no layer.
    """
    there = np.ones(grid.weights.shape[:2], dtype=bool) if grid.heads is None else grid.heads
    if target is not None and grid.visible is not None:
        there = there & grid.visible[:, source, target, None]
        if not there.any():
            why = (
                "in a decoder a word sees only itself and what stands before it"
                if grid.is_causal and target > source
                else "it is outside what every layer sees"
            )
            raise InputError(f"'{grid.labels[source]}' cannot see '{grid.key_labels[target]}': {why}.")
    rows = grid.weights[:, :, source, :]
    targets = np.full(rows.shape[:2], target) if target is not None else rows.argmax(axis=-1)
    weights = np.take_along_axis(rows, targets[..., None], axis=-1)[..., 0]
    n_heads = weights.shape[1]
    order = np.argsort(-weights, axis=None, kind="stable")
    return tuple(
        RankedHead(int(i // n_heads), int(i % n_heads), float(weights.flat[i]), int(targets.flat[i]))
        for i in order
        if there.flat[i]
    )


def strongest_words(grid: "Grid", weights: NDArray[np.floating]) -> tuple[int, int] | None:
    """The strongest link between two different words in one head's weights: its query and its key, or None.

    Special tokens are left out, and in a decoder the first token.
    """
    rows = np.array([unit.special for unit in grid.units], dtype=bool)
    if grid.key_units is None:
        return strongest_pair(weights, rows, is_causal=grid.is_causal)
    columns = np.array([unit.special for unit in grid.key_units], dtype=bool)
    between = np.where(rows[:, None] | columns[None, :], 0, weights)
    if not between.size or between.max() <= 0:
        return None
    q, k = divmod(int(between.argmax()), len(columns))
    return q, k


def unit_named(grid: "Grid", name: str, *, among_keys: bool = False) -> int:
    """The unit that spells `name`, see `place_named`."""
    return place_named(grid.key_units or grid.units if among_keys else grid.units, name)


def place_named(units: Sequence["Unit"], name: str) -> int:
    """The place, from 0, of the unit that spells `name` without regard to case; "it#2" is the second of its kind, "#20"
    the unit at place 20, from 1. Raises InputError if there is none."""
    if not isinstance(name, str):
        raise InputError(f"A word is asked for by how it is spelt; {type(name).__name__} was given.")
    word, mark, number = name.rpartition("#")
    wanted, which = (word, int(number)) if mark and word and _is_count(number) else (name, 1)
    places = places_of(units, wanted)
    if not places and not word and _is_count(number) and 1 <= int(number) <= len(units):
        return int(number) - 1
    if not places:
        there = " ".join(unit.label for unit in units)
        raise InputError(f"'{wanted[:60]}' is not in the sentence; its tokens are: {there}.")
    if not 1 <= which <= len(places):
        times = "once" if len(places) == 1 else f"{len(places)} times"
        raise InputError(f"'{wanted}' stands {times} in the sentence, so there is no number {which}.")
    return places[which - 1]


def places_of(units: Sequence["Unit"], word: str) -> tuple[int, ...]:
    """Every place of a word or piece, without regard to case."""
    wanted = word.strip().casefold()
    return tuple(i for i, unit in enumerate(units) if unit.bare.casefold() == wanted)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 6
