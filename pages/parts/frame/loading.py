"""The models that readers ask for: which are allowed here, what must be agreed to, and how their arrival is shown.

In: a `Request`, or a name. Out: a model, loaded once for all readers; or a HeadScopeError that says why there is none.
"""

import time
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
import streamlit as st

from mha_core import HeadScopeError, InputError, Model, ModelError, TransformersModel, load_model, trace
from mha_core.errors import Unavailable
from mha_core.models.hf import INSIDE
from mha_core.models.hub import size_of
from mha_core.models.load import must_be_fetched
from mha_core.models.model_list import DECODER, EMBEDDED
from pages.parts.frame import url_params
from pages.parts.frame.page_text import say
from pages.parts.frame.request import (
    Request,
    allowed,
    megabytes_of,
    model_allowed,
    own_checkpoints,
    refusal,
    title_of,
)

AGREED = "agreed"
ARRIVED = set[tuple[str, bool]]()  # models that were loaded once
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
    # Of a model that is here nothing is shown: a place for it would move what comes after.
    if name == EMBEDDED or (name, trained) in ARRIVED:
        return loaded(name, trained)
    if name == DECODER:
        with st.spinner(UNPACKING if trained else UNTRAINED):
            model = loaded(name, trained)
    else:
        place = st.empty()
        model = loaded(name, trained, _progress(place))
        place.empty()
    ARRIVED.add((name, trained))
    return model


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


# ---- a download needs consent: it is large, and the line may be slow or paid for
def model_or_fallback(name: str) -> str:
    """Return the model to show for the one that was chosen: the embedded one until that is here or agreed to."""
    return EMBEDDED if _is_missing(name) else name


def ask_to_download(*keys: str) -> None:
    """Ask whether to download each chosen model that is not on this machine."""
    for key in keys:
        name = url_params.page_param(key, "")
        if name and _is_missing(name):
            with st.container(key=f"fetch-{key}", horizontal=True, vertical_alignment="center", gap="small"):
                say(_missing(name), "notice")
                st.button("Download", key=f"fetch-it-{key}", on_click=_agree, args=(name,))
                st.button(
                    f"Keep {title_of(EMBEDDED)}",
                    key=f"fetch-not-{key}",
                    type="tertiary",
                    on_click=_decline,
                    args=(key,),
                )


def refuse_unasked(name: str) -> None:
    """Raise Unavailable for a model that would have to be fetched and that this user has not agreed to."""
    if _is_missing(name):
        raise Unavailable(f"{_missing(name)} Choose it on Explore to download it.")


def _missing(name: str) -> str:
    """Say that a model has to be downloaded, and how large it is; Hugging Face is asked where the list has no size."""
    try:
        size = f"{megabytes_of(name) or ceil(size_of(name) / 1e6):,} MB "
    except Unavailable:
        size = ""
    return f"{title_of(name)} is a {size}download from Hugging Face."


def _is_missing(name: str) -> bool:
    if not must_be_fetched(name, local=allowed("FOLDERS")) or not model_allowed(name):
        return False
    return name not in st.session_state.get(AGREED, ())


def _agree(name: str) -> None:
    st.session_state[AGREED] = (*st.session_state.get(AGREED, ()), name)


def _decline(key: str) -> None:
    url_params.change({key: EMBEDDED})
