"""The frame around every page: menu, heading, the controls; the only writer of session state and URL.

In: the URL and what the reader types. Out: one frozen `Request`, each value checked; what was refused is
said in one sentence.

    request = shell.page("Explore", question="What does each head look at?")
    record = shell.attempt(cache.record, request)
    if record: ...
"""

import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import streamlit as st

from mha_core import HeadScopeError
from pages.parts import presets
from pages.parts.prose import markup, say
from pages.parts.request import (
    SPECIALS,
    UNITS,
    WEIGHTS,
    Request,
    View,
    allowed,
    models,
    query_of,
    refusal,
    refused,
    title_of,
    view_of,
)

P = ParamSpec("P")
T = TypeVar("T")

ROOT = Path(__file__).parents[2]
THEME = ROOT / "assets" / "theme"
MENU = (
    ("Explore", "app.py"),
    ("Compare", "pages/compare.py"),
    ("Specialization", "pages/specialization.py"),
    ("Inside", "pages/inside.py"),
    ("Learn", "pages/learn.py"),
)
# These belong to a view, not to a control, so the menu's links carry them from page to page.
CARRIED = ("head", "pin", "to")
SPECIALS_SAID = {
    "shown": "[CLS] and [SEP] shown",
    "hidden": "[CLS] and [SEP] hidden, rows not renormalised",
    "renormalised": "[CLS] and [SEP] hidden, rows renormalised",
}

OPTIONS_SAID = (
    "Untrained is the same model with random weights. Words takes the pieces of a word together: summed "
    "where it is looked at, averaged where it looks. With [CLS] and [SEP] hidden, rows sum to less than "
    "100 %, unless renormalised."
)


def page(title: str, *, question: str = "", lead: str = "", sentence: bool = True) -> Request:
    """Draw the frame, the heading and the reader's controls; return what they ask for.

    `title` is the page's name in MENU, `question` its heading. A page without a sentence of its own
    (`sentence=False`) keeps the controls unseen, so that their values and the link stay whole.
    """
    st.set_page_config(page_title=f"{title} · HeadScope", page_icon=str(THEME / "favicon.svg"), layout="wide")
    st.html(THEME / "page.css")
    present = st.query_params.get("present") == "1"
    if present:
        st.html(THEME / "present.css")
    said = list(refused(st.query_params.to_dict()))
    _top(title, present)
    with st.container(key="heading", gap="xxsmall"):
        markup(f"<h1>{html.escape(question or title)}</h1>")
        if lead:
            say(lead, "lead")
    with st.container(key="controls" if sentence else "controls-kept", gap="xsmall"):
        request = _controls(present)
    for sentence_said in said:
        say(sentence_said, "notice")
    markup('<div id="picture" tabindex="-1"></div>')
    return request


def attempt(make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """The value of `make(...)`, or None after saying on the page why there is none."""
    try:
        return make(*args, **kwargs)
    except HeadScopeError as error:
        say(str(error), "problem")
        return None


def view(request: Request, shape: Sequence[int], labels: Sequence[str]) -> View:
    """The head and the words of the link, checked against this picture; what was refused is said."""
    chosen, said = view_of(st.query_params.to_dict(), request, shape, labels)
    for sentence in said:
        say(sentence, "notice")
    return chosen


def keep(chosen: View) -> None:
    """Put the view into the URL, so that the browser's address is always a link to what is seen."""
    wanted = query_of(chosen)
    for key in CARRIED:
        if key not in wanted:
            st.query_params.pop(key, None)
        elif st.query_params.get(key) != wanted[key]:
            st.query_params[key] = wanted[key]


def examples() -> None:
    """The example sentences, one click each, and what to look for in the one that is open."""
    with st.container(key="examples", horizontal=True, vertical_alignment="center", gap="small"):
        say("Examples", "label")
        for preset in presets.SENTENCES:
            st.button(
                preset.name,
                key=f"example-{preset.name}",
                type="tertiary",
                help=preset.text,
                on_click=open_text,
                args=(preset.text, preset.pair),
            )


def open_text(text: str, pair: str = "") -> None:
    """Put a sentence into the box, as if the reader had typed it; its view opens afresh."""
    st.session_state["text"], st.session_state["pair"] = text, pair
    for key in CARRIED:
        st.query_params.pop(key, None)


def _top(title: str, present: bool) -> None:
    with st.container(key="top", horizontal=True, vertical_alignment="center", gap="small"):
        markup('<a class="hs-skip" href="#picture">Skip to the picture</a>')
        markup('<span class="hs-brand">HeadScope</span>')
        carried = {key: st.query_params[key] for key in CARRIED if key in st.query_params}
        for label, path in MENU:
            if (ROOT / path).exists():
                with st.container(key="here" if label == title else f"go-{label}", width="content"):
                    st.page_link(path, label=label, query_params=carried)
        words = "Leave presenter mode" if present else "Present"
        st.button(words, key="presenter", type="tertiary", on_click=_present, args=(not present,))


def _present(on: bool) -> None:
    if on:
        st.query_params["present"] = "1"
    else:
        st.query_params.pop("present", None)


def _controls(present: bool) -> Request:
    st.session_state.setdefault("text", presets.TIRED)
    text = st.text_input(
        "Your sentence",
        key="text",
        bind="query-params",
        on_change=_forget_words,
        placeholder="Type a sentence and press Enter",
    )
    with st.container(key="options", horizontal=True, vertical_alignment="center", gap="small"):
        with st.popover("Options", key="options-menu"):
            pair = st.text_input(
                "Second sentence (optional)", key="pair", bind="query-params", on_change=_forget_words
            )
            model = _model()
            weights = _switch("Weights", "weights", WEIGHTS)
            unit = _switch("Units", "unit", UNITS)
            specials = _switch("[CLS] and [SEP]", "specials", SPECIALS)
            say(OPTIONS_SAID)
        units = "whole words" if unit == "words" else "word pieces"
        say(f"{title_of(model)}, {weights} · {units} · {SPECIALS_SAID[specials]}", "summary")
    return Request(text or "", pair or None, model, weights == "trained", unit, specials, present)


def _model() -> str:
    any_model = allowed("ANY_MODEL") or allowed("FOLDERS")
    chosen = st.selectbox("Model", models(), key="model", bind="query-params", accept_new_options=any_model)
    return _checked("model", chosen, models()[0])


def _switch(label: str, key: str, options: tuple[str, ...]) -> str:
    chosen = st.segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        key=key,
        bind="query-params",
        on_change=None if key == "weights" else _forget_words,
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


def _forget_words() -> None:
    """Positions in one sentence mean nothing in the next."""
    for key in ("pin", "to"):
        st.query_params.pop(key, None)
