"""Choice of a head and a token: the bar above a walk, and pictures whose tokens and heads can be pressed.

A picture has one Tab stop; arrow keys move, Enter or a click chooses. In: a scene and a block. Out: the block,
choosable, and the callbacks of a choice; the URL keeps it.
"""

from functools import partial

import streamlit as st

from mha_core.display_names import head_name, visible
from pages.parts.frame import loading, url_params
from pages.parts.frame.selection import parse_head
from pages.parts.inside.scene import WalkState, follow
from pages.parts.picture.tiles import Block, Board, OnEvent, token_row

LABELS = ".labels span"  # the rows of a matrix
TILE_LABELS = ".label.line"  # the rows of tiles
WORDS = "td.word"
DOTS = "circle"
BARS = ".bar-item"


def choosing(
    item: Block,
    select: str,
    tells: str,
    values: list[str | int],
    names: list[str],
    chosen: int | None,
    line: int = 1,
) -> Block:
    """Make words or heads of a picture choosable; `select` finds them in it, in order, `line` of them in a row."""
    names = (
        [f"{name}, {text}" for name, text in zip(names, item["texts"], strict=False)]
        if "texts" in item
        else names
    )
    block = {"type": "choosing", "item": item, "select": select, "tells": tells, "values": values}
    return {**block, "labels": names, "now": chosen, "line": line}


def heads_of(scene: WalkState, item: Block, select: str) -> Block:
    """Make the heads of a picture choosable."""
    names = [f"Head {name}" for name in scene.heads]
    return choosing(item, select, "head", list(scene.heads), names, scene.h)


def tokens_of(scene: WalkState, item: Block, select: str, shown: list[int] | None = None) -> Block:
    """Make the tokens of a picture choosable, all or those shown."""
    places = list(range(len(scene.labels))) if shown is None else shown
    names = [f"Follow {visible(scene.labels[i])}" for i in places]
    chosen = places.index(scene.query) if scene.query in places else None
    return choosing(item, select, "token", list(places), names, chosen)


def on_choice(scene: WalkState) -> dict[str, OnEvent]:
    """Return the callbacks for a token or a head chosen on a board of the user's own sentence."""
    return {
        "token": partial(follow, scene.sentence),
        "head": partial(_choose_head, scene.head[0], scene.sizes.n_heads),
    }


def _choose_head(layer: int, count: int, value: object) -> None:
    head = parse_head(value) if isinstance(value, str) else None
    if head is not None and head[0] == layer and head[1] < count:
        url_params.change({"head": head_name(head), "cell": None})


def draw_bar(scene: WalkState) -> None:
    """Draw the tokens to follow one of, and layer and head, numbered from 1."""
    model = loading.model(scene.request)
    st.session_state["inside-layer"], st.session_state["inside-head"] = scene.head
    with st.container(key="inside-bar", horizontal=True, gap="small", vertical_alignment="center"):
        board = Board()
        board.add(token_row(scene.labels, scene.special, "Token to follow", line=True, trigger="follow"))
        events = {"follow": partial(follow, scene.sentence)}
        board.show(f"inside-token-{scene.sentence}", events, query=scene.query)
        for name, count in (("layer", model.n_layers), ("head", model.n_heads)):
            st.selectbox(
                name.capitalize(),
                range(count),
                key=f"inside-{name}",
                width=110,
                format_func=partial(_numbered, name),
                label_visibility="collapsed",
                on_change=_head_chosen,
            )


def _numbered(name: str, index: int) -> str:
    return f"{name} {index + 1}"


def _head_chosen() -> None:
    head = (st.session_state["inside-layer"] or 0, st.session_state["inside-head"] or 0)
    url_params.change({"head": head_name(head), "cell": None})
