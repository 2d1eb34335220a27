"""The user's changes of a layer, in the URL: division, mask, hidden tokens, scores and weights.

In: the URL. Out: `Edits`, and sentences about changes that do not fit. Each can be undone, also by the browser's Back.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from mha_core import LayerActivations
from mha_core.display_names import Head, head_name
from mha_core.layer import CellEdit, Edits, ScoreEdit
from pages.parts.frame import url_params
from pages.parts.frame.page_text import quoted

KEYS = ("divide", "causal", "temperature", "unseen", "edits")
MATRICES = ("W_q", "W_k", "W_v", "W_o")
OF_KEY_HEADS = ("W_k", "W_v")
HISTORY = "inside-undo"
MAX_NUMBER = 1e6  # as the boxes of the page take them
MAX_EDITS = 40
_ITEM = re.compile(r"(\S+):([1-9]\d{0,4}):([1-9]\d{0,4}):(-?\d+(?:\.\d+)?(?:e-?\d{1,3})?)", re.ASCII)
_PLACE = re.compile(r"([1-9]\d{0,2})-([1-9]\d{0,2}):(score|W_[qkvo])", re.ASCII)
Number = tuple[str, int, int, float]  # array, row and column from 0, value


def read_number(text: str) -> Number | None:
    """Return a number of an array as the URL has it, "X:1:2:0.5", counted from 1 there; None for anything else."""
    match = _ITEM.fullmatch(text)
    if match is None or not abs(float(match[4])) <= MAX_NUMBER:
        return None
    return match[1], int(match[2]) - 1, int(match[3]) - 1, float(match[4])


def number_text(name: str, row: int, column: int, value: float) -> str:
    """Return a number of an array for the URL."""
    return f"{name}:{row + 1}:{column + 1}:{value:.7g}"


@dataclass(frozen=True)
class Change:
    """One number replaced: a score (query, key) or a number of a head's matrix (row, column), from 0."""

    head: Head
    kind: str
    row: int
    column: int
    value: float

    def as_text(self) -> str:
        """Return the change as in the URL."""
        return number_text(f"{head_name(self.head)}:{self.kind}", self.row, self.column, self.value)


def read_changes(text: str) -> tuple[list[Change], list[str]]:
    """Return the changed numbers of a URL, and a sentence about each that cannot be read."""
    changes, problems = list[Change](), list[str]()
    for item in filter(None, text.split(",")):
        number = read_number(item)
        place = _PLACE.fullmatch(number[0]) if number else None
        if number is None or place is None:
            problems.append(f"The link has a change that cannot be read: {quoted(item)}.")
            continue
        head = int(place[1]) - 1, int(place[2]) - 1
        changes.append(Change(head, place[3], *number[1:]))
    return changes[:MAX_EDITS], problems[:3]


def edits_of(query: Mapping[str, str], run: LayerActivations, layer: int) -> tuple[Edits, list[str]]:
    """Return the URL's changes of this layer (from 0), and a sentence about each that does not fit."""
    changes, problems = read_changes(query.get("edits", ""))
    changes = [change for change in changes if change.head[0] == layer]
    fitting = [change for change in changes if _fits(change, run)]
    problems += [
        f"The link changes {change.as_text()}, which this layer and sentence do not have."
        for change in changes
        if change not in fitting
    ]
    hidden = (
        int(part) - 1
        for part in dict.fromkeys(query.get("unseen", "").split(","))
        if re.fullmatch(r"[1-9]\d{0,3}", part) and int(part) <= run.n_keys
    )
    warm = query.get("temperature", "")
    is_number = re.fullmatch(r"\d+(\.\d+)?", warm, re.ASCII)
    edits = Edits(
        scaled=query.get("divide", "").lower() != "false",
        temperature=min(max(float(warm), 0.1), 5.0) if is_number else 1.0,
        causal=query.get("causal", "").lower() == "true" and not run.is_causal,
        hidden_keys=tuple(hidden),
        cells=tuple(
            CellEdit(c.kind, c.head[1], c.row, c.column, c.value) for c in fitting if c.kind != "score"
        ),
        scores=tuple(ScoreEdit(c.head[1], c.row, c.column, c.value) for c in fitting if c.kind == "score"),
    )
    return edits, problems


def _fits(change: Change, run: LayerActivations) -> bool:
    if change.head[1] >= run.projections.n_heads:
        return False
    is_score = change.kind == "score"
    rows, columns = (run.n, run.n_keys) if is_score else getattr(run.projections, change.kind).shape[1:]
    return bool(change.row < rows and change.column < columns)


def set_number(
    head: Head, kind: str, row: int, column: int, value: float | None, group: Sequence[int] = ()
) -> None:
    """Replace one number in the URL; None puts the model's own back.

    group: the heads (from 0) that share the key and value head of this one, and so its W_k and W_v.
    """
    changes, _ = read_changes(url_params.params().get("edits", ""))
    heads = (head, *((head[0], other) for other in group if kind in OF_KEY_HEADS))
    place = (kind, row, column)
    changes = [c for c in changes if c.head not in heads or (c.kind, c.row, c.column) != place]
    if value is not None:
        changes.append(Change(head, *place, value))
    change_link({"edits": ",".join(change.as_text() for change in changes[-MAX_EDITS:]) or None})


def change_link(values: Mapping[str, str | None]) -> None:
    """Change the layer in the URL, and remember its parameters for `undo`."""
    before = {key: url_params.params().get(key) for key in KEYS}
    st.session_state[HISTORY] = [*st.session_state.get(HISTORY, []), before][-100:]
    url_params.change(values)


def undo() -> None:
    """Take the last change back; without one that is remembered, all of them."""
    history = st.session_state.get(HISTORY, [])
    current = {key: url_params.params().get(key) for key in KEYS}
    while history:
        before = history.pop()
        if before != current:
            url_params.change(before)
            return
    url_params.change(dict.fromkeys(KEYS))


def reset(layer: int) -> None:
    """Restore the layer (from 0) as the model has it; changed numbers of other layers stay."""
    changes, _ = read_changes(url_params.params().get("edits", ""))
    others = ",".join(change.as_text() for change in changes if change.head[0] != layer)
    change_link({**dict.fromkeys(KEYS), "edits": others or None})


def change_texts(edits: Edits, labels: Sequence[str]) -> list[str]:
    """Return every change in a few words."""
    more = _counted(max(0, len(edits.cells) - 2), "more number")
    is_all = len(edits.hidden_keys) == len(labels)
    texts = [
        "not divided by √d_k" if not edits.scaled else "",
        f"temperature {edits.temperature:g}" if edits.temperature != 1 else "",
        "causal mask" if edits.causal else "",
        "all tokens masked" if is_all else _counted(len(edits.hidden_keys), "masked token"),
        _counted(len(edits.scores), "changed score"),
        *(
            f"{cell.matrix} of head {cell.head + 1}, row {cell.row + 1}, column {cell.column + 1} = {cell.value:g}"
            for cell in edits.cells[:2]
        ),
        f"{more} of matrices" if more else "",
    ]
    return [text for text in texts if text]


def _counted(count: int, noun: str) -> str:
    return "" if not count else f"one {noun}" if count == 1 else f"{count} {noun}s"
