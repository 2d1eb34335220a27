"""Pictures whose tokens and heads can be chosen: one Tab stop each, arrow keys move, Enter or a click chooses.

In: a scene and a block. Out: the block, choosable, and what to do with the choice.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from mha_core.wording import head_name
from pages.parts.frame import state
from pages.parts.frame.page_text import visible
from pages.parts.frame.selection import parse_head
from pages.parts.inside.scene import Scene, token_chosen
from pages.parts.picture.tiles import Block

LABELS = ".labels span"  # the rows of a matrix
TILE_LABELS = ".label.line"  # the rows of tiles
WORDS = "td.word"
DOTS = "circle"


def choosing(
    item: Block,
    select: str,
    tells: str,
    values: list[str | int],
    names: list[str],
    now: int | None,
    line: int = 1,
) -> Block:
    """A picture whose words or heads can be chosen; `select` finds them in it, in order, `line` of them in a row."""
    return {
        "type": "choosing",
        "item": item,
        "select": select,
        "tells": tells,
        "values": values,
        "labels": names,
        "now": now,
        "line": line,
    }


def heads_of(scene: Scene, item: Block, select: str) -> Block:
    """A picture in which the heads of the layer can be chosen."""
    heads = [head_name((scene.head[0], i)) for i in range(scene.sizes.n_heads)]
    return choosing(item, select, "head", list(heads), [f"Head {name}" for name in heads], scene.h)


def tokens_of(scene: Scene, item: Block, select: str, shown: list[int] | None = None) -> Block:
    """A picture in which the tokens can be chosen."""
    places = list(range(len(scene.labels))) if shown is None else shown
    names = [f"Follow {visible(scene.labels[i])}" for i in places]
    now = places.index(scene.query) if scene.query in places else None
    return choosing(item, select, "token", list(places), names, now)


def told(board: str, scene: Scene) -> dict[str, Callable[[], None]]:
    """What to do when a token or a head is chosen on a board of the reader's own sentence."""
    sentence, layer = scene.key.partition("-")[0], scene.head[0]
    return {
        "token": partial(token_chosen, board, "token", sentence),
        "head": partial(_head, board, layer, scene.sizes.n_heads),
    }


def _head(board: str, layer: int, count: int) -> None:
    value = st.session_state.get(board, {}).get("head")
    head = parse_head(value) if isinstance(value, str) else None
    if head is not None and head[0] == layer and head[1] < count:
        state.change({"head": head_name(head), "cell": None})
