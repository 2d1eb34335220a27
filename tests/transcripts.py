"""What pages said and were given when somebody last read them: kept as text, compared line by line.

A net beneath the tests that hold pages against the engine, never instead of one: it cannot say that a page is right,
only that it says something else than before. Whoever means it reads what is new and keeps it: `make transcripts`, and
`git diff tests/transcripts`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest
from visit import data_of

FOLDER = Path(__file__).parent / "transcripts"
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
LONG = 24  # as many values in a row stand as a handful of sums
SUMS = 4
NOISE = 2e-5  # as much of a number comes from the order in which float32 is summed
# Of what Streamlit itself draws, what a reader sees of it.
SEEN = (
    *("label", "page", "query_string", "options", "help", "min", "max", "step", "body", "value"),
    *("placeholder", "spec"),
)
CODE = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)  # which has tests of its own
PACKED = re.compile(r"[A-Za-z0-9+/=]{200,}")
ENCODED = re.compile(r"(data:[\w/;+-]+,)?[A-Za-z0-9+/=%_-]+")


def lines_of(at: AppTest) -> list[str]:
    """Everything of a page that was opened without a browser, in the order in which it stands there."""
    lines = [line for element in elements(at._tree) for line in told(element)]
    records = [line.removeprefix("record.id = ") for line in lines if line.startswith("record.id = ")]
    named = {
        name: f"record {i}" for i, name in enumerate(records, 1)
    }  # what it is called is another in every process
    return [re.sub(r'"[0-9a-f]{24}"', lambda found: named.get(found[0], found[0]), line) for line in lines]


def elements(block: Any) -> Iterator[Any]:
    for _, child in sorted(block.children.items()):
        yield child
        if hasattr(child, "children"):
            yield from elements(child)


def told(element: Any) -> Iterator[str]:
    proto = getattr(element, "proto", None)
    if hasattr(element, "children"):
        if label := getattr(proto, "label", ""):
            yield f"{element.type}: {label}"
    elif element.type == "html":
        if not proto.body.startswith("<style"):
            yield from (f"html: {line}" for line in broken(proto.body))
    elif element.type == "bidi_component":
        name = proto.component_name.removeprefix("headscope_")
        if name != "library":
            yield from flat(data_of(proto), name)
    else:
        found = {key: plain(getattr(proto, key)) for key in SEEN if hasattr(proto, key)}
        yield from flat(
            {key: value for key, value in found.items() if value not in ("", [], None)}, element.type
        )
        value = getattr(element, "value", None)
        if isinstance(value, str | int | float | list | tuple) and "value" not in found:
            yield from flat(value, f"{element.type}.chosen")


def plain(found: Any) -> Any:
    if isinstance(found, str | int | float | bool):
        return found
    return [getattr(one, "content", str(one)) for one in found] if hasattr(found, "__iter__") else str(found)


def broken(body: str) -> list[str]:
    """Markup, a line for each paragraph, row or item."""
    return re.sub(r">\s*(?=<(?:p|tr|li|h\d|table|div|section|details)\b)", ">\n", body).splitlines()


def flat(value: Any, path: str) -> Iterator[str]:
    """The leaves of nested data, a line each; what is long stands as sums."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield f"{path} = {sums(value)}" if value.size > LONG else f"{path} = {value.tolist()}"
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from flat(value[key], f"{path}.{key}")
    elif isinstance(value, list | tuple | np.ndarray):
        yield from row(list(value), path)
    elif isinstance(value, str) and len(value) > 2_000:
        yield f"{path} = {long_text(value)}"
    else:
        yield f"{path} = {said(value)}"


def row(values: list[Any], path: str) -> Iterator[str]:
    if len(values) > LONG and (columns := apart(values)):
        yield f"{path} = {len(values)} rows"
        for name, column in columns.items():
            yield from flat(column, f"{path}[*]{name}")
    elif is_numbers(values) and len(values) > LONG:
        yield f"{path} = {sums(np.array(values, dtype=float))}"
    elif not any(isinstance(one, dict | list | tuple | np.ndarray) for one in values):
        shown = [said(one) for one in values]
        yield f"{path} = {long_text(chr(10).join(shown)) if len(shown) > 8 * LONG else ', '.join(shown)}"
    elif (found := grid(values)) is not None:
        yield f"{path} = {sums(found)}"
    else:
        for i, one in enumerate(values):
            yield from flat(one, f"{path}[{i}]")


