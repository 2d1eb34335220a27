"""Matrices side by side: row = query, looks at column = key; words stand beside the first of a row and on top."""

from collections import defaultdict
from math import ceil

import numpy as np

from mha_core.errors import InputError
from mha_core.figures.lettering import width
from mha_core.figures.panels import Panel
from mha_core.figures.sheet import Sheet
from mha_core.figures.svg import number, tag, words

SMALLEST = 34.0  # points; a matrix narrower than that shows nothing
MOST_ACROSS = 6


def draw(sheet: Sheet, found: list[Panel]) -> tuple[list[str], float]:
    """The panels and the bar of colours; how high they are, in points."""
    size, edge = sheet.size, 0.5
    left = sheet.room + edge
    across, side = _across(sheet, len(found), sheet.width - left - sheet.colour_bar_room)
    above, gap = sheet.room, size
    body, y = [], 0.0
    for row in range(ceil(len(found) / across)):
        y += 1.5 * size
        start = y + (above if row == 0 else 0)
        for column, panel in enumerate(found[row * across : (row + 1) * across]):
            x = left + column * (side + gap)
            body.append(sheet.title(panel, x, y - 0.7 * size))
            if row == 0:
                body += _names_above(sheet, x, start, side)
            body.append(cells(sheet, panel, x, start, side))
        high = side * sheet.n / sheet.n_keys
        body += _names_beside(sheet, left, start, high)
        if row == 0:
            beside = left + across * (side + gap) - 0.3 * size
            body.append(sheet.colour_bar(beside, start, min(max(high, SMALLEST), 12 * size)))
        y = start + high + 0.6 * size
    return body, y


def _across(sheet: Sheet, count: int, room: float) -> tuple[int, float]:
    """How many panels stand in a row, and how wide each is: the fewest rows in which words can still be read."""
    wanted = min(sheet.n_keys * sheet.size * 0.75, room)
    best = max(
        1, min(count, MOST_ACROSS, int((room + sheet.size) // (max(SMALLEST, wanted / 3) + sheet.size)))
    )
    across = ceil(count / ceil(count / best))
    side = (room - (across - 1) * sheet.size) / across
    if side < SMALLEST:
        raise InputError(
            "The words leave no room for a matrix at this width; take smaller type or a wider figure."
        )
    return across, min(side, 1.6 * sheet.n_keys * sheet.size)


def _every(sheet: Sheet, n: int, side: float) -> range:
    """Those of n units whose names have room along a side."""
    return range(0, n, max(1, ceil(1.1 * sheet.size * n / side)))


def _names_beside(sheet: Sheet, left: float, y: float, high: float) -> list[str]:
    cell, size, found = high / sheet.n, sheet.size, []
    for q in _every(sheet, sheet.n, high):
        middle = y + (q + 0.5) * cell
        found.append(
            words(sheet.names[q], left - 0.4 * size, middle, size, text_anchor="end", **sheet.bold(q))
        )
    return found


def _names_above(sheet: Sheet, x: float, y: float, side: float) -> list[str]:
    cell, found = side / sheet.n_keys, []
    for k in _every(sheet, sheet.n_keys, side):
        turn = f"translate({number(x + (k + 0.5) * cell)} {number(y - 0.4 * sheet.size)}) rotate(-90)"
        found.append(tag("g", words(sheet.keys[k], 0.0, 0.0, sheet.size, fill=sheet.ink), transform=turn))
    return found


def cells(sheet: Sheet, panel: Panel, x: float, y: float, side: float, high: float | None = None) -> str:
    """Cells of one shade as one path, so that a matrix of 512 by 512 stays a file that opens. They are square, or as
    high as `high` makes them."""
    cell, runs = side / sheet.n_keys, defaultdict(list)
    high = cell * sheet.n if high is None else high
    row_high, frame = high / sheet.n, {"fill": "none", "stroke": sheet.quiet, "stroke_width": 0.5}
    for q, row in enumerate(panel.weights):
        shades = [sheet.shade(float(weight)) for weight in row]
        k = 0
        while k < sheet.n_keys:
            stop = k + 1
            while stop < sheet.n_keys and shades[stop] == shades[k]:
                stop += 1
            if shades[k] != sheet.ramp[0]:
                wide = number((stop - k) * cell)
                at = f"M{number(x + k * cell)} {number(y + q * row_high)}"
                runs[shades[k]].append(f"{at}h{wide}v{number(row_high)}h-{wide}z")
            k = stop
    shapes = [tag("path", fill=shade, d="".join(run)) for shade, run in runs.items()]
    drawn = [tag("g", *(shapes or [""]), shape_rendering="crispEdges")]
    if sheet.visible is not None:
        drawn.append(_absent(sheet, x, y, cell))
    drawn.append(tag("rect", x=x, y=y, width=side, height=high, **frame))
    for q in sheet.pins:
        line = {"fill": "none", "stroke": sheet.accent, "stroke_width": 1.0}
        drawn.append(tag("rect", x=x, y=y + q * cell, width=side, height=cell, **line))
    return tag("g", *drawn)


def _absent(sheet: Sheet, x: float, y: float, cell: float) -> str:
    """Hatching where a query cannot see a key: one stroke a stretch of a row."""
    found = []
    for q, row in enumerate(~np.asarray(sheet.visible)):
        for start, stop in (
            np.flatnonzero(np.diff(row, prepend=False, append=False)).reshape(-1, 2) * cell + x
        ):
            found.append(f"M{number(start)} {number(y + (q + 0.5) * cell)}H{number(stop)}")
    dash = f"0.5 {number(max(1.2, width('.', sheet.size)))}"
    return tag(
        "path", d="".join(found), stroke=sheet.quiet, stroke_width=0.5, stroke_dasharray=dash, fill="none"
    )
