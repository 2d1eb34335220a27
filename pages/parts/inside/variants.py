"""Variants side by side, on one sentence and the same weights; and what sizes of known models cost.

In: what the reader asked for. Out: MHA, GQA, MQA, causal and cross-attention; a table of configurations.
"""

import numpy as np
import streamlit as st

from mha_core import HeadScopeError, LayerDetails, Record
from mha_core.inside import (
    CONFIGURATIONS,
    Configuration,
    Variant,
    kv_cache_bytes,
    middle_groups,
    operations,
    parameters,
    variants,
    weights_bytes,
    weights_from,
)
from mha_core.record import piece_units
from mha_core.wording import percent
from pages.parts.frame import shell
from pages.parts.frame.prose import heading, say
from pages.parts.frame.request import Request
from pages.parts.inside.scene import Scene, details_of, make_plain, pick
from pages.parts.picture.tiles import Block, Board, column, paragraph, row
from pages.parts.serve import cache

SECOND = "The street was too wide."
ABOUT = {
    "MHA": "Every query head has a key head and a value head of its own.",
    "GQA": "Groups of query heads share one key head and one value head.",
    "MQA": "All query heads share a single key head and value head.",
    "Causal": "Every token looks only at itself and back, as a model that writes must.",
    "Cross": "Queries from your sentence, keys and values from the second one.",
}
NAMES = {
    "MHA": "Multi-head",
    "GQA": "Grouped-query",
    "MQA": "Multi-query",
    "Causal": "Causal",
    "Cross": "Cross-attention",
}


@st.fragment
def variants_view(request: Request, record: Record) -> None:
    """Five ways to attend, for one head and one token."""
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    h = scene.sizes.n_heads
    divisors = [d for d in range(2, h) if h % d == 0] or [1]
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        across = st.text_input(
            "Second sentence, for cross-attention",
            request.pair or SECOND,
            key="across",
            bind="query-params",
            max_chars=500,
            width=380,
        )
        groups = st.selectbox("Groups", divisors, divisors.index(middle_groups(h)), key="groups", width=110)
    other = shell.attempt(_second, request, across or SECOND, scene.head[0])
    if other is None:
        return
    labels, found = other
    made = variants(scene.plain.x, weights_from(found), found.x, groups or middle_groups(h))
    board = Board()
    board.add(
        paragraph(
            "Each dot is a query head, each block a key and value head; lines show who uses which. Grouped and "
            "multi-query heads are made here by averaging the trained key and value heads of a group, and are not "
            "trained further: they show the sharing, not a model that learned with it."
        ),
        row(*(_one(board, scene, variant, labels) for variant in made)),
    )
    board.show("variants")


def _second(request: Request, text: str, layer: int) -> tuple[tuple[str, ...], LayerDetails]:
    tokens = cache.model(request).tokenizer.encode(text)
    return tuple(unit.label for unit in piece_units(tokens)), details_of(request, text, None, layer)


def _one(board: Board, scene: Scene, variant: Variant, other: tuple[str, ...]) -> Block:
    run, h, i = variant.walk, scene.h, scene.query
    n, d, heads = run.n_keys, scene.sizes.d_model, scene.sizes.n_heads
    keys = other if variant.name == "Cross" else scene.labels
    moved = float(np.linalg.norm(run.output[i] - scene.plain.output[i]))
    length = float(np.linalg.norm(scene.plain.output[i])) or 1.0
    best = int(run.weights[h, i].argmax())
    kept = kv_cache_bytes(n, scene.sizes.d_k, variant.n_kv_heads)
    counted = parameters(d, heads, variant.n_kv_heads)["all"]
    return column(
        paragraph(f"**{NAMES[variant.name]}**", "name-line"),
        paragraph(ABOUT[variant.name]),
        groups_block(variant.owner, variant.n_kv_heads, h),
        board.matrix(
            "weights",
            run.weights[h],
            id=f"weights-{variant.name}",
            rows=scene.labels,
            cols=keys,
            ramp="weight",
            follow=True,
            high=max(2.0, min(16.0, 280 / run.n)),
            wide=min(16.0, 280 / n),
        ),
        paragraph(
            f"{{token}} looks most at {{best}}: **{percent(run.weights[h, i, best])}**."
            + (
                ""
                if variant.name == "MHA"
                else f" Its output moves by {percent(moved / length)} of its length."
            ),
            token=scene.token,
            best=keys[best],
        ),
        paragraph(f"{counted:,} parameters; K and V of {n} tokens: {size_of(kept)} in 16 bits."),
        size="third",
    )


