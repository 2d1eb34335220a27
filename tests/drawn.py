"""A picture opened on its own in a browser, and what is drawn in it turned back into weights.

The way back is not the code that draws: a shade is read by its lightness (pixels.py), a place from where words stand.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from pixels import THEMES, colour, of_canvas, oklab, weights

from mha_core.draw.payload import explore_payload
from mha_core.draw.standalone import standalone_html
from mha_core.draw.text import indexed
from mha_core.record.grid import Grid
from mha_core.text.tokens import Tokens
from pages.parts.frame.selection import Selection

SHADE = 0.008  # what 8 bits a channel leave unknown of a weight
STRENGTH = 0.3  # a stroke of weight 0 has this share of the ramp, so that it is seen


def shares(colours: Any, paper: Sequence[int]) -> np.ndarray:
    """How far along the ramp colours (..., 3) stand: 0 is paper, 1 the documented end."""
    theme = THEMES["light" if oklab(paper)[0] > 0.5 else "dark"]
    return weights(colours, replace(theme, paper=tuple(paper)))


def percent(weight: float) -> str:
    """A weight as the picture writes it: whole percentages, below one with a decimal, halves upward."""
    tenths = int(np.floor(abs(float(weight)) * 1000 + 0.5))
    return f"0.{tenths}%" if 0 < tenths < 10 else f"{int(np.floor(abs(float(weight)) * 100 + 0.5))}%"


def centres(start: float, size: float, n: int) -> np.ndarray:
    """The middle pixel of each of n cells on `size` pixels that begin at `start`."""
    return np.floor(start + (np.arange(n) + 0.5) * size / n).astype(int)


@dataclass
class Stroke:
    """A drawn line: where it begins and ends in pixels of its picture, how thick and how dark it is."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    colour: tuple[int, ...]


