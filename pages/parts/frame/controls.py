"""The reader's controls: the sentence, set like a line in a book, and the quiet options beneath it.

In: what the reader types and clicks. Out: a `Request`, every value checked once more.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from mha_core.grid import Specials
from mha_core.heads import measures
from mha_core.hf import TransformersModel
from mha_core.hf_layers import Part
from mha_core.model import Model
from mha_core.tokens import Tokenizer
from pages.parts.frame import examples, fetching, presets, state, words
from pages.parts.frame.prose import say
from pages.parts.frame.request import (
    AGAINST,
    ATTENTION,
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
from pages.parts.serve import cache

MENU = "options-menu"
SPECIALS_LABELS = {
    "shown": "{} shown",
    "hidden": "{} hidden, not renormalised",
    "renormalised": "{} hidden, renormalised",
}
OPTIONS_HELP = (
    "Untrained is the same model with random weights. “Words” merges the pieces of a word: summed "
    "where it is looked at, averaged where it looks."
)
AS_READ_HELP = (
    "Untrained is the same model with random weights. This page shows the pieces that the model reads, all of them; "
    "whole words and hidden special tokens are a matter of the other pages."
)
OWN_UNITS_HELP = (
    "Untrained is the same model with random weights. This page reads texts of its own, in the units that each "
    "question needs; whole words, hidden special tokens and a second sentence are a matter of the pages that show a "
    "sentence."
)
# What follows from a switch: the same text is cut otherwise, or others look and are looked at.
CHANGED = {"unit": state.cut_otherwise, "specials": state.cut_otherwise, "attention": state.forget_words}
HIDDEN_SAID = " With {} hidden, rows sum to less than 100 %, unless renormalised."


def explore(*, present: bool, with_examples: bool, as_read: bool = False, sentence: bool = True) -> Request:
    """One sentence, the options, and with `with_examples` the sentences that are worth a look.

    `as_read`, `sentence`: see `shell.page`.
    """
    text = _sentence("Your sentence", "text", state.changed_text)
    there = _models_there("model")
    readers = [model.tokenizer for model in there]
    attention = _attention(there) if sentence else ATTENTION[0]
    offered = _offered_examples(readers) if with_examples else ()
    with st.container(key="beneath", horizontal=True, vertical_alignment="center", gap="xsmall"):
        if offered:
            _examples(offered)
        request = _options(text, present, readers, pictures=with_examples, as_read=as_read, sentence=sentence)
    request = replace(request, attention=attention)
    fetching.ask("model")
    words.known(readers)
    opened = presets.opening(request.text, request.pair or "")
    if with_examples and opened:
        say(opened.look(request.model), "look")
    return request


def compare(*, present: bool) -> Request:
    """The same, and what it is compared with: another sentence, the untrained twin, or another model."""
    text = _sentence("Sentence A", "text", state.forget_words)
    other = st.container(key="other")
    there = _models_there("model", *(["model2"] if st.session_state["against"] == "model" else []))
    readers = [model.tokenizer for model in there]
    attention = _attention(there)
    with st.container(key="beneath", horizontal=True, vertical_alignment="center", gap="xsmall"):
        with _row("against-row"):
            say("Compare with", "label")
            against = _switch("Compare with", "against", AGAINST, label_shown=False)
        _pairs()
        request = replace(_options(text, present, readers, pictures=True), attention=attention)
    fetching.ask("model", *(["model2"] if against == "model" else []))
    with other:
        if against == "sentence":
            second = _sentence("Sentence B", "text2", None)
            words.known(readers)
            return replace(request, other=replace(request, text=second))
        if against == "weights":
            return replace(request, other=replace(request, trained=not request.trained))
        return replace(request, other=replace(request, model=_model("Model B", "model2")))


def _sentence(label: str, key: str, changed: Callable[[], None] | None) -> str:
    # A decoder may say lines, which a box of one line would drop when edited.
    if "\n" in st.session_state[key]:
        lines = st.text_area(label, key=key, on_change=changed, height="content")
        return lines or ""
    text = st.text_input(label, key=key, on_change=changed, placeholder="Type a sentence and press Enter")
    return text or ""


def _models_there(*keys: str) -> list[Model]:
    """The models that are chosen, as far as they can be had: what their tokenizers call their special tokens, and
    whether they take pairs, decides what is offered."""
    trained = st.session_state["weights"] == WEIGHTS[0]
    found = [cache.at_hand(fetching.settled(st.session_state[key]), trained) for key in keys]
    return [model for model in found if model is not None]


def _attention(there: Sequence[Model]) -> Part:
    """Of an encoder-decoder: which attention is looked at, and what its decoder reads."""
    if not any(isinstance(model, TransformersModel) and model.is_encoder_decoder for model in there):
        return ATTENTION[0]
    with st.container(key="sequence", horizontal=True, vertical_alignment="bottom"):
        chosen = _switch("Attention of", "attention", ATTENTION)
        if chosen != ATTENTION[0]:
            st.text_input(
                "What the decoder reads",
                key="pair",
                placeholder="Empty: what the model itself writes",
                on_change=state.forget_words,
            )
    return cast(Part, chosen)


def _options(
    text: str,
    present: bool,
    readers: Sequence[Tokenizer],
    pictures: bool,
    as_read: bool = False,
    sentence: bool = True,
) -> Request:
    names = tuple(dict.fromkeys(name for reader in readers for name in reader.special_names))
    pair, model, weights, unit, specials = (
        st.session_state[key] for key in ("pair", "model", "weights", "unit", "specials")
    )
    fixed = (AS_READ_HELP if as_read else "") if sentence else OWN_UNITS_HELP
    if not st.session_state.get(MENU):
        shown, specials = _unopened(model, specials, names, fixed)
        line = (shown, weights, unit, specials, names, as_read, sentence)
        _closed_options(model, line)
        model = shown
    else:
        with _options_row():
            # What is chosen stands before the menu, in a place of its own, for the menu may yet change it.
            slot, menu = st.container(width="content"), _menu()
            with menu:
                pair = _pair(readers) if sentence else pair
                model = _model("Model", "model")
                weights = _switch("Weights", "weights", WEIGHTS)
                _digest(model, weights == WEIGHTS[0])
                unit, specials = _reading(names, fixed)
                if pictures:
                    say(measures.HELP)
            with slot:
                _summary(model, weights, unit, specials, names, as_read, sentence)
    # What is drawn is switched above the matrix, which also says it.
    measure = _checked("measure", st.session_state["measure"], MEASURES[0]) if pictures else MEASURES[0]
    return Request(
        text, pair or None, model, weights == "trained", unit, cast(Specials, specials), present, measure
    )


def _options_row() -> Any:
    return st.container(key="options", horizontal=True, vertical_alignment="center", gap="xsmall")


def _menu() -> Any:
    return st.popover("Options", key=MENU, type="tertiary", on_change="rerun")


def _unopened(model: str, specials: str, names: Sequence[str], fixed: str) -> tuple[str, str]:
    """Model and special tokens as the link has them, where nobody has opened the menu."""
    shown = fetching.settled(model if refusal("model", model) is None else models()[0])
    return shown, specials if fixed else _there(names, specials)


def _closed_options(model: str, line: tuple[Any, ...]) -> None:
    """The menu that nobody has opened, what is chosen in it, and why the model is another one than was asked for."""
    with _options_row():
        _checked("model", model, models()[0])
        _summary(*line)
        _menu()


def _summary(
    model: str, weights: str, unit: str, specials: str, names: Sequence[str], as_read: bool, sentence: bool
) -> None:
    """What is chosen in the menu, in one line."""
    units = "whole words" if unit == "words" and not as_read else "word pieces"
    shown = SPECIALS[0] if as_read else specials
    framed = f" · {SPECIALS_LABELS[shown].format(', '.join(names))}" if names else ""
    read = f" · {units}{framed}" if sentence else ""
    by = (
        ", computed by transformers"
        if isinstance(cache.at_hand(model, weights == WEIGHTS[0]), TransformersModel)
        else ""
    )
    say(f"{title_of(model)}, {weights}{by}{read}", "summary")


def _reading(names: Sequence[str], fixed: str) -> tuple[str, str]:
    """Units and special tokens: the reader's choice, or as the link has them where `fixed` says why they are none."""
    if fixed:
        say(fixed)
        return st.session_state["unit"], st.session_state["specials"]
    unit, specials = _switch("Units", "unit", UNITS), _specials(names)
    say(OPTIONS_HELP + (HIDDEN_SAID.format(" and ".join(names)) if names else ""))
    return unit, specials


