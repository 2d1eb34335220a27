"""THE picture: one sentence and what every head does with it, drawn in the browser by assets/view/.

In: grids (layer, head, query, key) and a selection. Out: the selection the reader made. Three mounts, because
what rarely changes must not travel with what often does: the code and the font (once a tab), the weights (once
a text), the view (small: which head, which words; for long texts also the chosen head in full).

    selection = explore_view(record.grid(), record.tokens, model_title=record.model.title,
                             selection=Selection((3, 1), pins=(10,)), key="picture", on_change=remember)
"""

import base64
import hashlib
import html
import json
import re
import threading
import unicodedata
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_core.compare import align as align_labels
from mha_core.record import Grid
from mha_core.thumbnails import STEPS, changes, loudest, quantise, strongest, thumbnails, toward
from mha_core.tokens import Tokens

VIEW = Path(__file__).parents[2] / "assets" / "view"
MODULES = (
    "numbers", "words", "colour", "record", "geometry", "dom", "exports", "theme", "sentence", "sheet",
    "matrix", "lines", "table", "ranking", "menu", "explore", "duo", "compare", "view",
)  # fmt: skip
FONTS = {
    "headscope-latin.woff2": "U+0-FF, U+131, U+152-153, U+2000-206F, U+20AC, U+2122, U+2212",
    "headscope-latin-ext.woff2": "U+100-130, U+132-151, U+154-17F, U+218-21B, U+1E9E",
}
# All heads travel in full up to here (72 heads of 69 units, 144 of 48); longer texts get small pictures.
FULL_BYTES = 680_000
SIDE = 64
LINKS = 8

Head = tuple[int, int]
Pairs = tuple[tuple[int | None, int | None], ...]
Payload = dict[str, Any]


class Role(Protocol):
    """What a head was found to be: a letter for the sheet, a label for people."""

    @property
    def letter(self) -> str: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True)
class Selection:
    """What is chosen: head is (layer, head), pins and to are positions of units; all from 0."""

    head: Head
    pins: tuple[int, ...] = ()
    to: int | None = None


# ---------------------------------------------------------------- mounting


def explore_view(
    grid: Grid,
    tokens: Tokens,
    *,
    model_title: str,
    selection: Selection,
    roles: Mapping[Head, Role] | None = None,
    notices: Sequence[Any] = (),
    present: bool = False,
    key: str,
    on_change: Callable[[], None] | None = None,
) -> Selection:
    """Draw one text with every head; return what is chosen now.

    `on_change` is called before the next run when the reader chose something; read `chosen(key)` in it.
    """
    packed = explore_payload(
        grid,
        tokens,
        model_title=model_title,
        selection=_current(key, selection),
        roles=roles,
        present=present,
    )
    return _mount(packed, selection, key, on_change)


def compare_view(
    a: Grid,
    a_tokens: Tokens,
    b: Grid,
    b_tokens: Tokens,
    *,
    titles: tuple[str, str],
    selection: Selection,
    notices: Sequence[Any] = (),
    present: bool = False,
    key: str,
    on_change: Callable[[], None] | None = None,
) -> Selection:
    """Draw two runs against each other; positions in the selection are A's."""
    packed = compare_payload(
        a,
        a_tokens,
        b,
        b_tokens,
        titles=titles,
        selection=_current(key, selection),
        notices=notices,
        present=present,
    )
    return _mount(packed, selection, key, on_change)


def chosen(key: str) -> Selection | None:
    """What the reader last chose in the picture of that key; None before the first choice."""
    state = st.session_state.get(key)
    value = state.get("selection") if isinstance(state, Mapping) else None
    return _selection_of(value)


def mount_library() -> None:
    """Bring the picture's code and the font to this tab; a page without a picture may call it for the font."""
    data: Payload = {"css": _css(), "faces": [[name, FONTS[name]] for name in FONTS]}
    data |= {name: np.frombuffer((VIEW / "fonts" / name).read_bytes(), dtype=np.uint8) for name in FONTS}
    _library()(data=data, key="headscope-library", height="content")


