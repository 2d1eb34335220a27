"""State that every part of Inside shares: the layer run on the user's sentence, a head and a token.

In: a request. Out: a `WalkState`; the head and the token stay in the URL.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2s
from pathlib import Path
from typing import TypeVar

import streamlit as st

from mha_core import (
    AttentionRecord,
    Grid,
    LayerActivations,
    Projections,
    Tokens,
    Unit,
    layer_details,
    projections_of,
)
from mha_core.display_names import Head, head_name
from mha_core.layer import Edits, Parity, edited, equal_to_torch
from mha_core.models.model_list import step_of
from mha_core.record.grid import piece_units
from pages.parts.frame import loading, shell, state
from pages.parts.frame.context import Context, followed_context
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture.tiles import Board, token_row
from pages.parts.serve import cache

CSS = Path(__file__).parents[3] / "assets" / "css"
SHOWN_KEYS = 40
FOLLOWED, PLACES = "followed", "places"
T = TypeVar("T")
Cell = tuple[str, int, int]  # a number: its array, row and column, from 0


def style() -> None:
    """Add this page's own style."""
    st.html(CSS / "inside.css")
    if state.params().get("present") == "1":
        st.html(CSS / "inside_present.css")


@dataclass(frozen=True)
class WalkState:
    """A layer as the model ran it (`plain`) and as the user changed it (`now`), one head, one token to follow.

    `small`: the worked example, with each number written out; `together`: there, one matrix makes Q, K and V.
    `with_matrices`: draw W_q, W_k, W_v, W_o as well. `cell`: the chosen number. `key`: its name for widgets.
    """

    labels: tuple[str, ...]
    special: tuple[bool, ...]
    head: Head
    query: int
    plain: LayerActivations
    now: LayerActivations
    key: str
    request: Request
    small: bool = False
    together: bool = True
    with_matrices: bool = False
    cell: Cell | None = None

    @property
    def h(self) -> int:
        return self.head[1]

    @property
    def kv(self) -> int:
        """The key and value head that this head uses, from 0."""
        return self.sizes.kv_head(self.h)

    @property
    def token(self) -> str:
        return self.labels[self.query]

    @property
    def sizes(self) -> Projections:
        return self.now.projections

    @property
    def title(self) -> str:
        """The model's name in a sentence, without its storage format."""
        if self.small:
            return "the example"
        return loading.model(self.request).title.partition(",")[0]

    @property
    def source(self) -> dict[str, str]:
        """Model, head and text behind its numbers, for files."""
        return {"model": self.title, "head": head_name(self.head), "text": self.request.text}

    @property
    def trained(self) -> bool:
        """Whether the numbers of the matrices were learned: not with random weights, nor before the first step."""
        return self.request.trained and step_of(self.request.model) != 0

    @property
    def there(self) -> tuple[str, ...]:
        """Tokens visible to the followed one: all, or under a causal model those up to itself."""
        return self.labels[: self.now.seen(self.query)]

    @property
    def changed(self) -> bool:
        """Whether the reader changed anything."""
        return self.now is not self.plain

    def kept(self, part: Hashable, make: Callable[[], T]) -> T:
        """Return a result computed of the layer as the model ran it, cached."""
        if self.small:
            return make()
        return cache.of_run(self.request.run, loading.model(self.request), (self.head[0], part), make)


def layer_of(request: Request, tokens: Tokens, layer: int) -> LayerActivations:
    """Return what one layer (from 0) computed for a text, cached; its weights are cached once for all texts."""
    model = loading.model(request)

    def make() -> LayerActivations:
        weights = cache.of_model(model, ("projections", layer), lambda: projections_of(model, layer))
        return layer_details(tokens, model, layer, projections=weights)

    run = replace(request, text=tokens.text, pair=tokens.pair).run
    return cache.of_run(run, model, ("layer", layer), make)


def run_of(request: Request, tokens: Tokens, layer: int, edits: Edits) -> LayerActivations:
    """Run the layer on the user's sentence with these changes; without any, return the model's own run."""
    plain = layer_of(request, tokens, layer)
    if not edits.any:
        return plain
    key = ("edited", layer, edits)
    return cache.of_run(request.run, loading.model(request), key, lambda: edited(plain, edits))


def parity_of(scene: WalkState) -> Parity:
    """Return the difference between torch and this run."""
    return scene.kept(("parity", scene.now.edits), lambda: equal_to_torch(scene.now))


@dataclass(frozen=True)
class HeadToken:
    """The head and the token that the user follows; `key` names this sentence."""

    tokens: Tokens
    units: tuple[Unit, ...]
    head: Head
    query: int
    key: str


