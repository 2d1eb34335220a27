"""What every part of the page shares: their names, the style, roles, links, and the one caveat."""

import html
from collections.abc import Mapping

import streamlit as st

from mha_core import Model
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role
from mha_core.model_list import DECODER, EMBEDDED
from mha_core.wording import Head, head_name
from pages.parts.frame import head_facts, presets
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import heading, markup, say
from pages.parts.frame.pages import page_called
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.shell import CSS

PARTS = ("Ablate heads", "Ablation sweep", "Activation patching", "Role test", "Pruning")
SAID_TWICE = "tower lemon river candle horse silver garden winter tower lemon river candle"
# Questions to begin with: what is asked, and the part, sentence and word of this page that answer it.
QUESTIONS: tuple[tuple[str, Mapping[str, str]], ...] = (
    (
        "Mary or John: which heads matter for the answer?",
        {"try": PARTS[1], "text": presets.MARY, "word": "Mary", "rival": "John"},
    ),
    (
        "“is” or “are”: which heads matter after “The key to the cabinets”?",
        {"try": PARTS[1], "text": presets.KEY, "word": "is", "rival": "are"},
    ),
    (
        "Words said twice: which heads help to predict the next one?",
        {"try": PARTS[1], "text": SAID_TWICE, "word": "horse"},
    ),
    ("What is lost without the attention-sink heads?", {"try": PARTS[3]}),
    (
        "Which head does MiniLM's embedding need most?",
        {"try": PARTS[1], "text": presets.TIRED, "model": EMBEDDED},
    ),
)
CAVEAT = "A small effect does not prove a head unused: later heads can take over (self-repair, McGrath et al. 2023)."


def style() -> None:
    """What this page has beyond the frame."""
    st.html(CSS / "experiment_page.css")


def without_decoder(request: Request) -> None:
    """Say that the model that speaks is not there, while the one that takes its place is shown."""
    if request.model == page_called("Experiment").first["model"]() != DECODER:
        say(
            "SmolLM2, which says a next word, is not on this server (`make decoder` fetches it). "
            f"{title_of(request.model)} takes its place: what changes is the text's embedding.",
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


def caveat() -> None:
    """What an ablation does not show."""
    say(CAVEAT, "caveat")


def explore_links(request: Request, used: Model, pin: str = "") -> dict[str, str]:
    """Every head's name with the address that opens it in Explore, with this sentence and model."""
    kept = {"text": request.text, "pair": request.pair or "", "model": request.model}
    kept |= {} if request.trained else {"weights": "untrained"}
    kept |= {"pin": pin} if pin else {}
    names = [head_name((layer, head)) for layer in range(used.n_layers) for head in range(used.n_heads)]
    return {name: link_to("Explore", {**kept, "head": name}) for name in names}


def roles_of(request: Request) -> Mapping[Head, Role]:
    """The roles of the heads, as far as they are known."""
    return head_facts.roles_of(request.model, request.trained)


def named(head: Head, roles: Mapping[Head, Role]) -> str:
    """A head with its role, if it has one: "4-2 (coreference)"."""
    return f"{head_name(head)} ({roles[head].name})" if head in roles else head_name(head)


def heads_by_role(roles: Mapping[Head, Role]) -> list[tuple[str, tuple[Head, ...]]]:
    """The name and heads of every kind of role, most heads first."""
    kinds = dict[str, list[Head]]()
    for head, role in sorted(roles.items()):
        kinds.setdefault(role.kind, []).append(head)
    ordered = sorted(kinds.items(), key=lambda pair: -len(pair[1]))
    return [(KIND_OF[key].word, tuple(heads)) for key, heads in ordered]
