"""The map of the calculation, "you are here": sentence, X, Q K V, scores, weights, Z, W_o, output, and a shape at each.

In: a run of a layer and the station where the reader is. Out: a block for a board. Where it is `live`, a click on a
station is told as the trigger `station`; where stations have links, a click follows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mha_core import LayerRun
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


def shapes(run: LayerRun) -> dict[str, str]:
    """The shape at each station, of one head from Q to Z."""
    used, n, keys = run.projections, run.n, run.n_keys
    return {
        "sentence": f"{n} token{'s' * (n != 1)}",
        "x": f"{n} × {used.d_model}",
        "qkv": f"{n} × {used.d_k}" if used.d_k == used.d_v else f"{n} × {used.d_k}, {used.d_v}",
        "scores": f"{n} × {keys}",
        "weights": f"{n} × {keys}",
        "z": f"{n} × {used.d_v}",
        "w_o": f"{used.n_heads * used.d_v} × {used.d_model}",
        "output": f"{n} × {used.d_model}",
    }


def route(
    run: LayerRun, now: str | None, *, live: bool = False, links: Mapping[str, str] | None = None
) -> Block:
    """The map with `now`, a station's key, marked. `links`: an address for some or all of the stations."""
    size = shapes(run)
    return {
        "type": "route",
        "label": "You are here",
        "live": live,
        "now": KEYS.index(now) if now in KEYS else None,
        "items": [
            {
                "key": station.key,
                "name": station.name,
                "shape": size[station.key],
                "about": station.about,
                **({"link": links[station.key]} if links and station.key in links else {}),
            }
            for station in STATIONS
        ],
    }
