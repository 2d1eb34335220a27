"""A picture opened on its own in a browser, and what is drawn in it turned back into numbers.

The way back is not the code that draws: a shade is read by its lightness (pixels.py), a place from where words stand.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pixels import THEMES, colour, of_canvas, oklab, weights

from mha_core.draw.bundle import bundle, style
from mha_core.draw.text import indexed

SHADE = 0.008  # what 8 bits a channel leave unknown of a weight
STRENGTH = 0.3  # a stroke of weight 0 has this share of the ramp, so that it is seen
COMPONENT = """async ({ source, style, data }) => {
  const draw = (await import(`data:text/javascript;base64,${source}`)).default;
  const host = document.createElement("div");
  document.body.append(Object.assign(document.createElement("style"), { textContent: style }), host);
  const told = (globalThis.told = []);
  const tell = (name, value) => told.push([name, value]);
  draw({ data, parentElement: host, setStateValue: tell, setTriggerValue: tell });
}"""
FRAME = """<!doctype html><html lang="en"><meta charset="utf-8"><style>
:root { color-scheme: light dark; --st-background-color: #fbfaf7; --st-text-color: #1d1c1a; --st-primary-color: #a8400c;
  --st-border-color: #d8d4ca; --st-font: serif; }
@media (prefers-color-scheme: dark) { :root { --st-background-color: #151513; --st-text-color: #ecebe5; } }
body { margin: 0; background: var(--st-background-color); }</style><body></body></html>"""
FRAMES = "new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))"
ATTRIBUTES = "all => all.map(e => Object.fromEntries([...e.attributes].map(a => [a.name, a.value])))"


@cache
def _offline(chromium: Any) -> Any:
    """A browser profile whose window stays open: to open one takes longer than most of these tests do."""
    viewport = {"width": 1280, "height": 1000}
    context = chromium.new_context(offline=True, viewport=viewport, reduced_motion="reduce")
    context.new_page()
    return context


@contextmanager
def own_page(chromium: Any, scheme: str = "light") -> Iterator[Any]:
    """An empty page without a network and without motion; what goes wrong on it fails the test."""
    page, wrong = _offline(chromium).new_page(), []
    page.emulate_media(color_scheme=scheme)
    page.on("pageerror", lambda problem: wrong.append(str(problem)))
    page.on("console", lambda line: line.type == "error" and wrong.append(line.text))
    try:
        yield page
    finally:
        page.close()
    assert not wrong, wrong


def component(page: Any, name: str, **data: Any) -> Any:
    """Draw with one of the small components; what it tells the app is in the page's `told`."""
    page.set_content(FRAME)
    data = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in data.items()}
    encoded = base64.b64encode(bundle(name).encode()).decode()
    page.evaluate(COMPONENT, {"source": encoded, "style": style(name), "data": data})
    return page


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


def strokes(paths: Any) -> list[tuple[list[float], float, tuple[int, ...]]]:
    """The numbers of each path, how thick it is and its colour."""
    return [
        (
            [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?", path["d"])],
            float(path["stroke-width"]),
            colour(path["stroke"]),
        )
        for path in paths.evaluate_all(ATTRIBUTES)
    ]


@dataclass
class Picture:
    """The drawn view in one tab, read as a reader would."""

    page: Any
    named: str = "The chosen head as a matrix"

    @property
    def root(self) -> Any:
        return self.page.locator(".headscope[data-record]").first

    def open(self, content: str, folder: Path) -> "Picture":
        """Open a page that is one file, and wait until its picture is drawn."""
        file = folder / "picture.html"
        file.write_text(content, encoding="utf-8")
        self.page.goto(file.as_uri())
        self.root.wait_for()
        self.page.evaluate("document.fonts.ready")
        return self.settle()

    def part(self, label: str) -> Any:
        return self.root.get_by_label(label, exact=True)

    def settle(self) -> "Picture":
        """Two frames later everything chosen is drawn: these pages do not animate."""
        self.page.evaluate(FRAMES)
        return self

    @property
    def paper(self) -> tuple[int, ...]:
        return colour(self.root.evaluate("e => getComputedStyle(document.body).backgroundColor"))

    # ---- the matrix
    @property
    def matrix(self) -> Any:
        return self.part(self.named)

    def frame(self, image: np.ndarray, ratio: float = 1) -> tuple[int, int, int, int]:
        """Left, top, width and height of the cells in the matrix's pixels, from the line around them."""
        high, wide = image.shape[:2]
        for y in range(high):
            row = image[y, [wide - 4, wide - 11, wide - 47, wide - 101]]
            if (row == row[0]).all() and row[0, 3] == 255:
                tall = high - 2 - (y + 1)
                return wide - 2 - round(tall * ratio), y + 1, round(tall * ratio), tall
        raise AssertionError("the matrix has no frame")

    def cells(self, rows: int, columns: int) -> np.ndarray:
        """The pixels in every cell of the matrix but near its edges: (query, key, down, across, 4)."""
        image = of_canvas(self.matrix)
        left, top, wide, tall = self.frame(image, columns / rows)
        around = np.arange(1 - (size := int(tall / rows / 2) - 3), size)
        y = centres(top, tall, rows)[:, None] + around
        x = centres(left, wide, columns)[:, None] + around
        return image[y[:, None, :, None], x[None, :, None, :]]

    def framed(self, n: int) -> tuple[list[int], list[int]]:
        """The rows and columns with the accent along both of their edges: its red outweighs its blue."""
        image = of_canvas(self.matrix)
        left, top, side, _ = self.frame(image)
        warm = image[..., 0].astype(int) - image[..., 2] > 40
        across, down = centres(left, side, n), centres(top, side, n)
        edges = [round(i * side / n) for i in range(n + 1)]
        rows = [max(warm[top + edge + d, across].mean() for d in (-1, 0)) > 0.8 for edge in edges]
        columns = [max(warm[down, left + edge + d].mean() for d in (-1, 0)) > 0.8 for edge in edges]
        return tuple([i for i, both in enumerate(pairwise(on)) if all(both)] for on in (rows, columns))

    def point(self, q: int, k: int, n: int) -> None:
        """Put the pointer on a cell of the matrix."""
        left, top, side, _ = self.frame(of_canvas(self.matrix))
        x, y = float(centres(left, side, n)[k]), float(centres(top, side, n)[q])
        self.matrix.hover(position={"x": x, "y": y})
        self.settle()

    def tip(self) -> str:
        return self.part("The chosen head").locator(".tip").inner_text()

    # ---- the small pictures
    def heads(self) -> list[str]:
        """The names of the small pictures as they stand, `4-2`."""
        names = self.root.get_by_role("gridcell").evaluate_all("all => all.map(e => e.ariaLabel)")
        return [re.match(r"Head (\d+-\d+)", name)[1] for name in names]

    def small(self, rows: int, columns: int, label: str = "All heads") -> dict[tuple[int, int], np.ndarray]:
        """The middle pixel of every cell of every small picture, (query, key, 4), by the head its button says."""
        canvas = self.part(label).locator("canvas")
        image, place = (
            of_canvas(canvas),
            "e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.width] }",
        )
        boxes = self.root.get_by_role("gridcell").evaluate_all(f"all => all.map({place})")
        x0, y0, _ = canvas.evaluate(place)
        pictures = {}
        for name, (x, y, side) in zip(self.heads(), boxes, strict=True):
            layer, head = name.split("-")
            cells = np.ix_(
                centres(round(y - y0), round(side), rows), centres(round(x - x0), round(side), columns)
            )
            pictures[int(layer) - 1, int(head) - 1] = image[cells]
        return pictures

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
        """Where the middles of the words stand in the sentence's own pixels."""
        return self.part("Your sentence, word by word").evaluate(
            """e => { const o = e.parentElement.getBoundingClientRect();
            return [...e.querySelectorAll('[data-unit]')].map(u => { const r = u.getClientRects()[0];
            return {x: r.left + r.width / 2 - o.left, y: r.top + r.height / 2 - o.top} }) }"""
        )

    def arcs(self) -> list[tuple[int, int, float, float]]:
        """The arcs as (from, to, weight by the shade, thickness); an end belongs to the word in whose middle it is."""
        stand, arcs = self.words(), []
        for numbers, width, shade in strokes(self.root.locator("svg.arcs path")):
            ends = [
                min(range(len(stand)), key=lambda i: abs(stand[i]["x"] - x) + 0.2 * abs(stand[i]["y"] - y))
                for x, y in (numbers[:2], numbers[-2:])
            ]
            arcs.append((*ends, (float(shares(shade, self.paper)) - STRENGTH) / (1 - STRENGTH), width))
        return arcs

    def labels(self) -> dict[int, str]:
        """The percentages under the words, by the word they stand under."""
        read = "all => all.map(e => [parseFloat(e.style.left), parseFloat(e.style.top), e.textContent])"
        stand, texts = self.words(), {}
        for x, y, text in self.root.locator(".labels > *").evaluate_all(read):
            under = [abs(word["x"] - x) + (0 if 0 < y - word["y"] < 75 else 500) for word in stand]
            texts[int(np.argmin(under))] = text
        return texts

    # ---- words and rows
    def said(self) -> str:
        return self.root.locator("p.inwords").first.get_attribute("data-said")

    def ranking(self) -> list[tuple[str, str, str, float]]:
        """All ranked heads: name, percentage, the word beside it, and the bar's share of the scale in percent."""
        read = """all => all.map(e => { const b = e.lastElementChild; const s = [...e.children].map(c => c.textContent);
            return [s[0], s[1], s.length > 3 ? s[2] : '', parseFloat(b.style.getPropertyValue('--share'))] })"""
        every = self.part("Heads ranked").get_by_role("button", name=re.compile("^All "))
        if every.count():
            every.click()
        return [tuple(row) for row in self.part("Heads ranked").locator("li button").evaluate_all(read)]

    def view(self, label: str) -> Any:
        """A control of the menu that says how the head is shown."""
        if not self.root.locator("details.view").evaluate("e => e.open"):
            self.root.locator("summary", has_text="View").click()
        return self.root.locator("details.view").get_by_label(label, exact=True)
