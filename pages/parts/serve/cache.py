"""The only Streamlit caches: records and small results, shared by all readers, bounded in number and in bytes.

In: a `Request`. Out: a model, a frozen record. A model is kept by mha_core itself, because any browser may ask
Streamlit to clear its caches.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, Lock
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core import Grid, InputError, Model, Record, Tokens, grid_of, load_model, trace_tokens
from mha_core.heads.importance import Kind, importance
from mha_core.heads.roles import Role
from mha_core.heads.words import FloatArray
from pages.parts.frame.request import Head, Request, allowed, model_allowed, refusal
from pages.parts.serve.jobs import Job, Step, Watch
from pages.parts.specialization.findings import Findings, find

T = TypeVar("T")

MAX_CHARS = 4_000
SMALL, MIDDLE = 1_000_000, 10_000_000
FOLLOWING = "Following the weights through the model …"
# Two sentences at a time keep two cores busy; more would only hold more memory at once.
_TURNS = BoundedSemaphore(2)


def model(request: Request) -> Model:
    """The model asked for. Raises HeadScopeError if it is not allowed here or cannot be had."""
    return named_model(request.model, request.trained)


def named_model(name: str, trained: bool = True) -> Model:
    """A model by its name, if the owner of this server allows it."""
    if not model_allowed(name):
        raise InputError(refusal("model", name) or "")
    if name == "minilm":
        return load_model(name, trained=trained)
    place = st.empty()
    used = load_model(name, trained=trained, local=allowed("FOLDERS"), progress=_progress(place))
    place.empty()
    return used


def _progress(place: DeltaGenerator) -> Callable[[str, int, int], None]:
    """A bar for a download, moved at most five times a second."""
    last = 0.0

    def told(file: str, done: int, total: int) -> None:
        nonlocal last
        if total and time.monotonic() - last > 0.2:
            last = time.monotonic()
            place.progress(
                min(done / total, 1.0), f"Fetching {file}: {done / 1e6:.0f} of {total / 1e6:.0f} MB"
            )

    return told


def record(request: Request) -> Record:
    """What every head does with the reader's text. Raises InputError for a text that cannot be taken."""
    used = model(request)
    for text in (request.text, request.pair or ""):
        if len(text) > MAX_CHARS:
            raise InputError(
                f"The text has {len(text):,} characters and HeadScope takes {MAX_CHARS:,} at most; shorten it."
            )
    tokens = used.tokenizer.encode(request.text, request.pair)
    size = used.n_layers * used.n_heads * len(tokens) ** 2 * 4
    kept = _small if size <= SMALL else _middle if size <= MIDDLE else _large
    return kept(request.model, request.trained, used.digest, request.text, request.pair, used, tokens)


def grid(request: Request, traced: Record) -> Grid:
    """What the picture draws: the record's weights, or what the reader chose to see of them.

    Raises HeadScopeError where the model or the text does not allow that.
    """
    if request.measure == "raw":
        return traced.grid(request.words, request.specials)
    used = model(request)
    kept = _measured if traced.weights.nbytes <= SMALL else _measured_large
    found = kept(
        used.name, used.trained, used.digest, request.text, request.pair, request.measure, used, traced.tokens
    )
    return grid_of(traced.tokens, found, request.words, request.specials)


def _run(used: Model, tokens: Tokens) -> Record:
    with _TURNS:
        return trace_tokens(tokens, used)


# One cache for each size, so that 128 sentences or 2 long texts fill the same room: 128, 160 and 300 MB at most.
# The arguments that begin with _ follow from the others, so they are no part of the key.


@st.cache_resource(max_entries=128, show_spinner=False)
def _small(
    name: str, trained: bool, digest: str, text: str, pair: str | None, _model: Model, _tokens: Tokens
) -> Record:
    return _run(_model, _tokens)


@st.cache_resource(max_entries=16, show_spinner=False)
def _middle(
    name: str, trained: bool, digest: str, text: str, pair: str | None, _model: Model, _tokens: Tokens
) -> Record:
    return _run(_model, _tokens)


@st.cache_resource(max_entries=2, show_spinner=False)
def _large(
    name: str, trained: bool, digest: str, text: str, pair: str | None, _model: Model, _tokens: Tokens
) -> Record:
    return _run(_model, _tokens)


@st.cache_resource(max_entries=64, show_spinner=FOLLOWING)
def _measured(
    name: str,
    trained: bool,
    digest: str,
    text: str,
    pair: str | None,
    kind: Kind,
    _model: Model,
    _tokens: Tokens,
) -> FloatArray:
    with _TURNS:
        return importance(_tokens, _model, kind).weights


@st.cache_resource(max_entries=2, show_spinner=FOLLOWING)
def _measured_large(
    name: str,
    trained: bool,
    digest: str,
    text: str,
    pair: str | None,
    kind: Kind,
    _model: Model,
    _tokens: Tokens,
) -> FloatArray:
    with _TURNS:
        return importance(_tokens, _model, kind).weights


# What the built-in sentences tell of a model takes seconds and a few megabytes. It is made once, behind the pages,
# and not in Streamlit's cache, so that nobody can have it made again and again by clearing that.
FINDINGS_AT_MOST = 6
_found: dict[tuple[str, bool], "Future[Findings]"] = {}
_finding = Lock()
_background = ThreadPoolExecutor(1, thread_name_prefix="findings")


def findings(name: str, trained: bool = True) -> Findings:
    """What each head of a model does, on the built-in sentences; waits until it is known."""
    return _findings(name, trained).result()


def roles_of(name: str, trained: bool = True) -> Mapping[Head, Role]:
    """The heads with a role, as (layer, head) from 0. Empty while they are being found out: nobody waits for it."""
    future = _findings(name, trained)
    return future.result().roles if future.done() and future.exception() is None else {}


def _findings(name: str, trained: bool) -> "Future[Findings]":
    if not model_allowed(name):
        raise InputError(refusal("model", name) or "")
    key = (name, trained)
    with _finding:
        future = _found.get(key)
        if future is None or (future.done() and future.exception() is not None):
            while len(_found) >= FINDINGS_AT_MOST:
                del _found[next(iter(_found))]
            future = _found[key] = _background.submit(lambda: find(load_model(name, trained=trained)))
        return future


@st.cache_resource(max_entries=8, ttl=3600, show_spinner=False)
def job(key: tuple[str, ...], _start: Callable[[], Iterator[Step[T]]]) -> Job[T]:
    """Work on one file with one model, shared by all who bring the same file."""
    return Job(_start())


@st.cache_resource(max_entries=4, scope="session", show_spinner=False)
def watch(key: tuple[str, ...]) -> Watch:
    """Whether this reader lets the work on a file go on."""
    return Watch()
