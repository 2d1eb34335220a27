"""A model of the hub is fetched only once a reader has agreed: it is large, and the line may be slow or paid for.

In: the model that a reader chose, or that a link names. Out: that one if it is here or agreed to, else the embedded
one, with a sentence and two buttons.
"""

from math import ceil

import streamlit as st

from mha_core.errors import Unavailable
from mha_core.models.hub import size_of
from mha_core.models.load import must_be_fetched
from mha_core.models.model_list import EMBEDDED, LIST
from pages.parts.frame import url_params
from pages.parts.frame.page_text import say
from pages.parts.frame.request import allowed, model_allowed, title_of

AGREED = "agreed"
MEGABYTES = {entry.name: entry.megabytes for entry in LIST if entry.megabytes}


def model_or_fallback(name: str) -> str:
    """The model to show for the one that was chosen."""
    return EMBEDDED if _is_missing(name) else name


def ask(*keys: str) -> None:
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
    """Raises Unavailable for a model that would have to be fetched and that this reader has not agreed to."""
    if _is_missing(name):
        raise Unavailable(f"{_missing(name)} Choose it on Explore to download it.")


def _missing(name: str) -> str:
    """Say that a model has to be downloaded, and how large it is; Hugging Face is asked where the list has no size."""
    try:
        size = f"{MEGABYTES.get(name) or ceil(size_of(name) / 1e6):,} MB "
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