def _mount(packed: Payload, wanted: Selection, key: str, on_change: Callable[[], None] | None) -> Selection:
    view = packed["view"] | _moves(key, wanted, packed["view"]["records"])
    with st.container(gap=None):
        with st.container(gap=None, key=f"{key}-data"):
            mount_library()
            for number, record in enumerate(packed["records"]):
                _record()(data=record, key=f"{key}-record-{number}")
        _view()(data=view, key=key, on_selection_change=on_change or _nothing)
    return chosen(key) or wanted


def _nothing() -> None:
    """A callback that leaves everything to the run that follows it."""


def _current(key: str, wanted: Selection) -> Selection:
    """The selection the browser shows in this run: its own, unless Python has just moved it."""
    sent = st.session_state.get(f"{key}-sent")
    mine = chosen(key)
    if mine is None or sent is None or (wanted != sent["asked"] and wanted != mine):
        return wanted
    return mine


def _moves(key: str, wanted: Selection, records: list[str]) -> Payload:
    """The selection to send and its number. The browser follows a new number and ignores an old one, so its own
    choice is never echoed back, and the same preset pressed twice still counts twice."""
    name = f"{key}-sent"
    sent = st.session_state.get(name)
    mine = chosen(key)
    moved = (
        sent is None
        or sent["records"] != records
        or (mine is None and wanted != sent["selection"])
        or (mine is not None and wanted not in (sent["asked"], mine))
    )
    if moved:
        sent = {"n": (sent["n"] if sent else 0) + 1, "selection": wanted, "records": records, "asked": wanted}
    st.session_state[name] = sent | {"asked": wanted}
    return {"n": sent["n"], "selection": _as_json(sent["selection"])}


def _as_json(selection: Selection) -> Payload:
    return {"head": list(selection.head), "pins": list(selection.pins), "to": selection.to}


def _selection_of(value: Any) -> Selection | None:
    """A selection as the browser sent it, or None if it is not one: a browser may send anything."""
    try:
        layer, head = (int(part) for part in value["head"])
        pins = tuple(int(pin) for pin in value["pins"])[:512]
        to = None if value["to"] is None else int(value["to"])
    except (TypeError, KeyError, ValueError):
        return None
    if min(layer, head, *pins, 0 if to is None else to) < 0:
        return None
    return Selection((layer, head), pins, to)


# ---------------------------------------------------------------- payloads


def explore_payload(
    grid: Grid,
    tokens: Tokens,
    *,
    model_title: str,
    selection: Selection,
    roles: Mapping[Head, Role] | None = None,
    notices: Sequence[Any] = (),
    present: bool = False,
) -> Payload:
    """Everything the browser needs for one text: {records, view, selection}. Pure.

    The records are big and stay for a text; the view is small and changes with the selection.
    """
    record = record_payload(grid, tokens, model_title, roles)
    selection = clamp(selection, grid)
    view: Payload = {"mode": "explore", "records": [record["id"]], "present": present, "opened": []}
    view |= {"notices": [_text(notice) for notice in notices], "noticesOf": named(selection.head)}
    if record["packing"] == "small":
        view |= _opened(grid, 0, selection.head) | _links(grid, selection)
    return {"records": [record], "view": view, "selection": _as_json(selection)}


def record_payload(
    grid: Grid, tokens: Tokens, model_title: str, roles: Mapping[Head, Role] | None = None
) -> Payload:
    """One text in the browser: names, spacing and the weights, in full or as small pictures."""
    record = _packed_weights(grid) | {
        "layers": grid.weights.shape[0],
        "heads": grid.weights.shape[1],
        "model": model_title,
        "title": tokens.text if tokens.pair is None else f"{tokens.text} {tokens.pair}",
        "words": grid.words,
        "specialsShown": grid.specials,
        **spelled(grid, tokens),
        "segments": [unit.segment for unit in grid.units],
        "specials": [int(unit.special) for unit in grid.units],
        "roles": _roles(roles),
    }
    record["id"] = _digest(record)
    return record


