"""The controls of a page: the sentence, set like a line in a book, and the quiet options beneath it.

Each is bound to the URL. In: what is typed and clicked. Out: a `Request`, every value checked once more.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, cast

import streamlit as st

from mha_core.models.hf import TransformersModel
from mha_core.models.hf_layers import Part
from mha_core.models.model import Model
from mha_core.record.grid import Specials
from mha_core.text.tokens import Tokenizer
from pages.parts.frame import loading, menu, presets, url_params
from pages.parts.frame.links import NEW_LINE
from pages.parts.frame.option_row import follow_url, option_row
from pages.parts.frame.page_text import say
from pages.parts.frame.pages import Page, first_of
from pages.parts.frame.request import (
    AGAINST,
    ATTENTION,
    MEASURES,
    SPECIALS,
    UNITS,
    WEIGHTS,
    Request,
    allowed,
    model_allowed,
    model_label,
    models,
    other_model,
    refusal,
    title_of,
)

UNIT_HELP = "Words merges the pieces of a word: columns summed, rows averaged."
SPECIALS_HELP = "Hidden: rows no longer sum to 100%."
WEIGHTS_HELP = "Untrained is the same model with random weights."


@dataclass(frozen=True)
class Shown:
    """Controls of a page: `sentence`, the text and all that belongs to it; `examples`: Explore's; `offered`: its own;
    `comparison`, what it is compared with; `as_read`: it shows the model's tokens, so that units are no choice."""

    sentence: bool = True
    examples: bool = False
    offered: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    comparison: bool = False
    as_read: bool = False

    @property
    def fixed(self) -> bool:
        """True where units and special tokens are no choice."""
        return self.as_read or not self.sentence


def draw(page: Page, shown: Shown, *, has_text: bool = True) -> Request:
    """Draw a page's controls, without `has_text` those beside the text, and return what they ask for.

    A page without a sentence keeps its controls unseen: Streamlit drops the URL's parameter of one that is not drawn.
    """
    key = "controls" if shown.sentence else "controls-kept"
    with st.container(key=key, gap="xsmall") if has_text else nullcontext():
        label = "Sentence A" if shown.comparison else ""
        text = _sentence(label, "text", first_of("text", page)) if has_text else ""
        other = st.container(key="other") if shown.comparison else None
        with st.container(key="beneath", horizontal=True, vertical_alignment="center", gap="xsmall"):
            against = _against() if shown.comparison else AGAINST[0]
            _examples(shown)
            request, models = _menu(text, page, shown, against)
        if has_text and shown.sentence:
            request = sequence(request)
        if other is not None:
            with other:
                request = _compared(request, against)
        # One place, whatever it says: what comes after keeps its own, and is not drawn anew.
        with st.container():
            _say_refused(shown, against, request)
            loading.ask_to_download("model", *(["model2"] if against == "model" else []))
            if shown.sentence:
                _known_words([model.tokenizer for model in models])
    return request


def with_text(request: Request, page: Page) -> Request:
    """Draw the box for a text; return the request with it."""
    return replace(request, text=_sentence("", "text", first_of("text", page)))


def _say_refused(shown: Shown, against: str, request: Request) -> None:
    """Say which values of the URL are not shown: the controls themselves are in a closed menu."""
    keys = ["model", "weights", "measure", "attention", *([] if shown.fixed else ["unit", "specials"])]
    keys += ["against"] * shown.comparison + ["model2"] * (against == "model")
    models = (request.model, (request.other or request).model)
    for key in keys:
        if (value := url_params.page_param(key, "")) and (
            problem := refusal(key, value, models[key == "model2"])
        ):
            say(problem, "notice")


def _known_words(readers: Sequence[Tokenizer]) -> None:
    """Offer the words of every model that reads no others."""
    for words in sorted({reader.known_words for reader in readers if reader.known_words is not None}):
        with st.popover(f"The {len(words)} words it knows", type="tertiary"):
            say(" ".join(words))


def _sentence(label: str, key: str, first: str) -> str:
    """Draw a box for a sentence, with its label where it has one; return its text."""
    typed = st.text_input(
        label or "Your sentence",
        first,
        key=key,
        bind="query-params",
        placeholder="Type a sentence and press Enter",
        label_visibility="visible" if label else "collapsed",
    )
    return (typed or "").replace(NEW_LINE, "\n")


def _against() -> str:
    with st.container(
        key="against-row", horizontal=True, vertical_alignment="center", gap="xxsmall", width="content"
    ):
        say("Compare with", "label")
        return option_row("Compare with", AGAINST, "against", quiet=True, label_visibility="collapsed")


def _menu(text: str, page: Page, shown: Shown, against: str) -> tuple[Request, list[Model]]:
    """Draw the menu named after the model; return a request with its choices, and the models that can be had."""
    first = first_of("model", page)
    with st.container(key="options", width="content"):
        menu = st.popover(_menu_label(url_params.page_param("model", first)), type="tertiary")
    with menu:
        name = _model("Model", "model", first)
        trained = option_row("Weights", WEIGHTS, "weights", quiet=True, help=WEIGHTS_HELP) == WEIGHTS[0]
    names = [name, *([url_params.page_param("model2", other_model(name))] if against == "model" else [])]
    models = [  # one that arrives says so beside the menu
        model
        for each in names
        if refusal("model", each) is None and (model := loading.model_or_none(each, trained)) is not None
    ]
    tokenizers = [model.tokenizer for model in models]
    with menu:
        pair = _pair(tokenizers) if shown.sentence else url_params.page_param("pair", "")
        unit, specials = _reading(tokenizers, shown.fixed)
        if models and isinstance(models[0], TransformersModel):
            say("Computed by transformers.")
    request = Request(
        text,
        pair=pair or None,
        model=name,
        trained=trained,
        unit=unit,
        specials=cast(Specials, specials),
        present=url_params.is_presented(),
        measure=url_params.page_part("measure", MEASURES),
    )
    return request, models


