"""The glossary, and prose in which its terms can be asked about.

In: `assets/lesson/glossary.toml` and text such as "a [[query]] for `it`". Out: spans for `tiles.paragraph`, where a
term opens its own sentence. No Streamlit here.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

LESSON = Path(__file__).parents[3] / "assets" / "lesson"
_MARKS = re.compile(
    r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]|\[([^\]]+)\]\((https://[^\s)]+)\)|\*\*([^*]+)\*\*|`([^`]+)`|\{(\w+)\}"
)

Span = str | list[Any]


@dataclass(frozen=True)
class Term:
    """One entry: its name, one sentence, sometimes more, and the paper it is from with its address."""

    key: str
    term: str
    short: str
    more: str = ""
    source: str = ""
    link: str = ""


@cache
def terms() -> dict[str, Term]:
    """Return all entries, in alphabetical order of their names."""
    entries = tomllib.loads((LESSON / "glossary.toml").read_text(encoding="utf-8"))
    unsorted = [Term(key, **entry) for key, entry in entries.items()]
    return {entry.key: entry for entry in sorted(unsorted, key=lambda entry: entry.term.casefold())}


def spans(text: str, tokens: Mapping[str, str] | None = None) -> list[Span]:
    """Return spans of a text with marks: [[term]] or [[term|shown]], [text](address), **strong**, `code`, {token}.

    Tokens come in by name only, so that what a reader types is never read as a mark.
    """
    parts: list[Span] = []
    end = 0
    for match in _MARKS.finditer(text):
        parts += [text[end : match.start()], _span(match, tokens or {})]
        end = match.end()
    return [span for span in (*parts, text[end:]) if span != ""]


def _span(match: re.Match[str], tokens: Mapping[str, str]) -> Span:
    key, shown, text, address, strong, code, name = match.groups()
    if key is not None:
        entry = terms()[key]
        return ["term", shown or key, {"term": entry.term, "short": entry.short}]
    if address is not None:
        return ["link", text, address]
    if strong is not None:
        return ["strong", strong]
    if code is not None:
        return ["code", code]
    return ["token", tokens[name]]
