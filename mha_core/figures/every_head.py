"""All heads as small matrices: layers from top to bottom, heads from left to right, on one scale.

In: a grid. Out: the SVG's text. A cell of a small picture that stands for several keeps the largest of them.
"""

import numpy as np

from mha_core.errors import InputError
from mha_core.figures.colours import page, steps
from mha_core.figures.design import SIZES, WIDTHS, within
from mha_core.figures.lettering import width
from mha_core.figures.matrix import cells
from mha_core.figures.panels import Panel
from mha_core.figures.sheet import Sheet
from mha_core.figures.svg import POINTS_A_CM, document, words
from mha_core.grid import Grid
from mha_core.thumbnails import pooled
from mha_core.wording import Head, counted, head_name

SIDE = 32  # cells a side of a small picture at most
SMALLEST, WIDEST = 8.0, 72.0  # points, of a small picture
GAP = 0.12  # of a small picture


def all_heads(
    grid: Grid, *, width_cm: float = 17.0, size: float = 8.0, marked: Head | None = None, told: str = ""
) -> str:
    """The figure as SVG, `width_cm` wide, its type `size` points; one head, (layer, head) from 0, can be framed.

    Raises InputError for a width or size that nobody prints, and where the heads have no room.
    """
    within("wide", width_cm, WIDTHS, "cm")
    within("in type", size, SIZES, "pt")
    layers, heads = grid.weights.shape[:2]
    if not len(grid) or not grid.key_labels:
        raise InputError("Nothing of this text is left to draw.")
    wide = width_cm * POINTS_A_CM
    sheet = _sheet(grid, wide, size)
    left = width(str(layers), size) + 0.9 * size
    step = (wide - left - sheet.colour_bar_room) / heads
    if step < SMALLEST:
        raise InputError(f"{heads} heads in a row have no room at this width; take a wider figure.")
    step = min(step, WIDEST)
    side, top = step * (1 - GAP), 1.6 * size
    body = [
        words(
            str(head + 1),
            left + head * step + side / 2,
            0.8 * size,
            size,
            text_anchor="middle",
            fill=sheet.ink,
        )
        for head in range(heads)
    ]
    for layer in range(layers):
        y = top + layer * step
        body.append(
            words(str(layer + 1), left - 0.6 * size, y + side / 2, size, text_anchor="end", fill=sheet.ink)
        )
        for head in range(heads):
            framed = marked == (layer, head)
            body.append(_picture(sheet, grid, (layer, head), left + head * step, y, side, framed=framed))
    high = layers * step
    body.append(sheet.colour_bar(left + heads * step + 0.4 * size, top, min(max(high, 4 * size), 12 * size)))
    title = f"All heads, {counted(layers, 'layer')} of {heads}"
    return document(body, (wide, top + max(high, 4 * size) + 0.4 * size), title, told, "#ffffff")


def _sheet(grid: Grid, wide: float, size: float) -> Sheet:
    """The sheet of a small picture, whose words have no names."""
    rows, columns = (min(n, SIDE) for n in grid.weights.shape[2:])
    colours = page()
    return Sheet(
        names=("",) * rows,
        special=(False,) * rows,
        visible=None,
        pins=(),
        width=wide,
        size=size,
        top=1.0,
        ramp=tuple(steps("#ffffff")),
        ink=colours["ink"],
        quiet=colours["quiet"],
        accent=colours["accent"],
        key_names=("",) * columns,
    )


def _picture(sheet: Sheet, grid: Grid, head: Head, x: float, y: float, side: float, *, framed: bool) -> str:
    """One head, as wide as it is high whatever its rows and columns."""
    weights = pooled(grid.weights[head], SIDE).astype(np.float64)
    drawn = cells(sheet, Panel(head_name(head), weights), x, y, side, side)
    if not framed:
        return drawn
    return drawn.replace(
        f'stroke="{sheet.quiet}" stroke-width="0.5"', f'stroke="{sheet.accent}" stroke-width="1.5"'
    )