def _menu_label(model: str) -> str:
    """Return the model's title, and what differs from the first choice."""
    title = title_of(model if refusal("model", model) is None else models()[0])
    is_trained = url_params.page_part("weights", WEIGHTS) == WEIGHTS[0]
    return title if is_trained else f"{title}, {WEIGHTS[1]}"


def _reading(tokenizers: Sequence[Tokenizer], fixed: bool) -> tuple[str, str]:
    """Draw units and special tokens, or return them as the URL has them where they are `fixed`.

    Special tokens of a model that has none are not hidden.
    """
    if fixed:
        return url_params.page_part("unit", UNITS), url_params.page_part("specials", SPECIALS)
    names = dict.fromkeys(name for tokenizer in tokenizers for name in tokenizer.special_names)
    unit = option_row("Units", UNITS, "unit", quiet=True, help=UNIT_HELP)
    with _seen(bool(names), "specials"):
        label = " and ".join(names) or "Special tokens"
        specials = option_row(label, SPECIALS, "specials", quiet=True, help=SPECIALS_HELP)
    return unit, specials if names else SPECIALS[0]


def _pair(tokenizers: Sequence[Tokenizer]) -> str:
    """Draw the second sentence; also where no model takes one, as long as there is one to take away."""
    in_url = url_params.page_param("pair", "")
    if any(
        getattr(tokenizer, "is_sequence", False) for tokenizer in tokenizers
    ):  # its box is under the sentence
        return in_url
    if all(not tokenizer.takes_pairs for tokenizer in tokenizers) and tokenizers and not in_url:
        return ""
    return st.text_input("Second sentence", key="pair", bind="query-params") or ""


def sequence(request: Request) -> Request:
    """Draw, for an encoder-decoder, which attention is shown and the text that its decoder reads."""
    model = loading.model_or_none(request.model, request.trained)
    if not (isinstance(model, TransformersModel) and model.is_encoder_decoder):
        return request
    with st.container(key="sequence", horizontal=True, vertical_alignment="bottom"):
        chosen = option_row("Attention of", ATTENTION, "attention", quiet=True)
        if chosen != ATTENTION[0]:
            pair = st.text_input(
                "What the decoder reads",
                key="pair",
                bind="query-params",
                placeholder="Empty: what the model itself writes",
            )
            request = replace(request, pair=pair or None)
    return replace(request, attention=cast(Part, chosen))


def _compared(request: Request, against: str) -> Request:
    """Return the request with what it is compared with: another sentence, random weights, or another model."""
    with _seen(against == "sentence", "text2"):
        text = _sentence("Sentence B", "text2", presets.twin_sentence(request.text))
    with _seen(against == "model", "model2"):
        model = _model("Model B", "model2", other_model(request.model))
    other: dict[str, dict[str, Any]] = {
        "sentence": {"text": text},
        "weights": {"trained": not request.trained},
        "model": {"model": model},
    }
    return replace(request, other=replace(request, **other[against]))


def _seen(seen: bool, key: str) -> Any:
    """Return a place for a control, or one out of sight: without it the URL would lose its parameter."""
    return nullcontext() if seen else st.container(key=f"unseen-{key}")


def _examples(shown: Shown) -> None:
    """Draw sentences or pairs worth a look as links, each with the model that it opens in."""
    if shown.examples:
        first = {"model": "", "weights": ""}
        sentences = {each.name: {"text": each.text, "pair": each.pair, **first} for each in presets.SENTENCES}
        menu.examples("Try", sentences, presets.IN_VIEW)
    elif shown.comparison:
        pairs = {
            each.name: {"text": each.a, "text2": each.b, "against": "", "model": each.model, "weights": ""}
            for each in presets.PAIRS
        }
        menu.examples("Try", pairs)
    elif shown.offered:
        menu.examples("Try", shown.offered)


def _model(label: str, key: str, first: str) -> str:
    """Draw the list of models; return the chosen one, or the one that is shown until it is fetched."""
    name = url_params.page_param(key, first)
    # A link may name one that is not on the list.
    offered = tuple(dict.fromkeys((*models(), *([name] if model_allowed(name) else []))))

    def write(chosen: str | None) -> None:  # another model opens on its own head
        head = {"head": None} if key == "model" else {}
        url_params.change({key: None if chosen in (None, first) else chosen, **head})

    follow_url(
        st.selectbox,
        label,
        f"{key}-chosen",
        name if name in offered else None,
        write,
        options=offered,
        index=None,
        required=True,
        placeholder=f"{name} (not offered)",
        format_func=model_label,
        accept_new_options=allowed("ANY_MODEL") or allowed("FOLDERS"),
    )
    return loading.model_or_fallback(name if refusal(key, name) is None else first)
