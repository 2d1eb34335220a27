"""Where the chosen number comes from, what it feeds, and a box to change it where it can be changed.

In: a scene with a chosen cell. Out: blocks.
"""

from dataclasses import replace

import numpy as np

from mha_core import Projections
from mha_core.display_names import count_noun, percent, visible
from mha_core.layer import SUMS, origin, table_of
from pages.parts.inside.arrays import NAMES, array_of
from pages.parts.inside.changes import MATRICES
from pages.parts.inside.scene import Cell, WalkState
from pages.parts.inside.written_sums import digits
from pages.parts.picture.tiles import Block, Board, paragraph

MAX_TERMS = 32  # products of a sum over tokens that are all written out; a sum over a head's numbers has room for more
# Tables of all heads side by side or one under the other, and the table of one head that each is made of.
OF_ALL_HEADS = {"Z": "z", "Q-all": "Q", "parts": "part"}
SUM_NAMES = {  # left, right, and their sum of products
    **{
        name: (
            "X of {token}",
            f"W_{name.lower()}, column {{number}}",
            f"{name.lower()} of {{token}}, number {{number}}",
        )
        for name in "QKV"
    },
    "raw": ("q of {token}", "k of {other}", "q of {token} · k of {other}"),
    "z": ("attention weights", "V, column {number}", "z of {token}, number {number}"),
    "part": ("z of {token}", "W_o of the head, column {number}", "contribution to {token}, number {number}"),
    "output": ("Z of {token}", "W_o, column {number}", "output of {token}, number {number}"),
}


def cell_of(text: str, scene: WalkState, first: Cell | None) -> Cell | None:
    """Return the URL's cell, counted from 1 there ("raw:11:3"), or `first` where there is no such number."""
    name, *place = text.split(":")
    is_place = len(place) == 2 and all(part.isascii() and part.isdigit() and len(part) < 6 for part in place)
    if name not in NAMES or not is_place:
        return first
    i, j = (int(part) - 1 for part in place)
    n_rows, n_columns = array_of(scene, name).shape
    return (name, i, j) if 0 <= i < n_rows and 0 <= j < n_columns else first


def first_cell(scene: WalkState, name: str) -> Cell | None:
    """Return what a screen opens with: the largest of the followed token; None where all heads are shown."""
    i = scene.query
    if name in OF_ALL_HEADS:
        return None
    if name in ("raw", "scores", "weights"):
        return name, i, int(scene.run.weights[scene.h, i, : len(scene.visible_labels)].argmax())
    if name in SUMS:
        return name, i, int(np.abs(table_of(scene.run, scene.h, name)[i]).argmax())
    return (name, i, 0) if name == "X" else None


