"""How every figure looks: one template for light and one for dark, the project's colours and typeface.

In: light or dark. Out: a Plotly template, and colour scales for weights and for differences.
"""

from functools import cache

import plotly.graph_objects as go

from mha_core.draw.figures.colours import PALETTE, page, ramp

FAMILY = "HeadScope, Georgia, serif"
CLEAR = "rgba(0,0,0,0)"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "diamond", "square", "x", "cross", "triangle-up")
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


def weights_scale(*, dark: bool = False) -> Scale:
    """Return the scale of weights, as (place, colour): the page's paper at 0, the ramp's end at 1."""
    places = [i / STEPS for i in range(STEPS + 1)]
    return list(zip(places, _colours(places, "weights", "end", dark=dark), strict=True))


def differences_scale(*, dark: bool = False) -> Scale:
    """Return the scale of differences from -1 to 1, as (place, colour): the page's paper at no difference."""
    places = [i / STEPS for i in range(STEPS + 1)]
    less, more = (_colours(places, "differences", end, dark=dark) for end in ("less", "more"))
    below = [(0.5 - t / 2, colour) for t, colour in zip(places, less, strict=True)]
    return below[:0:-1] + [(0.5 + t / 2, colour) for t, colour in zip(places, more, strict=True)]


def _colours(places: list[float], palette: str, end: str, *, dark: bool) -> list[str]:
    found = ramp(places, page(dark=dark)["paper"], dark=dark, palette=palette, end=end)
    return [f"rgb({red}, {green}, {blue})" for red, green, blue in found]
