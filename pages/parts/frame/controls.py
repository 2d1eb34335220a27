"""The reader's controls: the sentence, set like a line in a book, and the quiet options beneath it.

Each is bound to the address. In: what the reader types and clicks. Out: a `Request`, every value checked once more.
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
from pages.parts.frame import examples, fetching, loading, presets, state
from pages.parts.frame.links import NEW_LINE
from pages.parts.frame.option_row import is_loose, loose, option_row
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
        """Whether units and special tokens are no choice here."""
        return self.as_read or not self.sentence


def draw(page: Page, shown: Shown, present: bool) -> Request:
    """The controls of a page, and what they ask for. A page without a sentence keeps its controls unseen, so that the
    address goes along whole."""
    with st.container(key="controls" if shown.sentence else "controls-kept", gap="xsmall"):
        text = sentence(page, shown.comparison)
        other = st.container(key="other") if shown.comparison else None
        request, readers, against = _beneath(page, shown, present)
        request = replace(request, text=text)
        request = _sequence(request) if shown.sentence else request
        if other is not None:
            with other:
                request = _compared(request, against)
        _say_refused(shown, against, request)
        fetching.ask("model", *(["model2"] if against == "model" else []))
        if shown.sentence:
            _known_words([model.tokenizer for model in readers])
    return request


def _say_refused(shown: Shown, against: str, request: Request) -> None:
    """Say what the address asks for and is not shown: the controls themselves stand in a closed menu."""
    keys = ["model", "weights", "measure", "attention", *([] if shown.fixed else ["unit", "specials"])]
    keys += ["against"] * shown.comparison + ["model2"] * (against == "model")
    shows = (request.model, (request.other or request).model)
    for key in keys:
        if (asked := state.own(key, "")) and (problem := refusal(key, asked, shows[key == "model2"])):
            say(problem, "notice")


def beside(page: Page, shown: Shown, present: bool) -> Request:
    """Draw all controls but those for a text; return what they ask for, without a text."""
    request, readers, against = _beneath(page, shown, present)
    _say_refused(shown, against, request)
    fetching.ask("model")
    _known_words([model.tokenizer for model in readers])
    return request


def with_text(request: Request, page: Page) -> Request:
    """Draw the controls for a text; return the request with it."""
    return _sequence(replace(request, text=sentence(page)))


def _beneath(page: Page, shown: Shown, present: bool) -> tuple[Request, list[Model], str]:
    """The row beneath the sentence: the request without a text, the models that are there, the kind of comparison."""
    with st.container(key="beneath", horizontal=True, vertical_alignment="center", gap="xsmall"):
        against = _against() if shown.comparison else AGAINST[0]
        _offer(shown)
        return *_options(Request("", present=present), page, shown, against), against


def _known_words(readers: Sequence[Tokenizer]) -> None:
    """Offer the words of every model that reads no others."""
    for words in sorted({reader.known_words for reader in readers if reader.known_words is not None}):
        with st.popover(f"The {len(words)} words it knows", type="tertiary"):
            say(" ".join(words))


def sentence(page: Page, compared: bool = False) -> str:
    """Draw the box for the sentence; return its text."""
    return _sentence(
        "Sentence A" if compared else "Your sentence", "text", first_of("text", page), label_shown=compared
    )


def _sentence(label: str, key: str, first: str, *, label_shown: bool = True) -> str:
    typed = st.text_input(
        label,
        first,
        key=key,
        bind="query-params",
        placeholder="Type a sentence and press Enter",
        label_visibility="visible" if label_shown else "collapsed",
    )
    return (typed or "").replace(NEW_LINE, "\n")


def _against() -> str:
    with st.container(
        key="against-row", horizontal=True, vertical_alignment="center", gap="xxsmall", width="content"
    ):
        say("Compare with", "label")
        return _switch("Compare with", "against", AGAINST, label_shown=False)


def _options(asked: Request, page: Page, shown: Shown, against: str) -> tuple[Request, list[Model]]:
    """The request with what is chosen in the menu, which is named after the model, and the models that are there."""
    with st.container(key="options", width="content"):
        menu = st.popover(_named(state.own("model", first_of("model", page))), type="tertiary")
    with menu:
        model = _model("Model", "model", first_of("model", page))
        trained = _switch("Weights", "weights", WEIGHTS, help=WEIGHTS_HELP) == WEIGHTS[0]
    second = [state.own("model2", other_model(model))] if against == "model" else []
    there = _there(model, *second, trained=trained)  # a model that arrives says so beside the menu
    readers = [each.tokenizer for each in there]
    names = tuple(dict.fromkeys(name for reader in readers for name in reader.special_names))
    with menu:
        pair = _pair(readers) if shown.sentence else state.own("pair", "")
        unit, specials = _reading(names, shown.fixed)
        if there and isinstance(there[0], TransformersModel):
            say("Computed by transformers.")
    request = replace(
        asked,
        pair=pair or None,
        model=model,
        trained=trained,
        unit=unit,
        specials=cast(Specials, specials),
        measure=state.own_part("measure", MEASURES),
    )
    return request, there


def _named(model: str) -> str:
    """What the menu says of what is chosen in it: the model, and what is not as it is at first."""
    name = title_of(model if refusal("model", model) is None else models()[0])
    said = [name]
    if state.own_part("weights", WEIGHTS) != WEIGHTS[0]:
        said.append(WEIGHTS[1])
    return ", ".join(said)


def _there(*names: str, trained: bool) -> list[Model]:
    """The models that are chosen, as far as they can be had: what their tokenizers call their special tokens, and
    whether they take pairs, decides what is offered."""
    found = [loading.at_hand(name, trained) for name in names if refusal("model", name) is None]
    return [model for model in found if model is not None]


def _reading(names: Sequence[str], fixed: bool) -> tuple[str, str]:
    """Units and special tokens: the reader's choice, or as the address has them where they are `fixed`; where a model
    has no special tokens, none are hidden."""
    if fixed:
        return state.own_part("unit", UNITS), state.own_part("specials", SPECIALS)
    unit = _switch("Units", "unit", UNITS, help=UNIT_HELP)
    with _seen(bool(names), "specials"):
        specials = _switch(" and ".join(names) or "Special tokens", "specials", SPECIALS, help=SPECIALS_HELP)
    specials = specials if names else SPECIALS[0]
    return unit, specials


def _pair(readers: Sequence[Tokenizer]) -> str:
    """The second sentence; also where no model takes one, as long as there is one to take away."""
    asked = state.own("pair", "")
    if any(getattr(reader, "is_sequence", False) for reader in readers):  # its box stands under the sentence
        return asked
    if all(not reader.takes_pairs for reader in readers) and readers and not asked:
        return ""
    return st.text_input("Second sentence", key="pair", bind="query-params") or ""


def _sequence(request: Request) -> Request:
    """Of an encoder-decoder: which attention is looked at, and what its decoder reads."""
    used = loading.at_hand(request.model, request.trained)
    if not (isinstance(used, TransformersModel) and used.is_encoder_decoder):
        return request
    with st.container(key="sequence", horizontal=True, vertical_alignment="bottom"):
        chosen = _switch("Attention of", "attention", ATTENTION)
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
    """The request with what it is compared with: another sentence, the untrained twin, or another model."""
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
    """A place for a control, or one that nobody sees: without the control the address would lose what it says."""
    return nullcontext() if seen else st.container(key=f"unseen-{key}")


def _offer(shown: Shown) -> None:
    """Sentences or pairs worth a look, as links, each with the model that it opens in."""
    if shown.examples:
        first = {"model": "", "weights": ""}
        offered = {one.name: {"text": one.text, "pair": one.pair, **first} for one in presets.SENTENCES}
        examples.row("Try", offered, presets.IN_VIEW)
    elif shown.comparison:
        pairs = {
            one.name: {"text": one.a, "text2": one.b, "against": "", "model": one.model, "weights": ""}
            for one in presets.PAIRS
        }
        examples.row("Try", pairs)
    elif shown.offered:
        examples.row("Try", shown.offered)


def _model(label: str, key: str, first: str) -> str:
    """The model that is chosen, or the one that is shown until it is fetched."""
    asked = state.own(key, first)
    # A link may name one that is not on the list.
    offered = tuple(dict.fromkeys((*models(), *([asked] if model_allowed(asked) else []))))
    if is_loose(key, offered):
        missing = f"{asked} (not offered)"
        return fetching.settled(
            loose(st.selectbox, label, offered, key, first, index=None, placeholder=missing)
        )
    any_model = allowed("ANY_MODEL") or allowed("FOLDERS")
    chosen = st.selectbox(
        label,
        offered,
        index=offered.index(first),
        key=key,
        bind="query-params",
        accept_new_options=any_model,
        on_change=_own_head if key == "model" else None,
    )
    return fetching.settled(_checked(key, chosen, first))


def _own_head() -> None:
    """Another model opens on its own head."""
    if "head" in st.query_params:
        state.change({"head": None})


def _switch(
    label: str, key: str, options: tuple[str, ...], *, label_shown: bool = True, help: str | None = None
) -> str:
    visibility = "visible" if label_shown else "collapsed"
    return option_row(label, options, key, quiet=True, help=help, label_visibility=visibility)


def _checked(key: str, value: Any, standard: str) -> str:
    """The value, if it may be chosen: a browser can send what its control does not offer."""
    return value if isinstance(value, str) and refusal(key, value) is None else standard
