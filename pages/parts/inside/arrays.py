"""The arrays of a layer by name, and how each is drawn: a picture of a real layer, numbers of the worked example.

In: a scene and a name. Out: an array, or blocks in which each number and each token can be chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mha_core import LayerActivations
from mha_core.layer import SUMS, table_of
from pages.parts.inside.changes import MATRICES
from pages.parts.inside.scene import WalkState
from pages.parts.inside.selectable import LABELS, TILE_LABELS, tokens_of
from pages.parts.inside.written_sums import written_sum
from pages.parts.picture.tiles import Block, Board

ROOM = 330.0  # pixels that the rows of a screen's largest picture may take


@dataclass(frozen=True)
class Look:
    """How an array is drawn: name, the widest column, the room for all columns and for all rows, in pixels."""

    name: str
    column: float
    width: float
    height: float = ROOM
    hue: str = ""
    ramp: str = "signed"


LOOKS = {
    "X": Look("X", 2, 680),
    "Q": Look("Q", 8, 150, hue="q"),
    "K": Look("K", 8, 200, hue="k"),
    "V": Look("V", 8, 200, hue="v"),
    "Q-all": Look("all queries", 2, 680, 150, hue="q"),
    "raw": Look("Q K ᵀ", 22, 300, 290),
    "scores": Look("scores", 22, 300, 290),
    "weights": Look("attention weights", 20, 300, 280, ramp="weight"),
    "z": Look("Z", 8, 240, hue="z"),
    "Z": Look("Z", 2, 680, 0.6 * ROOM, hue="z"),
    "output": Look("output", 2, 680, 0.6 * ROOM),
    "W_o": Look("W_o", 2, 680, 130),
}
NAMES = (*SUMS, *MATRICES, "X", "Q-all", "scores", "weights", "Z", "parts")
SQUARE = ("raw", "scores", "weights")  # tokens by tokens: a change stands beside them, else beneath


def array_of(scene: WalkState, name: str, run: LayerActivations | None = None) -> np.ndarray:
    """Return one of `NAMES` of the scene's head (row, column), as the user changed the layer, or of `run`.

    NaN where a token may not look; Q and K before any rotation.
    """
    run, h = run or scene.run, scene.h
    if name == "raw" and run.is_causal:
        return np.where(np.tril(np.ones_like(run.allowed)), run.raw(h), np.nan)
    if name in SUMS:
        return table_of(run, h, name)
    if name in MATRICES:
        matrix: np.ndarray = getattr(run.projections, name)[h if name in ("W_q", "W_o") else scene.kv]
        return matrix
    if name == "scores":
        return np.where(run.allowed, run.scores[h], np.nan)
    if name == "weights":
        return np.where(run.allowed, run.weights[h], np.nan) if run.is_causal else run.weights[h]
    if name == "Q-all":
        return np.concatenate(list(run.q if run.q_unrotated is None else run.q_unrotated), axis=-1)
    if name == "parts":
        bias = [] if run.projections.b_o is None else [run.projections.b_o]
        return np.stack([*run.contributions[:, scene.query], *bias, run.output[scene.query]])
    return {"X": run.x, "Z": run.concatenated}[name]


def row_height(n: int, room: float = ROOM) -> float:
    """Return the row height at which n rows fit."""
    return max(0.5, min(20.0, room / n))


def drawn(board: Board, scene: WalkState, ident: str, look: Look | None = None, **options: Any) -> Block:
    """Return an array's picture; options as of `Board.matrix`."""
    return _picture(board, scene, ident, look or LOOKS[ident], array_of(scene, ident), **options)


def with_change(
    board: Board, scene: WalkState, ident: str, look: Look | None = None, **options: Any
) -> list[Block]:
    """Return an array's picture and, where the user changed the array, by how much, in the same places."""
    look = look or LOOKS[ident]
    values, before = array_of(scene, ident), array_of(scene, ident, scene.plain)
    if not scene.changed or values.shape != before.shape or not np.nan_to_num(np.abs(values - before)).max():
        return [drawn(board, scene, ident, look, **options)]
    is_square = ident in SQUARE
    look = replace(look, width=176) if is_square else replace(look, height=0.36 * look.height)
    picture = _picture(board, scene, ident, look, values, **options)
    options |= {"id": f"{ident}-change", "cells": False, "note": "now − before", "unlabelled": is_square}
    look = replace(look, name=f"change of {look.name}", hue="")
    return [picture, _picture(board, scene, ident, look, values - before, **options)]


def _picture(
    board: Board, scene: WalkState, ident: str, look: Look, values: np.ndarray, **options: Any
) -> Block:
    """Return a matrix in colours, or of the worked example in numbers; tokens at its rows can be chosen."""
    columns = {"cols": scene.labels} if ident in SQUARE else {}
    options = {"id": ident, "rows": scene.labels, "ramp": look.ramp, "hue": look.hue, **columns, **options}
    has_tokens = len(options["rows"] or ()) == scene.run.n
    if scene.small:
        options.pop("cuts", None)
        options.pop("slice", None)
        if ident in SUMS:
            options["origins"] = [written_sum(scene, ident, i, j) for i, j in np.ndindex(*values.shape)]
        block = board.matrix(look.name, values, "tiles", cells=options.pop("cells", True), **options)
        return tokens_of(scene, block, TILE_LABELS) if has_tokens else block
    size = {
        "wide": min(look.column, look.width / values.shape[1]),
        "high": row_height(len(values), look.height),
    }
    block = board.matrix(look.name, values, follow=has_tokens, **({"cells": True} | size | options))
    return tokens_of(scene, block, LABELS) if has_tokens and not options.get("unlabelled") else block


def bars(
    board: Board, name: str, values: np.ndarray, labels: Sequence[str], texts: Sequence[str], **options: Any
) -> Block:
    """Return words with a bar under each and its text; of several columns the first is drawn."""
    block = board.matrix(name, values, "bars", rows=labels, ramp="weight", **options)
    return {**block, "texts": list(texts)}
