"""What the reader changed in a layer, kept in the link: the division, the mask, hidden tokens, scores and weights.

In: the link. Out: `Edits`, and the sentences that say what of the link was not taken. Every change can be undone, also
by the browser's Back.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from mha_core import LayerRun
from mha_core.inside import CellEdit, Edits, ScoreEdit
from mha_core.wording import Head, head_name
from pages.parts.frame import state
from pages.parts.frame.page_text import quoted

KEYS = ("divide", "causal", "temperature", "unseen", "edits")
MATRICES = ("W_q", "W_k", "W_v", "W_o")
OF_KEY_HEADS = ("W_k", "W_v")
HISTORY = "inside-undo"
MOST = 1e6  # as the boxes of the page take them
MOST_EDITS = 40
_ITEM = re.compile(
    r"([1-9]\d{0,2})-([1-9]\d{0,2}):(score|W_[qkvo]):([1-9]\d{0,4}):([1-9]\d{0,4}):(-?\d+(?:\.\d+)?(?:e-?\d{1,3})?)",
    re.ASCII,
)


@dataclass(frozen=True)
class Change:
    """One number replaced: of a score (query, key) or of a head's matrix (row, column); places from 0."""

    head: Head
    kind: str
    row: int
    column: int
    value: float

    def as_text(self) -> str:
        """As the link has it, counted from 1."""
        return f"{head_name(self.head)}:{self.kind}:{self.row + 1}:{self.column + 1}:{self.value:.7g}"


def read_changes(text: str) -> tuple[list[Change], list[str]]:
    """The single numbers of a link, and what of it could not be read."""
    found, wrong = list[Change](), list[str]()
    for item in filter(None, text.split(",")):
        match = _ITEM.fullmatch(item)
        value = float(match[6]) if match else math.inf
        if match is None or not abs(value) <= MOST:
            wrong.append(f"The link has a change that cannot be read: {quoted(item)}.")
            continue
        layer, head, row, column = (int(match[i]) - 1 for i in (1, 2, 4, 5))
        found.append(Change((layer, head), match[3], row, column, value))
    return found[:MOST_EDITS], wrong[:3]


def edits_of(query: Mapping[str, str], run: LayerRun, layer: int) -> tuple[Edits, list[str]]:
    """The link's changes of this layer (from 0), and what of them is not there."""
    changes, said = read_changes(query.get("edits", ""))
    here = [change for change in changes if change.head[0] == layer]
    there = [change for change in here if _fits(change, run)]
    said += [
        f"The link changes {change.as_text()}, which this layer and sentence do not have."
        for change in here
        if change not in there
    ]
    unseen = tuple(
        int(part) - 1
        for part in dict.fromkeys(query.get("unseen", "").split(","))
        if re.fullmatch(r"[1-9]\d{0,3}", part) and int(part) <= run.n_keys
    )
    edits = Edits(
        scaled=query.get("divide", "").lower() != "false",
        temperature=_temperature(query.get("temperature", "")),
        causal=query.get("causal", "").lower() == "true" and not run.is_causal,
        hidden_keys=unseen,
        cells=tuple(
            CellEdit(c.kind, c.head[1], c.row, c.column, c.value) for c in there if c.kind != "score"
        ),
        scores=tuple(ScoreEdit(c.head[1], c.row, c.column, c.value) for c in there if c.kind == "score"),
    )
    return edits, said


def _temperature(text: str) -> float:
    """Between 0.1 and 5; 1 for what cannot be read."""
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return 1.0
    return min(max(float(text), 0.1), 5.0)


def _fits(change: Change, run: LayerRun) -> bool:
    used = run.projections
    if change.head[1] >= used.n_heads:
        return False
    if change.kind == "score":
        return change.row < run.n and change.column < run.n_keys
    rows, columns = getattr(used, change.kind).shape[1:]
    return bool(change.row < rows and change.column < columns)


def set_number(
    head: Head, kind: str, row: int, column: int, value: float | None, group: Sequence[int] = ()
) -> None:
    """Replace one number in the link; None puts the model's own back. `group`: the heads (from 0) that share the key
    and value head of this one; what one of them says of W_k and W_v is said for all."""
    kept, _ = read_changes(state.params().get("edits", ""))
    shared = [(head[0], other) for other in group] if kind in OF_KEY_HEADS else []
    place = (kind, row, column)
    kept = [
        change
        for change in kept
        if change.head not in (head, *shared) or (change.kind, change.row, change.column) != place
    ]
    if value is not None:
        kept.append(Change(head, *place, value))
    change_link({"edits": ",".join(change.as_text() for change in kept[-MOST_EDITS:]) or None})


def change_link(values: Mapping[str, str | None]) -> None:
    """Change the layer, and remember what it was for `undo`."""
    before = {key: state.params().get(key) for key in KEYS}
    st.session_state[HISTORY] = [*st.session_state.get(HISTORY, []), before][-100:]
    state.change(values)


def undo() -> None:
    """Take the last change back; without one that is remembered, all of them."""
    history = st.session_state.get(HISTORY, [])
    now = {key: state.params().get(key) for key in KEYS}
    while history:
        before = history.pop()
        if before != now:
            state.change(before)
            return
    state.change(dict.fromkeys(KEYS))


def reset(layer: int) -> None:
    """The layer (from 0) as the model has it; numbers that were changed in other layers stay."""
    changes, _ = read_changes(state.params().get("edits", ""))
    kept = ",".join(change.as_text() for change in changes if change.head[0] != layer)
    change_link({**dict.fromkeys(KEYS), "edits": kept or None})


def said_changes(edits: Edits, labels: Sequence[str]) -> list[str]:
    """Every change in a few words."""
    more = _counted(max(0, len(edits.cells) - 2), "more number")
    kept = [
        "not divided by √d_k" if not edits.scaled else "",
        f"temperature {edits.temperature:g}" if edits.temperature != 1 else "",
        "causal mask" if edits.causal else "",
        _hidden(edits, labels),
        _counted(len(edits.scores), "changed score"),
        *(
            f"{cell.matrix} of head {cell.head + 1}, row {cell.row + 1}, column {cell.column + 1} = {cell.value:g}"
            for cell in edits.cells[:2]
        ),
        f"{more} of matrices" if more else "",
    ]
    return [part for part in kept if part]


def _hidden(edits: Edits, labels: Sequence[str]) -> str:
    count = len(edits.hidden_keys)
    if count == len(labels):
        return "all tokens masked"
    return _counted(count, "masked token")


def _counted(count: int, what: str) -> str:
    return "" if not count else f"one {what}" if count == 1 else f"{count} {what}s"