def strokes(paths: Sequence[dict[str, str]]) -> list[Stroke]:
    """Strokes of `path` elements given by their attributes."""
    found = []
    for path in paths:
        numbers = [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?", path["d"])]
        ends = (*numbers[:2], *numbers[-2:])
        found.append(Stroke(*ends, float(path["stroke-width"]), colour(path["stroke"])))
    return found


ATTRIBUTES = "all => all.map(e => Object.fromEntries([...e.attributes].map(a => [a.name, a.value])))"


@dataclass
class Picture:
    """The drawn view in one tab, read as a reader would."""

    page: Any

    @property
    def root(self) -> Any:
        return self.page.locator(".headscope[data-record]").first

    def part(self, label: str) -> Any:
        return self.root.get_by_label(label, exact=True)

    def settle(self) -> "Picture":
        """Two frames later everything chosen is drawn: these pages do not animate."""
        self.page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")
        return self

    @property
    def paper(self) -> tuple[int, ...]:
        ground = "e => getComputedStyle(document.querySelector('[data-testid=stApp]') ?? document.body).backgroundColor"
        return colour(self.root.evaluate(ground))

    def image(self, canvas: Any) -> np.ndarray:
        """The pixels of a canvas: (row, column, 4)."""
        return of_canvas(canvas)

    @property
    def pixels(self) -> float:
        """A canvas's pixels to a point of the page: the screen's, up to two."""
        return min(2, self.page.evaluate("devicePixelRatio"))

    # ---- the matrix
    @property
    def matrix(self) -> Any:
        return self.part("The chosen head as a matrix")

    def frame(self, image: np.ndarray) -> tuple[int, int, int]:
        """Left, top and side of the cells in the matrix's pixels, from the line around them."""
        high, wide = image.shape[:2]
        margin, line = round(2 * self.pixels), round(self.pixels)
        for y in range(high):
            row = image[y, [wide - margin - 2, wide - 11, wide - 47, wide - 101]]
            if (row == row[0]).all() and row[0, 3] == 255:
                side = high - margin - (y + line)
                return wide - margin - side, y + line, side
        raise AssertionError("the matrix has no frame")

    def weights(self, n: int) -> np.ndarray:
        """What the matrix's shades say: (query, key)."""
        image = self.image(self.matrix)
        left, top, side = self.frame(image)
        cells = image[np.ix_(centres(top, side, n), centres(left, side, n))]
        assert (cells[..., 3] == 255).all()
        return shares(cells[..., :3], self.paper)

    def framed(self, n: int) -> tuple[list[int], list[int]]:
        """The rows and columns with the accent along both of their edges: its red outweighs its blue."""
        image = self.image(self.matrix)
        left, top, side = self.frame(image)
        warm = image[..., 0].astype(int) - image[..., 2] > 40
        across, down = centres(left, side, n), centres(top, side, n)
        near = range(-round(self.pixels), round(self.pixels))
        edges = [round(i * side / n) for i in range(n + 1)]
        rows = [max(warm[top + edge + d, across].mean() for d in near) > 0.8 for edge in edges]
        columns = [max(warm[down, left + edge + d].mean() for d in near) > 0.8 for edge in edges]
        found = [[i for i, both in enumerate(pairwise(on)) if all(both)] for on in (rows, columns)]
        return found[0], found[1]

    def point(self, q: int, k: int, n: int) -> None:
        """Put the pointer on a cell of the matrix."""
        left, top, side = self.frame(self.image(self.matrix))
        at = {"x": centres(left, side, n)[k] / self.pixels, "y": centres(top, side, n)[q] / self.pixels}
        self.matrix.hover(position=at)
        self.settle()

    def tip(self) -> str:
        return self.root.locator(".tip").first.inner_text()

    # ---- the small pictures
    def heads(self) -> list[str]:
        """The names of the small pictures as they stand, `4-2`."""
        names = self.root.get_by_role("gridcell").evaluate_all("all => all.map(e => e.ariaLabel)")
        return [re.match(r"Head (\d+-\d+)", name)[1] for name in names]

    def small(self) -> dict[str, np.ndarray]:
        """The pixels of every small picture, as shares of the ramp, under the name its button says."""
        canvas = self.part("All heads").locator("canvas")
        image = self.image(canvas)
        boxes = self.root.get_by_role("gridcell").evaluate_all(
            "all => all.map(e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.width] })"
        )
        scroll = canvas.evaluate("e => { const r = e.getBoundingClientRect(); return [r.left, r.top] }")
        found, scale = {}, self.pixels
        for name, (x, y, width) in zip(self.heads(), boxes, strict=True):
            side = round(boxes[0][2] * scale)
            left, top = round((x - scroll[0]) * scale), round((y - scroll[1]) * scale)
            assert width > 8
            found[name] = shares(image[top : top + side, left : left + side, :3], self.paper)
        return found

    # ---- the sentence
    def word(self, unit: int) -> Any:
        return self.part("Your sentence, word by word").locator(f'[data-unit="{unit}"]')

    def names(self) -> list[str]:
        """The words as lists name them: the same one twice has a number."""
        words = self.part("Your sentence, word by word").locator("[data-unit]")
        return indexed(words.evaluate_all("all => all.map(e => e.textContent)"))

    def pressed(self) -> list[int]:
        """The words that are said to be pressed: pinned, or the target."""
        words = self.settle().part("Your sentence, word by word").locator("[data-unit]")
        states = words.evaluate_all("all => all.map(e => e.ariaPressed)")
        return [i for i, state in enumerate(states) if state == "true"]

    def words(self) -> list[dict[str, float]]:
        """Where the words stand in the sentence's own pixels: x is the middle."""
        return self.part("Your sentence, word by word").evaluate(
            """e => { const o = e.parentElement.getBoundingClientRect();
            return [...e.querySelectorAll('[data-unit]')].map(u => { const r = u.getClientRects()[0];
            return {x: r.left + r.width / 2 - o.left, y: r.top + r.height / 2 - o.top, width: r.width} }) }"""
        )

    def arcs(self) -> list[tuple[int, int, float, float]]:
        """The arcs as (from, to, weight by the shade, thickness); an end belongs to the word in whose middle it is."""
        paths = self.root.locator("svg.arcs path").evaluate_all(ATTRIBUTES)
        stand = self.words()
        found = []
        for stroke in strokes(paths):
            ends = [
                min(range(len(stand)), key=lambda i: abs(stand[i]["x"] - x) + 0.2 * abs(stand[i]["y"] - y))
                for x, y in ((stroke.x1, stroke.y1), (stroke.x2, stroke.y2))
            ]
            found.append((*ends, self.strength(stroke), stroke.width))
        return found

    def labels(self) -> dict[int, str]:
        """The percentages under the words, by the word they stand under."""
        read = """all => all.map(e => [parseFloat(e.style.left), parseFloat(e.style.top), e.textContent])"""
        stand = self.words()
        found = {}
        for x, y, text in self.root.locator(".labels > *").evaluate_all(read):
            unit = min(
                range(len(stand)),
                key=lambda i: abs(stand[i]["x"] - x) + (0 if stand[i]["y"] < y < stand[i]["y"] + 75 else 500),
            )
            found[unit] = text
        return found

    def strength(self, stroke: Stroke) -> float:
        return (float(shares(stroke.colour, self.paper)) - STRENGTH) / (1 - STRENGTH)

    # ---- words and rows
    def said(self) -> str:
        return self.root.locator("p.inwords").first.get_attribute("data-said")

    def ranking(self) -> list[tuple[str, str, str, float]]:
        """The ranked heads: name, percentage, the word beside it, and the bar's share of the scale in percent."""
        read = """all => all.map(e => { const b = e.lastElementChild; const s = [...e.children].map(c => c.textContent);
            return [s[0], s[1], s.length > 3 ? s[2] : '', parseFloat(b.style.getPropertyValue('--share'))] })"""
        return [tuple(row) for row in self.part("Heads ranked").locator("li button").evaluate_all(read)]

    def view(self, label: str) -> Any:
        """A control of the menu that says how the head is shown."""
        if not self.root.locator("details.view").evaluate("e => e.open"):
            self.root.locator("summary", has_text="View").click()
        return self.root.locator("details.view").get_by_label(label, exact=True)

    def all_ranked(self) -> list[tuple[str, str, str, float]]:
        """Every ranked head, as `ranking` has the first ones."""
        self.part("Heads ranked").get_by_role("button", name=re.compile("^All ")).click()
        found = self.ranking()
        self.part("Heads ranked").get_by_role("button", name="Fewer").click()
        return found


def page_of(
    grid: Grid, tokens: Tokens, head: tuple[int, int], pins: Sequence[int] = (), to: int | None = None, **more
) -> str:
    """The picture as a page of its own; `more`: for the payload."""
    payload = explore_payload(
        grid, tokens, model_title="all-MiniLM-L6-v2", selection=Selection(head, tuple(pins), to), **more
    )
    return standalone_html(payload, title="HeadScope")
