"""Pronouns with two candidates in JSON, minimal pairs among them."""

import json
import re
from collections.abc import Iterable, Iterator

from mha_core.errors import InputError
from mha_core.heads.corpora.choices import PronounCase, Span, choice_flaw
from mha_core.heads.corpora.lines import Flaw
from mha_core.heads.corpora.reading import Reading

MAX_JSON = 64_000_000


def read_pairs(lines: Iterable[str], reading: Reading | None = None) -> Iterator[PronounCase]:
    """The choices of a JSON list of {"text", "pronoun": [s, e], "candidates": [[s, e], [s, e]], "answer": 0 |
    1}.

    `pair` (optional) is the same for the two versions of a minimal pair.
    """
    reading = reading or Reading()
    text = _whole(lines)
    items = _parsed(text)
    if isinstance(items, Flaw):
        reading.broken(items.line, items.what)
        return
    for number, item in _with_lines(text, items):
        choice = _choice(item, number)
        if isinstance(choice, str):
            reading.broken(number, choice)
        else:
            yield choice


class _Doubled(dict[str, object]):
    """An object in which a key stands twice."""

    key = ""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    items = dict(pairs)
    if len(items) == len(pairs):
        return items
    doubled, seen = _Doubled(items), set[str]()
    doubled.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return doubled


def _parsed(text: str) -> list[object] | Flaw:
    """The items of a JSON list, or where and why it is none."""
    try:
        items = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as flaw:
        return Flaw(flaw.lineno, f"the file is no JSON list; here it breaks off ({flaw.msg}).")
    except RecursionError:
        return Flaw(1, "brackets inside brackets without end.")
    except ValueError:
        return Flaw(1, "a number with more digits than can be read.")
    return items if isinstance(items, list) else Flaw(1, "pairs are one JSON list, from “[” to “]”.")


def _whole(lines: Iterable[str]) -> str:
    """All lines as one text. Raises InputError beyond MAX_JSON characters."""
    held, size = [], 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_JSON:
            raise InputError(f"A JSON list of pairs may have {MAX_JSON:,} characters at most.")
        held.append(line)
    return "\n".join(held)


def _with_lines(text: str, items: list[object]) -> Iterator[tuple[int, object]]:
    """Every item of a JSON list with the line it begins on."""
    between, decoder = re.compile(r"[\s,]*"), json.JSONDecoder()
    place, line = text.index("[") + 1, 1 + text.count("\n", 0, text.index("["))
    for item in items:
        start = place
        match = between.match(text, place)
        place = match.end() if match else place
        line += text.count("\n", start, place)
        yield line, item
        start = place
        _, place = decoder.raw_decode(text, place)
        line += text.count("\n", start, place)


def _choice(item: object, line: int) -> PronounCase | str:
    """The choice that one JSON object describes, or what is wrong with it."""
    if isinstance(item, _Doubled):
        return f"the key {item.key[:20]!r} stands there twice."
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return 'an item is an object with a "text".'
    text, candidates, answer = item["text"], item.get("candidates"), item.get("answer")
    pronoun = _span(item.get("pronoun"), text)
    if pronoun is None:
        return '"pronoun" is [start, end] inside the text.'
    if not isinstance(candidates, list) or len(candidates) != 2:
        return '"candidates" are two spans.'
    a, b = (_span(candidate, text) for candidate in candidates)
    if a is None or b is None:
        return '"candidates" are two spans [start, end] inside the text.'
    if flaw := choice_flaw(text, pronoun, a, b):
        return flaw
    if type(answer) is not int or answer not in (0, 1):
        return '"answer" is 0 or 1.'
    pair = item.get("pair", item.get("pair_id"))
    return PronounCase(text, pronoun, (a, b), int(answer), None if pair is None else str(pair)[:200], line)


def _span(value: object, text: str) -> Span | None:
    if not isinstance(value, list) or len(value) != 2 or not all(type(x) is int for x in value):
        return None
    start, end = value
    return (start, end) if 0 <= start < end <= len(text) and text[start:end].strip() else None