def groups_block(owner: tuple[int, ...], keys: int, chosen: int) -> Block:
    """Which query heads use which key and value head."""
    return {
        "type": "groups",
        "owner": list(owner),
        "keys": keys,
        "chosen": chosen,
        "describe": f"{len(owner)} query heads share {keys} key and value heads",
    }


def size_of(count: float) -> str:
    """Bytes as people read them, in powers of 1,024."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"


def amount(count: float) -> str:
    """A large number with a word: 2.4 million."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{count / size:,.1f} {word}"
    return f"{count:,.0f}"


@st.fragment
def sizes_view() -> None:
    """Known models and the reader's own numbers, counted the same way."""
    heading("What it costs, from BERT to GPT-3")
    say("Your own numbers", "label")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        n = int(st.number_input("Tokens", 1, 1_000_000, 2048, key="n", bind="query-params", width=140))
        d = int(st.number_input("d_model", 1, 65_536, 512, key="d", bind="query-params", width=120))
        h = int(st.number_input("Heads", 1, 1024, 8, key="h", bind="query-params", width=110))
        layers = int(st.number_input("Layers", 1, 1000, 6, key="layers", bind="query-params", width=110))
        shared = int(st.number_input("Key heads (0 = as heads)", 0, 1024, 0, key="kv", width=190))
    mine, problem = read_own(d, h, layers, shared)
    if problem:
        say(problem, "notice")
    every = [*CONFIGURATIONS, *([mine] if mine else [])]
    board = Board()
    board.add(
        paragraph(
            "[[d_k]] is d_model divided by the heads. Parameters are counted from a layer of that size, operations and "
            f"memory for {n:,} tokens: the [[weight|weights]] of all heads in 32 bits if all are kept, the "
            "[[KV-cache|KV cache]] in 16 bits."
        ),
        {
            "type": "grid",
            "id": "sizes",
            "label": "Configurations",
            "head": [
                "model", "d_model / heads", "d_k", "layers", "parameters of attention, a layer", "all layers",
                "operations, a layer", "weights, a layer", "KV cache, all layers",
            ],
            "rows": [_line(one, n) for one in every],
            "chosen": len(every) - 1 if mine else None,
        },
        paragraph(
            "Weights grow with the square of the tokens, the KV cache only with their number. LLaMA has no biases: "
            "its layer is exactly 4 · d_model². A fused kernel never writes the weights down; then they cost nothing.",
            "quiet",
        ),
    )  # fmt: skip
    board.show("sizes")


def read_own(d: int, h: int, layers: int, shared: int) -> tuple[Configuration | None, str]:
    """The reader's own configuration, or the sentence that says why there is none."""
    try:
        return Configuration("yours", d, h, layers, n_kv_heads=shared or None), ""
    except HeadScopeError as error:
        return None, str(error)


def _line(one: Configuration, n: int) -> list[str]:
    counted = parameters(one.d_model, one.n_heads, one.n_kv_heads, one.bias)["all"]
    done = operations(n, one.d_model, one.n_heads, one.n_kv_heads)["all"]
    return [
        one.name,
        f"{one.d_model:,} / {one.n_heads}",
        str(one.d_k),
        str(one.n_layers),
        f"{counted:,}",
        amount(counted * one.n_layers),
        amount(done),
        size_of(weights_bytes(n, one.n_heads)),
        size_of(kv_cache_bytes(n, one.d_k, one.kv_heads, one.n_layers)),
    ]
