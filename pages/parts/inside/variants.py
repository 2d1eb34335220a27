"""Variants side by side, on one sentence and the same weights.

In: what the reader asked for. Out: MHA, GQA, MQA, causal and cross-attention.
"""

from typing import Any

import numpy as np
import streamlit as st

from mha_core import LayerRun
from mha_core.grid import piece_units
from mha_core.inside import Variant, group_choices, kv_cache_bytes, middle_groups, parameters, variants
from mha_core.wording import counted, percent
from pages.parts.frame import loading, shell, state
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.request import Request
from pages.parts.inside.key_groups import groups_block
from pages.parts.inside.numbers import format_bytes
from pages.parts.inside.scene import Scene, layer_of, make_plain, pick
from pages.parts.inside.screens import Screen, aloud, here, way
from pages.parts.inside.selectable import DOTS, LABELS, heads_of, tokens_of, told
from pages.parts.picture.tiles import Block, Board, paragraph, row
from pages.parts.serve import cache

SECOND = "The street was too wide."
ABOUT = {
    "MHA": "Every query head has its own key and value head.",
    "GQA": "Each group of query heads shares one key and value head.",
    "MQA": "All query heads share one key and value head.",
    "Causal": "Every token sees only itself and earlier tokens.",
    "Cross": "Queries from your sentence, keys and values from the second one.",
}
SHORT = {
    "MHA": "one key head per head",
    "GQA": "shared keys in groups",
    "MQA": "one key head",
    "Causal": "earlier tokens only",
    "Cross": "another text",
}
NAMES = {
    "MHA": "Multi-head",
    "GQA": "Grouped-query",
    "MQA": "Multi-query",
    "Causal": "Causal",
    "Cross": "Cross-attention",
}


@st.fragment
def variants_view(request: Request) -> None:
    """Five ways to attend, one a screen, each beside the layer as it is."""
    record = cache.record(request)  # a fragment lives as long as its reader, and so does what it is given
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    first = request.pair or SECOND
    across = state.params().get("across") or first
    made = shell.or_show_error(_made, scene, across, _groups(scene))
    if made is None:
        return
    labels, ways = made
    screens = tuple(Screen(one.name.lower(), f"{NAMES[one.name]}: {SHORT[one.name]}", _one) for one in ways)
    at = here(screens)
    way("inside-way-variants", screens, at)
    with st.container(key="inside-stage-two"):
        with st.container(key="inside-words", gap="small"):
            aloud(at, screens[at])
            _words(scene, ways[at], labels)
            if ways[at].name == "Cross":
                _second(across, first)
            elif ways[at].name == "GQA":
                _choose_groups(scene)
        with st.container(key="inside-picture"):
            _one(scene, ways[at], labels)


def _second(across: str, first: str) -> None:
    st.session_state["inside-across"] = across
    st.text_input(
        "Second sentence",
        key="inside-across",
        max_chars=500,
        on_change=_second_typed,
        args=(first,),
    )


def _second_typed(first: str) -> None:
    typed = st.session_state["inside-across"].strip()
    state.change({"across": typed if typed and typed != first else None})


def _choose_groups(scene: Scene) -> None:
    choices = group_choices(scene.sizes)
    if len(choices) > 1:
        say_unknown("groups", choices, _groups(scene))
        st.session_state["inside-groups"] = _groups(scene)
        st.selectbox("Groups", choices, key="inside-groups", width=110, on_change=_groups_chosen)


def _groups_chosen() -> None:
    state.change({"groups": str(st.session_state["inside-groups"])})


def _groups(scene: Scene) -> int | None:
    """How many key heads the grouped variant has: the reader's choice where there is one; None where none can."""
    choices = group_choices(scene.sizes)
    if len(choices) < 2:
        return choices[0] if choices else None
    own = scene.sizes.n_kv_heads
    asked = state.params().get("groups", "")
    chosen = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 4 else 0
    return chosen if chosen in choices else own if own in choices else middle_groups(own)


def _how_made(scene: Scene) -> str:
    """Which of them the model is, and how the others come from it."""
    h, own = scene.sizes.n_heads, scene.sizes.n_kv_heads
    made = "Shared keys and values are averages of " + (
        "trained heads, without further training." if scene.trained else "the heads of a group."
    )
    if own < h:
        made = f"{scene.title} has {counted(own, 'key and value head')}. " + made
    return made


def _made(scene: Scene, text: str, groups: int | None) -> tuple[tuple[str, ...], tuple[Variant, ...]]:
    """The second sentence's tokens, and every variant; made once for all heads and tokens."""
    tokens = loading.model(scene.request).tokenizer.encode(text)
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
        said += f" Here these are copies of the shared ones: same weights, {times} times the cache."
    if variant.own and sizes.n_kv_heads < sizes.n_heads:
        said += f" This is {scene.title} as it is."
    return said


def _words(scene: Scene, variant: Variant, other: tuple[str, ...]) -> None:
    """What it is, who uses whom, where the token looks, and what it costs."""
    run, h, i = variant.run, scene.h, scene.query
    n, d, heads, d_k = run.n_keys, scene.sizes.d_model, scene.sizes.n_heads, scene.sizes.d_k
    moved = float(np.linalg.norm(run.output[i] - scene.plain.output[i]))
    length = float(np.linalg.norm(scene.plain.output[i])) or 1.0
    best = int(run.weights[h, i].argmax())
    kept = kv_cache_bytes(n, d_k, variant.n_kv_heads)
    held = parameters(d, heads, variant.n_kv_heads, d_k, scene.sizes.has_bias)["all"]
    board = Board()
    board.add(
        paragraph(_about(variant, scene)),
        heads_of(scene, groups_block(variant.owner, variant.n_kv_heads, h), DOTS),
        paragraph("Dot: query head. Block: key and value head.", "quiet"),
        paragraph(
            f"{{token}} looks most at {{best}}: **{percent(run.weights[h, i, best])}**."
            + ("" if variant.own else f" Its output moves by {percent(moved / length)} of its length."),
            token=scene.token,
            best=(other if variant.name == "Cross" else scene.labels)[best],
        ),
        paragraph(f"{held:,} parameters; K and V of {counted(n, 'token')}: {format_bytes(kept)} in 16 bits."),
    )
    if variant.name in ("GQA", "MQA"):
        board.add(paragraph(_how_made(scene), "quiet"))
    board.show("inside-words-variants", told("inside-words-variants", scene), beside=True)


def _one(scene: Scene, variant: Variant, other: tuple[str, ...]) -> None:
    """Its attention weights, and those of the layer as it is."""
    run, h = variant.run, scene.h
    keys = other if variant.name == "Cross" else scene.labels
    board = Board()

    def picture(name: str, of: LayerRun, ident: str, cols: tuple[str, ...]) -> Block:
        weights = np.where(of.allowed, of.weights[h], np.nan) if of.is_causal else of.weights[h]
        size: dict[str, Any] = {"high": max(0.5, min(16.0, 280 / of.n)), "wide": min(15.0, 250 / len(cols))}
        made = board.matrix(
            name, weights, id=ident, rows=scene.labels, cols=cols, ramp="weight", follow=True, **size
        )
        return tokens_of(scene, made, LABELS)

    board.add(
        row(
            picture("attention weights", run, f"weights-{variant.name}", keys),
            *(
                ()
                if variant.own
                else (picture(f"{scene.title} as it is", scene.plain, "weights-own", scene.labels),)
            ),
        )
    )
    board.show("inside-picture-variants", told("inside-picture-variants", scene), query=scene.query)
    board.numbers("inside-picture-variants", scene.source)
