"""The pictures of the walk that are more than one array, a function a screen.

In: a board and a scene. Out: blocks.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mha_core.display_names import head_name
from mha_core.layer import query_steps
from pages.parts.frame.page_text import visible
from pages.parts.inside.arrays import LOOKS, ROOM, array_of, drawn, with_change, with_height
from pages.parts.inside.key_groups import groups_block
from pages.parts.inside.scene import SHOWN_KEYS, WalkState
from pages.parts.inside.selectable import DOTS, LABELS, WORDS, heads_of, tokens_of
from pages.parts.inside.written_sums import digits, written_softmax
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

ROWS = 16  # of a table on a screen; the rest is one line
Blocks = list[Block]


def x(board: Board, scene: WalkState) -> Blocks:
    """Draw the rows that attention is given; those of the worked example can be typed over."""
    if not scene.small:
        return [drawn(board, scene, "X")]
    note = "two tokens of four numbers; type others"
    tiles = board.matrix("X", scene.now.x, "tiles", id="X", rows=scene.labels, editable=True, note=note)
    return [tiles]


def qkv(board: Board, scene: WalkState) -> Blocks:
    """Draw Q, K and V of one head, and above them their matrices where these are wanted."""
    if scene.small:
        return _projected_by_hand(board, scene)
    room = 100.0 if scene.with_matrices else ROOM
    columns = []
    for name in "QKV":
        tokens = {} if name == "Q" else {"unlabelled": True}  # they stand beside Q
        picture = with_change(board, scene, name, with_height(name, room), **tokens)
        columns.append(column(*picture, size="slim"))
    if not scene.with_matrices:
        return [row(*columns)]
    return [row(*(_projection(board, scene, name) for name in "qkv")), row(*columns)]


def _projected_by_hand(board: Board, scene: WalkState) -> Blocks:
    """Draw the example's matrices to type into, and what they make of X."""
    sizes, i = scene.sizes, scene.h + 1
    names = "q" if scene.together else "qkv"
    note = "for Q, K and V" if scene.together else ""
    matrices = [
        board.matrix(
            f"W{i}" if scene.together else f"W_{name}{i}", getattr(sizes, f"W_{name}")[scene.h], "tiles",
            id=f"W_{name}{i}", note=note, editable=True, hue="",
        )
        for name in names
    ]  # fmt: skip
    results = []
    for name in names.upper():
        title = f"Q{i} = K{i} = V{i}" if scene.together else f"{name}{i}"
        results.append(drawn(board, scene, name, replace(LOOKS[name], name=title)))
    x = board.matrix("X", scene.now.x, "tiles", id="X", rows=scene.labels)
    if scene.together:
        return [row(x, op("×"), *matrices, op("="), *results)]
    return [row(x, op("×"), *matrices), row(*results)]


def _projection(board: Board, scene: WalkState, name: str) -> Block:
    """Draw W and b of one projection, as this head has them."""
    sizes = scene.sizes
    W, b = getattr(sizes, f"W_{name}"), getattr(sizes, f"b_{name}")
    h = scene.h if name == "q" else scene.kv
    n_heads, d, width = W.shape
    owner = "head" if n_heads == sizes.n_heads else "key head"
    place = f"{owner} {h + 1}: columns {h * width + 1} to {(h + 1) * width} of {n_heads * width}"
    size = {"wide": min(8.0, 200 / width), "legend": False}
    blocks = [
        paragraph(place, "quiet"),
        board.matrix(
            f"W_{name}", W[h], id=f"W_{name}", high=80 / d, cells=True,
            describe=f"W_{name} of this head, {d} by {width} numbers", **size,
        ),
    ]  # fmt: skip
    if b is not None:
        blocks.append(board.matrix(f"b_{name}", b[h][None], id=f"b_{name}", high=8, **size))
    return column(*blocks, size="slim")


def heads(board: Board, scene: WalkState) -> Blocks:
    """Draw one wide product, cut into the heads' shares, and which heads share keys."""
    sizes, run = scene.sizes, scene.now
    q = run.q if run.q_unrotated is None else run.q_unrotated
    h, d_k = len(q), sizes.d_k
    owner = tuple(map(sizes.kv_head, range(h)))
    groups = heads_of(scene, groups_block(owner, sizes.n_kv_heads, scene.h), DOTS)
    note = f"{h} heads side by side; the frame marks this one" if h > 1 else ""
    return [
        *([groups] if sizes.n_kv_heads < h else []),
        drawn(board, scene, "Q-all", note=note, **_head_marks(h, d_k, scene.h)),
        heads_of(scene, board.sheets("q", q, chosen=scene.h), "figure"),
        *([paragraph("Columns 1 and 2 are head 1, columns 3 and 4 head 2.")] if scene.small else []),
    ]


def _head_marks(h: int, width: int, chosen: int) -> dict[str, Any]:
    """Return where an array of all heads is cut, and which columns are those of the chosen head."""
    return {
        "cuts": [width * i for i in range(1, h)],
        "slice": [chosen * width, (chosen + 1) * width],
    }


def scaled(board: Board, scene: WalkState) -> Blocks:
    """Draw the scores, divided and masked."""
    run, origins = scene.now, None
    scores = array_of(scene, "scores")
    if scene.small:
        origins = [
            f"{digits(float(a))} ÷ {digits(run.divisor)} = {digits(float(b))}" if np.isfinite(b) else "masked"
            for a, b in zip(run.raw(scene.h).ravel(), scores.ravel(), strict=True)
        ]
    return [row(*with_change(board, scene, "scores", note=f"Q Kᵀ ÷ {run.divisor:.4g}", origins=origins))]


