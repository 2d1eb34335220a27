"""The walk as a table of screens, from the sentence to torch, for the worked example and for a real layer alike.

In: a scene. Out: one screen on the page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from mha_core import LayerActivations
from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.inside import rotation, selectable, shown_code, walk_controls, walk_tables
from pages.parts.inside import walk_pictures as pictures
from pages.parts.inside import walk_words as words
from pages.parts.inside.arrays import SQUARE, with_change
from pages.parts.inside.changes import MATRICES, set_number
from pages.parts.inside.number_origin import cell_of, first_cell, origin_blocks
from pages.parts.inside.route import route
from pages.parts.inside.scene import WalkState, code
from pages.parts.inside.screens import Screen, draw_pager, heading, here
from pages.parts.picture.tiles import Block, Board, paragraph, row

Drawing = Callable[[WalkState], None]


@dataclass(frozen=True)
class WalkScreen(Screen):
    """One screen of the walk.

    `station`: its place on the map. `words`: its paragraphs, {token} the followed token. `array`: the array drawn,
    whose numbers can be chosen; `picture`: blocks instead, where it is more than that array. `formula`: LaTeX. `torch`:
    the same in torch. `controls`, `below`: what only Streamlit draws, beside the words and under the picture.
    """

    station: str = ""
    words: str | Callable[[WalkState], Sequence[str | Block]] = ""
    array: str = ""
    picture: Callable[[Board, WalkState], list[Block]] | None = None
    formula: str | Callable[[WalkState], str] = ""
    torch: Callable[[LayerActivations], list[shown_code.Line]] = lambda _: []
    controls: Drawing | None = None
    below: Drawing | None = None


def _bias(scene: WalkState) -> str:
    return "" if scene.sizes.b_o is None else " + b_o"


SCREENS = (
    WalkScreen(
        "sentence", "Tokens", station="sentence", words=words.sentence, below=walk_tables.token_table
    ),
    WalkScreen("x", "The input X", station="x", words=words.x, array="X", picture=pictures.x),
    WalkScreen(
        "qkv", "Projections: query, key, value", station="qkv", words=words.qkv, array="Q", picture=pictures.qkv,
        formula=lambda scene: words.projection_formula(scene.sizes), torch=shown_code.projection_lines,
        controls=walk_controls.matrices,
    ),
    WalkScreen(
        "heads", "Split into heads", station="qkv", words=words.heads, array="Q-all", picture=pictures.heads,
        torch=shown_code.head_lines,
    ),
    WalkScreen(
        "rotation", "Rotary positions", station="qkv", words=rotation.rotation_words, picture=rotation.rotation,
        formula=rotation.angle_formula, torch=shown_code.rotation_lines,
    ),
    WalkScreen(
        "distance", "Scores depend on distance", station="qkv", words=rotation.distance_words,
        picture=rotation.turned_by_hand, formula=rotation.MATRIX, controls=walk_controls.pair,
        below=rotation.distance_charts,
    ),
    WalkScreen(
        "scores", "Dot products: Q Kᵀ", station="scores", words=words.scores, array="raw", formula=r"Q K^\top",
        torch=shown_code.product_lines,
    ),
    WalkScreen(
        "scaled", "Scores: scaled and masked", station="scores", words=words.scaled, array="scores",
        picture=pictures.scaled, formula=r"\frac{QK^\top}{\sqrt{d_k}} + M", torch=shown_code.score_lines,
        controls=walk_controls.changes,
    ),
    WalkScreen(
        "weights", "Softmax: attention weights", station="weights", words=words.weights, array="weights",
        picture=pictures.weights, torch=shown_code.weight_lines,
        formula=r"A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)",
    ),
    WalkScreen(
        "z", "Head output", station="z",
        words="A row of Z, the [[context|head output]], is a weighted mean: each value times its attention weight, "
        "added up.", array="z", picture=pictures.z,
        formula=r"z_i = \sum_j a_{ij}\, v_j", torch=shown_code.mixing_lines,
    ),
    WalkScreen(
        "row", "One token, step by step", station="z",
        words="The row of {token}: its q with each k, their dot product, the score, the weight, and the weighted "
        "value. The last column adds up to z.", picture=pictures.one_query,
        formula=r"z_i = \sum_j \mathrm{softmax}_j\!\left(\tfrac{q_i \cdot k_j}{\sqrt{d_k}}\right) v_j",
    ),
    WalkScreen(
        "w_o", "Concatenate the heads", station="w_o", words=words.concatenated, array="Z",
        picture=pictures.concatenated, formula=r"Z = \mathrm{Concat}(z_1, \dots, z_h)",
        torch=shown_code.concatenation_lines,
    ),
    WalkScreen(
        "output", "Output projection: W_o", station="output", words=words.output, array="output",
        picture=pictures.output, formula=lambda scene: r"\mathrm{output} = Z\,W_o" + _bias(scene),
        torch=shown_code.residual_lines, controls=walk_controls.output_matrix,
    ),
    WalkScreen(
        "parts", "Contribution of each head", station="output", words=words.parts, array="parts",
        picture=pictures.parts, controls=walk_tables.head_table,
        formula=lambda scene: r"\mathrm{output} = \sum_{i=1}^{h} z_i\,W_o^{(i)}" + _bias(scene),
    ),
    WalkScreen(
        "gone", "Zero ablation", station="output",
        words="[[ablation|Zero-ablate]] heads: their rows of W_o become zero. This is one layer; Experiment shows what "
        "later layers do.", below=walk_tables.ablated_heads
    ),
    WalkScreen(
        "torch", "The same in PyTorch", station="output", words=words.parity, below=walk_tables.torch_program
    ),
)  # fmt: skip
ROTATED = ("rotation", "distance")
OF_A_LAYER = ("gone",)
BESIDE = ("scores", "scaled", "parts")  # their pictures leave room for a third column
WHOLE = ("row",)  # its table needs all of the width


def show(
    scene: WalkState,
    *,
    first: str = "",
    on_event: Mapping[str, Callable[[], None]] | None = None,
    **data: Any,
) -> None:
    """Draw the screen that the URL asks for: map, words, picture, and where the chosen number comes from.

    first: the screen of a URL without one. on_event, data: callbacks and data of the picture beside the walk's own.
    """
    left_out = (() if scene.plain.rotary is not None else ROTATED) + (OF_A_LAYER if scene.small else ())
    screens = tuple(screen for screen in SCREENS if screen.key not in left_out)
    index, name = here(screens, first), "example" if scene.small else "walk"
    screen = screens[index]
    draw_pager(f"inside-way-{name}", screens, index, route(scene.now, screen.station, live=True))
    if screen.array:
        scene = replace(
            scene, cell=cell_of(state.params().get("cell", ""), scene, first_cell(scene, screen.array))
        )
    origin = Board()
    if scene.small and screen.key == "weights":
        origin.add(pictures.softmax_block(origin, scene))
    origin.add(*origin_blocks(origin, scene))
    is_wide = screen.key in BESIDE or (
        scene.small and screen.key not in WHOLE and bool(origin.blocks or screen.controls)
    )
    with st.container(key="inside-stage-three" if is_wide else "inside-stage-two"):
        _draw_words(scene, screen, index, None if is_wide else screen.controls)
        with (
            st.container(key="inside-picture", gap="small"),
            st.container(key="inside-small" if scene.small else "inside-large"),
        ):
            _draw_picture(scene, screen, f"inside-picture-{name}", on_event or {}, data)
            if screen.below:
                screen.below(scene)
        with st.container(key="inside-origin", gap="small"):
            if is_wide and screen.controls:
                screen.controls(scene)
            if origin.blocks:
                origin.show(f"inside-origin-{name}", _on_edit(f"inside-origin-{name}", scene), beside=True)


def _draw_words(scene: WalkState, screen: WalkScreen, index: int, controls: Drawing | None) -> None:
    board, formula, lines = Board(), screen.formula, screen.torch(scene.now)
    texts = [screen.words] if isinstance(screen.words, str) else screen.words(scene)
    board.add(*(paragraph(text, token=scene.token) if isinstance(text, str) else text for text in texts))
    with st.container(key="inside-words", gap="small"):
        heading(index, screen)
        board.show(f"inside-words-{'example' if scene.small else 'walk'}", beside=True)
        if formula:
            st.latex(formula if isinstance(formula, str) else formula(scene))
        with st.container(key="inside-more", horizontal=True, gap="medium", vertical_alignment="center"):
            if controls:
                controls(scene)
            if lines:
                with st.popover("In PyTorch", type="tertiary"):
                    code(*lines)


def _draw_picture(
    scene: WalkState,
    screen: WalkScreen,
    key: str,
    on_event: Mapping[str, Callable[[], None]],
    data: Mapping[str, Any],
) -> None:
    board = Board()
    if screen.picture:
        board.add(*screen.picture(board, scene))
    elif screen.array:
        blocks = with_change(board, scene, screen.array)
        board.add(*([row(*blocks)] if screen.array in SQUARE else blocks))
    if not board.blocks:
        return
    choice = {} if scene.small else selectable.on_choice(key, scene)
    on_event = {**choice, "cell": partial(_choose_cell, key), **_on_edit(key, scene), **on_event}
    cell = {"cell": list(scene.cell)} if scene.cell else {}
    board.show(key, on_event, query=scene.query, **data, **cell)
    board.numbers(key, scene.source)


def _choose_cell(key: str) -> None:
    """Write the chosen number to the URL, counted from 1."""
    value = heard_from(key, "cell")
    if isinstance(value, list) and len(value) == 3 and all(isinstance(part, int) for part in value[1:]):
        state.change({"cell": f"{value[0]}:{value[1] + 1}:{value[2] + 1}"})


def _on_edit(key: str, scene: WalkState) -> dict[str, Callable[[], None]]:
    """Return the callback for a number that was typed over, or put back."""
    head, group = scene.head, scene.sizes.group(scene.h)

    def edit() -> None:
        value = heard_from(key, "edit")
        if not (isinstance(value, list) and len(value) == 4 and value[0] in ("score", *MATRICES)):
            return
        kind, i, j, number = value
        if isinstance(i, int) and isinstance(j, int) and isinstance(number, int | float | None):
            set_number(head, kind, i, j, number, group)

    return {"edit": edit}
