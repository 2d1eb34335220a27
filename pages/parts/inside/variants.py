"""Variants of attention side by side, on one sentence and the same weights.

In: a scene. Out: screens with MHA, GQA, MQA, causal and cross-attention.
"""

from functools import partial

import numpy as np
import streamlit as st

from mha_core import LayerActivations
from mha_core.display_names import count_noun, percent
from mha_core.layer import Variant, group_choices, kv_cache_bytes, middle_groups, parameters, variants
from mha_core.record.grid import piece_units
from pages.parts.frame import loading, url_params
from pages.parts.frame.option_row import say_unknown
from pages.parts.inside.controls import linked
from pages.parts.inside.pictures import groups_block
from pages.parts.inside.scene import WalkState, layer_of
from pages.parts.inside.screens import Screen
from pages.parts.inside.selectable import DOTS, LABELS, heads_of, tokens_of
from pages.parts.picture.tiles import Block, Board, paragraph, row

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


def variant_screens(scene: WalkState) -> list[Screen]:
    """Return a screen for each way to attend. Raises HeadScopeError for a second sentence that cannot be read."""
    groups = _groups(scene)
    tokens = loading.model(scene.request).tokenizer.encode(_second_sentence(scene))

    def compute() -> tuple[Variant, ...]:
        return variants(scene.plain, layer_of(scene.request, tokens, scene.head[0]).x, groups)

    second = tuple(unit.label for unit in piece_units(tokens))
    drawings = {"Cross": _second_box, "GQA": _groups_box}
    return [
        Screen(
            each.name.lower(),
            VARIANTS[each.name][0],
            words=partial(_words, each, second if each.name == "Cross" else scene.labels),
            picture=partial(_picture, each, second if each.name == "Cross" else scene.labels),
            controls=drawings.get(each.name),
        )
        for each in scene.cached(("variants", tokens.text, groups), compute)
    ]


def _second_sentence(scene: WalkState) -> str:
    return url_params.params().get("across") or scene.request.pair or SECOND


def _second_box(scene: WalkState) -> None:
    first = scene.request.pair or SECOND
    linked(
        st.text_input, "Second sentence", "across", _second_sentence(scene), first=first, as_text=str.strip,
        max_chars=500,
    )  # fmt: skip


def _groups(scene: WalkState) -> int | None:
    """Return the number of key heads of the grouped variant, the URL's if it can be; None where none can."""
    choices, own = group_choices(scene.sizes), scene.sizes.n_kv_heads
    if len(choices) < 2:
        return choices[0] if choices else None
    by_name = {str(choice): choice for choice in choices}
    return by_name.get(url_params.params().get("groups", ""), own if own in choices else middle_groups(own))


def _groups_box(scene: WalkState) -> None:
    if len(options := group_choices(scene.sizes)) > 1:
        say_unknown("groups", options, _groups(scene))
        linked(st.selectbox, "Groups", "groups", _groups(scene), options=options, width=110)


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


def _words(variant: Variant, keys: tuple[str, ...], scene: WalkState) -> list[Block]:
    """Say what the variant is, who shares keys, where the token looks, and what it costs."""
    run, sizes, h, i = variant.run, scene.sizes, scene.h, scene.query
    shift = float(np.linalg.norm(run.output[i] - scene.plain.output[i]))
    length = float(np.linalg.norm(scene.plain.output[i])) or 1.0
    moved = "" if variant.own else f" Its output moves by {percent(shift / length)} of its length."
    best = int(run.weights[h, i].argmax())
    kibibytes = kv_cache_bytes(run.n_keys, sizes.d_k, variant.n_kv_heads) / 1024
    counts = parameters(sizes.d_model, sizes.n_heads, variant.n_kv_heads, sizes.d_k, sizes.has_bias)
    return [
        paragraph(_about(variant, scene)),
        heads_of(scene, groups_block(variant.owner, variant.n_kv_heads, h), DOTS),
        paragraph("Dot: query head. Block: key and value head.", "quiet"),
        paragraph(
            f"{{token}} looks most at {{best}}: **{percent(run.weights[h, i, best])}**.{moved}",
            token=scene.token,
            best=keys[best],
        ),
        paragraph(
            f"{counts['all']:,} parameters; K and V of {count_noun(run.n_keys, 'token')}: "
            f"{kibibytes:,.4g} KiB in 16 bits."
        ),
        *([paragraph(_pooling(scene), "quiet")] if variant.name in ("GQA", "MQA") else []),
    ]


def _picture(variant: Variant, keys: tuple[str, ...], board: Board, scene: WalkState) -> list[Block]:
    """Draw the variant's attention weights, and those of the layer as it is."""

    def weights(name: str, run: LayerActivations, ident: str, columns: tuple[str, ...]) -> Block:
        values = (
            np.where(run.allowed, run.weights[scene.h], np.nan) if run.is_causal else run.weights[scene.h]
        )
        block = board.matrix(
            name, values, id=ident, rows=scene.labels, cols=columns, ramp="weight", follow=True,
            high=max(0.5, min(16.0, 280 / run.n)), wide=min(15.0, 250 / len(columns)),
        )  # fmt: skip
        return tokens_of(scene, block, LABELS)

    pictures = [weights("attention weights", variant.run, f"weights-{variant.name}", keys)]
    if not variant.own:
        pictures.append(weights(f"{scene.title} as it is", scene.plain, "weights-own", scene.labels))
    return [row(*pictures)]