def weights(board: Board, scene: WalkState) -> Blocks:
    """Draw the attention weights, and of a real layer the followed token's softmax beside them."""
    origins = written_softmax(scene) if scene.small else None
    picture = drawn(board, scene, "weights", origins=origins)
    if scene.small:
        return [picture]
    block = softmax_block(board, scene)
    shares = tokens_of(scene, block, f"tbody tr[data-key] {WORDS}", block["shown"])
    return [row(picture, column(shares, size="narrow"))]


def softmax_block(board: Board, scene: WalkState) -> Block:
    """Draw one row: scores to type over, powers, weights, and the weights before a change."""
    run, h, cell = scene.now, scene.h, scene.cell
    is_chosen = cell is not None and cell[0] == "weights"
    i = cell[1] if cell and is_chosen else scene.query
    n = run.seen(i)
    scores = np.where(run.allowed[i, :n], run.scores[h, i, :n], np.nan)
    powers = np.exp(scores - np.nanmax(scores)) if np.isfinite(scores).any() else scores
    weights = run.weights[h, i, :n]
    edited = [edit.key for edit in run.edits.scores if (edit.head, edit.query) == (h, i) and edit.key < n]
    chosen = cell[2] if cell and is_chosen else int(weights.argmax())
    first = [key for key in dict.fromkeys((*edited, chosen)) if key < n][:ROWS]
    largest = [int(key) for key in np.argsort(-weights, kind="stable") if key not in first]
    return {
        "type": "softmax",
        "tokens": [visible(label) for label in scene.labels[:n]],
        "query": i,
        "shown": sorted((*first, *largest[: ROWS - len(first)])),
        "chosen": chosen,
        "editable": not scene.small,
        "edited": edited,
        "scores": board.put(scores),
        "powers": board.put(powers),
        "weights": board.put(weights),
        "before": board.put(scene.plain.weights[h, i, :n]) if scene.changed else None,
    }


def z(board: Board, scene: WalkState) -> Blocks:
    """Draw the values, and their weighted means."""
    values = drawn(board, scene, "V", replace(LOOKS["V"], width=240))
    means = with_change(board, scene, "z", note="= attention weights × V")
    return [row(column(values, size="narrow"), column(*means, size="narrow"))]


def one_query(board: Board, scene: WalkState) -> Blocks:
    """Draw one query's row, number by number."""
    block = {**follow_block(board, scene, ROWS), "tight": True}
    return [tokens_of(scene, block, f"tbody tr[data-token] {WORDS}", block["shown"])]


def follow_block(board: Board, scene: WalkState, most: int = SHOWN_KEYS) -> Block:
    """Draw the row of one query, element by element, for the keys it looks at most."""
    run = scene.now
    steps = query_steps(run, scene.h, scene.query)
    shown = np.sort(np.argsort(-steps.weights, kind="stable")[:most])
    return {
        "type": "follow",
        "tokens": [visible(label) for label in scene.there],
        "query": scene.query,
        "shown": shown.tolist(),
        "d_k": run.q.shape[-1],
        "d_v": run.v.shape[-1],
        "divisor": run.divisor,
        "q": board.put(steps.q),
        "k": board.put(run.k[scene.kv, : len(scene.there)]),
        "products": board.put(steps.products),
        "raw": board.put(steps.raw),
        "scores": board.put(np.where(steps.allowed, steps.scores, np.nan)),
        "weights": board.put(steps.weights),
        "weighted": board.put(steps.weighted),
        "z": board.put(steps.context),
    }


def concatenated(board: Board, scene: WalkState) -> Blocks:
    """Draw all heads' outputs side by side, and each as a small sheet."""
    h, d_v, _ = scene.sizes.W_o.shape
    pictures = with_change(board, scene, "Z", note="[z₁ | z₂ | … ]", **_head_marks(h, d_v, scene.h))
    if scene.small:
        return pictures
    return [*pictures, heads_of(scene, board.sheets("z", scene.now.context, chosen=scene.h), "figure")]


def output(board: Board, scene: WalkState) -> Blocks:
    """Draw the output; of the example beside Z and W_o, of a real layer above the head's rows of W_o if wanted."""
    note = "= Z W_o" + ("" if scene.sizes.b_o is None else " + b_o")
    look = with_height("output", (0.36 if scene.changed else 0.6) * ROOM)
    pictures = with_change(board, scene, "output", look, note=note)
    if scene.small:
        z = drawn(board, scene, "Z", cells=False, note="[z₁ | z₂]")
        W_o = board.matrix("W_o", scene.sizes.W_o.reshape(-1, scene.sizes.d_model), "tiles", id="W_o")
        return [row(column(z, *pictures), W_o)]
    if not scene.with_matrices:
        return pictures
    note = f"the {scene.sizes.d_v} rows of head {scene.h + 1}: its z times these is its contribution"
    return [*pictures, drawn(board, scene, "W_o", note=note, rows=None)]


def parts(board: Board, scene: WalkState) -> Blocks:
    """Draw each head's contribution to the followed token, b_o where there is one, and their sum."""
    h, bias = scene.sizes.n_heads, scene.sizes.b_o is not None
    rows = [*(head_name((scene.head[0], i)) for i in range(h)), *(["b_o"] if bias else []), "output"]
    values = array_of(scene, "parts")
    picture = board.matrix(
        "contributions", values, id="parts", legend=False, cells=True, rows=rows, high=14 if h <= 20 else 6,
        note="each head, b_o, output" if bias else "each head, output", wide=min(40.0, 300 / values.shape[1]),
    )  # fmt: skip
    return [heads_of(scene, picture, LABELS)]
