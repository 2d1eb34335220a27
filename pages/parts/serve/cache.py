"""What readers share: records and all that is computed of them, in one store with a limit in bytes.

In: a `Request`. Out: a frozen record, a grid, the parts of a picture. The key is always the `Run`, with the digest of
the model's weights, and what was made of it. Streamlit's own caches are not used: any browser may ask to clear them.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from typing import TypeVar

import streamlit as st

from mha_core import (
    AttentionRecord,
    Grid,
    InputError,
    Model,
    TransformersModel,
    grid_of,
    trace_tokens,
)
from mha_core.arrays import FloatArray
from mha_core.draw.payload import Keep, Payload
from mha_core.heads.measures import importance
from mha_core.interrupt import breaking_off
from mha_core.models.extended_record import begin
from mha_core.record.run import RunSpec
from pages.parts.frame.loading import end_if_left, model
from pages.parts.frame.request import Request
from pages.parts.serve import store
from pages.parts.serve.jobs import MODEL

T = TypeVar("T")

MAX_CHARS = 4_000


def of_run(run: RunSpec, used: Model, part: Hashable, make: Callable[[], T]) -> T:
    """Something computed of a run, made once for all readers; `part` says what it is. It ends between two layers when
    the reader who makes it has left, or has typed something else; another who waits for it makes it then."""

    def unless_left() -> T:
        with breaking_off(end_if_left):
            return make()

    return store.STORE.get((run, used.fingerprint, part), unless_left)


def of_model(used: Model, part: Hashable, make: Callable[[], T]) -> T:
    """Something computed of a model alone, made once for all readers; `part` says what it is."""
    return store.STORE.get(("model", used.name, used.fingerprint, part), make)


def record(request: Request) -> AttentionRecord:
    """What every head does with the reader's text. Raises InputError for a text that cannot be taken."""
    return record_from_weights(request.run, model(request))


def record_from_weights(run: RunSpec, used: Model) -> AttentionRecord:
    """The same for a run of a model that is there. A decoder's state, too, is kept, for whoever lets it go on."""
    for text in (run.text, run.pair or ""):
        if len(text) > MAX_CHARS:
            raise InputError(
                f"The text has {len(text):,} characters and HeadScope takes {MAX_CHARS:,} at most; shorten it."
            )

    def make() -> AttentionRecord:
        if isinstance(used, TransformersModel):
            with MODEL:
                return used.trace(run.text, run.pair)
        tokens = used.tokenizer.encode(run.text, run.pair)
        with MODEL:
            if used.next_head is None:
                return trace_tokens(tokens, used)
            made, state = begin(tokens, used)
        of_run(run, used, "state", lambda: state)
        return made

    return of_run(run, used, "record", make)


def grid(request: Request, traced: AttentionRecord, quiet: bool = False) -> Grid:
    """What the picture draws: the record's weights, or what the reader chose to see of them.

    `quiet`: nothing on the page says that it is waited for; while a picture is put there, that would move it.
    Raises HeadScopeError where the model or the text does not allow that.
    """
    weights = None if request.raw else _measured(request, traced, quiet)

    def make() -> Grid:
        if weights is None:
            return traced.grid(request.words, request.specials)
        return grid_of(traced, weights, request.words, request.specials)

    if not request.words and request.specials == "shown":
        return make()  # the weights themselves, which are kept already
    return of_run(request.run, model(request), ("grid", *drawn(request)), make)


def _measured(request: Request, traced: AttentionRecord, quiet: bool) -> FloatArray:
    used = model(request)

    def make() -> FloatArray:
        with nullcontext() if quiet else st.spinner("Following the weights through the model …"), MODEL:
            return importance(traced.tokens, used, request.measure).weights

    return of_run(request.run, used, ("measure", request.measure), make)


def drawn(request: Request) -> tuple[Hashable, ...]:
    """What of a run is drawn: with the run it names a grid."""
    return request.measure, request.words, request.specials


def keeper(*requests: Request) -> Keep:
    """Return what caches the parts of a picture of these requests: see `record_payload`."""

    def keep(part: Hashable, make: Callable[[], Payload]) -> Payload:
        names = tuple((request.run, model(request).fingerprint, *drawn(request)) for request in requests)
        return store.STORE.get(("picture", names, part), make)

    return keep
