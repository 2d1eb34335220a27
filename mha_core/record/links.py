"""Links: the heads that connect two words most, a head's strongest link, and a word's place by its name.

In: a grid, weights. Out: a frame, or places from 0. A link is a query and a key.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Mask
from mha_core.display_names import Head, head_name
from mha_core.engine.visibility import attention_sinks
from mha_core.errors import InputError

Floats = NDArray[np.floating]

if TYPE_CHECKING:
    import pandas as pd

    from mha_core.record.grid import Grid, Unit


def ranked_heads(grid: "Grid", source: int, target: int | None = None) -> "pd.DataFrame":
    """Rank heads by their weight from unit `source` to unit `target`, strongest first, see `Grid.rank`: those of layers
    in which the source can see the target.

    Raises InputError for a target that the source can see in no layer.
    """
    import pandas as pd

    ranked = np.ones(grid.weights.shape[:2], dtype=bool) if grid.heads is None else grid.heads
    if target is not None and grid.visible is not None:
        ranked = ranked & grid.visible[:, source, target, None]
        if not ranked.any():
            why = (
                "in a decoder a word sees only itself and what stands before it"
                if grid.is_causal and target > source
                else "it is outside what every layer sees"
            )
            raise InputError(f"'{grid.labels[source]}' cannot see '{grid.key_labels[target]}': {why}.")
    rows = grid.weights[:, :, source]
    layers, heads = np.nonzero(ranked)
    keys = rows[ranked].argmax(axis=-1) if target is None else np.full(len(layers), target)
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


def largest_weights(grid: "Grid") -> "pd.DataFrame":
    """Return every head's largest weight and the units it links, but for a decoder's first row, 100 % of itself."""
    import pandas as pd

    rows = np.arange(len(grid))[:, None] >= int(grid.is_causal and len(grid) > 1)
    queries, keys, weights = strongest(grid.weights, np.broadcast_to(rows, grid.weights.shape[2:]))
    heads = np.argwhere(np.ones_like(queries) if grid.heads is None else grid.heads)
    return pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "query": grid.labels[queries[layer, head]],
            "key": grid.key_labels[keys[layer, head]],
            "weight": weights[layer, head],
        }
        for layer, head in heads
    )


def strongest(weights: Floats, among: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return the strongest of the links `among` (layer or 1, query, key) in every head of weights (layer, head, query,
    key): queries, keys and weights (layer, head) each, the first of equals; weight 0 where there is none."""
    n_heads, n_keys = weights.shape[1], weights.shape[3]
    masks = np.broadcast_to(among, (len(weights), *weights.shape[2:]))
    flat = [np.where(mask, layer, 0).reshape(n_heads, -1) for layer, mask in zip(weights, masks, strict=True)]
    best = np.stack([heads.argmax(-1) for heads in flat])
    return best // n_keys, best % n_keys, np.stack([heads.max(-1) for heads in flat])


def between_words(grid: "Grid") -> Mask:
    """Return the links between two different words, (query, key): special tokens, marks and a decoder's first token,
    which all others can rest on, have none."""
    rows, columns = (np.array([unit.is_word for unit in units]) for units in (grid.units, grid.columns))
    if grid.key_units is not None:
        links: Mask = np.logical_and.outer(rows, columns)
        return links
    words = ~attention_sinks(~rows, grid.is_causal)
    return words[:, None] & words & ~np.eye(len(words), dtype=bool)


def strongest_link(grid: "Grid", head: Head) -> tuple[int, int] | None:
    """Return the strongest link between two different words in one head (from 0); None where there is none."""
    layer, number = head
    head_weights = grid.weights[layer : layer + 1, number : number + 1]
    queries, keys, weights = strongest(head_weights, between_words(grid))
    return (int(queries[0, 0]), int(keys[0, 0])) if weights[0, 0] > 0 else None


def heads_by_link(grid: "Grid", query: int | None = None) -> list[tuple[Head, tuple[int, int], float]]:
    """Return every head with its strongest link between two different words and that weight, the strongest first; or
    with its strongest link from `query` to another word."""
    among = between_words(grid)
    if query is not None:
        to_words = among.any(axis=0) & (
            np.arange(among.shape[1]) != (query if grid.key_units is None else -1)
        )
        among = (np.arange(len(among)) == query)[:, None] & to_words
    links = [each.ravel().tolist() for each in strongest(grid.weights, among)]
    heads = np.ndindex(*grid.weights.shape[:2])
    ranked = [((head[0], head[1]), (q, k), weight) for head, q, k, weight in zip(heads, *links, strict=True)]
    return sorted((each for each in ranked if each[2] > 0), key=lambda each: -each[2])


def has_choice(grid: "Grid") -> Mask:
    """Return whether a query sees more keys than one, (layer or 1, query); True where there is one key alone."""
    n_queries, n_keys = grid.weights.shape[2:]
    if grid.visible is None or n_keys == 1:
        return np.ones((1, n_queries), dtype=bool)
    choice: Mask = grid.visible.sum(axis=-1) > 1
    return choice


def find_unit(units: Sequence["Unit"], name: str) -> int:
    """Return the place, from 0, of the unit that spells `name` without regard to case; "it#2" is the second of its
    kind, "#20" the unit at place 20, from 1. Raises InputError if there is none."""
    if not isinstance(name, str):
        raise InputError(f"A word must be a string, not {type(name).__name__}.")
    word, mark, number = name.rpartition("#")
    is_numbered = bool(mark and word and _is_count(number)) and not places_of(units, name)
    wanted, which = (word, int(number)) if is_numbered else (name, 1)
    places = places_of(units, wanted)
    if not places and not word and _is_count(number) and 1 <= int(number) <= len(units):
        return int(number) - 1
    if not places:
        labels = " ".join(unit.label for unit in units)
        raise InputError(f"'{wanted[:60]}' is not in the sentence; its tokens are: {labels}.")
    if not 1 <= which <= len(places):
        times = "once" if len(places) == 1 else f"{len(places)} times"
        raise InputError(f"'{wanted}' occurs {times} in the sentence; number {which} does not exist.")
    return places[which - 1]


def places_of(units: Sequence["Unit"], word: str) -> tuple[int, ...]:
    """Return every place of a word or piece, without regard to case."""
    wanted = word.strip().casefold()
    return tuple(i for i, unit in enumerate(units) if unit.bare.casefold() == wanted)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 6
