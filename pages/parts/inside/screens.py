"""One screen at a time: the drawer of every part of Inside, and the ways between its screens.

In: a part's screens and a scene. Out: map, words, picture, and where the chosen number comes from; Back and Next, the
list, the map and the arrow keys change the URL.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from mha_core.display_names import Head
from pages.parts.frame import url_params
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import markup
from pages.parts.inside.arrays import SQUARE, with_change
from pages.parts.inside.changes import MATRICES, set_number
from pages.parts.inside.number_origin import cell_of, first_cell, origin_blocks
from pages.parts.inside.pictures import softmax_block
from pages.parts.inside.route import route
from pages.parts.inside.scene import WalkState
from pages.parts.inside.selectable import on_choice
from pages.parts.inside.shown_code import Line, screen_lines
from pages.parts.picture.tiles import Block, Board, OnEvent, paragraph, row

Drawing = Callable[[WalkState], None]
Events = Mapping[str, OnEvent]
STAGES = {
    1: "inside-stage-one",
    2: "inside-stage-two",
    3: "inside-stage-three",
}  # styled by assets/css/inside.css


@dataclass(frozen=True)
class Screen:
    """One screen, by its key in the URL.

    `station`: its place on the map. `words`: its paragraphs, {token} the followed token. `array`: the array drawn,
    whose numbers can be chosen; `picture`: blocks instead, where it is more than that array. `formula`: LaTeX.
    `controls`, `below`: what only Streamlit draws, beside the words and under the picture.
    `columns`: side by side, the words, the picture and, where it leaves room, where a number comes from.
    """

    key: str
    title: str
    station: str = ""
    words: str | Callable[[WalkState], Sequence[str | Block]] = ""
    array: str = ""
    picture: Callable[[Board, WalkState], list[Block]] | None = None
    formula: str | Callable[[WalkState], str] = ""
    controls: Drawing | None = None
    below: Drawing | None = None
    columns: int = 2


def show(
    name: str,
    screens: Sequence[Screen],
    scene: WalkState,
    first: str = "",
    on_event: Events | None = None,
    **data: Any,
) -> None:
    """Draw the screen that the URL asks for.

    first: the screen of a URL without one. on_event, data: callbacks and data of the picture beside the walk's own.
    """
    index = _draw_pager(name, screens, first, scene)
    screen = screens[index]
    if screen.array:
        cell = cell_of(url_params.params().get("cell", ""), scene, first_cell(scene, screen.array))
        scene = replace(scene, cell=cell)
    origin = Board()
    if scene.small and screen.key == "weights":
        origin.add(softmax_block(origin, scene))
    origin.add(*origin_blocks(origin, scene))
    columns = 3 if scene.small and (origin.blocks or screen.controls) else screen.columns
    is_wide = columns == 3
    with st.container(key=STAGES[columns]):
        _draw_words(name, scene, screen, index, None if is_wide else screen.controls)
        with (
            st.container(key="inside-picture", gap="small"),
            st.container(key="inside-small" if scene.small else "inside-large"),
        ):
            _draw_picture(f"inside-picture-{name}", scene, screen, on_event or {}, data)
            if screen.below:
                screen.below(scene)
        with st.container(key="inside-origin", gap="small"):
            if is_wide and screen.controls:
                screen.controls(scene)
            if origin.blocks:
                origin.show(f"inside-origin-{name}", {"edit": _on_edit(scene)}, beside=True)


def _draw_pager(name: str, screens: Sequence[Screen], first: str, scene: WalkState) -> int:
    """Draw the map and the ways to other screens; return the place of the one that the URL asks for."""
    keys = [screen.key for screen in screens]
    wanted = url_params.params().get("at", first)
    index = keys.index(wanted) if wanted in keys else 0
    say_unknown("at", keys, screens[index].title)
    board = Board()
    if screens[index].station:
        board.add(route(scene.run, screens[index].station, live=True))
    items = [{"key": screen.key, "title": screen.title} for screen in screens]
    board.add({"type": "pager", "items": items, "now": index})
    events = {"station": partial(_jump, keys), "go": partial(_turn, keys, index)}
    board.show(f"inside-way-{name}", events, keys=True)
    return index


def _jump(keys: Sequence[str], screen: object) -> None:
    """Open the screen that a browser names; a number that was chosen stays behind."""
    if isinstance(screen, str) and screen in keys:
        url_params.change({"at": screen, "cell": None})


def _turn(keys: Sequence[str], index: int, step: object) -> None:
    if isinstance(step, int) and step in (1, -1) and 0 <= index + step < len(keys):
        url_params.change({"at": keys[index + step], "cell": None})


def _draw_words(name: str, scene: WalkState, screen: Screen, index: int, controls: Drawing | None) -> None:
    board, lines = Board(), screen_lines(scene.run, screen.key)
    texts = [screen.words] if isinstance(screen.words, str) else screen.words(scene)
    board.add(*(paragraph(text, token=scene.token) if isinstance(text, str) else text for text in texts))
    with st.container(key="inside-words", gap="small"):
        markup(f'<h2 class="hs-aloud">{index + 1} · {html.escape(screen.title)}</h2>')
        if board.blocks:
            board.show(f"inside-words-{name}", on_choice(scene), beside=True)
        if screen.formula:
            st.latex(screen.formula if isinstance(screen.formula, str) else screen.formula(scene))
        if controls or lines:
            with st.container(
                key="inside-more", horizontal=bool(lines), gap="medium", vertical_alignment="center"
            ):
                if controls:
                    controls(scene)
                if lines:
                    with st.popover("In PyTorch", type="tertiary"):
                        code(*lines)


def _draw_picture(
    key: str, scene: WalkState, screen: Screen, on_event: Events, data: Mapping[str, Any]
) -> None:
    board = Board()
    if screen.picture:
        board.add(*screen.picture(board, scene))
    elif screen.array:
        blocks = with_change(board, scene, screen.array)
        board.add(*([row(*blocks)] if screen.array in SQUARE else blocks))
    if not board.blocks:
        return
    events = {**on_choice(scene), "edit": _on_edit(scene), **on_event, "cell": _choose_cell}
    cell = {"cell": list(scene.cell)} if scene.cell else {}
    board.show(key, events, query=scene.query, **data, **cell)
    board.numbers(key, scene.source)


def _choose_cell(value: object) -> None:
    """Write the chosen number to the URL, counted from 1."""
    if isinstance(value, list) and len(value) == 3 and all(isinstance(part, int) for part in value[1:]):
        url_params.change({"cell": f"{value[0]}:{value[1] + 1}:{value[2] + 1}"})


def _on_edit(scene: WalkState) -> OnEvent:
    """Return the callback for a number that was typed over or put back; the session does not keep the scene with it."""
    return partial(_edit, scene.head, scene.sizes.group(scene.h))


def _edit(head: Head, group: Sequence[int], value: object) -> None:
    if not (isinstance(value, list) and len(value) == 4 and value[0] in ("score", *MATRICES)):
        return
    kind, i, j, number = value
    if isinstance(i, int) and isinstance(j, int) and isinstance(number, int | float | None):
        set_number(head, kind, i, j, number, group)


def code(*lines: Line) -> None:
    """Write lines of torch, their remarks one under the other."""
    width = max(len(line) for line, remark in lines if remark)
    st.code("\n".join(f"{line:<{width}}  # {remark}" if remark else line for line, remark in lines))
