"""The only Streamlit caches: records and small results, shared by all readers, bounded in number and in bytes.

In: a `Request`. Out: a model, a frozen record. A model is kept by mha_core itself, because any browser may ask
Streamlit to clear its caches.
"""

from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any, TypeVar

import streamlit as st

from mha_core import InputError, Model, Record, Tokens, load_model, trace_tokens
from pages.parts.request import Request, model_allowed, refusal

T = TypeVar("T")

MAX_CHARS = 4_000
SMALL, MIDDLE = 1_000_000, 10_000_000
# Two sentences at a time keep two cores busy; more would only hold more memory at once.
_TURNS = BoundedSemaphore(2)


def model(request: Request) -> Model:
    """The model asked for. Raises HeadScopeError if it is not allowed here or cannot be had."""
    return named_model(request.model, request.trained)


def named_model(name: str, trained: bool = True) -> Model:
    """A model by its name, if the owner of this server allows it."""
    if not model_allowed(name):
        raise InputError(refusal("model", name) or "")
    return load_model(name, trained=trained)


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


def small_result(make: Callable[..., T], *arguments: Any) -> T:
    """`make(*arguments)`, kept for all readers; for results of a few kilobytes. The arguments are the key."""
    return _result(f"{make.__module__}.{make.__qualname__}", arguments, make)


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


@st.cache_resource(max_entries=256, show_spinner=False)
def _result(name: str, arguments: tuple[Any, ...], _make: Callable[..., T]) -> T:
    return _make(*arguments)
