"""The frame around every page: menu, heading, the controls; the only writer of session state and URL.

In: the URL and what the reader types. Out: one frozen `Request`, each value checked; what was refused is
said in one sentence.

    request = shell.page("Explore", question="What does each head look at?")
    record = shell.attempt(cache.record, request)
    if record: ...
"""

import html
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
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
FONTS = ROOT / "assets" / "view" / "fonts"
FACES = {
    "headscope-latin.woff2": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,"
    "U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD",
    "headscope-latin-ext.woff2": "U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+1D00-1DBF,"
    "U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF",
}
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
    "shown": "[CLS], [SEP] shown",
    "hidden": "[CLS], [SEP] hidden, not renormalised",
    "renormalised": "[CLS], [SEP] hidden, renormalised",
}

TOP = '<a class="hs-skip" href="#picture">Skip to the picture</a><span class="hs-brand">HeadScope</span>'
OPTIONS_SAID = (
    "Untrained is the same model with random weights. Words takes the pieces of a word together: summed "
    "where it is looked at, averaged where it looks. With [CLS] and [SEP] hidden, rows sum to less than "
    "100 %, unless renormalised."
)

CAVEAT = (
    "Attention is not explanation: a large weight shows where a head looks, not why the model decides as it does. "
    "Other weights can give the same output (Jain & Wallace 2019); whether that makes them useless is argued "
    "(Wiegreffe & Pinter 2019)."
)


def page(
    title: str, *, question: str = "", lead: str = "", sentence: bool = True, examples: bool = False
) -> Request:
    """Draw the frame, the heading and the reader's controls; return what they ask for.

    `title` is the page's name in MENU, `question` its heading. A page without a sentence of its own
    (`sentence=False`) keeps the controls unseen, so that their values and the link stay whole. `examples` puts
    the example sentences beneath the box, and what to look for in the one that is open.
    """
    st.set_page_config(page_title=f"{title} · HeadScope", page_icon=str(THEME / "favicon.svg"), layout="wide")
    st.html(_style())
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
        request = _controls(present, examples)
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
    """The head and the words of the link, checked against this picture; what was refused is said.

    `shape` begins with layers and heads; `labels` are the units on the screen.
    """
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


def caveat() -> None:
    """Said once on a page, where the picture has been seen and before it is taken away."""
    say(CAVEAT, "caveat")


def open_text(text: str, pair: str = "") -> None:
    """Put a sentence into the box, as if the reader had typed it; its view opens afresh."""
    st.session_state["text"], st.session_state["pair"] = text, pair
    for key in CARRIED:
        st.query_params.pop(key, None)


@cache
def _style() -> str:
    """The style sheet with its typeface inside, so that nothing needs a file server or another host."""
    faces = [
        f"@font-face{{font-family:HeadScope;font-weight:400 650;font-display:swap;unicode-range:{scope};"
        f"src:url(data:font/woff2;base64,{b64encode((FONTS / file).read_bytes()).decode()}) format('woff2')}}"
        for file, scope in FACES.items()
    ]
    return f"<style>{''.join(faces)}{(THEME / 'page.css').read_text()}</style>"


def _top(title: str, present: bool) -> None:
    with st.container(key="top", horizontal=True, vertical_alignment="center", gap="small"):
        markup(TOP, inline=True)
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


def _controls(present: bool, examples: bool) -> Request:
    st.session_state.setdefault("text", presets.TIRED)
    text = st.text_input(
        "Your sentence",
        key="text",
        bind="query-params",
        on_change=_forget_words,
        placeholder="Type a sentence and press Enter",
    )
    with st.container(key="beneath", horizontal=True, vertical_alignment="center", gap="xsmall"):
        if examples:
            _examples()
        with st.container(key="options", horizontal=True, vertical_alignment="center", gap="xsmall"):
            slot = st.container(width="content")
            with st.popover("Options", key="options-menu", type="tertiary"):
                pair = st.text_input(
                    "Second sentence (optional)", key="pair", bind="query-params", on_change=_forget_words
                )
                model = _model()
                weights = _switch("Weights", "weights", WEIGHTS)
                unit = _switch("Units", "unit", UNITS)
                specials = _switch("[CLS] and [SEP]", "specials", SPECIALS)
                say(OPTIONS_SAID)
            with slot:
                units = "whole words" if unit == "words" else "word pieces"
                say(f"{title_of(model)}, {weights} · {units} · {SPECIALS_SAID[specials]}", "summary")
    opened = presets.opening(text or "", pair or "")
    if examples and opened:
        say(opened.look_for, "look")
    return Request(text or "", pair or None, model, weights == "trained", unit, specials, present)


def _examples() -> None:
    with st.container(
        key="examples", horizontal=True, vertical_alignment="center", gap="xxsmall", width="content"
    ):
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
