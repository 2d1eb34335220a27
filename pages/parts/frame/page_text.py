"""Sentences on the page: plain text in, escaped HTML out; never Markdown, whatever the reader typed."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st

from mha_core.display_names import visible

MAX_QUOTED = 40
_ROLES = {"problem": "alert", "notice": "status"}
_SHEET: ContextVar[list[str] | None] = ContextVar("sheet", default=None)


def say(text: str, kind: str = "note") -> None:
    """Draw one paragraph. Kinds: note, finding, why, look, label; notice and problem are also announced."""
    role = f' role="{_ROLES[kind]}"' if kind in _ROLES else ""
    markup(f'<p class="hs-{kind}"{role}>{whole(prose(text))}</p>', inline=kind == "label")


def heading(text: str, level: int = 2) -> None:
    """A heading in the page's own type; levels follow one another without a gap."""
    markup(f"<h{level}>{prose(text)}</h{level}>")


def prose(text: str) -> str:
    """Escaped HTML of a sentence in which `a word` between backticks is set off as a word of the text."""
    return re.sub(r"`([^`]+)`", r'<bdi class="hs-word">\1</bdi>', html.escape(visible(text, spaces=True)))


def unmarked(text: str) -> str:
    """Return text for a label that Streamlit reads as Markdown: of that, all ASCII punctuation is escaped."""
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text)


def whole(escaped: str) -> str:
    """Escaped HTML in which no line ends between a number and its percent sign, or within a head's name."""
    return re.sub(r"[+−]?\d[\d.,]* ?%|\b\d+-\d+\b", r'<span class="hs-whole">\g<0></span>', escaped)


def lowered(escaped: str) -> str:
    """Our own names of matrices and sizes with what is lowered in them: W_q, d_model; in escaped HTML."""
    return re.sub(r"\b([A-Za-z])_([a-z]+)\b", r"\1<sub>\2</sub>", escaped)


def markup(body: str, *, inline: bool = False) -> None:
    """HTML written by us; what the reader typed must have gone through `prose` or `html.escape`."""
    sheet = _SHEET.get()
    if sheet is None:
        st.html(body, width="content" if inline else "stretch")
    else:
        sheet.append(body)


@contextmanager
def together() -> Iterator[None]:
    """Make all that is said within it one element of the page and one message; nothing else is drawn there."""
    sheet = list[str]()
    before = _SHEET.set(sheet)
    try:
        yield
    finally:
        _SHEET.reset(before)
    if sheet:
        markup(f'<div class="hs-together">{chr(10).join(sheet)}</div>')


def quoted(value: str) -> str:
    """Return what a user gave, short enough for a sentence."""
    return f"“{value if len(value) <= MAX_QUOTED else value[: MAX_QUOTED - 1] + '…'}”"
