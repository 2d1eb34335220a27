"""Attention as strokes from the words that look to those that are looked at: arcs over the sentence, or two columns.

In: a sheet. Out: a Plotly figure, a trace a link; its `meta` is (layer, head, query, key, weight), from 0.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np
import plotly.graph_objects as go

from mha_core.arrays import FloatArray
from mha_core.draw.figures.sheet import INCH, Sheet, text_width
from mha_core.errors import InputError
from mha_core.record.links import between_words

MIN_DRAWN, MIN_WRITTEN = 0.01, 0.02  # links below are not drawn; shares below not written
MAX_LINKS, MAX_STRONGEST = 12, 5  # links drawn at most: of a word that is looked from, and where none is
MIN_TYPE = 4 / 72 * INCH  # smaller type is not read
MIN_SPACE, MAX_SPACE = 0.35, 1.2  # between words at least and at most, of the size
MAX_WIDTH = 1200  # pixels, where no width is asked for
BETWEEN, LEADING = 7.0, 1.5  # of the size: from a source's line to its target's; from row to row
Link = tuple[int, int, float]
Point = tuple[float, float]


def strongest_links(sheet: Sheet, weights: FloatArray) -> list[Link]:
    """Return the links to draw, weakest first: of the rows that are looked from, else the strongest between words."""
    known = np.nan_to_num(weights)
    if sheet.queries:
        rows = [(q, np.argsort(-np.abs(known[q]), kind="stable")[:MAX_LINKS]) for q in sheet.queries]
        links = [(q, int(k), float(known[q, k])) for q, keys in rows for k in keys]
    else:
        among = between_words(sheet.grid)
        known = np.where(among, known[:, : among.shape[1]], 0)  # a learned sink is no word
        best = np.abs(known).argmax(axis=1)
        links = [(q, int(k), float(known[q, k])) for q, k in enumerate(best)]
        links = sorted(links, key=lambda link: -abs(link[2]))[:MAX_STRONGEST]
    return sorted((link for link in links if abs(link[2]) >= MIN_DRAWN), key=lambda link: abs(link[2]))


def arcs(sheet: Sheet) -> go.Figure:
    """Draw the sentence with an arc a link, a panel a head; of two texts the source stands above the target.

    Raises InputError for a line that nobody could read.
    """
    cross = sheet.grid.key_units is not None
    words = [sheet.marked, sheet.columns] if cross else [sheet.marked + sheet.columns[len(sheet.rows) :]]
    lines = [sheet.rows, sheet.columns] if cross else [sheet.columns]
    wide, size = _fitted(sheet, lines)
    middles = [_middles(line, size, wide, leftward=sheet.leftward) for line in lines]
    panels = [strongest_links(sheet, weights) for weights in sheet.weights]
    reach = max((abs(middles[0][q] - middles[-1][k]) for links in panels for q, k, _ in links), default=0.0)
    rise = BETWEEN * size if cross else _height(reach, wide, size)
    above = (1.8 * (len(panels) > 1) + cross) * sheet.size
    high = above + rise + 3 * size
    figure = sheet.canvas(wide, high * len(panels))
    for i, (name, links) in enumerate(zip(sheet.names, panels, strict=True)):
        base = 2 * size - high * (i + 1)
        top = base + rise if cross else base  # of the line that is looked at
        for q, k, weight in links:
            x, to = middles[0][q], middles[-1][k]
            if cross:
                curve = _curve((x, base + 0.8 * size), (to, top - 2.1 * size), 0.5 * rise, -0.5 * rise)
            else:
                aside = 0.4 * size * (q == k)
                pull = _height(abs(x - to), wide, size) / 0.75  # how high a curve gets, of its pull
                curve = _curve((x - aside, base + 0.8 * size), (to + aside, base + 0.8 * size), pull, pull)
            _add(figure, sheet, i, (q, k, weight), curve, size)
        for line, xs, y in zip(words, middles, (base, top), strict=False):
            _write(figure, xs, [y] * len(xs), line, size)
        _shares(figure, sheet, i, links, middles[-1], top - 1.1 * size, 0.9 * size)
        if len(panels) > 1:
            _write(figure, [0], [-high * i - 0.6 * sheet.size], [name], sheet.size, "middle right")
    return figure


def lines(sheet: Sheet) -> go.Figure:
    """Draw the queries beside the keys with a line a link, panels side by side; the queries stand where lines begin.

    Raises InputError where the words leave no room.
    """
    size, n = sheet.size, len(sheet.heads)
    room = max(text_width(name, size) for name in (*sheet.rows, *sheet.columns)) + 0.5 * size
    least = 2 * room + 4 * size
    wide = sheet.width - 20 if sheet.width else min(n, 3) * (2 * room + 12 * size)
    if least > wide:
        raise InputError("The words leave no room for lines at this width; take a wider figure.")
    across = ceil(n / ceil(n / min(n, int(wide // least))))
    panel, leading, above = wide / across, LEADING * size, (0.8 + 1.8 * (n > 1)) * size
    high = above + max(len(sheet.rows), len(sheet.columns)) * leading
    figure = sheet.canvas(wide, high * ceil(n / across))
    sides = ["middle left", "middle right"]
    for i, name in enumerate(sheet.names):
        x, y = i % across * panel, -(i // across) * high
        ends = [x + room, x + panel - room - size * (across > 1)]
        heights = [y - above - j * leading for j in range(max(len(sheet.rows), len(sheet.columns)))]
        if sheet.leftward:
            ends.reverse()
        for q, k, weight in strongest_links(sheet, sheet.weights[i]):
            line = _curve((ends[0], heights[q]), (ends[1], heights[k]))
            _add(figure, sheet, i, (q, k, weight), line, size)
        labels = zip((sheet.marked, sheet.columns), ends, sides[:: -1 if sheet.leftward else 1], strict=True)
        for words, end, side in labels:
            _write(figure, [end] * len(words), heights[: len(words)], words, size, side)
        if n > 1:
            _write(figure, [x], [y - 0.6 * size], [name], size, "middle right")
    return figure


def _fitted(sheet: Sheet, lines: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Return the width of a figure of these lines of words, and the size of their type, both in pixels."""
    ems = [sum(text_width(name, 1) for name in line) for line in lines]
    needed = max(em + 0.8 * len(line) for em, line in zip(ems, lines, strict=True))
    wide = (sheet.width or min(MAX_WIDTH, max(400, needed * sheet.size))) - 20
    size = min(
        sheet.size, *(wide / (em + MIN_SPACE * len(line)) for em, line in zip(ems, lines, strict=True))
    )
    if size < MIN_TYPE:
        raise InputError("The text is too long for one line of arcs; take a wider figure, or a matrix.")
    return wide, size