def _digest(name: str, trained: bool) -> None:
    """The one digest of the model's files, and whether they were compared with one that was known."""
    model = cache.at_hand(name, trained)
    if model is not None:
        compared = (
            "as expected" if model.pinned else "compared with none; --sha256 of the command line pins them"
        )
        say(f"Files of {model.title}: SHA-256 {model.files_digest[:16]}…, {compared}.")


def _pair(readers: Sequence[Tokenizer]) -> str | None:
    """The second sentence; also where no model takes one, as long as there is one to take away."""
    if any(getattr(reader, "is_sequence", False) for reader in readers):  # its box stands under the sentence
        return st.session_state["pair"] or None
    if all(not reader.takes_pairs for reader in readers) and readers and not st.session_state["pair"]:
        return None
    pair: str | None = st.text_input("Second sentence (optional)", key="pair", on_change=state.forget_words)
    return pair


def _specials(names: Sequence[str]) -> str:
    """Whether special tokens are shown; nothing to choose where there are none."""
    if not names:
        return _there(names, SPECIALS[0])
    return _switch(" and ".join(names), "specials", SPECIALS)


def _there(names: Sequence[str], specials: str) -> str:
    """What is asked of special tokens; where there are none, they are not hidden."""
    if not names:
        st.session_state["specials"] = specials = SPECIALS[0]
    return specials


