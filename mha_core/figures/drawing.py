"""A figure as one SVG: its panels side by side, on one scale, with what the scale means.

In: a grid, a design, the words that are looked from. Out: the SVG's text.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mha_core.errors import InputError
from mha_core.figures import arcs, bars, lines, matrix
from mha_core.figures.colours import page, steps
from mha_core.figures.design import Design
from mha_core.figures.panels import panels, top
from mha_core.figures.sheet import Sheet
from mha_core.figures.svg import POINTS_A_CM, document
from mha_core.grid import Grid, Mask
from mha_core.wording import Head, Per

DRAW = {"matrix": matrix.draw, "arcs": arcs.draw, "lines": lines.draw, "bars": bars.draw}


def _visible(grid: Grid, heads: Sequence[Head]) -> Mask | None:
    """(query, key): what can be seen in any layer of these heads."""
    if grid.visible is None:
        return None
    layers = sorted({layer for layer, _ in heads}) or list(range(len(grid.visible)))
    seen: Mask = np.logical_or.reduce(grid.visible[layers])
    return seen


def figure(
    grid: Grid,
    design: Design,
    pins: Sequence[int] = (),
    *,
    names: Sequence[str] | None = None,
    told: str = "",
    per: Per = "head",
) -> str:
    """The SVG of a figure; `pins` are the units that are looked from, `told` becomes its description.

    `names`: one a unit of the rows, if they are not to be written as the grid spells them. Raises InputError where
    there is nothing to draw, or bars are asked for without a word.
    """
    if not len(grid) or not grid.key_labels:
        raise InputError("Nothing of this text is left to draw.")
    found, columns = panels(grid, design, per), grid.key_units
    sheet = Sheet(
        names=tuple(names or (unit.bare for unit in grid.units)),
        special=tuple(unit.special for unit in grid.units),
        visible=_visible(grid, design.heads),
        pins=tuple(pins),
        width=design.width * POINTS_A_CM,
        size=design.size,
        top=top(found, design, pins),
        ramp=tuple(steps("#ffffff")),
        ink=page()["ink"],
        quiet=page()["quiet"],
        accent=page()["accent"],
        key_names=None if columns is None else tuple(unit.bare for unit in columns),
        key_special=None if columns is None else tuple(unit.special for unit in columns),
    )
    if design.kind in ("arcs", "lines") and design.scale == "largest":
        shown = [weight for panel in found for _, _, weight in sheet.links(panel.weights)]
        sheet = replace(sheet, top=max(shown, default=sheet.top))
    body, height = DRAW[design.kind](sheet, found)
    ground = "#ffffff" if design.ground == "white" else None
    title = ", ".join(panel.title for panel in found)
    return document(body, (sheet.width, height), title, told, ground)
