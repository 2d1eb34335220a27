"""The map of the calculation, "you are here": sentence, X, Q K V, scores, weights, Z, W_o, output, and their shapes.

In: a run of a layer and the station of the screen. Out: a block for a board. Where it is `live`, a click on a station
is the event `station`; where stations have links, a click follows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mha_core import LayerActivations
from mha_core.display_names import count_noun
from pages.parts.picture.tiles import Block


@dataclass(frozen=True)
class Station:
    """A place on the map: its key in links, its name there, and what happens at it."""

    key: str
    name: str
    about: str


STATIONS = (
    Station("sentence", "sentence", "words become tokens"),
    Station("x", "X", "one row of numbers per token"),
    Station("qkv", "Q K V", "three projections of each row"),
    Station("scores", "scores", "dot products, scaled and masked"),
    Station("weights", "weights", "softmax of each row of scores"),
    Station("z", "Z", "weighted mean of the values"),
    Station("w_o", "W_o", "heads concatenated, then projected"),
    Station("output", "output", "added to the residual"),
)
KEYS = tuple(station.key for station in STATIONS)


def shapes(run: LayerActivations) -> tuple[str, ...]:
    """Return the shape at each station, of one head from Q to Z."""
    sizes, n = run.projections, run.n
    values = f", {sizes.d_v}" if sizes.d_k != sizes.d_v else ""
    return (
        count_noun(n, "token"),
        f"{n} × {sizes.d_model}",
        f"{n} × {sizes.d_k}{values}",
        f"{n} × {run.n_keys}",
        f"{n} × {run.n_keys}",
        f"{n} × {sizes.d_v}",
        f"{sizes.n_heads * sizes.d_v} × {sizes.d_model}",
        f"{n} × {sizes.d_model}",
    )


def route(
    run: LayerActivations, station: str | None, *, live: bool = False, links: Mapping[str, str] | None = None
) -> Block:
    """Draw the map with one station marked. `links`: a URL for some or all of the stations."""
    items = [
        {"key": each.key, "name": each.name, "shape": shape, "about": each.about}
        | ({"link": links[each.key]} if links and each.key in links else {})
        for each, shape in zip(STATIONS, shapes(run), strict=True)
    ]
    index = KEYS.index(station) if station in KEYS else None
    return {"type": "route", "label": "You are here", "live": live, "now": index, "items": items}
