"""What every part of the page Experiment shares: their names, examples, roles, links and the cut sentence."""

import html
import re
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from mha_core import Model
from mha_core.display_names import Head, head_name
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role
from mha_core.models.model_list import DECODER, EMBEDDED
from pages.parts.frame import examples, head_facts, presets, state
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.page_text import markup, say, visible
from pages.parts.frame.pages import page_called
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.shell import CSS

PARTS = ("Ablate heads", "Ablation sweep", "Activation patching")
SAID_TWICE = "tower, lemon, river, candle, horse, silver, garden, winter, tower, lemon, river, candle,"
# What a link shows: the part, sentence and words of this page.
EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "Mary or John": {"try": PARTS[1], "text": presets.MARY, "word": "Mary", "rival": "John"},
    "is or are": {"try": PARTS[1], "text": presets.KEY, "word": "is", "rival": "are"},
    "words said twice": {"try": PARTS[1], "text": SAID_TWICE, "word": "horse"},
    "MiniLM's embedding": {"try": PARTS[1], "text": presets.TIRED, "model": EMBEDDED},
}
CAVEAT = "A small effect does not prove a head unused: later heads can take over (self-repair, McGrath et al. 2023)."
LAST_WORD = re.compile(r"\s+(\S*\w\S*?)[.!?…]+[\"'”’)]*\s*$")


def style() -> None:
    """What this page has beyond the frame."""
    st.html(CSS / "experiment_page.css")


def without_decoder(request: Request) -> None:
    """Say that the model that speaks is not there, while the one that takes its place is shown."""
    if request.model == page_called("Experiment").first["model"]() != DECODER:
        say(
            f"SmolLM2 is not on this server (`make decoder` fetches it). {title_of(request.model)} predicts no next "
            "word: watch its embedding.",
            "notice",
        )


def last_word(text: str) -> re.Match[str] | None:
    """Return where the last word of a finished sentence is, with the space before it; None where it goes on."""
    found = LAST_WORD.search(text)
    return found if found and found.start() else None


def cut_for_decoder(request: Request, used: Model) -> Request:
    """Return the request with a finished sentence cut before its last word, which a decoder then predicts; a link keeps
    the whole sentence."""
    found = last_word(request.text)
    if used.next_head is None or found is None or request.pair:
        return request
    whole = state.own("whole", "") == "1"
    word = html.escape(visible(found[1]))
    said, press, to = (
        ("The sentence is finished.", f"Cut it before “{word}”", "")
        if whole
        else (f"Cut before “{word}”, so that the model predicts it.", "Keep the whole sentence", "1")
    )
    address = html.escape(with_params("", {**state.params(), "whole": to}) or "?")
    markup(f'<nav class="hs-examples"><span>{said}</span> <a href="{address}">{press}</a></nav>')
    return request if whole else replace(request, text=request.text[: found.start()])


def draw_examples() -> None:
    """Sentences to begin with, and how to read what an ablation shows."""
    model = page_called("Experiment").first["model"]()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        examples.row("Examples", {name: {"model": model, **asked} for name, asked in EXAMPLES.items()})
        with st.popover("How to read this", type="tertiary"):
            say(CAVEAT)


def about(request: Request, **more: str) -> dict[str, str]:
    """Return what a file of this page says of itself: model, sentence, `more`, and the link back."""
    return {
        "model": request.model + ("" if request.trained else " (random weights)"),
        "sentence": request.text,
        **more,
        "link": with_params(
            st.context.url or "", {"text": request.text, "model": request.model, **state.params()}
        ),
    }


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
        for kind in role.kinds or (role.kind,):
            kinds.setdefault(kind, []).append(head)
    ordered = sorted(kinds.items(), key=lambda pair: -len(pair[1]))
    return [(KIND_OF[key].word, tuple(heads)) for key, heads in ordered]
