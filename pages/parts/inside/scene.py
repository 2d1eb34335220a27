"""State that every part of Inside shares: the layer run on the user's sentence, a head and a token.

In: a request. Out: a `WalkState`; the head and the token stay in the URL.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import TypeVar

import numpy as np
import streamlit as st

from mha_core import AttentionRecord, LayerActivations, Projections, Tokens, layer_details, projections_of
from mha_core.display_names import Head, head_name
from mha_core.layer import Edits, Parity, edited, equal_to_torch
from mha_core.models.model_list import step_of
from mha_core.record.grid import piece_units
from pages.parts.frame import loading, shell, url_params
from pages.parts.frame.context import Context, followed_context
from pages.parts.frame.request import Request
from pages.parts.serve import cache

SHOWN_KEYS = 40
FOLLOWED, PLACES = "followed", "places"
T = TypeVar("T")
Cell = tuple[str, int, int]  # a number: its array, row and column, from 0


@dataclass(frozen=True)
class WalkState:
    """A layer as the model ran it (`plain`) and as the user changed it (`run`), one head, one token to follow.

    `small`: the worked example, with each number written out; `together`: there, one matrix makes Q, K and V.
    `with_matrices`: draw W_q, W_k, W_v, W_o as well. `cell`: the chosen number. `key`: its name for widgets, which
    begins with the sentence's.
    """

    labels: tuple[str, ...]
    special: tuple[bool, ...]
    head: Head
    query: int
    plain: LayerActivations
    run: LayerActivations
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
    def sentence(self) -> str:
        """The sentence's name, so that a choice made in one does not count in another."""
        return self.key.partition("-")[0]

    @property
    def heads(self) -> list[str]:
        """Names of the layer's heads."""
        return [head_name((self.head[0], h)) for h in range(self.sizes.n_heads)]

    @property
    def sizes(self) -> Projections:
        return self.run.projections

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
        """True where training made the matrices: not with random weights, nor before the first step."""
        return self.request.trained and step_of(self.request.model) != 0

    @property
    def visible_labels(self) -> tuple[str, ...]:
        """Tokens visible to the followed one: all, or under a causal model those up to itself."""
        return self.labels[: self.run.seen(self.query)]

    @property
    def weights(self) -> np.ndarray:
        """Attention weights of the followed token, one for each visible one."""
        return self.run.weights[self.h, self.query, : len(self.visible_labels)]

    @property
    def ablated(self) -> list[int]:
        """Heads of the layer that the URL ablates, from 0."""
        names = url_params.params().get("gone", "").split(",")
        return [h for h, name in enumerate(self.heads) if name in names]

    @property
    def changed(self) -> bool:
        """True where the user changed something."""
        return self.run is not self.plain

    def cached(self, part: Hashable, make: Callable[[], T]) -> T:
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


def run_of(scene: WalkState, edits: Edits) -> LayerActivations:
    """Run the layer with these changes; without any, return the model's own run."""
    if not edits.any:
        return scene.plain
    return scene.cached(("edited", edits), lambda: edited(scene.plain, edits))


def parity_of(scene: WalkState) -> Parity:
    """Return the difference between torch and this run."""
    return scene.cached(("parity", scene.run.edits), lambda: equal_to_torch(scene.run))


def read_scene(request: Request, record: AttentionRecord, first: int = 0) -> WalkState | None:
    """Return the layer with the URL's head and token; None, with the error on the page, where it cannot be run.

    The URL knows words that are not hidden; the session knows which of their tokens is followed. first: the token
    without either.
    """
    units, grid = piece_units(record.tokens), cache.grid(request, record)
    selection = followed_context(Context(request, loading.model(request), record, grid)).selection
    plain = shell.or_show_error(layer_of, request, record.tokens, selection.head[0])
    if plain is None:
        return None
    labels, special = tuple(unit.label for unit in units), tuple(unit.special for unit in units)
    sentence = blake2s(repr(labels).encode(), digest_size=6).hexdigest()
    st.session_state[PLACES] = (
        sentence,
        [
            next((i for i, unit in enumerate(grid.units) if piece in unit.pieces), None)
            for piece in range(len(units))
        ],
    )
    last = st.session_state.get(FOLLOWED)
    if isinstance(last, tuple) and (last[0], last[2]) == (sentence, url_params.params().get("pin")):
        query = int(last[1])
    else:
        query = grid.units[selection.pins[0]].pieces[0] if selection.pins else min(first, len(units) - 1)
    key = f"{sentence}-{selection.head[0]}-{selection.head[1]}-{query}"
    return WalkState(labels, special, selection.head, query, plain, plain, key, request)


def follow(sentence: str, query: object) -> None:
    """Follow another token of a sentence that was drawn; a browser may send anything. For callbacks."""
    drawn, places = st.session_state.get(PLACES, ("", ()))
    if drawn != sentence or not isinstance(query, int) or not 0 <= query < len(places):
        return
    place = places[query]
    pin = url_params.params().get("pin") if place is None else str(place)
    st.session_state[FOLLOWED] = sentence, query, pin
    url_params.change({"pin": pin, "to": None, "cell": None})


def format_error(difference: float) -> str:
    """Return a difference as text; none at all is 0."""
    return f"{difference:.1e}" if difference else "0"
