"""The pictures of the walk that are more than one array, a function a screen.

In: a board and a scene. Out: blocks.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mha_core.display_names import count_noun, head_name, percent, visible
from mha_core.layer import ablate_in_layer, query_steps, shares
from pages.parts.inside.arrays import LOOKS, ROOM, array_of, bars, drawn, row_height, with_change
from pages.parts.inside.scene import SHOWN_KEYS, WalkState
from pages.parts.inside.selectable import BARS, DOTS, LABELS, WORDS, heads_of, tokens_of
from pages.parts.inside.written_sums import digits, written_softmax
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

ROWS = 16  # of a table on a screen; the rest is one line
Blocks = list[Block]


def sentence(board: Board, scene: WalkState) -> Blocks:
    """Draw the tokens, each with the attention that the followed one gives it; hatched where it cannot see."""
    attention = np.full((len(scene.labels), 1), np.nan)
    attention[: len(scene.weights), 0] = scene.weights
    texts = [percent(share) if np.isfinite(share) else "later" for share in attention[:, 0]]
    name, note = f"attention from {visible(scene.token)}", f"head {head_name(scene.head)}"
    block = bars(
        board, name, attention, scene.labels, texts, id="tokens", note=note, cols=["attention"], top=1
    )
    return [tokens_of(scene, block, BARS)]


def x(board: Board, scene: WalkState) -> Blocks:
    """Draw the rows that attention is given; those of the worked example can be typed over."""
    if not scene.small:
        return [drawn(board, scene, "X")]
    note = "two tokens of four numbers; type others"
    return [board.matrix("X", scene.run.x, "tiles", id="X", rows=scene.labels, editable=True, note=note)]


def qkv(board: Board, scene: WalkState) -> Blocks:
    """Draw Q, K and V of one head, and above them their matrices where these are wanted."""
    if scene.small:
        return _projected_by_hand(board, scene)
    room = 100.0 if scene.with_matrices else ROOM
    columns = []
    for name in "QKV":
        tokens = {} if name == "Q" else {"unlabelled": True}  # they stand beside Q
        picture = with_change(board, scene, name, replace(LOOKS[name], height=room), **tokens)
        columns.append(column(*picture, size="slim"))
    matrices = [row(*(_projection(board, scene, name) for name in "qkv"))] if scene.with_matrices else []
    return [*matrices, row(*columns)]


def _projected_by_hand(board: Board, scene: WalkState) -> Blocks:
    """Draw the example's matrices to type into, and what they make of X."""
    i, names = scene.h + 1, "q" if scene.together else "qkv"
    note = "for Q, K and V" if scene.together else ""
    matrices, results = [], []
    for name in names:
        W, title, result = getattr(scene.sizes, f"W_{name}")[scene.h], f"W_{name}{i}", f"{name.upper()}{i}"
        ident = title
        if scene.together:
            title, result = f"W{i}", f"Q{i} = K{i} = V{i}"
        matrices.append(board.matrix(title, W, "tiles", id=ident, note=note, editable=True, hue=""))
        results.append(drawn(board, scene, name.upper(), replace(LOOKS[name.upper()], name=result)))
    product = [board.matrix("X", scene.run.x, "tiles", id="X", rows=scene.labels), op("×"), *matrices]
    return [row(*product, op("="), *results)] if scene.together else [row(*product), row(*results)]


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
    sizes, run = scene.sizes, scene.run
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
    cuts = [width * i for i in range(1, h)]
    return {"cuts": cuts, "slice": [chosen * width, (chosen + 1) * width]}


def scaled(board: Board, scene: WalkState) -> Blocks:
    """Draw the scores, divided and masked."""
    run, origins = scene.run, None
    scores = array_of(scene, "scores")
    if scene.small:
        origins = [
            f"{digits(float(a))} ÷ {digits(run.divisor)} = {digits(float(b))}" if np.isfinite(b) else "masked"
            for a, b in zip(run.raw(scene.h).ravel(), scores.ravel(), strict=True)
        ]
    return [row(*with_change(board, scene, "scores", note=f"Q Kᵀ ÷ {run.divisor:.4g}", origins=origins))]


def weights(board: Board, scene: WalkState) -> Blocks:
    """Draw the attention weights, and of a real layer the followed token's softmax beside them."""
    if scene.small:
        return [drawn(board, scene, "weights", origins=written_softmax(scene))]
    block = softmax_block(board, scene)
    shown = tokens_of(scene, block, f"tbody tr[data-key] {WORDS}", block["shown"])
    return [row(drawn(board, scene, "weights"), column(shown, size="narrow"))]


def softmax_block(board: Board, scene: WalkState) -> Block:
    """Draw one row: scores to type over, powers, weights, and the weights before a change."""
    run, h, cell = scene.run, scene.h, scene.cell
    chosen_cell = cell if cell is not None and cell[0] == "weights" else None
    i = chosen_cell[1] if chosen_cell else scene.query
    n = run.seen(i)
    scores = np.where(run.allowed[i, :n], run.scores[h, i, :n], np.nan)
    powers = np.exp(scores - np.nanmax(scores)) if np.isfinite(scores).any() else scores
    weights = run.weights[h, i, :n]
    edited = [edit.key for edit in run.edits.scores if (edit.head, edit.query) == (h, i) and edit.key < n]
    chosen = chosen_cell[2] if chosen_cell else int(weights.argmax())
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


