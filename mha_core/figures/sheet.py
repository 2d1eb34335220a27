"""What every kind of figure is drawn on: names of the words, sizes in points, one scale, colours."""

from dataclasses import dataclass

import numpy as np

from mha_core.figures.lettering import width
from mha_core.figures.panels import Floats, Panel
from mha_core.figures.svg import number, tag, words
from mha_core.grid import Mask
from mha_core.wording import percent

LEAST = 0.01  # links below are not drawn
LINKS = 12  # a word's links that are drawn at most
STRONGEST = 5  # links that are drawn where no word is chosen


@dataclass(frozen=True, eq=False)
class Sheet:
    """In points: `width` of the figure, `size` of its type. `top` is the weight at which the scale ends.

    `key_names` and `key_special` are those of the columns where they are another text's (cross-attention).
    """

    names: tuple[str, ...]
    special: tuple[bool, ...]
    visible: Mask | None
    pins: tuple[int, ...]
    width: float
    size: float
    top: float
    ramp: tuple[str, ...]
    ink: str
    quiet: str
    accent: str
    key_names: tuple[str, ...] | None = None
    key_special: tuple[bool, ...] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.names if self.key_names is None else self.key_names

    @property
    def n_keys(self) -> int:
        """How many columns there are."""
        return len(self.keys)

    @property
    def n(self) -> int:
        """How many units there are."""
        return len(self.names)

    @property
    def room(self) -> float:
        """What the longest name needs."""
        return max(width(name, self.size) for name in (*self.names, *self.keys)) + 0.5 * self.size

    def share(self, weight: float) -> float:
        """A weight as a share of the scale, 0 to 1."""
        return min(max(weight / self.top, 0.0), 1.0)

    def shade(self, weight: float) -> str:
        """The colour of a weight."""
        return self.ramp[int(self.share(weight) * (len(self.ramp) - 1) + 0.5)]

    def stroke(self, weight: float) -> tuple[float, str]:
        """How thick a link is and its colour; even the weakest is seen."""
        share = self.share(weight)
        colour = self.ramp[int((0.3 + 0.7 * share) * (len(self.ramp) - 1) + 0.5)]
        return self.size * (0.06 + 0.6 * share), colour

    def bold(self, unit: int) -> dict[str, object]:
        """How the name of a unit is set: one that is looked from stands out."""
        return {"font_weight": 650, "fill": self.accent} if unit in self.pins else {"fill": self.ink}

    def links(self, weights: Floats) -> list[tuple[int, int, float]]:
        """The links to draw, (query, key, weight): of the words that are looked from, else the strongest ones between
        two words."""
        if self.pins:
            rows = [(q, np.argsort(-weights[q], kind="stable")[:LINKS]) for q in self.pins]
            return [
                (q, int(k), float(weights[q, k])) for q, keys in rows for k in keys if weights[q, k] >= LEAST
            ]
        columns = self.special if self.key_special is None else self.key_special
        kept = np.where(np.logical_or.outer(self.special, columns), 0.0, weights)
        if self.key_names is None:
            np.fill_diagonal(kept, 0.0)
        if self.visible is not None:
            kept[self.visible.sum(axis=-1) == 1] = 0.0
        best = [(q, int(kept[q].argmax()), float(kept[q].max())) for q in range(self.n)]
        return sorted((link for link in best if link[2] >= LEAST), key=lambda link: -link[2])[:STRONGEST]

    def title(self, panel: Panel, x: float, y: float) -> str:
        """A panel's title."""
        return words(panel.title, x, y, self.size, font_weight=650, fill=self.ink)

    def colour_bar(self, x: float, y: float, high: float) -> str:
        """What the shades mean, upright; `colour_bar_room` wide."""
        wide, count = 0.9 * self.size, 64
        step = high / count
        cells, ends, small = [], [], 0.9 * self.size
        for i in range(count):
            shade = self.shade((i + 0.5) / count * self.top)
            cells.append(
                tag("rect", x=x, y=y + high - (i + 1) * step, width=wide, height=step * 1.05, fill=shade)
            )
        for part in (0.0, 0.5, 1.0):
            said, at = percent(self.top * part), y + high * (1 - part)
            ends.append(words(said, x + wide + 0.4 * self.size, at, small, fill=self.quiet))
        frame = tag(
            "rect", x=x, y=y, width=wide, height=high, fill="none", stroke=self.quiet, stroke_width=0.4
        )
        return tag("g", tag("g", *cells, shape_rendering="crispEdges"), frame, *ends)

    @property
    def colour_bar_room(self) -> float:
        """How wide the bar of colours is with its numbers."""
        return 2.4 * self.size + width("100.0 %", 0.9 * self.size)

    def stroke_bar(self, y: float) -> str:
        """What the thickness of a link means, in one line."""
        x, found = 0.0, []
        for part in (0.1, 0.5, 1.0):
            thick, colour = self.stroke(self.top * part)
            said = percent(self.top * part)
            long = 2 * self.size
            found.append(
                tag("path", d=f"M{number(x)} {number(y)}h{number(long)}", stroke=colour, stroke_width=thick)
            )
            found.append(words(said, x + long + 0.4 * self.size, y, 0.9 * self.size, fill=self.quiet))
            x += long + width(said, 0.9 * self.size) + 1.6 * self.size
        return tag("g", *found)
