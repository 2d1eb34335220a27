"""What is chosen in a picture, and who moved it last: the reader in the browser, or Python.

The browser keeps its own choice and tells it once. Python sends a selection only when Python moves it (another
text, a link, a preset), with a number that grows. So nothing is echoed, and a preset pressed twice counts twice.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from mha_core.record import Grid

Head = tuple[int, int]


@dataclass(frozen=True)
class Selection:
    """What is chosen: head is (layer, head), pins and to are positions of units; all from 0."""

    head: Head
    pins: tuple[int, ...] = ()
    to: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {"head": list(self.head), "pins": list(self.pins), "to": self.to}


def clamp(selection: Selection, grid: Grid) -> Selection:
    """The selection inside this grid: a head that exists, positions that exist."""
    layers, heads, n, _ = grid.weights.shape
    head = (min(max(selection.head[0], 0), layers - 1), min(max(selection.head[1], 0), heads - 1))
    pins = tuple(pin for pin in selection.pins if 0 <= pin < n)
    to = selection.to if pins and selection.to is not None and 0 <= selection.to < n else None
    return Selection(head, pins, to)


def selection_of(value: Any) -> Selection | None:
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


@dataclass(frozen=True)
class Sent:
    """What the browser was last sent, and what was asked and answered in that run."""

    number: int
    selection: Selection
    records: tuple[str, ...]
    asked: Selection
    answered: Selection


def settle(memory: MutableMapping[Any, Any], key: str, wanted: Selection, records: tuple[str, ...]) -> Sent:
    """The move to send and, in `answered`, what the picture shows in this run. Remembers it in `memory`.

    `wanted` is what the page asks for, which may lag one run behind the reader: it counts as a move only if it
    is neither what the picture shows nor what the page was last told.
    """
    name = f"{key}-sent"
    sent: Sent | None = memory.get(name)
    report = _report(memory, key)
    own = selection_of(report) if sent and report and report.get("n") == sent.number else None
    if sent is None or sent.records != records or (own is None and wanted != sent.selection):
        move = True
    else:
        now = own or sent.selection
        lagging = wanted == sent.asked and now != sent.answered
        move = wanted not in (now, sent.answered) and not lagging
    if sent is None or move:
        settled = Sent(sent.number + 1 if sent else 1, wanted, records, wanted, wanted)
    else:
        settled = Sent(sent.number, sent.selection, records, wanted, own or sent.selection)
    memory[name] = settled
    return settled


def _report(memory: Mapping[Any, Any], key: str) -> Mapping[str, Any] | None:
    state = memory.get(key)
    report = state.get("selection") if isinstance(state, Mapping) else None
    return report if isinstance(report, Mapping) else None


def reported(memory: Mapping[Any, Any], key: str) -> Selection | None:
    """What the reader last chose in the picture of that key; None before the first choice."""
    return selection_of(_report(memory, key))
