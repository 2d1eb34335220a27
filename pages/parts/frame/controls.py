"""The reader's controls: the sentence, set like a line in a book, and the quiet options beneath it.

In: what the reader types and clicks. Out: a `Request`, every value checked once more.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core.heads import measures
from mha_core.record import Specials
from pages.parts.frame import presets, state
from pages.parts.frame.prose import say
from pages.parts.frame.request import (
    AGAINST,
    MEASURES,
    SPECIALS,
    UNITS,
    WEIGHTS,
    Request,
    allowed,
    models,
    refusal,
    title_of,
)

SPECIALS_SAID = {
    "shown": "[CLS], [SEP] shown",
    "hidden": "[CLS], [SEP] hidden, not renormalised",
    "renormalised": "[CLS], [SEP] hidden, renormalised",
}
OPTIONS_SAID = (
    "Untrained is the same model with random weights. Words takes the pieces of a word together: summed "
    "where it is looked at, averaged where it looks. With [CLS] and [SEP] hidden, rows sum to less than "
    "100 %, unless renormalised."
)


def explore(*, present: bool, examples: bool) -> Request:
    """One sentence, the options, and with `examples` the sentences that are worth a look."""
    text = _sentence("Your sentence", "text", state.another_sentence)
    with st.container(key="beneath", horizontal=True, vertical_alignment="center", gap="xsmall"):
        if examples:
            _examples()
        request = _options(text, present, pictures=examples)
    opened = presets.opening(request.text, request.pair or "")
    if examples and opened:
        say(opened.look_for, "look")
    return request


def compare(*, present: bool) -> Request:
    """The same, and what it is compared with: another sentence, the untrained twin, or another model."""
    text = _sentence("Sentence A", "text", state.forget_words)
    other = st.container(key="other")
    with st.container(key="beneath", horizontal=True, vertical_alignment="center", gap="xsmall"):
        with _row("against-row"):
            say("Compare with", "label")
            against = _switch("Compare with", "against", AGAINST, label_shown=False)
        _pairs()
        request = _options(text, present, pictures=True)
    with other:
        if against == "sentence":
            second = _sentence("Sentence B", "text2", None)
            return replace(request, other=replace(request, text=second))
        if against == "weights":
            return replace(request, other=replace(request, trained=not request.trained))
        return replace(request, other=replace(request, model=_model("Model B", "model2")))


def _sentence(label: str, key: str, changed: Callable[[], None] | None) -> str:
    text = st.text_input(label, key=key, on_change=changed, placeholder="Type a sentence and press Enter")
    return text or ""


def _options(text: str, present: bool, pictures: bool) -> Request:
    with st.container(key="options", horizontal=True, vertical_alignment="center", gap="xsmall"):
        slot = st.container(width="content")
        with st.popover("Options", key="options-menu", type="tertiary"):
            pair = st.text_input("Second sentence (optional)", key="pair", on_change=state.forget_words)
            model = _model("Model", "model")
            weights = _switch("Weights", "weights", WEIGHTS)
            unit = _switch("Units", "unit", UNITS)
            specials = _switch("[CLS] and [SEP]", "specials", SPECIALS)
            say(OPTIONS_SAID)
            measure = _measure() if pictures else MEASURES[0]
        with slot:
            units = "whole words" if unit == "words" else "word pieces"
            drawn = "" if measure == MEASURES[0] else f" · {measures.BY_KEY[measure].label}"
            say(f"{title_of(model)}, {weights} · {units} · {SPECIALS_SAID[specials]}{drawn}", "summary")
    return Request(
        text, pair or None, model, weights == "trained", unit, cast(Specials, specials), present, measure
    )


def _measure() -> str:
    chosen = st.selectbox(
        "What is drawn",
        MEASURES,
        key="measure",
        format_func=lambda key: measures.BY_KEY[key].label,
    )
    say(measures.HELP)
    return _checked("measure", chosen, MEASURES[0])


def _examples() -> None:
    with _row("examples"):
        say("Examples", "label")
        for preset in presets.SENTENCES:
            _quiet(preset.name, preset.text, state.open_text, preset.text, preset.pair)


def _pairs() -> None:
    with _row("examples"):
        say("Minimal pairs", "label")
        for pair in presets.PAIRS:
            _quiet(pair.name, f"{pair.a} / {pair.b}", state.open_pair, pair)


def _row(key: str) -> DeltaGenerator:
    return st.container(key=key, horizontal=True, vertical_alignment="center", gap="xxsmall", width="content")


def _quiet(name: str, said: str, click: Callable[..., None], *args: object) -> None:
    st.button(name, key=f"example-{name}", type="tertiary", help=said, on_click=click, args=args)


def _model(label: str, key: str) -> str:
    any_model = allowed("ANY_MODEL") or allowed("FOLDERS")
    chosen = st.selectbox(label, models(), key=key, accept_new_options=any_model)
    return _checked(key, chosen, models()[0])


def _switch(label: str, key: str, options: tuple[str, ...], label_shown: bool = True) -> str:
    chosen = st.segmented_control(
        label,
        options,
        required=True,
        key=key,
        label_visibility="visible" if label_shown else "collapsed",
        on_change=state.forget_words if key in ("unit", "specials") else None,
    )
    return _checked(key, chosen, options[0])


def _checked(key: str, value: str | None, standard: str) -> str:
    """The value, if it may be chosen: a browser can send what its control does not offer."""
    if not isinstance(value, str):
        return standard
    sentence = refusal(key, value)
    if sentence is None:
        return value
    say(sentence, "notice")
    return standard
