"""Variants of attention side by side, on one sentence and the same weights.

In: a request. Out: MHA, GQA, MQA, causal and cross-attention, a screen each.
"""

import numpy as np
import streamlit as st

from mha_core import LayerActivations
from mha_core.display_names import count_noun, percent
from mha_core.layer import Variant, group_choices, kv_cache_bytes, middle_groups, parameters, variants
from mha_core.record.grid import piece_units
from pages.parts.frame import loading, shell, state
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.request import Request
from pages.parts.inside.key_groups import groups_block
from pages.parts.inside.link_controls import linked
from pages.parts.inside.scene import WalkState, layer_of, make_plain, pick
from pages.parts.inside.screens import Screen, draw_pager, heading, here
from pages.parts.inside.selectable import DOTS, LABELS, heads_of, on_choice, tokens_of
from pages.parts.picture.tiles import Block, Board, paragraph, row
from pages.parts.serve import cache

SECOND = "The street was too wide."
# Title of the screen, and what the variant is, in a sentence.
VARIANTS = {
    "MHA": ("Multi-head: one key head per head", "Every query head has its own key and value head."),
    "GQA": (
        "Grouped-query: shared keys in groups",
        "Each group of query heads shares one key and value head.",
    ),
    "MQA": ("Multi-query: one key head", "All query heads share one key and value head."),
    "Causal": ("Causal: earlier tokens only", "Every token sees only itself and earlier tokens."),
    "Cross": (
        "Cross-attention: another text",
        "Queries from your sentence, keys and values from the second one.",
    ),
}


@st.fragment
def variants_view(request: Request) -> None:
    """Draw one of five ways to attend beside the layer as it is."""
    record = cache.record(request)  # a fragment lives as long as its user, and so does what it is given
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    first = request.pair or SECOND
    across = state.params().get("across") or first
    result = shell.or_show_error(_variants, scene, across, _groups(scene))
    if result is None:
        return
    second, choices = result
    screens = tuple(Screen(each.name.lower(), VARIANTS[each.name][0]) for each in choices)
    index = here(screens)
    variant = choices[index]
    keys = second if variant.name == "Cross" else scene.labels
    draw_pager("inside-way-variants", screens, index)
    with st.container(key="inside-stage-two"):
        with st.container(key="inside-words", gap="small"):
            heading(index, screens[index])
            _draw_words(scene, variant, keys)
            if variant.name == "Cross":
                linked(
                    st.text_input, "Second sentence", "across", across, first=first, as_text=str.strip, max_chars=500
                )  # fmt: skip
            elif variant.name == "GQA" and len(options := group_choices(scene.sizes)) > 1:
                say_unknown("groups", options, _groups(scene))
                linked(st.selectbox, "Groups", "groups", _groups(scene), options=options, width=110)
        with st.container(key="inside-picture"):
            _draw_picture(scene, variant, keys)


def _groups(scene: WalkState) -> int | None:
    """Return the number of key heads of the grouped variant, the URL's if it can be; None where none can."""
    choices, own = group_choices(scene.sizes), scene.sizes.n_kv_heads
    if len(choices) < 2:
        return choices[0] if choices else None
    by_name = {str(choice): choice for choice in choices}
    return by_name.get(state.params().get("groups", ""), own if own in choices else middle_groups(own))


def _variants(scene: WalkState, text: str, groups: int | None) -> tuple[tuple[str, ...], tuple[Variant, ...]]:
    """Return the second sentence's tokens, and every variant, cached for all heads and tokens."""
    tokens = loading.model(scene.request).tokenizer.encode(text)

    def compute() -> tuple[Variant, ...]:
        return variants(scene.plain, layer_of(scene.request, tokens, scene.head[0]).x, groups)

    labels = tuple(unit.label for unit in piece_units(tokens))
    return labels, scene.kept(("variants", text, groups), compute)


