"""Where the chosen number comes from, what it feeds, and a box to change it where it can be changed.

In: a scene with a chosen cell, and the step's own table. Out: blocks on the stage's origin board.
"""

from dataclasses import replace

import numpy as np

from mha_core import Projections
from mha_core.inside import SUMS, Origin, origin, table_of
from mha_core.wording import counted, percent
from pages.parts.frame.page_text import visible
from pages.parts.inside.scene import Scene
from pages.parts.inside.stage import digits
from pages.parts.picture.tiles import Block, Board, paragraph

MOST_TERMS = 32  # products of a sum over tokens that are all written out; a sum over a head's numbers has room for more
Cell = tuple[str, int, int]
# Tables of all heads side by side or one under the other, and the table of one head that each is made of.
OF_ALL_HEADS = {"Z": "z", "Q-all": "Q", "parts": "part"}


def shape_of(scene: Scene, name: str) -> tuple[int, ...] | None:
    """The shape of a table that numbers can be chosen in; None for no such table."""
    sizes = scene.sizes
    if name in SUMS:
        return table_of(scene.now, scene.h, name).shape
    if name == "X":
        return scene.now.x.shape
    if name in ("Z", "Q-all"):
        return (scene.now.n, sizes.n_heads * (sizes.d_v if name == "Z" else sizes.d_k))
    if name == "parts":
        return (sizes.n_heads + (sizes.b_o is not None) + 1, sizes.d_model)
    if name in ("scores", "weights"):
        return (scene.now.n, scene.now.n_keys)
    if name in ("W_q", "W_k", "W_v", "W_o"):
        return tuple(getattr(scene.sizes, name).shape[1:])
    return None


def cell_of(text: str, scene: Scene, first: Cell | None) -> Cell | None:
    """The link's cell, counted from 1 there ("raw:11:3"), if there is such a number; else the step's own first one."""
    name, _, place = text.partition(":")
    parts = place.split(":")
    shape = shape_of(scene, name)
    if (
        shape is None
        or len(parts) != 2
        or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts)
    ):
        return first
    row, column = (int(part) - 1 for part in parts)
    return (name, row, column) if 0 <= row < shape[0] and 0 <= column < shape[1] else first


def first_cell(scene: Scene, name: str) -> Cell | None:
    """What a screen opens with: the followed token's row, where it says most; nothing where all heads are shown."""
    i = scene.query
    if name in OF_ALL_HEADS:
        return None
    if name in ("raw", "scores", "weights"):
        best = int(scene.now.weights[scene.h, i, : len(scene.there)].argmax())
        return (name, i, best)
    if name in SUMS:
        return (name, i, int(np.abs(table_of(scene.now, scene.h, name)[i]).argmax()))
    return (name, i, 0) if name == "X" else None