def pick(request: Request, record: AttentionRecord) -> HeadToken:
    """Draw the choice of layer, head and token, and return what the URL has of it."""
    units, grid = piece_units(record.tokens), cache.grid(request, record)
    key = sentence_key(units)
    selection = followed_context(Context(request, loading.model(request), record, grid)).selection
    st.session_state[PLACES] = key, places_of(units, grid)
    with st.container(key="inside-bar", horizontal=True, gap="small", vertical_alignment="center"):
        query = choose_token(units, followed(grid, selection, key), key)
        head = choose_head(record.n_layers, record.n_heads, selection.head)
    return HeadToken(record.tokens, units, head, query, key)


def places_of(units: Sequence[Unit], grid: Grid) -> tuple[int | None, ...]:
    """Return each token's place in a grid, which may show words or hide special tokens; None where it has none."""
    return tuple(
        next((i for i, unit in enumerate(grid.units) if piece in unit.pieces), None)
        for piece in range(len(units))
    )


def followed(grid: Grid, selection: Selection, sentence: str) -> int:
    """Return the token to follow. The URL knows words that are not hidden; the session knows which of their tokens."""
    last = st.session_state.get(FOLLOWED)
    if isinstance(last, tuple) and (last[0], last[2]) == (sentence, state.params().get("pin")):
        return int(last[1])
    return grid.units[selection.pins[0]].pieces[0] if selection.pins else 0


def follow(query: object, sentence: str) -> None:
    """Follow another token of a sentence that was drawn; a browser may send anything. For callbacks."""
    drawn, places = st.session_state.get(PLACES, ("", ()))
    if drawn != sentence or not isinstance(query, int) or not 0 <= query < len(places):
        return
    place = places[query]
    pin = state.params().get("pin") if place is None else str(place)
    st.session_state[FOLLOWED] = sentence, query, pin
    state.change({"pin": pin, "to": None, "cell": None})


def sentence_key(units: Sequence[Unit]) -> str:
    """Return a sentence's name, so that a choice made in one does not count in another."""
    return blake2s(repr([unit.label for unit in units]).encode(), digest_size=6).hexdigest()


def choose_head(n_layers: int, n_heads: int, opening: Head) -> Head:
    """Draw layer and head as the URL has them, numbered from 1; a choice changes the URL."""
    st.session_state["inside-layer"], st.session_state["inside-head"] = opening
    for name, count in (("layer", n_layers), ("head", n_heads)):
        st.selectbox(
            name.capitalize(),
            range(count),
            key=f"inside-{name}",
            width=110,
            format_func=partial(_numbered, name),
            label_visibility="collapsed",
            on_change=_head_chosen,
        )
    return opening


def _numbered(name: str, index: int) -> str:
    return f"{name} {index + 1}"


def _head_chosen() -> None:
    head = (st.session_state["inside-layer"] or 0, st.session_state["inside-head"] or 0)
    state.change({"head": head_name(head), "cell": None})


def choose_token(units: Sequence[Unit], chosen: int, sentence: str) -> int:
    """Draw the tokens to follow one of; the picture marks it without the server."""
    key = f"inside-token-{sentence}"
    chosen = chosen if 0 <= chosen < len(units) else 0
    board = Board()
    labels, special = [u.label for u in units], [u.special for u in units]
    board.add(token_row(labels, special, "Token to follow", line=True, trigger="follow"))
    board.show(key, {"follow": partial(token_chosen, key, "follow", sentence)}, query=chosen)
    return chosen


def token_chosen(board: str, trigger: str, sentence: str) -> None:
    """Follow the token pressed on a board. For callbacks."""
    follow(heard_from(board, trigger), sentence)


def make_plain(request: Request, picked: HeadToken) -> WalkState | None:
    """Return the layer as the model has it; None, with the error on the page, where it cannot be run."""
    plain = shell.or_show_error(layer_of, request, picked.tokens, picked.head[0])
    if plain is None:
        return None
    labels = tuple(unit.label for unit in picked.units)
    special = tuple(unit.special for unit in picked.units)
    key = f"{picked.key}-{picked.head[0]}-{picked.head[1]}-{picked.query}"
    return WalkState(labels, special, picked.head, picked.query, plain, plain, key, request)


def code(*lines: tuple[str, str]) -> None:
    """Write lines of torch, their remarks one under the other."""
    wide = max(len(line) for line, remark in lines if remark)
    st.code("\n".join(f"{line:<{wide}}  # {remark}" if remark else line for line, remark in lines))


def format_error(difference: float) -> str:
    """Return a difference as text; none at all is 0."""
    return f"{difference:.1e}" if difference else "0"
