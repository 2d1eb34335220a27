"""The style that all figures share: a template for light and dark, scales of colours, ticks with names, hatching.

In: light or dark; values, names. Out: a Plotly template and parts of a Plotly layout.
"""

import html
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from mha_core.draw.figures.colours import PALETTE, page, ramp

FAMILY = "HeadScope, Georgia, serif"
CLEAR = "rgba(0,0,0,0)"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "diamond", "square", "x", "cross", "triangle-up")
HATCHES = ("", "/", "x")
NO_LINES = {"showgrid": False, "zeroline": False}
STEPS = 16
Scale = list[tuple[float, str]]


@cache
def template(*, dark: bool = False) -> go.layout.Template:
    """Return the template of every figure: transparent ground, quiet axes, no more ink than the data needs."""
    colours = page(dark=dark)
    axis = {
        "gridcolor": colours["line"],
        "linecolor": colours["quiet"],
        "tickcolor": colours["quiet"],
        "zerolinecolor": colours["quiet"],
        "title": {"standoff": 8, "font": {"size": 14}},
        "automargin": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FAMILY, "size": 14, "color": colours["ink"]},
            "title": {"font": {"size": 16}, "x": 0, "xanchor": "left", "y": 0.98, "yanchor": "top"},
            "colorway": PALETTE["heads"],
            "paper_bgcolor": CLEAR,
            "plot_bgcolor": CLEAR,
            "xaxis": axis,
            "yaxis": axis,
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
            "hoverlabel": {"font": {"size": 15, "family": FAMILY}, "bgcolor": colours["shade"]},
            "modebar": {"bgcolor": CLEAR, "color": colours["quiet"], "activecolor": colours["ink"]},
            "margin": {"l": 50, "r": 20, "t": 66, "b": 44},
            "shapedefaults": {"line": {"color": colours["quiet"]}},
            "dragmode": "zoom",
        }
    )


def plain(text: object) -> str:
    """Escape what Plotly would read as markup."""
    return html.escape(str(text), quote=False)


def named_ticks(names: Sequence[str], step: int = 1) -> dict[str, list[Any]]:
    """Return ticks 0, `step`, ... with these names, which are markup."""
    places = list(range(0, len(names), step))
    return {"tickvals": places, "ticktext": [names[i] for i in places]}


def largest(values: np.ndarray) -> float:
    """Return the largest size of a value, at which the colours end; 1 where there is none."""
    return float(np.nanmax(np.abs(values), initial=0.0)) or 1.0


def colour_axis(
    values: np.ndarray, title: str, number: str, *, signed: bool = False, dark: bool = False
) -> dict[str, Any]:
    """Return the one scale of colours of all heatmaps of a figure, and its bar; `number` formats the bar's values."""
    top = largest(values)
    return {
        "colorscale": colour_scale(signed=signed, dark=dark),
        "cmin": -top if signed else 0,
        "cmax": top,
        "colorbar": {
            "title": {"text": title},
            "thickness": 10,
            "outlinewidth": 0,
            "tickformat": ".0%" if "%" in number else "~g",
        },
    }


def colour_scale(*, signed: bool = False, dark: bool = False) -> Scale:
    """Return a scale as (place, colour): the page's paper at 0, the ramp's end at 1.

    `signed`: of differences from -1 to 1, the page's paper at no difference.
    """
    places = [i / STEPS for i in range(STEPS + 1)]
    if not signed:
        return list(zip(places, _colours(places, "weights", "end", dark=dark), strict=True))
    less, more = (_colours(places, "differences", end, dark=dark) for end in ("less", "more"))
    below = [(0.5 - t / 2, colour) for t, colour in zip(places, less, strict=True)]
    return below[:0:-1] + [(0.5 + t / 2, colour) for t, colour in zip(places, more, strict=True)]


def _colours(places: list[float], palette: str, end: str, *, dark: bool) -> list[str]:
    colours = ramp(places, page(dark=dark)["paper"], dark=dark, palette=palette, end=end)
    return [f"rgb({red}, {green}, {blue})" for red, green, blue in colours]
