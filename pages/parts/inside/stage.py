"""What a screen of the walk is made of: words, pictures, the origin of a number, a formula and lines of torch.

In: a scene. Out: a `Stage` that a step fills; the same tables for the worked example and for a real layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mha_core.inside import SUMS, origin
from pages.parts.inside.scene import Scene
from pages.parts.inside.selectable import LABELS, TILE_LABELS, tokens_of
from pages.parts.inside.shown_code import Line
from pages.parts.picture.tiles import Block, Board, paragraph

ROOM = 330.0  # pixels that the rows of a screen's largest picture may take
HUES = {"Q": "q", "K": "k", "V": "v", "Z": "z", "z": "z"}


@dataclass
class Stage:
    """`words` beside `picture`, `origin` beneath the words. `controls` and `below` draw what only Streamlit can."""

    words: Board = field(default_factory=Board)
    picture: Board = field(default_factory=Board)
    origin: Board = field(default_factory=Board)
    latex: str = ""
    lines: list[Line] = field(default_factory=list)
    controls: Callable[[], None] | None = None
    below: Callable[[], None] | None = None


def high_of(n: int, room: float = ROOM) -> float:
    """How high a row is drawn, so that n of them fit."""
    return max(0.5, min(20.0, room / n))


def table(board: Board, scene: Scene, name: str, values: np.ndarray, ident: str, **options: Any) -> Block:
    """A table of the walk: a number on each tile in the example, a picture for a real layer. Each number can be
    chosen, and each token at a row of its own."""
    options = {"rows": scene.labels, "cells": True, **options}
    options.setdefault("hue", HUES.get(ident, ""))
    follows = len(options["rows"] or ()) == scene.now.n
    if not scene.small:
        options.setdefault("high", high_of(len(values)))
        made = board.matrix(name, values, id=ident, follow=follows, **options)
        return tokens_of(scene, made, LABELS) if follows and not options.get("unlabelled") else made
    for drawn in ("high", "wide", "cuts", "slice", "labels"):
        options.pop(drawn, None)
    if ident in SUMS and "origins" not in options:
        options["origins"] = [
            written_sum(scene, ident, i, j) for i in range(values.shape[0]) for j in range(values.shape[1])
        ]
    made = board.matrix(name, values, "tiles", id=ident, **options)
    return tokens_of(scene, made, TILE_LABELS) if follows else made


def changed_table(
    board: Board, scene: Scene, name: str, values: np.ndarray, before: np.ndarray, ident: str, **options: Any
) -> list[Block]:
    """The table as it is now and, where the reader changed it, by how much, beside or beneath it in the same places."""
    if not scene.changed or values.shape != before.shape or not np.nan_to_num(np.abs(values - before)).max():
        return [table(board, scene, name, values, ident, **options)]
    square = values.shape[0] == values.shape[1]
    if square:  # side by side, else one under the other
        options["wide"] = min(options.get("wide", 20.0), 176 / len(values))
    else:
        options["high"] = 0.36 * options.get("high", high_of(len(values)))
    now = table(board, scene, name, values, ident, **options)
    moved = {**options, "cells": False, "note": "now − before", "unlabelled": square, "rows": scene.labels}
    return [now, table(board, scene, f"change of {name}", values - before, f"{ident}-change", **moved)]


def written_sum(scene: Scene, name: str, i: int, j: int) -> str:
    """A sum of products as one writes it with a pencil: 1·1 + 0·0 + 1·1 + 0·0 = 1 + 0 + 1 + 0 = 2."""
    found = origin(scene.now, scene.h, name, i, j)
    pairs = [f"{digits(a)}·{digits(b)}" for a, b in zip(found.left, found.right, strict=True)]
    products = [digits(p) for p in found.products]
    return f"{_added(pairs)} = {_added(products)} = {digits(found.value)}"


def written_row(scene: Scene, name: str, i: int) -> str:
    """A row of a reading as the sums that are left when the zeros of the matrix are gone: (1 + 1, 0 + 0) = (2, 0)."""
    columns = scene.sizes.d_k
    found = [origin(scene.now, scene.h, name, i, c) for c in range(columns)]
    sums = [
        _added([digits(p) for p, w in zip(one.products, one.right, strict=True) if w]) or "0" for one in found
    ]
    return f"({', '.join(sums)}) = ({', '.join(digits(one.value) for one in found)})"


def _added(parts: Sequence[str]) -> str:
    return " + ".join(f"({part})" if part.startswith("−") else part for part in parts)


def digits(value: float) -> str:
    """A number of the example: whole where it is, else four places; what is too small for them is not called 0."""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    if text in ("0", "-0") and value:
        parts = f"{value:.1e}".split("e")
        text = f"{parts[0]}e{int(parts[1])}"
    return "0" if text == "-0" else text.replace("-", "−")


def say(board: Board, text: str, style: str = "", **tokens: str) -> None:
    """A paragraph on a board."""
    board.add(paragraph(text, style, **tokens))
