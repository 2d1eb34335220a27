"""Data of a figure of attention: the weights of its heads, the names of rows and columns, sizes in pixels.

In: a grid, the heads, the rows that are looked from. Out: a `Sheet`, which every kind of figure reads.
"""

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from mha_core.arrays import FloatArray
from mha_core.display_names import Head, head_name, visible
from mha_core.draw.figures.colours import page
from mha_core.draw.figures.style import colour_axis, colour_scale, largest, plain
from mha_core.record.grid import SINK, Grid

INCH = 96  # pixels
SCREEN, PRINT = 14.0, 8 / 72 * INCH  # size of type: on a screen, and 8 points on paper
NARROW, BROAD = "iljtfrI.,;:'’!|()[] ", "mwMW@%—…"


@dataclass(frozen=True, eq=False)
class Sheet:
    """Data of a figure: `heads` (layer, head) from 0, the rows `queries` that are looked from, `width` in pixels."""

    grid: Grid
    heads: tuple[Head, ...]
    queries: tuple[int, ...]
    width: float | None
    signed: bool
    dark: bool

    @property
    def size(self) -> float:
        """The size of the type, in pixels."""
        return SCREEN if self.width is None else PRINT

    @cached_property
    def weights(self) -> FloatArray:
        """(head, query, key), nan where a query cannot see; a learned sink is the last key."""
        layers, heads = (list(each) for each in zip(*self.heads, strict=True))
        weights = self.grid.weights[layers, heads]
        if self.grid.visible is not None:
            weights = np.where(self.grid.visible[layers], weights, np.float32(np.nan))
        if self.grid.heads is not None:
            weights = np.where(self.grid.heads[layers, heads][:, None, None], weights, np.float32(np.nan))
        if self.grid.sink is not None:
            weights = np.concatenate([weights, self.grid.sink[layers, heads][..., None]], axis=-1)
        return weights

    @cached_property
    def rows(self) -> list[str]:
        """The words that look, as Plotly writes them."""
        return [plain(visible(label)) for label in self.grid.labels]

    @property
    def marked(self) -> list[str]:
        """The rows, with those that are looked from in bold."""
        bold = '<b style="color:' + page(dark=self.dark)["accent"] + '">'
        return [f"{bold}{row}</b>" if i in self.queries else row for i, row in enumerate(self.rows)]

    @property
    def keys(self) -> list[str]:
        """The words that are looked at, and the sink."""
        sink = () if self.grid.sink is None else (SINK,)
        return [*map(visible, self.grid.key_labels), *sink]

    @cached_property
    def columns(self) -> list[str]:
        """The keys, as Plotly writes them."""
        return [plain(key) for key in self.keys]

    @property
    def names(self) -> list[str]:
        """The heads as a person reads them."""
        return [f"Head {head_name(head)}" for head in self.heads]

    @property
    def number(self) -> str:
        """The format of a weight."""
        return "+.1%" if self.signed else ".1%"

    @cached_property
    def links(self) -> NDArray[np.object_]:
        """(query, key): "it looks at animal"."""
        links = [[f"{row} looks at {column}" for column in self.columns] for row in self.rows]
        return np.array(links, dtype=object)

    def share(self, weight: float, digits: int = 1) -> str:
        """Return a weight as a person reads it: "67.7%", of a difference "−3.1%"."""
        return f"{weight:{'+' * self.signed}.{digits}%}".replace("-", "−")

    def colour_axis(self, height: float) -> dict[str, Any]:
        """Return the one scale of all panels, with a bar beside a figure so many pixels high."""
        title, small = "change" if self.signed else "weight", {"size": 0.9 * self.size}
        axis = colour_axis(self.weights, title, ".0%", signed=self.signed, dark=self.dark)
        axis["colorbar"] |= {
            "title": {"text": title, "font": small},
            "tickfont": small,
            "nticks": 6,
            "lenmode": "pixels",
            "len": min(height, 14 * self.size),
            "y": 1,
            "yanchor": "top",
        }
        return axis

    @cached_property
    def top(self) -> float:
        """The largest weight of the rows that are looked from, which has the thickest stroke."""
        return largest(self.weights[:, list(self.queries)] if self.queries else self.weights)

    def stroke(self, weight: float, size: float) -> dict[str, Any]:
        """Return the width and the colour of a link; even the weakest is seen."""
        share = abs(weight) / self.top
        place = 0.3 + 0.7 * share
        if self.signed:
            place = 0.5 + (place if weight > 0 else -place) / 2
        (colour,) = sample_colorscale(
            list(map(list, colour_scale(signed=self.signed, dark=self.dark))), [place]
        )
        return {"width": size * (0.06 + 0.5 * share), "color": colour}

    @property
    def leftward(self) -> bool:
        """True for text from right to left: the first letter of its words with a direction decides."""
        strong = (
            unicodedata.bidirectional(sign)
            for unit in self.grid.units
            if not unit.special
            for sign in unit.label
        )
        return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"

    def canvas(self, width: float, height: float) -> go.Figure:
        """Return an empty figure whose axes count pixels: to the right from 0, and up from -height to 0."""
        figure = go.Figure()
        figure.update_xaxes(visible=False, range=(0, width), automargin=False)
        figure.update_yaxes(visible=False, range=(-height, 0), automargin=False)
        return figure.update_layout(width=width + 20, height=height + 10, margin={"l": 10, "r": 10, "b": 10})


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is in a serif face; which one, is known only where it is shown."""
    return size * sum(_em(sign) for sign in text)


def _em(sign: str) -> float:
    if unicodedata.combining(sign):
        return 0.0
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.0
    return 0.38 if sign in NARROW else 0.95 if sign in BROAD else 0.75 if sign.isupper() else 0.6