def apart(values: list[Any]) -> dict[str, list[Any]] | None:
    """A table's columns, where every row has the same."""
    first = values[0]
    if isinstance(first, dict) and all(
        isinstance(one, dict) and one.keys() == first.keys() for one in values
    ):
        return {f".{key}": [one[key] for one in values] for key in first}
    rows = [one for one in values if isinstance(one, list | tuple)]
    if len(rows) == len(values) and len({len(one) for one in rows}) == 1 and len(rows[0]) < LONG:
        return {f"[{i}]": list(column) for i, column in enumerate(zip(*rows, strict=True))}
    return None


def is_numbers(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


def grid(values: list[Any]) -> np.ndarray | None:
    try:
        found = np.array(values, dtype=float)
    except (ValueError, TypeError):
        return None
    return found if found.size > LONG else None


def said(value: Any) -> str:
    if isinstance(value, float):
        return format(value, ".6g")
    if isinstance(value, str) and len(value) > 400 and ENCODED.fullmatch(value):
        return f"({value[:40]} …)"
    return json.dumps(value, ensure_ascii=False, default=str)


def long_text(text: str) -> str:
    """A file or a long list: its size, its words as a digest, its numbers as sums, and how it begins."""
    text = PACKED.sub("…", CODE.sub("<…>", text))
    numbers = [number(one) for one in NUMBER.findall(text)]
    words = hashlib.sha256(NUMBER.sub("#", text).encode()).hexdigest()[:12]
    begins = json.dumps(text.partition("\n")[0][:200], ensure_ascii=False)
    return f"{text.count(chr(10)) + 1} lines, words {words}, {sums(np.array(numbers))}: {begins} …"


def sums(values: np.ndarray) -> str:
    """Shape and weighted means of numbers: any two of them that change places change these."""
    found = np.asarray(values, dtype=float)
    shown = np.where(np.isfinite(found), found, 0.0).ravel()
    draws = np.random.default_rng(7)
    parts = [
        float(np.mean(shown * draws.uniform(0, 2, shown.size))) if shown.size else 0.0 for _ in range(SUMS)
    ]
    gaps = f", {int((~np.isfinite(found)).sum())} gaps" if not np.isfinite(found).all() else ""
    shape = "x".join(map(str, found.shape))
    return f"{shape} numbers{gaps}, weighted means {' '.join(format(part, '.5e') for part in parts)}"


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def differences(now: Iterable[str], kept: Iterable[str]) -> list[str]:
    """What is missing (-) and what is new (+), a line each; numbers may differ in their last place."""
    now, kept = list(now), list(kept)
    if len(now) == len(kept):
        pairs = zip(kept, now, strict=True)
        return [line for a, b in pairs if not same(a, b) for line in (f"- {a}", f"+ {b}")]
    found = []
    for kind, i, j, k, m in SequenceMatcher(None, kept, now, autojunk=False).get_opcodes():
        if kind != "equal" and not (j - i == m - k and all(map(same, kept[i:j], now[k:m]))):
            found += [f"- {line}" for line in kept[i:j]] + [f"+ {line}" for line in now[k:m]]
    return found


def same(a: str, b: str) -> bool:
    if a == b:
        return True
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(map(near, NUMBER.findall(a), NUMBER.findall(b)))


def near(a: str, b: str) -> bool:
    """Equal, or a decimal fraction that another processor rounds otherwise."""
    if a == b:
        return True
    if not set(".e") & set(a + b):
        return False
    places = max(len(one.partition(".")[2]) for one in (a, b)) if "e" not in a + b else 0
    x, y, step = number(a), number(b), 1.01 * 10.0**-places if 0 < places <= 4 else NOISE
    return abs(x - y) <= max(step, 2e-3 * max(abs(x), abs(y))) or max(abs(x), abs(y)) < NOISE