def follow_block(board: Board, scene: WalkState, most: int = SHOWN_KEYS, **options: str) -> Block:
    """Draw the row of one query, element by element, for the keys it looks at most; their words can be chosen."""
    run = scene.run
    steps = query_steps(run, scene.h, scene.query)
    shown = np.sort(np.argsort(-steps.weights, kind="stable")[:most]).tolist()
    block = {
        "type": "follow",
        "tight": True,
        "tokens": [visible(label) for label in scene.visible_labels],
        "query": scene.query,
        "shown": shown,
        "d_k": run.q.shape[-1],
        "d_v": run.v.shape[-1],
        "divisor": run.divisor,
        "q": board.put(steps.q),
        "k": board.put(run.k[scene.kv, : len(scene.visible_labels)]),
        "products": board.put(steps.products),
        "raw": board.put(steps.raw),
        "scores": board.put(np.where(steps.allowed, steps.scores, np.nan)),
        "weights": board.put(steps.weights),
        "weighted": board.put(steps.weighted),
        "z": board.put(steps.context),
        **options,
    }
    return tokens_of(scene, block, f"tbody tr[data-token] {WORDS}", shown)


def concatenated(board: Board, scene: WalkState) -> Blocks:
    """Draw all heads' outputs side by side, and each as a small sheet."""
    h, d_v, _ = scene.sizes.W_o.shape
    pictures = with_change(board, scene, "Z", note="[z₁ | z₂ | … ]", **_head_marks(h, d_v, scene.h))
    if scene.small:
        return pictures
    return [*pictures, heads_of(scene, board.sheets("z", scene.run.context, chosen=scene.h), "figure")]


def output(board: Board, scene: WalkState) -> Blocks:
    """Draw the output; of the example beside Z and W_o, of a real layer above the head's rows of W_o if wanted."""
    note = "= Z W_o" + ("" if scene.sizes.b_o is None else " + b_o")
    pictures = with_change(board, scene, "output", note=note)
    if scene.small:
        joined = drawn(board, scene, "Z", cells=False, note="[z₁ | z₂]")
        W_o = board.matrix("W_o", scene.sizes.W_o.reshape(-1, scene.sizes.d_model), "tiles", id="W_o")
        return [row(column(joined, *pictures), W_o)]
    if not scene.with_matrices:
        return pictures
    note = f"the {scene.sizes.d_v} rows of head {scene.h + 1}: its z times these is its contribution"
    return [*pictures, drawn(board, scene, "W_o", note=note, rows=None)]


def parts(board: Board, scene: WalkState) -> Blocks:
    """Draw each head's contribution to the followed token, b_o where there is one, and their sum."""
    h, bias = scene.sizes.n_heads, scene.sizes.b_o is not None
    values = array_of(scene, "parts")
    picture = board.matrix(
        "contributions", values, id="parts", legend=False, cells=True, high=14 if h <= 20 else 6,
        rows=[*scene.heads, *(["bₒ"] if bias else []), "output"],
        note="each head, b_o, output" if bias else "each head, output", wide=min(40.0, 300 / values.shape[1]),
    )  # fmt: skip
    return [*contribution_bars(board, scene), heads_of(scene, picture, LABELS)]


def contribution_bars(board: Board, scene: WalkState) -> Blocks:
    """Draw the length of what each head, and b_o, adds to the followed token, with its share of the output."""
    parts, b_o = shares(scene.run, scene.query), scene.sizes.b_o
    rows = list(zip(scene.heads, parts.norms, parts.share, parts.cosine, strict=True))
    if b_o is not None:
        norm = float(np.linalg.norm(b_o))
        rows.append(("bₒ", norm, parts.bias_share, parts.bias_share * parts.output_norm / (norm or 1.0)))
    names, lengths, share, cosine = map(list, zip(*rows, strict=True))
    texts = [f"{length:.2f} · {percent(part)}" for length, part in zip(lengths, share, strict=True)]
    block = bars(
        board, "lengths", np.stack([lengths, share, cosine], axis=1), names, texts, id="lengths",
        cols=["length", "share", "cosine"], note=f"with the share of the output of {visible(scene.token)}",
    )  # fmt: skip
    return [heads_of(scene, block, BARS)]


def ablated(board: Board, scene: WalkState) -> Blocks:
    """Draw the layer's output without the chosen heads."""
    values, name, note = scene.run.output, "output", "no head ablated"
    if scene.ablated:
        values, name = ablate_in_layer(scene.run, scene.ablated), "output after ablation"
        note = f"rows of W_o of {', '.join(scene.heads[h] for h in scene.ablated)} set to zero"
    size = {"high": row_height(len(values), 220), "wide": min(2.0, 680 / values.shape[1])}
    block = board.matrix(name, values, id="output-gone", note=note, rows=scene.labels, follow=True, **size)
    return [tokens_of(scene, block, LABELS)]


def groups_block(owner: tuple[int, ...], keys: int, chosen: int) -> Block:
    """Draw which of `keys` key and value heads each query head uses."""
    own = f"{', each' if keys > 1 else ''} with its own keys and values"
    shared = f" share {count_noun(keys, 'key and value head')}"
    return {
        "type": "groups",
        "owner": list(owner),
        "keys": keys,
        "chosen": chosen,
        "describe": count_noun(len(owner), "query head") + (own if keys == len(owner) else shared),
    }