def _offered_examples(readers: Sequence[Tokenizer]) -> tuple[presets.Preset, ...]:
    pairs = any(reader.takes_pairs for reader in readers) or not readers
    return presets.SENTENCES if pairs else tuple(one for one in presets.SENTENCES if not one.pair)


def _examples(offered: Sequence[presets.Preset]) -> None:
    examples.row("Examples", offered, lambda one: one.text, _open, "examples")


def _open(preset: presets.Preset) -> None:
    state.open_text(preset.text, preset.pair)
    state.lend(_lent("", (preset.text, preset.pair)))


def _pairs() -> None:
    examples.row("Minimal pairs", presets.PAIRS, lambda pair: f"{pair.a} / {pair.b}", _open_pair, "examples")


def _open_pair(pair: presets.MinimalPair) -> None:
    state.open_pair(pair)
    state.lend(_lent(pair.model, (pair.a, ""), (pair.b, "")))


def _lent(model: str, *texts: tuple[str, str]) -> str:
    """The model an example opens in: its own, or the first one where the reader's does not know its words."""
    name, weights = state.readers_model()
    reads = all(cache.reads(name, weights == WEIGHTS[0], *text) for text in texts)
    return model or ("" if reads else models()[0])


def _row(key: str) -> Any:
    return st.container(key=key, horizontal=True, vertical_alignment="center", gap="xxsmall", width="content")


def _model(label: str, key: str) -> str:
    any_model = allowed("ANY_MODEL") or allowed("FOLDERS")
    # A link may name one that is not on the shelf.
    offered = dict.fromkeys((*models(), st.session_state[key]))
    chosen = st.selectbox(
        label,
        tuple(offered),
        key=key,
        format_func=_offered,
        accept_new_options=any_model,
        on_change=state.chose_model if key == "model" else None,
    )
    return fetching.settled(_checked(key, chosen, models()[0]))


def _offered(name: str) -> str:
    """A model's name, with its title where that says more."""
    title = title_of(name)
    return name if title.casefold() == name else f"{name} · {title}"


def _switch(label: str, key: str, options: tuple[str, ...], label_shown: bool = True) -> str:
    chosen = st.segmented_control(
        label,
        options,
        required=True,
        key=key,
        label_visibility="visible" if label_shown else "collapsed",
        on_change=CHANGED.get(key),
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
