"""What every part of Inside needs: the layer run on the reader's sentence, a head, a token, and how to say numbers.

In: what the reader asked for. Out: a `Scene`; the head and the token stay in the link.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2s
from pathlib import Path
from typing import TypeVar

import streamlit as st

from mha_core import AttentionRecord, Grid, LayerRun, Projections, Tokens, Unit, layer_details, projections_of
from mha_core.grid import piece_units
from mha_core.inside import Edits, Parity, edited, equal_to_torch
from mha_core.model_list import step_of
from mha_core.wording import Head, head_name
from pages.parts.frame import carried_selection, loading, shell, state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture.tiles import Board, token_row
from pages.parts.serve import cache

CSS = Path(__file__).parents[3] / "assets" / "css"
SHOWN_KEYS = 40
FOLLOWED, PLACES = "followed", "places"
T = TypeVar("T")


def style() -> None:
    """The little that this page adds to the frame's own style."""
    st.html(CSS / "inside.css")
    if state.params().get("present") == "1":
        st.html(CSS / "inside_present.css")


@dataclass(frozen=True)
class Scene:
    """What every step needs: the layer as the model ran it and as the reader changed it, one head, one token.

    `small`: so few numbers that each is written out; `together`: there, one matrix makes Q, K and V.
    `with_matrices`: draw W_q, W_k, W_v, W_o as well. `cell`: the number that the reader asked about, by its table and
    its place there.
    """

    labels: tuple[str, ...]
    special: tuple[bool, ...]
    head: Head
    query: int
    plain: LayerRun
    now: LayerRun
    key: str
    request: Request
    small: bool = False
    together: bool = True
    with_matrices: bool = False
    cell: tuple[str, int, int] | None = None

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
        """The model's name in a sentence, without how it is stored."""
        if self.small:
            return "the example"
        return loading.model(self.request).title.partition(",")[0]

    @property
    def source(self) -> dict[str, str]:
        """What its numbers were computed from, for files."""
        return {"model": self.title, "head": head_name(self.head), "text": self.request.text}

    @property
    def trained(self) -> bool:
        """Whether the numbers of the matrices were learned: not with random weights, nor before the first step."""
        return self.request.trained and step_of(self.request.model) != 0

    @property
    def there(self) -> tuple[str, ...]:
        """The tokens that there are for the followed one: all, or those up to itself under a causal model."""
        return self.labels[: self.now.seen(self.query)]

    @property
    def changed(self) -> bool:
        """Whether the reader changed anything."""
        return self.now is not self.plain

    def kept(self, part: Hashable, make: Callable[[], T]) -> T:
        """Something computed of the layer as the model ran it, made once."""
        if self.small:
            return make()
        return cache.of_run(self.request.run, loading.model(self.request), (self.head[0], part), make)


def layer_of(request: Request, tokens: Tokens, layer: int) -> LayerRun:
    """What one layer (from 0) computed for a text, as the model ran it; its weights are kept once for all texts."""
    used = loading.model(request)

    def make() -> LayerRun:
        weights = cache.of_model(used, ("projections", layer), lambda: projections_of(used, layer))
        return layer_details(tokens, used, layer, projections=weights)

    run = replace(request, text=tokens.text, pair=tokens.pair).run
    return cache.of_run(run, used, ("layer", layer), make)


def run_of(request: Request, tokens: Tokens, layer: int, edits: Edits) -> LayerRun:
    """The layer run on the reader's sentence with these changes; without any, the model's own run."""
    plain = layer_of(request, tokens, layer)
    if not edits.any:
        return plain
    return cache.of_run(
        request.run, loading.model(request), ("edited", layer, edits), lambda: edited(plain, edits)
    )


def parity_of(scene: Scene) -> Parity:
    """How far torch is from this run."""
    return scene.kept(("parity", scene.now.edits), lambda: equal_to_torch(scene.now))


@dataclass(frozen=True)
class Picked:
    """The head and the token the reader follows; `key` names this sentence."""

    tokens: Tokens
    units: tuple[Unit, ...]
    head: Head
    query: int
    key: str


