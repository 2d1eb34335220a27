"""Which heads connect two tokens, and which tokens a head connects: a grid in, a frame or places out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import InputError
from mha_core.thumbnails import strongest_pair
from mha_core.wording import head_name

if TYPE_CHECKING:
    import pandas as pd

    from mha_core.grid import Grid, Unit


def ranked_heads(grid: "Grid", source: int, target: int | None = None) -> "pd.DataFrame":
    """All heads by their weight from unit `source` to unit `target`, strongest first: see `Grid.rank`. Of layers in
    which the source can see the target.

    Raises InputError for a target that the source can see in no layer.
    """
    import pandas as pd

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
    rows = grid.weights[:, :, source]
    layers, heads = np.nonzero(there)
    keys = rows[there].argmax(axis=-1) if target is None else np.full(len(layers), target)
    frame = pd.DataFrame(
        {
            "head": [head_name((int(layer), int(head))) for layer, head in zip(layers, heads, strict=True)],
            "layer": layers + 1,
            "head_in_layer": heads + 1,
            "weight": rows[layers, heads, keys],
            "key": keys,
            "key_text": [grid.key_labels[key] for key in keys],
        }
    ).sort_values("weight", ascending=False, kind="stable", ignore_index=True)
    frame.insert(0, "rank", frame.index + 1)
    return frame


def strongest_links(grid: "Grid") -> "pd.DataFrame":
    """The largest weight of every head and the units it links; a decoder's first row, 100 % of itself, is left out."""
    import pandas as pd

    first = int(grid.is_causal and len(grid) > 1)
    rows = grid.weights[:, :, first:]
    queries, keys = divmod(rows.reshape(*rows.shape[:2], -1).argmax(axis=-1), rows.shape[3])
    there = np.argwhere(np.ones_like(queries) if grid.heads is None else grid.heads)
    return pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "query": grid.labels[first + queries[layer, head]],
            "key": grid.key_labels[keys[layer, head]],
            "weight": rows[layer, head, queries[layer, head], keys[layer, head]],
        }
        for layer, head in there
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
        raise InputError(f"A word must be a string, not {type(name).__name__}.")
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
        raise InputError(f"'{wanted}' occurs {times} in the sentence; number {which} does not exist.")
    return places[which - 1]


def places_of(units: Sequence["Unit"], word: str) -> tuple[int, ...]:
    """Every place of a word or piece, without regard to case."""
    wanted = word.strip().casefold()
    return tuple(i for i, unit in enumerate(units) if unit.bare.casefold() == wanted)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 6
