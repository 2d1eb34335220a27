"""The picture of all heads as a file for a paper: the same points, what they are of and how they were measured.

In: the data of the picture on the page. Out: an SVG. No Streamlit here.
"""

import re
from collections.abc import Mapping
from typing import Any

from mha_core.figures.colours import hexed, oklab, page, rgb
from mha_core.figures.scatter import Axis, Dot, scatter
from pages.parts.atlas.points import MIXED

MIX = re.compile(re.escape(MIXED).replace(r"\{\}", "([0-9]+)"))


def svg(data: Mapping[str, Any], told: str) -> str:
    """The points as they stand on the page, with their legend; `told` says what they are of."""
    dots = [
        Dot(one["id"], one["x"], one["y"], one["letter"], plain(one["colour"]), one["extreme"])
        for one in data["heads"]
    ]
    axes = [Axis(data[name]["label"], data[name]["low"], data[name]["high"]) for name in ("x", "y")]
    legend = [(one["letter"], one["name"], plain(one["colour"])) for one in data["legend"]]
    title = f"{data['of']}: {axes[0].label} across, {axes[1].label} upwards"
    return scatter(dots, (axes[0], axes[1]), legend, title, told)


def plain(colour: str) -> str:
    """A colour of the page as #rrggbb on white paper; empty for a ground that is seen through."""
    mixed = MIX.fullmatch(colour)
    if mixed:
        share = int(mixed[1]) / 100
        accent, paper = (oklab(page()[name]) for name in ("accent", "paper"))
        return hexed(rgb(share * accent + (1 - share) * paper))
    return colour if colour.startswith("#") else ""