_packed: dict[int, tuple[weakref.ref[NDArray[np.float32]], tuple[bool, ...], Payload]] = {}
_packing = threading.Lock()


def _packed_weights(grid: Grid) -> Payload:
    """The weights ready to travel; kept as long as the array lives, since every click asks for them again."""
    special = tuple(unit.special for unit in grid.units)
    with _packing:
        for gone in [name for name, (array, _, _) in _packed.items() if array() is None]:
            del _packed[gone]
        kept = _packed.get(id(grid.weights))
        if kept is None or kept[0]() is not grid.weights or kept[1] != special:
            kept = (weakref.ref(grid.weights), special, _pack(grid, np.array(special, dtype=bool)))
            _packed[id(grid.weights)] = kept
        return kept[2]


def _pack(grid: Grid, special: NDArray[np.bool_]) -> Payload:
    if grid.weights.size * 2 <= FULL_BYTES:
        return {"packing": "full", "weights": quantise(grid.weights).ravel()}
    return {
        "packing": "small",
        "side": SIDE,
        "weights": thumbnails(grid.weights, SIDE).ravel(),
        "loudest": loudest(grid.weights, special).ravel().tolist(),
    }


def compare_payload(
    a: Grid,
    a_tokens: Tokens,
    b: Grid,
    b_tokens: Tokens,
    *,
    titles: tuple[str, str],
    selection: Selection,
    notices: Sequence[Any] = (),
    present: bool = False,
) -> Payload:
    """Everything the browser needs for two runs; pure."""
    selection = clamp(selection, a)
    pairs = align(a, b)
    records = [record_payload(a, a_tokens, titles[0]), record_payload(b, b_tokens, titles[1])]
    view: Payload = {
        "mode": "compare",
        "titles": list(titles),
        "present": present,
        "pairs": [list(pair) for pair in pairs],
        "notices": [_text(notice) for notice in notices],
        "opened": [],
    }
    if any(record["packing"] == "small" for record in records):
        records = [_without_pictures(record) for record in records]
        records.append(_change_payload(a, b, pairs, records))
        view |= _moved(a, b, pairs, selection)
        for number, grid in enumerate((a, b)):
            part = _opened(grid, number, clamp(selection, grid).head)
            view |= part | {"opened": view["opened"] + part["opened"]}
    view["records"] = [record["id"] for record in records]
    return {"records": records, "view": view, "selection": _as_json(selection)}


def _without_pictures(record: Payload) -> Payload:
    """A record whose heads come one at a time: the sheet shows the difference instead."""
    kept = {name: value for name, value in record.items() if name not in ("weights", "loudest", "side")}
    return kept | {"packing": "none", "id": f"{record['id']}-plain"}


def _change_payload(a: Grid, b: Grid, pairs: Pairs, records: list[Payload]) -> Payload:
    """A minus B of every head over the units that both have, small: the largest change under a cell."""
    both = [(i, j) for i, j in pairs if i is not None and j is not None]
    layers, heads = (min(x, y) for x, y in zip(a.weights.shape[:2], b.weights.shape[:2], strict=True))
    left, right = [i for i, _ in both], [j for _, j in both]
    parts = []
    for layer in range(layers):  # one layer at a time: two long texts in full would be hundreds of megabytes
        of_a = a.weights[layer, :heads][:, left][:, :, left]
        parts.append(changes(of_a - b.weights[layer, :heads][:, right][:, :, right], SIDE))
    cells = np.stack(parts)
    return {
        "kind": "change",
        "id": f"{records[0]['id']}-{records[1]['id']}",
        "side": cells.shape[-1],
        "weights": cells.ravel(),
    }


