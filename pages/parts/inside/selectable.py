"""Pictures whose tokens and heads can be chosen: one Tab stop each, arrow keys move, Enter or a click chooses.

In: a scene and a block. Out: the block, choosable, and the callbacks of a choice.
"""

from collections.abc import Callable
from functools import partial

from mha_core.display_names import head_name
from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.page_text import visible
from pages.parts.frame.selection import parse_head
from pages.parts.inside.scene import WalkState, token_chosen
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
    chosen: int | None,
    line: int = 1,
) -> Block:
    """Make words or heads of a picture choosable; `select` finds them in it, in order, `line` of them in a row."""
    block = {"type": "choosing", "item": item, "select": select, "tells": tells, "values": values}
    return {**block, "labels": names, "now": chosen, "line": line}


def heads_of(scene: WalkState, item: Block, select: str) -> Block:
    """Make the heads of a picture choosable."""
    heads = [head_name((scene.head[0], i)) for i in range(scene.sizes.n_heads)]
    return choosing(item, select, "head", list(heads), [f"Head {name}" for name in heads], scene.h)


def tokens_of(scene: WalkState, item: Block, select: str, shown: list[int] | None = None) -> Block:
    """Make the tokens of a picture choosable, all or those shown."""
    places = list(range(len(scene.labels))) if shown is None else shown
    names = [f"Follow {visible(scene.labels[i])}" for i in places]
    chosen = places.index(scene.query) if scene.query in places else None
    return choosing(item, select, "token", list(places), names, chosen)


def on_choice(board: str, scene: WalkState) -> dict[str, Callable[[], None]]:
    """Return the callbacks for a token or a head chosen on a board of the user's own sentence."""
    sentence, layer = scene.key.partition("-")[0], scene.head[0]
    return {
        "token": partial(token_chosen, board, "token", sentence),
        "head": partial(_choose_head, board, layer, scene.sizes.n_heads),
    }


def _choose_head(board: str, layer: int, count: int) -> None:
    value = heard_from(board, "head")
    head = parse_head(value) if isinstance(value, str) else None
    if head is not None and head[0] == layer and head[1] < count:
        state.change({"head": head_name(head), "cell": None})
