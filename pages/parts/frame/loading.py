"""The models that readers ask for: which are allowed here, what must be agreed to, and how their arrival is shown.

In: a `Request`, or a name. Out: a model, loaded once for all readers; or a HeadScopeError that says why there is none.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from mha_core import HeadScopeError, InputError, Model, ModelError, TransformersModel, load_model, trace
from mha_core.models.hf import INSIDE
from mha_core.models.model_list import DECODER, EMBEDDED
from pages.parts.frame.download_consent import refuse_unasked
from pages.parts.frame.request import Request, allowed, model_allowed, own_checkpoints, refusal

UNPACKING = "Unpacking SmolLM2 (a few seconds, first visit only) …"
UNTRAINED = "Drawing random weights (a few seconds, first visit only) …"
SELF_TEST_SENTENCE = "The animal didn't cross the street because it was too tired."
SELF_TEST_HEAD = (3, 1)  # head 4-2
SELF_TEST_WEIGHT = 0.677  # from `it` to `animal`


def model(request: Request) -> Model:
    """Return the model of a request. Raises HeadScopeError if it is not allowed here or cannot be had."""
    loaded_model = named_model(request.model, request.trained)
    if isinstance(loaded_model, TransformersModel) and loaded_model.is_encoder_decoder:
        return loaded_model.of(request.attention)
    return loaded_model


def named_model(name: str, trained: bool = True) -> Model:
    """Return a model by its name, if the server's owner allows it and its user agreed to a download."""
    refuse_unasked(name)
    if name == EMBEDDED:
        return loaded(name, trained)
    if name == DECODER:
        with st.spinner(UNPACKING if trained else UNTRAINED):
            return loaded(name, trained)
    place = st.empty()
    downloaded = loaded(name, trained, _progress(place))
    place.empty()
    return downloaded


def inside(request: Request) -> Model:
    """Return the model for a page that looks into it. Raises InputError for one that transformers computes."""
    inner = model(request)
    if isinstance(inner, TransformersModel):
        raise InputError(INSIDE.format(inner.title))
    return inner


def model_or_none(name: str, trained: bool = True) -> Model | None:
    """Return the model, or None: the page says why when it asks for what the model makes."""
    try:
        return named_model(name, trained)
    except HeadScopeError:
        return None


def loaded(name: str, trained: bool, progress: Callable[[str, int, int], None] | None = None) -> Model:
    """Return a model that this server's owner allows: the only way to one. Nothing of Streamlit."""
    if not model_allowed(name):
        raise InputError(refusal("model", name) or "")
    folder = own_checkpoints().get(name)
    return load_model(name, trained=trained, local=allowed("FOLDERS"), progress=progress, folder=folder)


def _progress(place: Any) -> Callable[[str, int, int], None]:
    """Return what moves the bar of a download, at most five times a second."""
    last = 0.0

    def show(file: str, done: int, total: int) -> None:
        nonlocal last
        if total and time.monotonic() - last > 0.2:
            last = time.monotonic()
            text = f"Downloading {file}: {done / 1e6:.0f} of {total / 1e6:.0f} MB"
            place.progress(min(done / total, 1.0), text)

    return show


def end_if_left() -> None:
    """End this run of a page if its user has left or asked for something else, as every reading of the session's state
    does. Outside of a page nothing happens."""
    _ = "left" in st.session_state


def self_test(model: Model) -> None:
    """Run one sentence whose answer is known; a model that gives another one is refused."""
    record = trace(SELF_TEST_SENTENCE, model)
    words = [piece.text for piece in record.tokens.pieces]
    weight = float(record.weights[SELF_TEST_HEAD][words.index("it"), words.index("animal")])
    rows = record.weights.sum(axis=-1)
    if abs(weight - SELF_TEST_WEIGHT) > 1e-3 or not np.allclose(rows, 1, atol=1e-4):
        raise ModelError(
            f"{model.title} failed its test: head 4-2 gives {weight:.3f} from `it` to `animal`, not "
            f"{SELF_TEST_WEIGHT}. "
            f"Its rows sum to {rows.min():.4f} to {rows.max():.4f}; they should sum to 1."
        )
