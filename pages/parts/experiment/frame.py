"""What every part of the page shares: their names, the style, and what is said where the decoder is not there."""

from collections.abc import Mapping

import streamlit as st

from mha_core.embedded import DECODER
from mha_core.heads.roles import Role
from mha_core.wording import Head
from pages.parts.frame.pages import page_called
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.shell import CSS
from pages.parts.serve import cache

PARTS = (
    "Switch heads off",
    "Which matter?",
    "Where is it decided?",
    "Selective?",
    "How many can go?",
    "Ready-made",
)
ZERO = (
    "Zero is not neutral: a head that always adds the same leaves a hole. Compare with its mean output (Michel et al. "
    "2019 use zero, Wang et al. 2022 the mean)."
)
REPAIR = (
    "When a head goes, later ones can do more of its work (self-repair, McGrath et al. 2023), so a small effect does "
    "not say that a head does nothing. And one sentence is not a law."
)


def style() -> None:
    """What this page has beyond the frame."""
    st.html(CSS / "experiment_page.css")


def without_decoder(request: Request) -> None:
    """Say that the model that speaks is not there, while the one that takes its place is shown."""
    if request.model == page_called("Experiment").first["model"]() != DECODER:
        say(
            f"SmolLM2, which says a next word, is not on this server (`make decoder` fetches it), so these experiments "
            f"run on {title_of(request.model)}: what changes is the meaning it gives the text, its embedding.",
            "notice",
        )


def caveats(*more: str) -> None:
    """What an ablation does not show."""
    for text in (*more, ZERO, REPAIR):
        say(text, "caveat")


def kept(request: Request) -> dict[str, str]:
    """What a link to another page keeps: the sentence, and the model with its weights."""
    found = {"text": request.text, "pair": request.pair or "", "model": request.model}
    return found if request.trained else {**found, "weights": "untrained"}


def roles_of(request: Request) -> Mapping[Head, Role]:
    """The roles of the heads, as far as they are known."""
    return cache.roles_of(request.model, request.trained)
