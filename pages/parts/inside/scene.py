"""What every part of Inside needs: the layer run on the reader's sentence, a head, a token, and how to say numbers.

In: what the reader asked for. Out: a `Scene`; the head and the token stay in the link.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from pathlib import Path
from typing import TypeVar

import streamlit as st

from mha_core import LayerRun, Projections, Record, Tokens, Unit, layer_details, projections_of
from mha_core.inside import Edits, Parity, edited, equal_to_torch
from mha_core.record import piece_units
from mha_core.wording import Head
from pages.parts.frame import shell, state
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture.tiles import Board, paragraph, token_row
from pages.parts.serve import cache

PAGE = Path(__file__).parents[3] / "assets" / "css" / "inside.css"
SHOWN_KEYS = 40
T = TypeVar("T")


def style() -> None:
    """The little that this page adds to the frame's own style."""
    st.html(PAGE)


@dataclass(frozen=True)
class Scene:
    """What every step needs: the layer as the model ran it and as the reader changed it, one head, one token."""

    labels: tuple[str, ...]
    special: tuple[bool, ...]
    head: Head
    query: int
    plain: LayerRun
    now: LayerRun
    key: str
    request: Request

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
        return cache.model(self.request).title.partition(",")[0]

    @property
    def there(self) -> tuple[str, ...]:
        """The tokens that there are for the followed one: all, or those up to itself under a causal model."""
        return self.labels[: self.now.seen(self.query)]

    def number(self, step: int) -> int:
        """A step's number on the screen: rotation is the second, where there is one, and moves the others on."""
        return step + (step > 1 and self.plain.rotary is not None)

    def kept(self, part: Hashable, make: Callable[[], T]) -> T:
        """Something computed of the layer as the model ran it, made once."""
        return cache.of_run(self.request.run, cache.model(self.request), (self.head[0], part), make)


def layer_of(request: Request, tokens: Tokens, layer: int) -> LayerRun:
    """What one layer (from 0) computed for a text, as the model ran it; its weights are kept once for all texts."""
    used = cache.model(request)

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
        request.run, cache.model(request), ("edited", layer, edits), lambda: edited(plain, edits)
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


def pick(request: Request, record: Record) -> Picked:
    """Layer, head and token: from the link first, then as the reader chooses; the link follows."""
    units = piece_units(record.tokens)
    grid = cache.grid(request, record)
    asked_for = shell.selection(request, grid.weights.shape, grid.labels)
    head = choose_head(record, asked_for.head)
    asked = grid.units[asked_for.pins[0]].pieces[0] if asked_for.pins else 0
    key = sentence_key(units)
    query = choose_token(units, asked, f"inside-token-{key}")
    place = next((i for i, unit in enumerate(grid.units) if query in unit.pieces), None)
    state.keep(Selection(head, asked_for.pins if place is None else (place,), asked_for.to))
    state.write()
    return Picked(record.tokens, units, head, query, key)


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
    plain = shell.or_show_error(layer_of, request, picked.tokens, picked.head[0])
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


def format_error(difference: float) -> str:
    """A difference as it is printed; nothing at all is said as 0."""
    return f"{difference:.1e}" if difference else "0"
