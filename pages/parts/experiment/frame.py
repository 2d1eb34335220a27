"""What every part of the page shares: their names, the style, and what is said where the decoder is not there."""

import html
from collections.abc import Mapping

import streamlit as st

from mha_core.heads.roles import Role
from mha_core.shelf import DECODER, EMBEDDED
from mha_core.wording import Head
from pages.parts.frame import head_facts, presets
from pages.parts.frame.links import link_to
from pages.parts.frame.pages import page_called
from pages.parts.frame.prose import heading, markup, say
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.shell import CSS

PARTS = (
    "Switch heads off",
    "Which matter?",
    "Where is it decided?",
    "Selective?",
    "How many can go?",
)
SAID_TWICE = "tower lemon river candle horse silver garden winter tower lemon river candle"
# Questions to begin with: what is asked, and the part, sentence and word of this page that answer it.
QUESTIONS: tuple[tuple[str, Mapping[str, str]], ...] = (
    (
        "Which head knows that the drink goes to Mary?",
        {"try": "Which matter?", "text": presets.MARY, "word": "Mary", "rival": "John"},
    ),
    (
        "Which heads keep the verb from agreeing with “cabinets”?",
        {"try": "Which matter?", "text": presets.KEY, "word": "is", "rival": "are"},
    ),
    (
        "Words said twice: which heads know what comes next?",
        {"try": "Which matter?", "text": SAID_TWICE, "word": "horse"},
    ),
    ("What is lost without all heads that rest on the first token?", {"try": "Selective?"}),
    (
        "Which head does MiniLM's embedding need most?",
        {"try": "Which matter?", "text": presets.TIRED, "model": EMBEDDED},
    ),
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


def questions() -> None:
    """Five questions as links, at the foot of the page."""
    model = page_called("Experiment").first["model"]()
    links = "".join(
        f'<li><a href="{html.escape(link_to("Experiment", {"model": model, **asked}))}" target="_self">'
        f"{html.escape(question)}</a></li>"
        for question, asked in QUESTIONS
    )
    heading("Questions to begin with", 3)
    markup(f'<ul class="hs-questions">{links}</ul>')


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
    return head_facts.roles_of(request.model, request.trained)