def _moved(a: Grid, b: Grid, pairs: Pairs, selection: Selection) -> Payload:
    """For every head both have: the share of the look that moved, the column that changed most, its two masses."""
    place = {i: column for column, (i, _) in enumerate(pairs)}
    columns = [place[pin] for pin in selection.pins]
    if not columns:
        return {}
    layers, heads = (min(x, y) for x, y in zip(a.weights.shape[:2], b.weights.shape[:2], strict=True))
    rows = []
    for side, grid in enumerate((a, b)):
        units = [pairs[column][side] for column in columns]
        row = grid.weights[:layers, :heads, [unit for unit in units if unit is not None]].sum(
            axis=2, dtype=np.float64
        )
        spread = np.zeros((layers, heads, len(pairs)))
        here = [column for column, pair in enumerate(pairs) if pair[side] is not None]
        spread[..., here] = row[..., [pairs[column][side] for column in here]]
        rows.append(spread)
    change = np.abs(rows[0] - rows[1])
    most = change.argmax(axis=-1) if selection.to is None else np.full((layers, heads), place[selection.to])
    mass = [np.take_along_axis(row, most[..., None], axis=-1)[..., 0] for row in rows]
    scale = len(columns)
    cells = [quantise(change.sum(axis=-1) / 2 / scale), most.astype(np.uint16)]
    cells += [quantise(each / scale) for each in mass]
    return {
        "moves": {"pins": list(selection.pins), "to": selection.to, "scale": scale},
        "move_cells": np.stack(cells, axis=-1).ravel(),
    }


def align(a: Grid, b: Grid) -> Pairs:
    """Positions of A beside positions of B, None where one has no counterpart."""
    return align_labels(a.labels, b.labels)


def clamp(selection: Selection, grid: Grid) -> Selection:
    """The selection inside this grid: a head that exists, positions that exist."""
    layers, heads, n, _ = grid.weights.shape
    head = (min(max(selection.head[0], 0), layers - 1), min(max(selection.head[1], 0), heads - 1))
    pins = tuple(pin for pin in selection.pins if 0 <= pin < n)
    to = selection.to if pins and selection.to is not None and 0 <= selection.to < n else None
    return Selection(head, pins, to)


def named(head: Head) -> str:
    """A head as people read it: layer and head, numbered from 1."""
    return f"{head[0] + 1}-{head[1] + 1}"


def _text(notice: Any) -> str:
    return str(getattr(notice, "text", notice))


def _opened(grid: Grid, record: int, head: Head) -> Payload:
    name = f"opened_{record}"
    return {
        "opened": [{"record": record, "head": list(head), "column": name}],
        name: quantise(grid.weights[head]).ravel(),
    }


def _links(grid: Grid, selection: Selection) -> Payload:
    """Where the pinned words look in every head: the strongest few, and the exact weight of the target."""
    if not selection.pins:
        return {}
    row = grid.weights[:, :, list(selection.pins)].astype(np.float64).sum(axis=2)
    scale = len(selection.pins)
    index, weight = strongest(row / scale, LINKS)
    links: Payload = {
        "links": {"pins": list(selection.pins), "to": selection.to, "k": index.shape[-1], "scale": scale},
        "link_index": index.ravel(),
        "link_weight": weight.ravel(),
    }
    if selection.to is not None:
        links["link_toward"] = toward(row / scale, selection.to).ravel()
    return links


def _roles(roles: Mapping[Head, Role] | None) -> Payload:
    shapes = ("dot", "square", "diamond", "tick")
    tints = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
    labels = sorted({role.label for role in (roles or {}).values()})
    return {
        named(head): {
            "letter": role.letter,
            "label": role.label,
            "shape": shapes[labels.index(role.label) % len(shapes)],
            "colour": tints[labels.index(role.label) % len(tints)],
        }
        for head, role in (roles or {}).items()
    }


