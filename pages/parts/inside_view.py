"""One head's walk from X to the output: six steps, every number from this very sentence.

In: what the reader asked for. Out: the page; the head, the token and the changes stay in the link.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from mha_core import HeadScopeError, LayerDetails, Record, Unit, layer_details
from mha_core.inside import (
    CellEdit,
    Edits,
    HeadWeights,
    Parity,
    ScoreEdit,
    Walk,
    equal_to_torch,
    follow,
    shares,
    spread,
    walk,
    weights_from,
)
from mha_core.record import piece_units
from pages.parts import cache, shell, state
from pages.parts.bounded import Bounded
from pages.parts.prose import heading, say, visible
from pages.parts.request import Head, Request, View
from pages.parts.tiles import Block, Board, column, row, ruler, token_row
from pages.parts.tiles import say as words

PAGE = Path(__file__).parents[2] / "assets" / "inside" / "page.css"
SHOWN_KEYS = 40
_RECENT = Bounded(limit=128_000_000)
MATRICES = ("W_q", "W_k", "W_v", "W_o")


@dataclass(frozen=True)
class Scene:
    """What every step needs: the layer as it is and as the reader changed it, one head, one token."""

    labels: tuple[str, ...]
    special: tuple[bool, ...]
    head: Head
    query: int
    plain: Walk
    now: Walk
    key: str
    request: Request

    @property
    def h(self) -> int:
        return self.head[1]

    @property
    def token(self) -> str:
        return self.labels[self.query]

    @property
    def sizes(self) -> HeadWeights:
        return self.now.weights_used


def style() -> None:
    """The little that this page adds to the frame's own style."""
    st.html(PAGE)


def details_of(request: Request, text: str, pair: str | None, layer: int) -> LayerDetails:
    """What one layer (from 0) computed for a text; the last ones are kept."""
    used = cache.model(request)

    def make() -> LayerDetails:
        return layer_details(used.tokenizer.encode(text, pair), used, layer)

    return _RECENT.get(("details", used.name, used.trained, used.digest, text, pair, layer), make)


def run_of(request: Request, layer: int, edits: Edits) -> Walk:
    """The layer run on the reader's sentence with these changes; the last ones are kept."""
    found = details_of(request, request.text, request.pair, layer)
    return _RECENT.get((*_key(request, layer), edits), lambda: walk(found.x, weights_from(found), edits))


def parity_of(request: Request, layer: int, run: Walk) -> Parity:
    """How far torch is from this run."""
    return _RECENT.get((*_key(request, layer), run.edits, "parity"), lambda: equal_to_torch(run))


def _key(request: Request, layer: int) -> tuple[object, ...]:
    used = cache.model(request)
    return (used.name, used.trained, used.digest, request.text, request.pair, layer)


@dataclass(frozen=True)
class Picked:
    """The head and the token the reader follows; `key` names this sentence."""

    units: tuple[Unit, ...]
    head: Head
    query: int
    key: str


@st.fragment
def walk_view(request: Request, record: Record) -> None:
    """The six steps. A fragment: a click on a token redraws them and nothing else of the page."""
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    steps = (_projections, _weights, _one_query, _output, _equal, _edit)
    places = [st.container(key=f"inside-step-{step.__name__.strip('_')}", gap="small") for step in steps]
    # The controls come first, whatever their place: all that is drawn depends on them.
    with places[1]:
        edits = _weights_controls(scene)
    with places[5]:
        edits = _edit_controls(scene, edits)
    try:
        scene = replace(scene, now=run_of(request, scene.head[0], edits))
    except HeadScopeError as error:
        say(str(error), "problem")
    for place, step in zip(places, steps, strict=True):
        with place:
            step(scene)


def pick(request: Request, record: Record) -> Picked:
    """Layer, head and token: from the link first, then as the reader chooses; the link follows."""
    units = piece_units(record.tokens)
    grid = record.grid(words=request.words, specials=request.specials)
    view = shell.view(request, grid.weights.shape, grid.labels)
    head = choose_head(record, view.head)
    asked = grid.units[view.pins[0]].pieces[0] if view.pins else 0
    key = blake2s(repr([unit.label for unit in units]).encode(), digest_size=6).hexdigest()
    query = choose_token(units, asked, f"inside-token-{key}")
    place = next((i for i, unit in enumerate(grid.units) if query in unit.pieces), None)
    state.keep(View(head, view.pins if place is None else (place,), view.to))
    return Picked(units, head, query, key)