def _of_one_head(scene: WalkState, cell: Cell) -> tuple[WalkState, Cell]:
    """Return the number in the table of the head that it belongs to, where a picture has all heads together."""
    (name, i, j), sizes = cell, scene.sizes
    if name == "parts" and i >= sizes.n_heads:
        has_bias = sizes.b_o is not None
        return scene, ("b_o" if has_bias and i == sizes.n_heads else "output", scene.query, j)
    if name == "parts":
        return replace(scene, head=(scene.head[0], i)), ("part", scene.query, j)
    if name in OF_ALL_HEADS:
        width = sizes.d_v if name == "Z" else sizes.d_k
        return replace(scene, head=(scene.head[0], j // width)), (OF_ALL_HEADS[name], i, j % width)
    return scene, cell


def origin_blocks(board: Board, scene: WalkState) -> list[Block]:
    """Return how the scene's cell arises and what it feeds; nothing without a cell."""
    if scene.cell is None:
        return []
    scene, (name, i, j) = _of_one_head(scene, scene.cell)
    token = "" if name in MATRICES else scene.labels[i]
    feeds = fed_by(scene, name, i, j)
    return [*_origin(board, scene, name, i, j), *([paragraph(feeds, "quiet", token=token)] if feeds else [])]


def _origin(board: Board, scene: WalkState, name: str, i: int, j: int) -> list[Block]:
    if name in SUMS:
        return [_sum(board, scene, name, i, j)]
    if name == "b_o" and scene.sizes.b_o is not None:
        source = "learned in training." if scene.trained else "untrained."
        return [paragraph(f"b_o, number {j + 1}: **{digits(float(scene.sizes.b_o[j]))}**, {source}")]
    if name == "X":
        text = f"X of {{token}}, number {j + 1}: **{scene.run.x[i, j]:.4f}**".replace("-", "−")
        return [paragraph(text, token=scene.labels[i])]
    if name == "scores":
        return _score(scene, i, j)
    return _weight(scene, name, i, j) if name in MATRICES else []


def _sum(board: Board, scene: WalkState, name: str, i: int, j: int) -> Block:
    """Return the products that add up to a number, and the bias."""
    product, d_v = origin(scene.run, scene.h, name, i, j), scene.sizes.d_v
    labels = [visible(label) for label in scene.labels]
    other = labels[j] if name == "raw" else ""
    left, right, title = (text.format(token=labels[i], other=other, number=j + 1) for text in SUM_NAMES[name])
    terms = labels if name == "z" else None
    if name == "output":
        places = range(scene.sizes.n_heads * d_v)
        terms = [f"head {place // d_v + 1}, number {place % d_v + 1}" for place in places]
    shows_all = scene.cell is not None and OF_ALL_HEADS.get(scene.cell[0]) == name
    owner = f" of head {scene.h + 1}" if shows_all else ""  # the output below the heads' parts is no head's
    return {
        "type": "sum",
        "id": "origin",
        "title": f"{title}{owner} = {digits(product.value)}",
        "names": [left, right],
        "count": len(product.left),
        "most": MAX_TERMS if name == "z" else 2 * MAX_TERMS,
        "left": board.put(product.left),
        "right": board.put(product.right),
        "products": board.put(product.products),
        "sum": product.total - (product.added or 0.0),
        "added": product.added,
        "added_name": "b_o" if name == "output" else f"b_{name.lower()}",
        "value": product.value,
        "terms": terms,
    }


def _score(scene: WalkState, i: int, j: int) -> list[Block]:
    """Return how a score arises and, in a real layer, a box to type another."""
    run, h = scene.run, scene.h
    names = {"token": scene.labels[i], "other": scene.labels[j]}
    if not run.allowed[i, j]:
        text = "{token} cannot see {other}: the mask adds −∞, so the weight is exactly 0."
        return [paragraph(text, **names)]
    raw, value = run.raw(h)[i, j], run.scores[h, i, j]
    is_typed = any((edit.head, edit.query, edit.key) == (h, i, j) for edit in run.edits.scores)
    quotient = f"{digits(raw)} ÷ {run.divisor:.4g} = {digits(value)}"
    typed = f"{digits(value)}, edited (was {digits(raw / run.divisor)})"
    before = f", was {percent(scene.plain.weights[h, i, j])}" if scene.changed else ""
    words = paragraph(
        f"Score of {{token}} for {{other}}: **{typed if is_typed else quotient}**. Weight: "
        f"{percent(run.weights[h, i, j])}{before}.",
        **names,
    )
    label = f"score of {visible(scene.labels[i])} for {visible(scene.labels[j])}"
    box = _box(label, ("score", i, j), value, raw / run.divisor if is_typed else None)
    return [words] if scene.small else [words, box]


def _weight(scene: WalkState, name: str, i: int, j: int) -> list[Block]:
    """Return where a number of a matrix comes from, and a box to type another."""
    value, before = (float(array_of(scene, name, run)[i, j]) for run in (scene.run, scene.plain))
    source = "learned in training" if scene.trained else "drawn at random"
    label = f"{name}, row {i + 1}, column {j + 1}"
    return [
        paragraph(f"{name} of head {scene.h + 1} was {source}."),
        _box(label, (name, i, j), value, before if value != before else None),
    ]


def _box(label: str, cell: Cell, value: float, before: float | None) -> Block:
    """Return a box with a number; `before`: the model's own where another was typed."""
    own = None if before is None else float(before)
    return {"type": "change", "label": label, "place": list(cell), "value": float(value), "was": own}


def _in_products(scene: WalkState, j: int) -> str:
    """Say where number j of a query or a key is in its products: rotation mixes the two of a pair."""
    rotary = scene.run.rotary
    half = rotary.d_k // 2 if rotary else 0
    if rotary is None or j % half >= rotary.n_turned:
        return f"number {j + 1}"
    return f"rotated with its pair first, numbers {j % half + 1} and {j % half + 1 + half}"


def _others(sizes: Projections) -> str:
    """Say what a head's contribution is added to; empty for a single head without a bias."""
    others = ["the contributions of the other heads"] if sizes.n_heads > 1 else []
    return " and ".join([*others, *(["b_o"] if sizes.b_o is not None else [])])


def fed_by(scene: WalkState, name: str, i: int, j: int) -> str:
    """Say what a number goes into next."""
    sizes, number = scene.sizes, f"number {j + 1}"
    n_heads, others = sizes.n_heads, _others(sizes)
    heads = f"all {n_heads} heads" if n_heads > 1 else "the one head"
    row = f"row {scene.h * sizes.d_v + j + 1} of W_o"
    if name in MATRICES:
        source = "z" if name == "W_o" else "every token"
        target = "the output" if name == "W_o" else name[-1].upper()
        numbers = count_noun(scene.run.n, "number")
        return f"It multiplies number {i + 1} of {source}. Next: column {j + 1} of {target} ({numbers})."
    if name == "scores" and not scene.run.allowed[i, j]:
        return ""
    text = {
        "X": f"q, k and v of {{token}} in {heads}, times row {j + 1} of W_q, W_k and W_v.",
        "Q": f"the row of {{token}} in Q Kᵀ ({_in_products(scene, j)} of each product).",
        "K": f"the column of {{token}} in Q Kᵀ ({_in_products(scene, j)} of each product).",
        "V": f"{number} of every z, times the weight of {{token}}.",
        "raw": f"divide by {scene.run.divisor:.4g}.",
        "scores": "softmax over the row of {token}.",
        "weights": f"all {sizes.d_v} numbers of z of {{token}}, times the value.",
        "z": f"all {sizes.d_model} numbers of the output of {{token}}, times {row}.",
        "part": (f"added to {others}, it gives " if others else "") + f"{number} of the output of {{token}}.",
        "b_o": f"added to {number} of the output of every token.",
        "output": "added to the layer's input (residual).",
    }[name]
    return f"Next: {text}"