def _digest(record: Payload) -> str:
    weights = record["weights"]
    rest = {name: value for name, value in record.items() if name != "weights"}
    digest = hashlib.blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=12)
    digest.update(weights.tobytes())
    return digest.hexdigest()


# ---------------------------------------------------------------- the reader's own spelling


def spelled(grid: Grid, tokens: Tokens) -> Payload:
    """Every unit as the reader wrote it, and the spaces before it. Cuts never fall inside a grapheme."""
    texts = (tokens.text, tokens.pair or "")
    ends = [0, 0]
    names: list[str] = []
    before: list[str] = []
    for unit in grid.units:
        text = texts[unit.segment]
        if unit.special or unit.end <= ends[unit.segment]:
            names.append(visible(unit.label.removeprefix("##")))
            before.append("")
            continue
        start = max(unit.start, ends[unit.segment])
        end = grapheme_end(text, unit.end)
        before.append(visible(text[ends[unit.segment] : start], spaces=True))
        names.append(visible(text[start:end]))
        ends[unit.segment] = end
    shown = {unit.segment for unit in grid.units}
    after = [
        visible(texts[segment][ends[segment] :], spaces=True) if segment in shown and not tokens.n_cut else ""
        for segment in (0, 1)
    ]
    return {"names": names, "before": before, "after": after}


def grapheme_end(text: str, end: int) -> int:
    """The end moved past marks that belong to the character before it."""
    while end < len(text) and (
        unicodedata.category(text[end]) in ("Mn", "Mc", "Me")
        or text[end] in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= text[end] <= "\U0001f3ff"
        or text[end - 1] == "\u200d"
    ):
        end += 1
    return end


def visible(text: str, spaces: bool = False) -> str:
    """Control and zero-width characters as marks one can see; joiners inside a grapheme stay what they are."""
    out = []
    for i, character in enumerate(text):
        if spaces and character in " \n\t\u00a0":
            out.append(character)
        elif character in _MARKS:
            out.append(_MARKS[character])
        elif ord(character) < 0x20:
            out.append(chr(0x2400 + ord(character)))
        elif character in "\u200c\u200d" and 0 < i < len(text) - 1:
            out.append(character)
        elif unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn", "Cs") and character != "\u00ad":
            out.append("\u25cc")
        else:
            out.append(character)
    return "".join(out) or "\u25cc"[: not spaces]


_MARKS = {"\n": "↵", "\r": "↵", "\t": "⇥", "\x7f": "␡", "\u00ad": "‐", "\u200b": "\u25cc", "\ufeff": "\u25cc"}


# ---------------------------------------------------------------- in words


def sentence_in_words(grid: Grid, head: Head, pins: Sequence[int], tokens: Tokens | None = None) -> str:
    """What one head does, in one sentence; letter for letter what the browser writes (assets/view/words.js)."""
    names = spelled(grid, tokens)["names"] if tokens else [visible(label) for label in grid.labels]
    weights = quantise(grid.weights[head]).astype(np.float64)
    number = named(head)
    if pins:
        return _row_in_words(number, names, pins, weights)
    special = np.array([unit.special for unit in grid.units], dtype=bool)
    weights[special] = weights[:, special] = 0
    links = [(row.max() / STEPS, q, int(row.argmax())) for q, row in enumerate(weights) if row.max() > 0]
    links.sort(key=lambda link: (-link[0], link[1]))
    what = [f"“{names[q]}” looks at “{names[k]}” ({percent(w)})" for w, q, k in links[:3]]
    if not what:
        return f"Head {number} links no two words of this text."
    return f"Head {number}, its strongest links: {listed(what)}."