def pick(request: Request, record: AttentionRecord) -> Picked:
    """Layer, head and token: from the link, which follows what the reader chooses."""
    units = piece_units(record.tokens)
    grid = cache.grid(request, record)
    key = sentence_key(units)
    asked, _ = carried_selection.settle(request, grid)
    carried_selection.keep(request, grid, asked)
    asked_for = shell.selection(request, grid, asked=asked)
    st.session_state[PLACES] = key, places_of(units, grid)
    with st.container(key="inside-bar", horizontal=True, gap="small", vertical_alignment="center"):
        query = choose_token(units, followed(grid, asked_for, key), key)
        head = choose_head(record.n_layers, record.n_heads, asked_for.head)
    return Picked(record.tokens, units, head, query, key)


def places_of(units: Sequence[Unit], grid: Grid) -> tuple[int | None, ...]:
    """Where each piece stands in a picture, which may show words or hide special tokens; None where it does not."""
    return tuple(
        next((i for i, unit in enumerate(grid.units) if piece in unit.pieces), None)
        for piece in range(len(units))
    )


def followed(grid: Grid, asked_for: Selection, sentence: str) -> int:
    """The piece to follow. An address knows words and what is not hidden; which piece of a word is remembered here."""
    kept = st.session_state.get(FOLLOWED)
    if isinstance(kept, tuple) and (kept[0], kept[2]) == (sentence, state.params().get("pin")):
        return int(kept[1])
    return grid.units[asked_for.pins[0]].pieces[0] if asked_for.pins else 0


def follow(query: object, sentence: str) -> None:
    """Follow another piece of a sentence that was drawn; a browser may send anything. For callbacks."""
    of, places = st.session_state.get(PLACES, ("", ()))
    if of != sentence or not isinstance(query, int) or not 0 <= query < len(places):
        return
    place = places[query]
    pin = state.params().get("pin") if place is None else str(place)
    st.session_state[FOLLOWED] = sentence, query, pin
    state.change({"pin": pin, "to": None, "cell": None})


def sentence_key(units: Sequence[Unit]) -> str:
    """Names a sentence, so that what a reader did in one is not taken for another."""
    return blake2s(repr([unit.label for unit in units]).encode(), digest_size=6).hexdigest()


def choose_head(n_layers: int, n_heads: int, opening: Head) -> Head:
    """Layer and head, numbered from 1 on the screen; the link decides, and is changed by a choice."""
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


def _numbered(name: str, at: int) -> str:
    return f"{name} {at + 1}"


def _head_chosen() -> None:
    head = (st.session_state["inside-layer"] or 0, st.session_state["inside-head"] or 0)
    state.change({"head": head_name(head), "cell": None})


def choose_token(units: Sequence[Unit], chosen: int, sentence: str) -> int:
    """The token to follow; the picture marks it without asking the server."""
    key = f"inside-token-{sentence}"
    chosen = chosen if 0 <= chosen < len(units) else 0
    board = Board()
    labels, special = [u.label for u in units], [u.special for u in units]
    board.add(token_row(labels, special, "Token to follow", line=True, trigger="follow"))
    board.show(key, {"follow": partial(token_chosen, key, "follow", sentence)}, query=chosen)
    return chosen


def token_chosen(board: str, trigger: str, sentence: str) -> None:
    """The reader pressed a token on a board."""
    follow(heard_from(board, trigger), sentence)


def make_plain(request: Request, picked: Picked) -> Scene | None:
    """The layer as the model has it, with nothing changed."""
    plain = shell.or_show_error(layer_of, request, picked.tokens, picked.head[0])
    if plain is None:
        return None
    labels = tuple(unit.label for unit in picked.units)
    special = tuple(unit.special for unit in picked.units)
    key = f"{picked.key}-{picked.head[0]}-{picked.head[1]}-{picked.query}"
    return Scene(labels, special, picked.head, picked.query, plain, plain, key, request)


def code(*lines: tuple[str, str]) -> None:
    """Lines of torch, their remarks one under the other."""
    wide = max(len(line) for line, remark in lines if remark)
    st.code("\n".join(f"{line:<{wide}}  # {remark}" if remark else line for line, remark in lines))


def format_error(difference: float) -> str:
    """A difference as it is printed; nothing at all is said as 0."""
    return f"{difference:.1e}" if difference else "0"
