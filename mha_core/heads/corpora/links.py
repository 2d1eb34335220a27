"""Links between words in JSON lines: a gold standard of the user's own, such as alignments, contacts or citations."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mha_core.heads.corpora.conllu import MAX_FORM, MAX_WORDS, Sentence
from mha_core.heads.corpora.lines import Flaw, Lines, numbered
from mha_core.heads.corpora.plain import json_object
from mha_core.heads.corpora.reading import MAX_TEXT, Reading

NAME = re.compile(r"\w[\w .-]{0,39}")


@dataclass(frozen=True)
class LinkedText(Sentence):
    """A text with gold links (from, to) between its words, counted from 0; `name`: what a link is called.

    `words` are empty where the text is still to be cut.
    """

    links: tuple[tuple[int, int], ...] = ()
    name: str = ""


def has_links(lines: Lines) -> bool:
    """Return whether the first JSON object of a file has "links"."""
    objects = (json_object(line) for line in lines.checked() if isinstance(line, str))
    return "links" in next((row for row in objects if row is not None), {})


def read_links(lines: Iterable[str], reading: Reading | None = None) -> Iterator[LinkedText]:
    """The texts of JSON lines {"text" or "words", "links": [[from, to], ...], "name"}, words counted from 0.

    Texts with one "document" (optional) are resampled together.
    """
    reading = reading or Reading()
    for number, line in numbered(lines):
        if isinstance(line, Flaw):
            reading.broken(number, line.what)
        elif line.strip():
            row = json_object(line)
            flaw = 'a line must be a JSON object with "links".' if row is None else _flaw(row)
            if row is None or flaw:
                reading.broken(number, flaw)
                continue
            words = tuple(row.get("words", ()))
            links = tuple(dict.fromkeys((start, end) for start, end in row["links"]))
            text, document = row.get("text", " ".join(words)), row.get("document", "")
            yield LinkedText(
                words, (), (), text, number, document=document, links=links, name=row["name"].strip()
            )


def _flaw(row: Mapping[str, Any]) -> str:
    """Return what is wrong with a line's object; empty where nothing is."""
    if ("text" in row) == ("words" in row):
        return 'a line has either a "text" or "words".'
    text, words, links, name = (
        row.get("text", "a text"),
        row.get("words", ["word"]),
        row.get("links"),
        row.get("name"),
    )
    if not (isinstance(text, str) and text.strip() and len(text) <= MAX_TEXT):
        return f'"text" must be a string of 1 to {MAX_TEXT:,} characters.'
    is_list = isinstance(words, list) and 0 < len(words) <= MAX_WORDS
    if not (is_list and all(isinstance(word, str) and 0 < len(word.strip()) <= MAX_FORM for word in words)):
        return f'"words" must be a list of 1 to {MAX_WORDS:,} strings, of 1 to {MAX_FORM:,} characters each.'
    if not (isinstance(name, str) and NAME.fullmatch(name.strip())):
        return '"name" must be what a link is called: up to 40 letters, digits, spaces, dots or hyphens.'
    if not isinstance(row.get("document", ""), str):
        return '"document" must be a string.'
    if not (isinstance(links, list) and all(isinstance(link, list) and len(link) == 2 for link in links)):
        return '"links" must be a list of pairs [from, to].'
    for link in links:
        if not all(type(place) is int and place >= 0 for place in link) or link[0] == link[1]:
            return f"the link {str(link)[:40]} must name two different words, counted from 0."
    return ""
