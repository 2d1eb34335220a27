"""What is chosen in a picture, and who moved it last: the reader in the browser, or Python.

The browser keeps its own choice and tells it once. Python sends a selection only when Python moves it (another
text, a link, a preset), with a number that grows. So nothing is echoed, and a preset pressed twice counts twice.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from pages.parts.frame.selection import Selection, from_json


@dataclass(frozen=True)
class SyncState:
    """What the browser was last sent, and what was asked and answered in that run."""

    number: int
    selection: Selection
    records: tuple[str, ...]
    asked: Selection
    answered: Selection


def reconcile(
    memory: MutableMapping[Any, Any], key: str, wanted: Selection, records: tuple[str, ...]
) -> SyncState:
    """The move to send and, in `answered`, what the picture shows in this run. Remembers it in `memory`.

    `wanted` is what the page asks for, which may lag one run behind the reader: it counts as a move only if it
    is neither what the picture shows nor what the page was last told.
    """
    name = f"{key}-sent"
    sent: SyncState | None = memory.get(name)
    report = _report(memory, key)
    own = from_json(report) if sent and report and report.get("n") == sent.number else None
    if sent is None or sent.records != records or (own is None and wanted != sent.selection):
        move = True
    else:
        now = own or sent.selection
        lagging = wanted == sent.asked and now != sent.answered
        move = wanted not in (now, sent.answered) and not lagging
    if sent is None or move:
        settled = SyncState(sent.number + 1 if sent else 1, wanted, records, wanted, wanted)
    else:
        settled = SyncState(sent.number, sent.selection, records, wanted, own or sent.selection)
    memory[name] = settled
    return settled


def _report(memory: Mapping[Any, Any], key: str) -> Mapping[str, Any] | None:
    state = memory.get(key)
    report = state.get("selection") if isinstance(state, Mapping) else None
    return report if isinstance(report, Mapping) else None


def drawn(memory: Mapping[Any, Any], key: str) -> tuple[str, ...]:
    """The records of the picture of that key, as they were sent last."""
    sent: SyncState = memory[f"{key}-sent"]
    return sent.records


def reported(memory: Mapping[Any, Any], key: str) -> Selection | None:
    """What the reader last chose in the picture of that key; None before the first choice."""
    return from_json(_report(memory, key))


def is_current(memory: Mapping[Any, Any], key: str) -> bool:
    """Whether the reader has chosen something in the picture since Python last moved it."""
    report, sent = _report(memory, key), memory.get(f"{key}-sent")
    return bool(report and sent and report.get("n") == sent.number)


def wants_files(memory: Mapping[Any, Any], key: str) -> bool:
    """Whether the reader has opened the menu of files of what the picture shows now."""
    report = _report(memory, key)
    return is_current(memory, key) and report is not None and report.get("files") is True
