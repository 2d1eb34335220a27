"""Results shared by all users: records and all derived from them, in one store limited in bytes.

In: a `Request`. Out: a frozen record, a grid, the parts of a picture. The key is always the `Run`, with the digest of
the model's weights, and what was made of it. Streamlit's own caches are not used: any browser may ask to clear them.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from typing import TypeVar

import streamlit as st

from mha_core import AttentionRecord, Grid, InputError, Model, TransformersModel, grid_of, trace_tokens
from mha_core.arrays import FloatArray
from mha_core.draw.payload import Keep, Payload
from mha_core.heads.measures import importance
from mha_core.interrupt import breaking_off
from mha_core.models.extended_record import begin
from mha_core.record.run import RunSpec
from pages.parts.frame import loading
from pages.parts.frame.loading import end_if_left
from pages.parts.frame.request import Request
from pages.parts.serve import store
from pages.parts.serve.jobs import MODEL

T = TypeVar("T")

MAX_CHARS = 4_000


def of_run(run: RunSpec, model: Model, part: Hashable, make: Callable[[], T]) -> T:
    """Return a result of a run, made once for all users; `part` names it. It ends between two layers when the user who
    makes it has left or typed something else; another who waits for it makes it then."""

    def unless_left() -> T:
        with breaking_off(end_if_left):
            return make()

    return store.STORE.get((run, model.fingerprint, part), unless_left)


def of_model(model: Model, part: Hashable, make: Callable[[], T]) -> T:
    """Return a result of a model alone, made once for all users; `part` names it."""
    return store.STORE.get(("model", model.name, model.fingerprint, part), make)


def record(request: Request) -> AttentionRecord:
    """Return the record of a request. Raises InputError for a text that cannot be taken."""
    return record_from_weights(request.run, loading.model(request))


def record_from_weights(run: RunSpec, model: Model) -> AttentionRecord:
    """Return the record of a run. A decoder's state, too, is cached, for whoever lets it go on."""
    for text in (run.text, run.pair or ""):
        if len(text) > MAX_CHARS:
            raise InputError(
                f"The text has {len(text):,} characters and HeadScope takes {MAX_CHARS:,} at most; shorten it."
            )

    def make() -> AttentionRecord:
        if isinstance(model, TransformersModel):
            with MODEL:
                return model.trace(run.text, run.pair)
        tokens = model.tokenizer.encode(run.text, run.pair)
        with MODEL:
            if model.next_head is None:
                return trace_tokens(tokens, model)
            record, state = begin(tokens, model)
        of_run(run, model, "state", lambda: state)
        return record

    return of_run(run, model, "record", make)


def grid(request: Request, traced: AttentionRecord, quiet: bool = False) -> Grid:
    """Return the weights to draw: the record's, or by the request's measure.

    `quiet`: show no spinner, which would move a picture that is being drawn. Raises HeadScopeError where the model or
    the text does not allow the measure.
    """
    weights = None if request.raw else _measured(request, traced, quiet)

    def make() -> Grid:
        if weights is None:
            return traced.grid(request.words, request.specials)
        return grid_of(traced, weights, request.words, request.specials)

    if not request.words and request.specials == "shown":
        return make()  # the weights themselves, which are kept already
    return of_run(request.run, loading.model(request), ("grid", *drawn(request)), make)


def _measured(request: Request, traced: AttentionRecord, quiet: bool) -> FloatArray:
    model = loading.model(request)

    def make() -> FloatArray:
        with nullcontext() if quiet else st.spinner("Following the weights through the model …"), MODEL:
            return importance(traced.tokens, model, request.measure).weights

    return of_run(request.run, model, ("measure", request.measure), make)


def drawn(request: Request) -> tuple[Hashable, ...]:
    """Return the options of a drawing: with the run they name a grid."""
    return request.measure, request.words, request.specials


def keeper(*requests: Request) -> Keep:
    """Return what caches the parts of a picture of these requests: see `record_payload`."""

    def keep(part: Hashable, make: Callable[[], Payload]) -> Payload:
        names = tuple(
            (request.run, loading.model(request).fingerprint, *drawn(request)) for request in requests
        )
        return store.STORE.get(("picture", names, part), make)

    return keep
