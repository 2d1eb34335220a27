"""What every part of Inside needs: the layer run on the reader's sentence, a head, a token, and how to say numbers.

In: what the reader asked for. Out: a `Scene`; the head and the token stay in the link.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from pathlib import Path

import streamlit as st

from mha_core import LayerDetails, Record, Unit, layer_details
from mha_core.inside import (
    Edits,
    HeadWeights,
    Parity,
    Walk,
    equal_to_torch,
    walk,
    weights_from,
)
from mha_core.record import piece_units
from mha_core.wording import Head
from pages.parts.frame import shell, state
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture.tiles import Board, paragraph, token_row
from pages.parts.serve import cache

PAGE = Path(__file__).parents[3] / "assets" / "css" / "inside.css"
SHOWN_KEYS = 40


def style() -> None:
    """The little that this page adds to the frame's own style."""
    st.html(PAGE)


@dataclass(frozen=True)
class Scene:
    """What every step needs: the layer as it is and as the reader changed it, one head, one token."""

    labels: tuple[str, ...]
    special: tuple[bool, ...]
    head: Head
    query: int
    plain: Walk
    now: Walk
    key: str
    request: Request

    @property
    def h(self) -> int:
        return self.head[1]

    @property
    def token(self) -> str:
        return self.labels[self.query]

    @property
    def sizes(self) -> HeadWeights:
        return self.now.weights_used


def details_of(request: Request, text: str, pair: str | None, layer: int) -> LayerDetails:
    """What one layer (from 0) computed for a text; the last ones are kept."""
    used = cache.model(request)

    def make() -> LayerDetails:
        return layer_details(used.tokenizer.encode(text, pair), used, layer)

    return cache.of_run(replace(request, text=text, pair=pair).run, used, ("layer", layer), make)


def run_of(request: Request, layer: int, edits: Edits) -> Walk:
    """The layer run on the reader's sentence with these changes; the last ones are kept."""
    found = details_of(request, request.text, request.pair, layer)
    part = ("walk", layer, edits)
    return cache.of_run(
        request.run, cache.model(request), part, lambda: walk(found.x, weights_from(found), edits)
    )


def parity_of(request: Request, layer: int, run: Walk) -> Parity:
    """How far torch is from this run."""
    part = ("parity", layer, run.edits)
    return cache.of_run(request.run, cache.model(request), part, lambda: equal_to_torch(run))


@dataclass(frozen=True)
class Picked:
    """The head and the token the reader follows; `key` names this sentence."""

    units: tuple[Unit, ...]
    head: Head
    query: int
    key: str


def pick(request: Request, record: Record) -> Picked:
    """Layer, head and token: from the link first, then as the reader chooses; the link follows."""
    units = piece_units(record.tokens)
    grid = record.grid(words=request.words, specials=request.specials)
    asked_for = shell.selection(request, grid.weights.shape, grid.labels)
    head = choose_head(record, asked_for.head)
    asked = grid.units[asked_for.pins[0]].pieces[0] if asked_for.pins else 0
    key = sentence_key(units)
    query = choose_token(units, asked, f"inside-token-{key}")
    place = next((i for i, unit in enumerate(grid.units) if query in unit.pieces), None)
    state.keep(Selection(head, asked_for.pins if place is None else (place,), asked_for.to))
    state.write()
    return Picked(units, head, query, key)


def sentence_key(units: Sequence[Unit]) -> str:
    """Names a sentence, so that what a reader did in one is not taken for another."""
    return blake2s(repr([unit.label for unit in units]).encode(), digest_size=6).hexdigest()


def choose_head(record: Record, opening: Head) -> Head:
    """Layer and head, numbered from 1 on the screen."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        layer = st.selectbox(
            "Layer", range(record.n_layers), opening[0], key="inside-layer", width=110, format_func=_from_one
        )
        head = st.selectbox(
            "Head", range(record.n_heads), opening[1], key="inside-head", width=110, format_func=_from_one
        )
    return (layer or 0, head or 0)


def _from_one(position: int) -> str:
    return str(position + 1)


def choose_token(units: Sequence[Unit], opening: int, key: str) -> int:
    """The token to follow; the picture marks it without asking the server."""
    chosen = st.session_state.get(key, {}).get("query", opening)
    chosen = chosen if isinstance(chosen, int) and 0 <= chosen < len(units) else opening
    board = Board()
    board.add(
        paragraph("Choose a token to follow:"),
        token_row([u.label for u in units], [u.special for u in units], "Token to follow"),
    )
    given = board.show(key, {"query": nothing}, query=chosen).query
    return given if isinstance(given, int) and 0 <= given < len(units) else chosen


def nothing() -> None:
    """A component needs a callback for each of its states; the page reads the state itself."""


def make_plain(request: Request, picked: Picked) -> Scene | None:
    """The layer as the model has it, with nothing changed."""
    plain = shell.attempt(run_of, request, picked.head[0], Edits())
    if plain is None:
        return None
    labels = tuple(unit.label for unit in picked.units)
    special = tuple(unit.special for unit in picked.units)
    key = f"{picked.key}-{picked.head[0]}-{picked.head[1]}-{picked.query}"
    return Scene(labels, special, picked.head, picked.query, plain, plain, key, request)


def formula(latex: str, *lines: tuple[str, str]) -> None:
    """The formula, and the lines of torch that do it with the shapes that come out."""
    left, right = st.columns([2, 3], vertical_alignment="center")
    left.latex(latex)
    with right:
        code(*lines)


def code(*lines: tuple[str, str]) -> None:
    """Lines of torch, their remarks one under the other."""
    wide = max(len(line) for line, remark in lines if remark)
    board = Board()
    shown = [[f"{line:<{wide}}" if remark else line, remark] for line, remark in lines]
    board.add({"type": "code", "lines": shown})
    board.show(f"code-{lines[0][0]}")


def gap(difference: float) -> str:
    """A difference as it is printed; nothing at all is said as 0."""
    return f"{difference:.1e}" if difference else "0"