def _middles(names: Sequence[str], size: float, wide: float, *, leftward: bool) -> list[float]:
    """Return the place of the middle of every word of a line."""
    widths = np.array([text_width(name, size) for name in names])
    space = min(MAX_SPACE * size, (wide - widths.sum()) / max(1, len(names) - 1))
    middles = np.cumsum(widths + space) - space - widths / 2
    if leftward:
        middles = widths.sum() + space * (len(names) - 1) - middles
    return [float(x) for x in middles]


def _height(reach: float, wide: float, size: float) -> float:
    return min(0.3 * reach, 0.19 * wide) + size


def _curve(start: Point, end: Point, up: float = 0.0, down: float = 0.0) -> FloatArray:
    """Return a cubic Bézier curve (point, 2), pulled up where it leaves `start` and reaches `end`; else straight."""
    t = np.linspace(0, 1, 25)[:, None]
    a, b, c, d = np.array([start, (start[0], start[1] + up), (end[0], end[1] + down), end])
    curve: FloatArray = (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
    return curve


def _add(figure: go.Figure, sheet: Sheet, panel: int, link: Link, points: FloatArray, size: float) -> None:
    q, k, weight = link
    stroke = sheet.stroke(weight, size)
    to_end = points[-1] - points
    left = np.hypot(*to_end.T)
    tip = min(max(6.0, 2.4 * stroke["width"]), 0.6 * left.max())
    last = to_end[left > tip][-1]
    neck = points[-1] - 0.75 * tip * last / np.hypot(*last)  # the line ends in its arrowhead
    points = np.concatenate([points[left > tip], [neck, (np.nan, np.nan)], points[-1:]])
    figure.add_scatter(
        x=points[:, 0],
        y=points[:, 1],
        mode="lines+markers",
        line=stroke | {"simplify": False},
        marker={
            "symbol": "arrow",
            "angle": np.degrees(np.arctan2(*last)),
            "opacity": 1,
            "size": [0.0] * (len(points) - 1) + [tip],
            "color": stroke["color"],
            "line": {"width": 0},
        },
        meta=[*sheet.heads[panel], q, k, weight],
        text=f"{sheet.names[panel]}: {sheet.links[q, k]}, {sheet.share(weight)}",
        hoverinfo="text",
        showlegend=False,
    )


def _write(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    texts: Sequence[str],
    size: float,
    where: str = "middle center",
) -> None:
    font = {"size": size}
    figure.add_scatter(
        x=x,
        y=y,
        text=texts,
        mode="text",
        textposition=where,
        textfont=font,
        hoverinfo="skip",
        showlegend=False,
    )


def _shares(
    figure: go.Figure,
    sheet: Sheet,
    panel: int,
    links: list[Link],
    middles: list[float],
    y: float,
    size: float,
) -> None:
    """Write percentages under the words that are looked at, the largest first, as far as there is room. Of several rows
    it is their mean."""
    shares = {k: weight for _, k, weight in links}
    if sheet.queries:
        shares = {k: float(np.nanmean(sheet.weights[panel, list(sheet.queries), k])) for k in shares}
    written = dict[float, str]()
    for k, share in sorted(shares.items(), key=lambda item: -abs(item[1])):
        if abs(share) >= MIN_WRITTEN and all(abs(middles[k] - x) > 2.4 * size for x in written):
            written[middles[k]] = sheet.share(share, 0)
    _write(figure, list(written), [y] * len(written), list(written.values()), size)
