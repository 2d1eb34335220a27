"""Queries on the left, keys on the right, a line a link; panels side by side. Of a text that runs from right to left
the queries stand on the right, where it begins."""

from math import ceil

from mha_core.errors import InputError
from mha_core.figures.lettering import runs_leftward
from mha_core.figures.panels import Panel
from mha_core.figures.sheet import Sheet
from mha_core.figures.svg import number, tag, words

LEADING = 1.35
GAP = 1.5  # of the size, between panels
NARROWEST = 3.0  # of the size: what a panel needs between its words


def draw(sheet: Sheet, found: list[Panel]) -> tuple[list[str], float]:
    """The panels and what the strokes mean; how high all is, in points."""
    least = 2 * sheet.room + (NARROWEST + GAP) * sheet.size
    if least > sheet.width:
        raise InputError(
            "The words leave no room for lines at this width; take smaller type or a wider figure."
        )
    across = max(1, min(len(found), int(sheet.width // least)))
    across = ceil(len(found) / ceil(len(found) / across))
    gap = GAP * sheet.size
    wide, high = (sheet.width + gap) / across - gap, max(sheet.n, sheet.n_keys) * LEADING * sheet.size
    body = []
    for i, panel in enumerate(found):
        x, y = (i % across) * (wide + gap), (i // across) * (high + 2.2 * sheet.size)
        body += _panel(sheet, panel, x, y, wide)
    height = ceil(len(found) / across) * (high + 2.2 * sheet.size)
    body.append(sheet.stroke_bar(height + 0.5 * sheet.size))
    return body, height + 1.5 * sheet.size


def _panel(sheet: Sheet, panel: Panel, x: float, y: float, wide: float) -> list[str]:
    size = sheet.size
    left, right, out = x + sheet.room, x + wide - sheet.room, 0.4 * size
    first, second = "end", "start"
    if runs_leftward((*sheet.names, *sheet.keys)):
        left, right, out, first, second = right, left, -out, second, first
    middles = [y + 1.7 * size + (i + 0.5) * LEADING * size for i in range(max(sheet.n, sheet.n_keys))]
    found = [sheet.title(panel, x, y + 0.8 * size)]
    for q, k, weight in sorted(sheet.links(panel.weights), key=lambda link: link[2]):
        thick, colour = sheet.stroke(weight)
        d = f"M{number(left)} {number(middles[q])}L{number(right)} {number(middles[k])}"
        found.append(tag("path", d=d, fill="none", stroke=colour, stroke_width=thick))
    for i, name in enumerate(sheet.names):
        found.append(words(name, left - out, middles[i], size, text_anchor=first, **sheet.bold(i)))
    for i, name in enumerate(sheet.keys):
        found.append(words(name, right + out, middles[i], size, text_anchor=second, fill=sheet.ink))
    return found
