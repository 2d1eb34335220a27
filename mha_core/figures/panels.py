"""What stands in a figure's panels: heads one by one, or their mean or maximum; and the scale that all share.

In: a grid and a design. Out: panels of weights (query, key), with a title each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import InputError
from mha_core.figures.design import Design
from mha_core.grid import Grid
from mha_core.wording import Head, Per, counted, place_name

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Panel:
    """Weights (query, key) and what they are of."""

    title: str
    weights: Floats


def panels(grid: Grid, design: Design, per: Per = "head") -> list[Panel]:
    """The panels of a figure. Raises InputError for a head that the grid does not have."""
    layers, heads = grid.weights.shape[:2]
    missing = [head for head in design.heads if not (0 <= head[0] < layers and 0 <= head[1] < heads)]
    if missing:
        raise InputError(f"There is no {place_name(missing[0])} in {counted(layers, 'layer')} of {heads}.")
    each = [grid.weights[head].astype(np.float64) for head in design.heads]
    if design.mix == "each" or len(each) == 1:
        return [Panel(_title(head, per), weights) for head, weights in zip(design.heads, each, strict=True)]
    mixed = np.mean(each, axis=0) if design.mix == "mean" else np.max(each, axis=0)
    name = "Mean" if design.mix == "mean" else "Maximum"
    return [Panel(f"{name} of {len(each)} {'heads' if per == 'head' else 'layers'}", mixed)]


def top(found: list[Panel], design: Design, pins: Sequence[int] = ()) -> float:
    """The weight at which the one scale of all panels ends; `pins` are the units whose rows alone are drawn."""
    rows = [
        panel.weights[list(pins)] if pins and design.kind != "matrix" else panel.weights for panel in found
    ]
    largest = max(
        float((each.mean(axis=0) if design.kind == "bars" else each).max(initial=0)) for each in rows
    )
    return 1.0 if design.scale == "full" or largest <= 0 else largest


def _title(head: Head, per: Per) -> str:
    place = place_name(head, per)
    return place[0].upper() + place[1:]
