"""Variants side by side, on one sentence and the same weights.

In: what the reader asked for. Out: MHA, GQA, MQA, causal and cross-attention.
"""

import numpy as np
import streamlit as st

from mha_core import Record
from mha_core.inside import Variant, group_choices, kv_cache_bytes, middle_groups, parameters, variants
from mha_core.record import piece_units
from mha_core.wording import percent
from pages.parts.frame import shell
from pages.parts.frame.request import Request
from pages.parts.inside.groups import groups_block
from pages.parts.inside.numbers import format_bytes
from pages.parts.inside.scene import Scene, layer_of, make_plain, pick
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
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        across = st.text_input(
            "Second sentence, for cross-attention",
            request.pair or SECOND,
            key="across",
            bind="query-params",
            max_chars=500,
            width=380,
        )
        groups = _groups(scene)
    made = shell.or_show_error(_made, scene, across or SECOND, groups)
    if made is None:
        return
    labels, ways = made
    board = Board()
    board.add(
        paragraph(
            "Each dot is a query head, each block a key and value head; lines show who uses which. "
            + _how_made(scene)
        ),
        row(*(_one(board, scene, variant, labels) for variant in ways)),
    )
    board.show("variants")


def _groups(scene: Scene) -> int | None:
    """How many key heads the grouped variant has: the reader's choice where there is one; None where none can."""
    choices = group_choices(scene.sizes)
    if len(choices) < 2:
        return choices[0] if choices else None
    own = scene.sizes.n_kv_heads
    first = own if own in choices else middle_groups(own)
    chosen = st.selectbox("Groups", choices, choices.index(first), key=f"groups-{own}", width=110)
    return chosen if chosen in choices else first


def _how_made(scene: Scene) -> str:
    """Which of them the model is, and how the others come from it."""
    h, own = scene.sizes.n_heads, scene.sizes.n_kv_heads
    made = (
        "Fewer key and value heads are made here by averaging the trained ones of a group, and are not trained "
        "further: they show the sharing, not a model that learned with it."
    )
    if own < h:
        made = f"{scene.title} is the one with {own} key and value heads. " + made
    if scene.plain.is_causal:
        made += f" All but the last look only back, as {scene.title} does."
    return made


def _made(scene: Scene, text: str, groups: int | None) -> tuple[tuple[str, ...], tuple[Variant, ...]]:
    """The second sentence's tokens, and every variant; made once for all heads and tokens."""
    tokens = cache.model(scene.request).tokenizer.encode(text)
    labels = tuple(unit.label for unit in piece_units(tokens))

    def make() -> tuple[Variant, ...]:
        return variants(scene.plain, layer_of(scene.request, tokens, scene.head[0]).x, groups)

    return labels, scene.kept(("variants", text, groups), make)


def _about(variant: Variant, scene: Scene) -> str:
    """What it is, in a sentence."""
    sizes = scene.sizes
    said = ABOUT[variant.name]
    if variant.name == "MHA" and not variant.own:
        times = sizes.n_heads // sizes.n_kv_heads
        said += f" Here copies of the shared ones: the same numbers, {times} times the cache."
    if variant.own and sizes.n_kv_heads < sizes.n_heads:
        said += f" This is {scene.title} as it is."
    return said


def _one(board: Board, scene: Scene, variant: Variant, other: tuple[str, ...]) -> Block:
    run, h, i = variant.run, scene.h, scene.query
    n, d, heads, d_k = run.n_keys, scene.sizes.d_model, scene.sizes.n_heads, scene.sizes.d_k
    keys = other if variant.name == "Cross" else scene.labels
    moved = float(np.linalg.norm(run.output[i] - scene.plain.output[i]))
    length = float(np.linalg.norm(scene.plain.output[i])) or 1.0
    best = int(run.weights[h, i].argmax())
    kept = kv_cache_bytes(n, d_k, variant.n_kv_heads)
    counted = parameters(d, heads, variant.n_kv_heads, d_k, scene.sizes.has_bias)["all"]
    weights = np.where(run.allowed, run.weights[h], np.nan) if run.is_causal else run.weights[h]
    return column(
        paragraph(f"**{NAMES[variant.name]}**", "name-line"),
        paragraph(_about(variant, scene)),
        groups_block(variant.owner, variant.n_kv_heads, h),
        board.matrix(
            "weights",
            weights,
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
            + ("" if variant.own else f" Its output moves by {percent(moved / length)} of its length."),
            token=scene.token,
            best=keys[best],
        ),
        paragraph(f"{counted:,} parameters; K and V of {n} tokens: {format_bytes(kept)} in 16 bits."),
        size="third",
    )