def choose_head(record: Record, opening: Head) -> Head:
    """Layer and head, numbered from 1 on the screen."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        layer = st.selectbox(
            "Layer", range(record.n_layers), opening[0], key="inside-layer", width=110, format_func=_from_one
        )
        head = st.selectbox(
            "Head", range(record.n_heads), opening[1], key="inside-head", width=110, format_func=_from_one
        )
    return (layer or 0, head or 0)


def _from_one(position: int) -> str:
    return str(position + 1)


def choose_token(units: Sequence[Unit], opening: int, key: str) -> int:
    """The token to follow; the picture marks it without asking the server."""
    chosen = st.session_state.get(key, {}).get("query", opening)
    chosen = chosen if isinstance(chosen, int) and 0 <= chosen < len(units) else opening
    board = Board()
    board.add(
        words("Choose a token to follow:"),
        token_row([u.label for u in units], [u.special for u in units], "Token to follow"),
    )
    given = board.show(key, {"query": nothing}, query=chosen).query
    return given if isinstance(given, int) and 0 <= given < len(units) else chosen


def nothing() -> None:
    """A component needs a callback for each of its states; the page reads the state itself."""


def make_plain(request: Request, picked: Picked) -> Scene | None:
    """The layer as the model has it, with nothing changed."""
    plain = shell.attempt(run_of, request, picked.head[0], Edits())
    if plain is None:
        return None
    labels = tuple(unit.label for unit in picked.units)
    special = tuple(unit.special for unit in picked.units)
    key = f"{picked.key}-{picked.head[0]}-{picked.head[1]}-{picked.query}"
    return Scene(labels, special, picked.head, picked.query, plain, plain, key, request)


def typed_scores(scene: Scene) -> dict[str, dict[str, float]]:
    """The scores typed into the boxes of step 6, as the component keeps them."""
    cells = st.session_state.get(f"edit-{scene.key}", {}).get("cells")
    return cells if isinstance(cells, dict) else {}


def score_edits(scene: Scene, typed: Mapping[str, Any]) -> tuple[ScoreEdit, ...]:
    """Those of them that are numbers at places there are."""
    return tuple(
        ScoreEdit(scene.h, scene.query, int(at), float(value))
        for at, value in (typed.get("scores") or {}).items()
        if str(at).isdigit() and int(at) < len(scene.labels) and isinstance(value, int | float)
    )


def formula(latex: str, *lines: tuple[str, str]) -> None:
    """The formula, and the lines of torch that do it with the shapes that come out."""
    left, right = st.columns([2, 3], vertical_alignment="center")
    left.latex(latex)
    with right:
        code(*lines)


def code(*lines: tuple[str, str]) -> None:
    """Lines of torch, their remarks one under the other."""
    wide = max(len(line) for line, remark in lines if remark)
    board = Board()
    shown = [[f"{line:<{wide}}" if remark else line, remark] for line, remark in lines]
    board.add({"type": "code", "lines": shown})
    board.show(f"code-{lines[0][0]}")


def _projections(scene: Scene) -> None:
    sizes, now = scene.sizes, scene.now
    n, (h, d, d_k) = now.n, sizes.W_q.shape
    heading("1 · Three readings of every token")
    board = Board()
    board.add(
        words(
            f"Each [[token]] enters [[layer]] {scene.head[0] + 1} as a row of X: {d} numbers. Head {scene.h + 1} reads "
            "it three times: as a [[query]] (what am I looking for?), a [[key]] (what can I be found by?) and a "
            "[[value]] (what do I hand over?). Each reading is the row times a matrix."
        ),
        board.matrix(
            "X", now.x, id="X", rows=scene.labels, follow=True, wide=min(2.6, 1000 / d), high=_high(n)
        ),
        row(*(_reading(board, scene, name) for name in ("q", "k", "v"))),
        words(
            f"All {h} heads take part at once. One product gives {n} rows of {h * d_k} numbers; "
            f"cut into {h} pieces of {d_k}, they are the queries of {h} heads:"
        ),
        board.sheets("q", now.q, chosen=scene.h),
    )
    board.show("inside-board-1")
    formula(
        r"Q = X\,W_q + b_q,\quad K = X\,W_k + b_k,\quad V = X\,W_v + b_v",
        ("q = W_q(x)", f"(1, {n}, {h * d_k})"),
        (f"q = q.view(1, {n}, {h}, {d_k}).transpose(1, 2)", f"(1, {h}, {n}, {d_k})"),
        (f"q = q[:, {scene.h}]", f"head {scene.h + 1}: (1, {n}, {d_k}); k and v alike"),
    )


def _high(n: int) -> float:
    return max(2.0, min(20.0, 400 / n))


def _reading(board: Board, scene: Scene, name: str) -> Block:
    sizes = scene.sizes
    W, b = getattr(sizes, f"W_{name}"), getattr(sizes, f"b_{name}")
    h = scene.h if name == "q" else sizes.kv_head(scene.h)
    heads, d, d_k = W.shape
    first, last = h * d_k + 1, (h + 1) * d_k
    result = getattr(scene.now, name)[h]
    return column(
        ruler(heads, h, h + 1, f"W_{name}, head {h + 1}: columns {first} to {last} of {heads * d_k}"),
        board.matrix(
            f"W_{name}",
            W[h],
            id=f"W_{name}",
            high=160 / d,
            wide=min(10.0, 300 / d_k),
            describe=f"W_{name} of this head, {d} by {d_k} numbers",
        ),
        board.matrix(f"b_{name}", b[h][None], id=f"b_{name}", high=10, wide=min(10.0, 300 / d_k), legend=False),
        board.matrix(
            name.upper(), result, id=name.upper(), rows=scene.labels, follow=True,
            note=f"= X W_{name} + b_{name}", high=_high(scene.now.n), wide=min(8.0, 250 / d_k),
        ),
        size="third",
    )  # fmt: skip


def _weights_controls(scene: Scene) -> Edits:
    heading("2 · From fit to weight")
    board = Board()
    board.add(
        words(
            "Every query meets every key. Multiply them number by number, add up, divide by "
            f"√{scene.sizes.d_k}: that is the [[score]], how well the two fit. [[softmax|Softmax]] turns each row of "
            "scores into [[weight|weights]] that add up to 100 %. A [[mask]] takes tokens out of sight, as it does for "
            "[[padding]] and for [[causal|the future]]. Row = the token that looks, column = the token it "
            "looks at."
        )
    )
    board.show("inside-board-2-text")
    return _switches(scene)


def _weights(scene: Scene) -> None:
    now, n, d_k = scene.now, scene.now.n, scene.sizes.d_k
    seen = np.where(now.allowed, now.scores[scene.h], np.nan)
    with_, without = (spread(now.raw[scene.h], d) for d in (np.sqrt(d_k), 1.0))
    board = Board()
    board.add(*_changed(now.edits))
    share = {"cols": scene.labels, "rows": scene.labels, "follow": True}
    size = {"high": _high(n), "wide": min(26.0, 440 / n)}
    sums = now.weights[scene.h].sum(axis=-1)
    board.add(
        row(
            column(board.matrix("scores", seen, id="scores", **share, **size), size="half"),
            column(
                board.matrix("weights", now.weights[scene.h], id="weights", ramp="weight", **share, **size),
                words(said_sums(sums)),
                size="half",
            ),
        ),
        words(
            f"Why divide ([[scaling]])? A sum of {d_k} products grows with {d_k}. Undivided, these scores have a "
            f"variance of **{without.variance:.1f}**, and the largest weight of a row is on average "
            f"**{percent(without.largest)}**; divided by √{d_k}, **{with_.variance:.1f}** and "
            f"**{percent(with_.largest)}**. Where one "
            "weight takes all, softmax hardly answers to small changes, and training stalls."
        ),
    )
    board.show("inside-board-2")
    formula(
        r"A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)",
        (f"scores = q @ k.transpose(-2, -1) / {d_k} ** 0.5", f"(1, {n}, {n})"),
        ('scores = scores.masked_fill(~allowed, float("-inf"))', ""),
        ("weights = scores.softmax(dim=-1)", "rows add up to one"),
    )


def gap(difference: float) -> str:
    """A difference as it is printed; nothing at all is said as 0."""
    return f"{difference:.1e}" if difference else "0"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def said_sums(sums: np.ndarray) -> str:
    """What the rows of a table of weights add up to."""
    low, high = percent(sums.min()), percent(sums.max())
    return (
        f"Every row adds up to {low}."
        if low == high
        else f"Rows add up to {low} at least and {high} at most."
    )


def _switches(scene: Scene) -> Edits:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        scaled = st.toggle(f"Divide by √{scene.sizes.d_k}", True, key="divide", bind="query-params")
        causal = st.toggle("Look only back (causal mask)", key="causal", bind="query-params")
        hidden = st.multiselect(
            "Hide tokens, as padding is hidden",
            range(len(scene.labels)),
            key=f"unseen-{scene.key.split('-')[0]}",
            format_func=lambda i: f"{i + 1} · {visible(scene.labels[i])}",
            placeholder="none hidden",
            width=320,
        )
    return Edits(scaled=scaled, causal=causal, hidden_keys=tuple(hidden))


def _changed(edits: Edits) -> list[Block]:
    """One line that says what is not as the model has it."""
    if not edits.any:
        return []
    said = [
        "not divided by √d_k" if not edits.scaled else "",
        f"temperature {edits.temperature:g}" if edits.temperature != 1 else "",
        "a causal mask" if edits.causal else "",
        f"{len(edits.hidden_keys)} hidden" if edits.hidden_keys else "",
        _counted(len(edits.scores)),
        f"one changed number of {edits.cells[0].matrix}" if edits.cells else "",
    ]
    return [words(f"You changed this layer: {', '.join(filter(None, said))}. All steps follow.", "changed")]


def _counted(scores: int) -> str:
    return "" if not scores else "one changed score" if scores == 1 else f"{scores} changed scores"


def _one_query(scene: Scene) -> None:
    now, h, i = scene.now, scene.h, scene.query
    found = follow(now, h, i)
    heading("3 · One token, number by number")
    board = Board()
    best = int(found.weights.argmax())
    board.add(
        words(
            "Here is the whole row of {token}: its q beside each token's k, their product number by number, the sum, "
            "the score, the weight, and the value that the weight lets through. The last column adds up to z, "
            "the [[context]]: what this head brings to {token}.",
            token=scene.token,
        ),
        words(
            "{token} looks most at {best}: " + f"**{percent(found.weights[best])}**.",
            "verdict",
            token=scene.token,
            best=scene.labels[best],
        ),
        follow_block(board, scene),
        words(
            "The matrix form does this for all tokens at once. The same token computed alone, vector by vector, "
            "and its row of the matrix form:"
        ),
        board.matrix(
            "z",
            np.stack([found.alone, found.context]),
            id="z",
            rows=["alone", "row of Z"],
            high=18,
            wide=min(14.0, 450 / now.v.shape[-1]),
        ),
        words(
            f"Largest difference: **{gap(found.difference)}**"
            + (", the rounding of 32-bit numbers." if found.difference else ".")
        ),
    )
    board.show("inside-board-3")
    formula(
        r"z_i = \sum_j \mathrm{softmax}_j\!\left(\frac{q_i \cdot k_j}{\sqrt{d_k}}\right) v_j",
        (f"scores = (q[{i}] * k).sum(-1) / {now.q.shape[-1]} ** 0.5", f"({now.n},)"),
        ("weights = scores.softmax(-1)", f"({now.n},)"),
        ("z = weights @ v", f"({now.v.shape[-1]},)"),
    )


def follow_block(board: Board, scene: Scene) -> Block:
    """The row of one query, element by element, for the keys it looks at most."""
    now, h = scene.now, scene.h
    found = follow(now, h, scene.query)
    order = np.sort(np.argsort(-found.weights, kind="stable")[:SHOWN_KEYS])
    return {
        "type": "follow",
        "tokens": [visible(label) for label in scene.labels],
        "query": scene.query,
        "shown": order.tolist(),
        "d_k": now.q.shape[-1],
        "d_v": now.v.shape[-1],
        "divisor": now.divisor,
        "q": board.put(found.q),
        "k": board.put(now.k[scene.sizes.kv_head(h)]),
        "products": board.put(found.products),
        "raw": board.put(found.raw),
        "scores": board.put(np.where(found.allowed, found.scores, np.nan)),
        "weights": board.put(found.weights),
        "weighted": board.put(found.weighted),
        "z": board.put(found.context),
    }


def _output(scene: Scene) -> None:
    now, sizes = scene.now, scene.sizes
    h, d_v, d = sizes.W_o.shape
    found = shares(now, scene.query)
    heading("4 · All heads, side by side, then mixed")
    board = Board()
    cuts = [d_v * i for i in range(1, h)]
    mine = [scene.h * d_v, (scene.h + 1) * d_v]
    options = {"rows": scene.labels, "follow": True, "high": _high(now.n)}
    board.add(
        words(
            f"Each of the {h} heads made {d_v} numbers a token. [[concatenation|Set side by side]] they are {h * d_v} "
            "again, and every head still keeps to its own columns; the frame is head "
            f"{scene.h + 1}. [[W_o]] then mixes: every number of the output draws on all heads."
        ),
        board.matrix(
            "Z", now.concatenated, id="Z", note="before: [z₁ | z₂ | … ]", cuts=cuts, slice=mine,
            wide=min(2.6, 1000 / (h * d_v)), **options,
        ),
        board.matrix("output", now.output, id="output", note="after: Z W_o + b_o", wide=min(2.6, 1000 / d), **options),
        words(
            "Because W_o only adds, the output is a sum of one part a head. For {token}: how long each part is, "
            "its share of the output, and its [[cosine]] with it. A negative share pulls the other way.",
            token=scene.token,
        ),
        head_table(scene),
        board.matrix(
            "W_o",
            sizes.W_o[scene.h],
            id="W_o",
            note=f"the {d_v} rows of head {scene.h + 1}: its z times these is its part",
            high=max(2.0, min(5.0, 160 / d_v)),
            wide=min(2.6, 1000 / d),
        ),
        words(
            f"Sum of the {h} parts and b_o, minus the layer's output: largest difference **{gap(found.difference)}**."
        ),
        board.matrix(
            "parts",
            np.concatenate([now.contributions[:, scene.query], sizes.b_o[None], now.output[scene.query][None]]),
            id="parts",
            note="each head, b_o, output",
            rows=[*(f"{scene.head[0] + 1}-{i + 1}" for i in range(h)), "b_o", "output"],
            high=16,
            wide=min(2.6, 1000 / d),
        ),
        words(
            "Could W_o be merged into the [[feed-forward|feed-forward network]] that follows? No: before it, the "
            f"layer adds its input X back (the [[residual]]). Z W_o must have X's own {d} columns to be added to it, "
            "and the sum, not Z alone, goes on."
        ),
    )  # fmt: skip
    board.show("inside-board-4")
    formula(
        r"\mathrm{output} = [z_1 \,|\, \dots \,|\, z_h]\,W_o + b_o = \sum_{i=1}^{h} z_i\,W_o^{(i)} + b_o",
        (f"z = z.transpose(1, 2).reshape(1, {now.n}, {h * d_v})", "side by side"),
        ("output = W_o(z)", f"(1, {now.n}, {d})"),
        ("x = layer_norm(x + output)", "the residual"),
    )


def head_table(scene: Scene) -> Block:
    """What every head adds to the output of the followed token."""
    found = shares(scene.now, scene.query)
    lines = [
        {
            "label": f"{scene.head[0] + 1}-{i + 1}",
            "norm": float(found.norms[i]),
            "share": float(found.share[i]),
            "cosine": float(found.cosine[i]),
            "chosen": i == scene.h,
        }
        for i in range(len(found.norms))
    ]
    bias = float(np.linalg.norm(scene.sizes.b_o))
    lines.append({"label": "b_o", "norm": bias, "share": found.bias_share, "cosine": None})
    return {"type": "heads", "rows": lines, "total": found.output_norm}


def _equal(scene: Scene) -> None:
    found = parity_of(scene.request, scene.head[0], scene.now)
    heading("5 · Is this what torch computes?")
    board = Board()
    board.add(
        words(
            f"Equal to `{found.against}` within **{gap(found.output)}**, for all {scene.now.n} tokens of this "
            "sentence, computed just now.",
            "verdict",
        )
    )
    if found.weights is not None:
        board.add(
            words(f"Its weights and ours, all {scene.sizes.n_heads} heads: within {gap(found.weights)}.")
        )
    board.show("inside-board-5")
    h, d = scene.sizes.n_heads, scene.sizes.d_model
    code(
        (f"layer = torch.nn.MultiheadAttention({d}, {h}, batch_first=True)", "with these weights in it"),
        ("theirs, weights = layer(x, x, x, average_attn_weights=False)", ""),
        ("(theirs - output).abs().max()", gap(found.output)),
    )


def _edit(scene: Scene) -> None:
    plain, now, h, i = scene.plain, scene.now, scene.h, scene.query
    board = Board()
    typed = typed_scores(scene)
    board.add(
        words(
            "Type another score of {token}, in any box; the weights, z and the output follow at once.",
            token=scene.token,
        ),
        *(
            board.matrix(
                "scores",
                now.scores[h, i][None, start : start + 8],
                kind="tiles",
                id="scores",
                first=start,
                cols=scene.labels[start : start + 8],
                editable=True,
                digits=3,
                bare=start > 0,
            )
            for start in range(0, min(len(scene.labels), SHOWN_KEYS), 8)
        ),
        {"type": "undo", "text": "Undo changed scores"},
    )
    if not now.edits.any:
        board.add(words("Nothing is changed yet, here or at step 2."))
        board.show(f"edit-{scene.key}", {"cells": nothing}, cells=typed)
        return
    moved = np.linalg.norm(now.output - plain.output, axis=-1)
    length = float(np.linalg.norm(plain.output[i]))
    board.add(
        words(
            "The output of {token} moved by "
            + f"**{moved[i]:.3f}**: {percent(moved[i] / length if length else 0.0)} of its length.",
            "verdict",
            token=scene.token,
        ),
        {
            "type": "bars",
            "id": "before-after",
            "series": ["weight before", "weight now"],
            "rows": [
                {
                    "label": label,
                    "values": [float(plain.weights[h, i, j]), float(now.weights[h, i, j])],
                    "chosen": bool(abs(plain.weights[h, i, j] - now.weights[h, i, j]) > 5e-4),
                }
                for j, label in list(enumerate(scene.labels))[:SHOWN_KEYS]
            ],
        },
        board.matrix(
            "z", np.stack([plain.context[h, i], now.context[h, i]]), id="z-edited", rows=["before", "now"],
            high=18, wide=min(14.0, 450 / now.v.shape[-1]),
        ),
        board.matrix(
            "output", np.stack([plain.output[i], now.output[i]]), id="output-edited", rows=["before", "now"],
            high=18, wide=min(2.6, 1000 / scene.sizes.d_model),
        ),
    )  # fmt: skip
    board.show(f"edit-{scene.key}", {"cells": nothing}, cells=typed)


def _edit_controls(scene: Scene, edits: Edits) -> Edits:
    heading("6 · Change it, and see what follows")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        warm = st.slider("Temperature", 0.1, 5.0, 1.0, 0.1, key="temperature", bind="query-params", width=220)
        matrix = st.selectbox("A number of", MATRICES, key="cell-matrix", width=120)
        matrix = matrix if matrix in MATRICES else "W_q"
        h = scene.h if matrix in ("W_q", "W_o") else scene.sizes.kv_head(scene.h)
        used = getattr(scene.plain.weights_used, matrix)[h]
        at = [
            int(st.number_input(label, 1, size, 1, key=f"cell-{label}-{matrix}", width=110)) - 1
            for label, size in zip(("row", "column"), used.shape, strict=True)
        ]
        value = st.number_input(
            f"instead of {used[at[0], at[1]]:.4f}",
            value=None,
            key=f"cell-value-{scene.key}",
            placeholder="as it is",
            format="%.4f",
            width=170,
        )
    cells = () if value is None else (CellEdit(matrix, scene.h, at[0], at[1], float(value)),)
    scores = score_edits(scene, typed_scores(scene))
    return replace(edits, temperature=float(warm), cells=cells, scores=scores)