def of_one_head(scene: Scene, cell: Cell) -> tuple[Scene, Cell]:
    """The number in the table of the head that it belongs to, where the picture has those of all heads together."""
    (name, i, j), used = cell, scene.sizes
    if name == "parts" and i == used.n_heads + (used.b_o is not None):
        return scene, ("output", scene.query, j)
    if name == "parts" and i == used.n_heads:
        return scene, ("b_o", scene.query, j)
    if name == "parts":
        return replace(scene, head=(scene.head[0], i)), ("part", scene.query, j)
    if name in OF_ALL_HEADS:
        width = used.d_v if name == "Z" else used.d_k
        return replace(scene, head=(scene.head[0], j // width)), (OF_ALL_HEADS[name], i, j % width)
    return scene, cell


def fill(board: Board, scene: Scene) -> None:
    """The panel of the scene's cell."""
    if scene.cell is None:
        return
    scene, (name, i, j) = of_one_head(scene, scene.cell)
    if name in SUMS:
        board.add(_sum(board, scene, name, i, j))
    elif name == "b_o" and scene.sizes.b_o is not None:
        board.add(
            paragraph(
                f"b_o, number {j + 1}: **{digits(float(scene.sizes.b_o[j]))}**, "
                + ("learned in training." if scene.trained else "untrained.")
            )
        )
    elif name == "X":
        board.add(
            paragraph(
                f"X of {{token}}, number {j + 1}: **{scene.now.x[i, j]:.4f}**".replace("-", "−"),
                token=scene.labels[i],
            )
        )
    elif name == "scores":
        board.add(*_score(scene, i, j))
    elif name.startswith("W_"):
        board.add(*_weight(scene, name, i, j))
    feeds = fed_by(scene, name, i, j)
    if feeds:
        board.add(paragraph(feeds, "quiet", token=scene.labels[i] if not name.startswith("W_") else ""))


def _sum(board: Board, scene: Scene, name: str, i: int, j: int) -> Block:
    found = origin(scene.now, scene.h, name, i, j)
    left, right, title, terms = _named(scene, name, i, j)
    return {
        "type": "sum",
        "id": "origin",
        "title": f"{title}{_whose(scene, name)} = {digits(found.value)}",
        "names": [left, right],
        "count": len(found.left),
        "most": MOST_TERMS if name == "z" else 2 * MOST_TERMS,
        "left": board.put(found.left),
        "right": board.put(found.right),
        "products": board.put(found.products),
        "sum": _without_bias(found),
        "added": found.added,
        "added_name": "b_o" if name == "output" else f"b_{name.lower()}",
        "value": found.value,
        "terms": terms,
    }


def _whose(scene: Scene, name: str) -> str:
    """The head, where the picture shows all of them; the output below their parts is no head's."""
    return f" of head {scene.h + 1}" if scene.cell and OF_ALL_HEADS.get(scene.cell[0]) == name else ""


def _without_bias(found: Origin) -> float:
    return found.total - (found.added or 0.0)


def _named(scene: Scene, name: str, i: int, j: int) -> tuple[str, str, str, list[str] | None]:
    """Left, right, title, and what the terms are called."""
    token = visible(scene.labels[i])
    if name in ("Q", "K", "V"):
        letter = name.lower()
        return f"X of {token}", f"W_{letter}, column {j + 1}", f"{letter} of {token}, number {j + 1}", None
    if name == "raw":
        other = visible(scene.labels[j])
        return f"q of {token}", f"k of {other}", f"q of {token} · k of {other}", None
    if name == "z":
        labels = [visible(label) for label in scene.labels]
        return "attention weights", f"V, column {j + 1}", f"z of {token}, number {j + 1}", labels
    if name == "part":
        return (
            f"z of {token}",
            f"W_o of the head, column {j + 1}",
            f"contribution to {token}, number {j + 1}",
            None,
        )
    terms = [
        f"head {t // scene.sizes.d_v + 1}, number {t % scene.sizes.d_v + 1}"
        for t in range(scene.now.concatenated.shape[1])
    ]
    return f"Z of {token}", f"W_o, column {j + 1}", f"output of {token}, number {j + 1}", terms


def _score(scene: Scene, i: int, j: int) -> list[Block]:
    now, h = scene.now, scene.h
    typed = any((edit.head, edit.query, edit.key) == (h, i, j) for edit in now.edits.scores)
    names = {"token": scene.labels[i], "other": scene.labels[j]}
    if not now.allowed[i, j]:
        return [
            paragraph("{token} cannot see {other}: the mask adds −∞, so the weight is exactly 0.", **names)
        ]
    raw, value = now.raw(h)[i, j], now.scores[h, i, j]
    by = (
        f"{digits(value)}, edited (was {digits(raw / now.divisor)})"
        if typed
        else f"{digits(raw)} ÷ {now.divisor:.4g} = {digits(value)}"
    )
    said = paragraph(
        f"Score of {{token}} for {{other}}: **{by}**. Weight: {percent(now.weights[h, i, j])}"
        + (f", was {percent(scene.plain.weights[h, i, j])}." if scene.changed else "."),
        **names,
    )
    if scene.small:
        return [said]
    box = {
        "type": "change",
        "label": f"score of {visible(scene.labels[i])} for {visible(scene.labels[j])}",
        "place": ["score", i, j],
        "value": float(value),
        "was": float(raw / now.divisor) if typed else None,
    }
    return [said, box]


def _weight(scene: Scene, name: str, i: int, j: int) -> list[Block]:
    """A number of a matrix: learned, and changed here."""
    h = scene.h if name in ("W_q", "W_o") else scene.kv
    value = float(getattr(scene.sizes, name)[h, i, j])
    was = float(getattr(scene.plain.projections, name)[h, i, j])
    box = {
        "type": "change",
        "label": f"{name}, row {i + 1}, column {j + 1}",
        "place": [name, i, j],
        "value": value,
        "was": was if value != was else None,
    }
    return [
        paragraph(
            f"{name} of head {scene.h + 1} was {'learned in training' if scene.trained else 'drawn at random'}."
        ),
        box,
    ]


def _in_products(scene: Scene, j: int) -> str:
    """Where number j of a query or a key is in its products with others: rotation mixes the two of a pair."""
    rotary = scene.now.rotary
    half = rotary.d_k // 2 if rotary else 0
    if rotary is None or j % half >= rotary.n_turned:
        return f"number {j + 1}"
    return f"rotated with its pair first, numbers {j % half + 1} and {j % half + 1 + half}"


def _others(used: Projections) -> str:
    """What a head's part is added to: the other heads' parts where there are any, and b_o where there is one."""
    others = ["the contributions of the other heads"] if used.n_heads > 1 else []
    return " and ".join([*others, *(["b_o"] if used.b_o is not None else [])])


def fed_by(scene: Scene, name: str, i: int, j: int) -> str:
    """What a number goes into next."""
    used, numbers = scene.sizes, counted(scene.now.n, "number")
    d_v, d = used.d_v, used.d_model
    at = f"number {j + 1}"
    return {
        "X": "Next: q, k and v of {token} in "
        + (f"all {used.n_heads} heads" if used.n_heads > 1 else "the one head")
        + f", times row {j + 1} of W_q, W_k and W_v.",
        "Q": f"Next: the row of {{token}} in Q Kᵀ ({_in_products(scene, j)} of each product).",
        "K": f"Next: the column of {{token}} in Q Kᵀ ({_in_products(scene, j)} of each product).",
        "V": f"Next: {at} of every z, times the weight of {{token}}.",
        "raw": f"Next: divide by {scene.now.divisor:.4g}.",
        "scores": "Next: softmax over the row of {token}."
        if name == "scores" and scene.now.allowed[i, j]
        else "",
        "weights": f"Next: all {d_v} numbers of z of {{token}}, times the value.",
        "z": f"Next: all {d} numbers of the output of {{token}}, times row {scene.h * d_v + j + 1} of W_o.",
        "part": (f"Next: added to {_others(used)}, it gives " if _others(used) else "Next: ")
        + f"{at} of the output of {{token}}.",
        "b_o": f"Next: added to {at} of the output of every token.",
        "output": "Next: added to the layer's input (residual).",
        "W_q": f"It multiplies number {i + 1} of every token. Next: column {j + 1} of Q ({numbers}).",
        "W_k": f"It multiplies number {i + 1} of every token. Next: column {j + 1} of K ({numbers}).",
        "W_v": f"It multiplies number {i + 1} of every token. Next: column {j + 1} of V ({numbers}).",
        "W_o": f"It multiplies number {i + 1} of z. Next: column {j + 1} of the output ({numbers}).",
    }.get(name, "")