def _row_in_words(number: str, names: list[str], pins: Sequence[int], weights: NDArray[np.float64]) -> str:
    # float32, pin by pin: the browser adds in the same order and width, so that roundings agree.
    row = np.zeros(len(names), dtype=np.float32)
    for pin in pins:
        row = (row.astype(np.float64) + weights[pin] / STEPS).astype(np.float32)
    best = sorted((k for k in range(len(row)) if row[k] > 0 and row[k] >= 0.01), key=lambda k: (-row[k], k))[
        :3
    ]
    who = listed([f"“{names[pin]}”" for pin in pins])
    several = len(pins) > 1
    if not best:
        return f"Head {number}: {who} {'added up, look' if several else 'looks'} at nothing with 1 % or more."
    what = listed([f"“{names[k]}” ({percent(float(row[k]))})" for k in best])
    return f"Head {number}: {who}{', added up, look at' if several else ' looks at'} {what}."


def percent(weight: float) -> str:
    """A share as people read it; a floor of tenths, the same in both languages."""
    tenths = int(np.floor(abs(weight) * 1000 + 0.5))
    return f"{'−' if weight < 0 and tenths else ''}{tenths // 10}.{tenths % 10} %"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# ---------------------------------------------------------------- code, style, one file


@cache
def library_source() -> str:
    """All modules of assets/view/ as one: imports between them fall away, order is the order of use."""
    parts = []
    for name in MODULES:
        source = (VIEW / f"{name}.js").read_text(encoding="utf-8")
        source = re.sub(r"^import .*$\n?", "", source, flags=re.MULTILINE)
        source = re.sub(r"^export \{.*\};?$\n?", "", source, flags=re.MULTILINE)
        parts.append(
            re.sub(r"^export (?=async function|function|const|class|let)", "", source, flags=re.MULTILINE)
        )
    return "\n".join(parts)


@cache
def _css() -> str:
    return (VIEW / "view.css").read_text(encoding="utf-8")


_LIBRARY_ENTRY = """
export default function ({ data }) {
  if (globalThis.headscope?.css === data.css) return;
  const headscope = createHeadscope(data.css);
  headscope.css = data.css;
  globalThis.headscope = headscope;
  headscope.useFonts(data.faces.map(([name, range]) => ({ bytes: Uint8Array.from(column(data[name])).buffer, range })));
  for (const go of globalThis.headscopeWaiting?.splice(0) ?? []) go();
}
"""
_STUB = """
const ready = (go) => (globalThis.headscope ? go() : (globalThis.headscopeWaiting ??= []).push(go));
export default function (component) {
  ready(() => globalThis.headscope.%s);
  return () => globalThis.headscope?.unmount(component.parentElement);
}
"""


@cache
def _library() -> Callable[..., Any]:
    return st.components.v2.component("headscope_library", js=library_source() + _LIBRARY_ENTRY)


@cache
def _record() -> Callable[..., Any]:
    return st.components.v2.component("headscope_record", js=_STUB % "keep(component.data)")


@cache
def _view() -> Callable[..., Any]:
    return st.components.v2.component("headscope_view", js=_STUB % "mount(component)")


def standalone_html(payload: Payload, *, title: str) -> str:
    """One file with the interactive view: code, style, font and numbers inside, nothing fetched."""
    content = {
        "records": [_portable(record) for record in payload["records"]],
        "view": _portable(payload["view"] | {"n": 1, "selection": payload["selection"]}),
        "fonts": [[_base64((VIEW / "fonts" / name).read_bytes()), FONTS[name]] for name in FONTS],
        "css": _css(),
    }
    data = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    page = (VIEW / "standalone.html").read_text(encoding="utf-8")
    source = library_source() + (VIEW / "standalone.js").read_text(encoding="utf-8")
    parts = {"TITLE": html.escape(title), "DATA": data, "SOURCE": source.replace("</script", "<\\/script")}
    return re.sub("@@(TITLE|DATA|SOURCE)@@", lambda match: parts[match[1]], page)


def _portable(payload: Payload) -> Payload:
    """Numbers as base64 of their bytes, with their type."""
    return {
        name: {"type": value.dtype.name, "base64": _base64(np.ascontiguousarray(value).tobytes())}
        if isinstance(value, np.ndarray)
        else value
        for name, value in payload.items()
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