def _about(variant: Variant, scene: WalkState) -> str:
    """Say what a variant is, and whether the model is one."""
    sizes, text = scene.sizes, VARIANTS[variant.name][1]
    if variant.name == "MHA" and not variant.own:
        times = sizes.n_heads // sizes.n_kv_heads
        text += f" Here these are copies of the shared ones: same weights, {times} times the cache."
    if variant.own and sizes.n_kv_heads < sizes.n_heads:
        text += f" This is {scene.title} as it is."
    return text


def _pooling(scene: WalkState) -> str:
    """Say how shared keys and values come from the model's own."""
    sizes = scene.sizes
    source = "trained heads, without further training." if scene.trained else "the heads of a group."
    text = f"Shared keys and values are averages of {source}"
    if sizes.n_kv_heads < sizes.n_heads:
        return f"{scene.title} has {count_noun(sizes.n_kv_heads, 'key and value head')}. {text}"
    return text


def _draw_words(scene: WalkState, variant: Variant, keys: tuple[str, ...]) -> None:
    """Say what the variant is, who shares keys, where the token looks, and what it costs."""
    run, sizes, h, i = variant.run, scene.sizes, scene.h, scene.query
    shift = float(np.linalg.norm(run.output[i] - scene.plain.output[i]))
    length = float(np.linalg.norm(scene.plain.output[i])) or 1.0
    moved = "" if variant.own else f" Its output moves by {percent(shift / length)} of its length."
    best = int(run.weights[h, i].argmax())
    cache_size = format_bytes(kv_cache_bytes(run.n_keys, sizes.d_k, variant.n_kv_heads))
    n_parameters = parameters(sizes.d_model, sizes.n_heads, variant.n_kv_heads, sizes.d_k, sizes.has_bias)[
        "all"
    ]
    board, key = Board(), "inside-words-variants"
    board.add(
        paragraph(_about(variant, scene)),
        heads_of(scene, groups_block(variant.owner, variant.n_kv_heads, h), DOTS),
        paragraph("Dot: query head. Block: key and value head.", "quiet"),
        paragraph(
            f"{{token}} looks most at {{best}}: **{percent(run.weights[h, i, best])}**.{moved}",
            token=scene.token,
            best=keys[best],
        ),
        paragraph(
            f"{n_parameters:,} parameters; K and V of {count_noun(run.n_keys, 'token')}: {cache_size} in 16 bits."
        ),
    )
    if variant.name in ("GQA", "MQA"):
        board.add(paragraph(_pooling(scene), "quiet"))
    board.show(key, on_choice(key, scene), beside=True)


def format_bytes(count: float) -> str:
    """Return bytes in powers of 1,024 with one decimal, or two below ten where the second is not 0."""
    if count < 1024:
        return f"{count:,.0f} bytes"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1024 or unit == "TiB":
            break
    return f"{count:.2f}".removesuffix("0") + f" {unit}" if count < 10 else f"{count:,.1f} {unit}"


def _draw_picture(scene: WalkState, variant: Variant, keys: tuple[str, ...]) -> None:
    """Draw the variant's attention weights, and those of the layer as it is."""
    board, key, h = Board(), "inside-picture-variants", scene.h

    def weights(name: str, run: LayerActivations, ident: str, columns: tuple[str, ...]) -> Block:
        values = np.where(run.allowed, run.weights[h], np.nan) if run.is_causal else run.weights[h]
        block = board.matrix(
            name, values, id=ident, rows=scene.labels, cols=columns, ramp="weight", follow=True,
            high=max(0.5, min(16.0, 280 / run.n)), wide=min(15.0, 250 / len(columns)),
        )  # fmt: skip
        return tokens_of(scene, block, LABELS)

    pictures = [weights("attention weights", variant.run, f"weights-{variant.name}", keys)]
    if not variant.own:
        pictures.append(weights(f"{scene.title} as it is", scene.plain, "weights-own", scene.labels))
    board.add(row(*pictures))
    board.show(key, on_choice(key, scene), query=scene.query)
    board.numbers(key, scene.source)
