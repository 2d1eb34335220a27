"""The screens of the walk, from the sentence to torch, for the worked example and for a real layer alike.

In: a scene. Out: the stage of one screen on the page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from mha_core.wording import Head
from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.inside import check, output_steps, projection_steps, rotation, selectable, steps
from pages.parts.inside.changes import MATRICES, set_number
from pages.parts.inside.number_origin import cell_of, fill, first_cell
from pages.parts.inside.route import route
from pages.parts.inside.scene import Scene, code
from pages.parts.inside.screens import Screen, aloud, here, way
from pages.parts.inside.stage import Stage

SCREENS = (
    Screen("sentence", "Tokens", projection_steps.sentence, "sentence"),
    Screen("x", "The input X", projection_steps.x, "x", "X"),
    Screen("qkv", "Projections: query, key, value", projection_steps.qkv, "qkv", "Q"),
    Screen("heads", "Split into heads", projection_steps.heads, "qkv", "Q-all"),
    Screen("rotation", "Rotary positions", rotation.rotation, "qkv"),
    Screen("distance", "Scores depend on distance", rotation.distance, "qkv"),
    Screen("scores", "Dot products: Q Kᵀ", steps.scores, "scores", "raw"),
    Screen("scaled", "Scores: scaled and masked", steps.scaled, "scores", "scores"),
    Screen("weights", "Softmax: attention weights", steps.weights, "weights", "weights"),
    Screen("z", "Head output", steps.z, "z", "z"),
    Screen("row", "One token, step by step", steps.one_query, "z"),
    Screen("w_o", "Concatenate the heads", output_steps.side_by_side, "w_o", "Z"),
    Screen("output", "Output projection: W_o", output_steps.output, "output", "output"),
    Screen("parts", "Contribution of each head", output_steps.parts, "output", "parts"),
    Screen("gone", "Zero ablation", output_steps.gone, "output"),
    Screen("torch", "The same in PyTorch", check.equal, "output"),
)
ROTATED = ("rotation", "distance")
OF_A_LAYER = ("gone",)
BESIDE = ("scores", "scaled", "parts")  # their pictures leave room for a third column
WHOLE = ("row",)  # its table needs all of the width


def screens_of(scene: Scene) -> tuple[Screen, ...]:
    """Those that this model has."""
    left_out = (() if scene.plain.rotary is not None else ROTATED) + (OF_A_LAYER if scene.small else ())
    return tuple(screen for screen in SCREENS if screen.key not in left_out)


def show(
    scene: Scene,
    *,
    first: str = "",
    controls: Mapping[str, Callable[[], None]] | None = None,
    **pictures: Any,
) -> None:
    """The screen that the link asks for: the map, the words, the picture, where a number comes from."""
    screens = screens_of(scene)
    at = here(screens, first)
    screen = screens[at]
    name, group = "example" if scene.small else "walk", scene.sizes.group(scene.h)
    way(f"inside-way-{name}", screens, at, route(scene.now, screen.station, live=True))
    opening = first_cell(scene, screen.cell) if screen.cell else None
    cell = cell_of(state.params().get("cell", ""), scene, opening) if screen.cell else None
    scene = replace(scene, cell=cell)
    stage = Stage()
    screen.draw(scene, stage)
    fill(stage.origin, scene)
    drawn = [draw for draw in ((controls or {}).get(screen.key), stage.controls) if draw]
    wide = screen.key in BESIDE or (
        scene.small and screen.key not in WHOLE and bool(stage.origin.blocks or drawn)
    )
    with st.container(key="inside-stage-three" if wide else "inside-stage-two"):
        _words(scene, screen, stage, at, [] if wide else drawn)
        with (
            st.container(key="inside-picture", gap="small"),
            st.container(key="inside-small" if scene.small else "inside-large"),
        ):
            if stage.picture.blocks:
                told = {
                    **({} if scene.small else selectable.told(f"inside-picture-{name}", scene)),
                    "cell": partial(_ask, name),
                    "edit": partial(_edit, f"inside-picture-{name}", scene.head, group),
                }
                stage.picture.show(
                    f"inside-picture-{name}", told | pictures.get("told", {}), **_data(scene, pictures)
                )
                stage.picture.numbers(f"inside-picture-{name}", scene.source)
            if stage.below:
                stage.below()
        with st.container(key="inside-origin", gap="small"):
            for draw in drawn if wide else []:
                draw()
            if stage.origin.blocks:
                stage.origin.show(
                    f"inside-origin-{name}",
                    {"edit": partial(_edit, f"inside-origin-{name}", scene.head, group)},
                    beside=True,
                )


def _data(scene: Scene, pictures: Mapping[str, Any]) -> dict[str, Any]:
    data = {"query": scene.query, **pictures.get("data", {})}
    return data | ({"cell": list(scene.cell)} if scene.cell else {})


def _words(
    scene: Scene, screen: Screen, stage: Stage, at: int, controls: Sequence[Callable[[], None]]
) -> None:
    with st.container(key="inside-words", gap="small"):
        aloud(at, screen)
        stage.words.show(f"inside-words-{'example' if scene.small else 'walk'}", beside=True)
        if stage.latex:
            st.latex(stage.latex)
        with st.container(key="inside-more", horizontal=True, gap="medium", vertical_alignment="center"):
            for draw in controls:
                draw()
            if stage.lines:
                with st.popover("In PyTorch", type="tertiary"):
                    code(*stage.lines)


def _ask(name: str) -> None:
    """The reader chose a number: the link says which, counted from 1."""
    value = heard_from(f"inside-picture-{name}", "cell")
    if isinstance(value, list) and len(value) == 3 and all(isinstance(part, int) for part in value[1:]):
        state.change({"cell": f"{value[0]}:{value[1] + 1}:{value[2] + 1}"})


def _edit(key: str, head: Head, group: Sequence[int]) -> None:
    """The reader typed another number, or put one back."""
    value = heard_from(key, "edit")
    if not (isinstance(value, list) and len(value) == 4 and value[0] in ("score", *MATRICES)):
        return
    kind, row, column, number = value
    if (
        isinstance(row, int)
        and isinstance(column, int)
        and (number is None or isinstance(number, int | float))
    ):
        set_number(head, kind, row, column, number, group)
