"""Shared by the parts of Experiment: examples, roles, links, files, and the sentence cut before its last word."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import AttentionRecord, Model
from mha_core.causal import Outcome, answer_id, default_outcome, spaced
from mha_core.display_names import Head, head_name, visible
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role
from mha_core.models.model_list import DECODER, EMBEDDED
from pages.parts.frame import head_facts, presets, url_params
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.pages import page_called
from pages.parts.frame.request import Request, title_of

ABLATE, SWEEP, PATCH = page_called("Experiment").tabs
PATHS = "paths from a head"  # a part of PATCH
REPEATED = "tower, lemon, river, candle, horse, silver, garden, winter, tower, lemon, river, candle,"
EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "Mary or John": {"text": presets.MARY, "word": "Mary", "rival": "John"},
    "is or are": {"text": presets.KEY, "word": "is", "rival": "are"},
    "words said twice": {"text": REPEATED, "word": "horse"},
    "MiniLM's embedding": {"text": presets.TIRED, "model": EMBEDDED},
}
# Name, source sentence, sentence to patch.
PAIRS = (
    ("tired / wide", presets.TIRED, presets.WIDE),
    ("Mary / John", presets.MARY, presets.JOHN),
    ("key / keys", presets.KEY, presets.KEYS),
)
LAST_WORD = re.compile(r"\s+(\S*\w\S*?)[.!?…]+[\"'”’)]*\s*$")


def offered_examples(part: str) -> dict[str, Mapping[str, str]]:
    """Return the examples of a part of the page with their parameters."""
    offered: dict[str, Mapping[str, str]] = dict(
        {name: {"text": into, "from": source} for name, source, into in PAIRS} if part == PATCH else EXAMPLES
    )
    model = page_called("Experiment").first["model"]()
    if part == PATCH and model == DECODER:
        _, source, into = PAIRS[1]
        offered |= {"Mary / John, paths": {"text": into, "from": source, "map": PATHS, "sender": "21-1"}}
    return {name: {"model": model, **params} for name, params in offered.items()}


def say_without_decoder(request: Request) -> None:
    """Say that another model takes the place of the decoder, where this server has none."""
    if request.model == page_called("Experiment").first["model"]() != DECODER:
        say(
            f"SmolLM2 is not on this server (`make decoder` fetches it). {title_of(request.model)} predicts no next "
            "word: watch its embedding.",
            "notice",
        )


def last_word(text: str) -> re.Match[str] | None:
    """Find the last word of a finished sentence, with the space before it; None where the sentence goes on."""
    match = LAST_WORD.search(text)
    return match if match and match.start() else None


def cut_for_decoder(request: Request, model: Model) -> Request:
    """Return the request with a finished sentence cut before its last word, for a decoder to predict; links keep the
    whole sentence."""
    match = last_word(request.text)
    if model.next_head is None or match is None or request.pair:
        return request
    is_whole = url_params.page_param("whole", "") == "1"
    word = html.escape(visible(match[1]))
    text, label, whole = (
        ("The sentence is finished.", f"Cut it before “{word}”", "")
        if is_whole
        else (f"Cut before “{word}”, so that the model predicts it.", "Keep the whole sentence", "1")
    )
    address = html.escape(with_params("", {**url_params.params(), "whole": whole}) or "?")
    markup(f'<nav class="hs-examples"><span>{text}</span> <a href="{address}">{label}</a></nav>')
    return request if is_whole else replace(request, text=request.text[: match.start()])


def chosen_labels(names: Sequence[str], first: str, second: str) -> tuple[str, str]:
    """Draw the choices of a classifier's label and of one to subtract; return those in the link, "" for none.

    `first`, `second`: which labels are compared where none is chosen.
    """
    word = url_params.params().get("word", "")
    rival = url_params.params().get("rival", "") if word else ""
    _label_choice("Label", "word", word, names, placeholder=first)
    _label_choice(
        "Against", "rival", rival, names, placeholder="no label" if word else second, disabled=not word
    )
    return word, rival


def _label_choice(title: str, key: str, value: str, names: Sequence[str], **look: Any) -> None:
    """Draw a choice of labels that the link has as `key`."""
    widget = f"{key}-label"
    st.session_state[widget] = value if value in names else None
    st.selectbox(
        title,
        names,
        index=None,
        key=widget,
        width=150,
        on_change=lambda: url_params.change({key: st.session_state[widget]}),
        **look,
    )


def named_outcome(record: AttentionRecord, model: Model, word: str, rival: str) -> Outcome:
    """Return the outcome for two words or labels; for "" the words that the sentence is about, else the likeliest. A
    word without a space before it gets one, where that is a token.

    Raises InputError for words that are no token of this model, and for labels that it does not have.
    """
    preset = presets.FOLLOWED.get(record.tokens.text) if model.next_head is not None else None
    if preset and (not word or spaced(word, model) == preset[0]):
        word, rival = preset[0], rival or preset[1]
    answers = [spaced(each, model) if each else None for each in (word, rival)]
    for each in filter(None, answers):
        answer_id(each, model)
    return default_outcome(record.tokens, model, *answers)


def about(request: Request, **more: str) -> dict[str, str]:
    """Return a file's description: model, sentence, `more`, and the link back."""
    link = {"text": request.text, "model": request.model, **url_params.params()}
    return {
        "model": request.model + ("" if request.trained else " (random weights)"),
        "sentence": request.text,
        **more,
        "link": with_params(st.context.url or "", link),
    }


def explore_link(request: Request, head: Head, **choice: str) -> str:
    """Return the address that opens a head in Explore, with this sentence and model; `choice`: what else it chooses
    there, such as `pin`."""
    weights = "" if request.trained else "untrained"
    params = {
        "text": request.text,
        "pair": request.pair or "",
        "model": request.model,
        "weights": weights,
        **choice,
    }
    return link_to("Explore", {**params, "head": head_name(head)})


def roles_of(request: Request) -> Mapping[Head, Role]:
    """Return the roles of the heads, as far as they are known."""
    return head_facts.roles_of(request.model, request.trained)


def heads_by_role(roles: Mapping[Head, Role]) -> list[tuple[str, tuple[Head, ...]]]:
    """Return the name and heads of every kind of role, most heads first."""
    kinds = dict[str, list[Head]]()
    for head, role in sorted(roles.items()):
        for kind in role.kinds or (role.kind,):
            kinds.setdefault(kind, []).append(head)
    ordered = sorted(kinds.items(), key=lambda pair: -len(pair[1]))
    return [(KIND_OF[key].word, tuple(heads)) for key, heads in ordered]
