"""The text was changed, or how it is cut: what is chosen moves along with its words.

In: what was shown before, and the grid that is shown now. Out: places that name the same words, or none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from mha_core import Grid, Unit
from pages.parts.frame import state
from pages.parts.frame.request import Request

DRAWN = "drawn"  # what a picture shows now
BEFORE = "before"  # and what it showed before the reader changed its text


@dataclass(frozen=True)
class Drawn:
    """What a picture shows: of which text, under which options, of what; `record` as the browser keeps it. Of words the
    address `said` one thing and meant `choice`, until the browser has heard of that."""

    request: Request
    units: tuple[Unit, ...]
    record: str
    said: tuple[str, str]
    choice: tuple[str, str]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(unit.label for unit in self.units)


@dataclass(frozen=True)
class Change:
    """From `start` on, `new` units stand where `old` ones stood; all others are the same."""

    start: int
    old: int
    new: int

    def now(self, unit: int) -> int | None:
        """Where a unit from before stands; the first changed one where the first new one stands."""
        if unit < self.start:
            return unit
        if unit >= self.start + self.old:
            return unit - self.old + self.new
        return self.start if unit == self.start and self.new else None


def change_between(before: Sequence[str], after: Sequence[str]) -> Change | None:
    """The one stretch in which two rows of labels differ; None where less than half of the longer one stays."""
    least = min(len(before), len(after))
    start = next((i for i in range(least) if before[i] != after[i]), least)
    end = next((i for i in range(least - start) if before[-1 - i] != after[-1 - i]), least - start)
    if 2 * (start + end) < max(len(before), len(after)):
        return None
    return Change(start, len(before) - start - end, len(after) - start - end)


def nowhere(_unit: int) -> None:
    """Another text altogether: no unit has a place in it."""


def settle(request: Request, grid: Grid) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters of the address as they are meant in this picture, and those that it has to say otherwise.

    After another text, or another cut, what was chosen moves with its words, or is forgotten (an empty value).
    """
    asked = state.params()
    said, was = _choice(asked), st.session_state.get(DRAWN)
    if was is None or not said[0] or said not in (was.said, was.choice):
        return asked, {}
    pin, to = _moved(was.choice, _places(was, request, grid))
    meant = {"pin": pin, "to": to}
    moved = {key: value for key, value in meant.items() if asked.get(key, "") != value}
    return {key: value for key, value in (asked | meant).items() if value or key not in meant}, moved


def _moved(choice: tuple[str, str], now: Callable[[int], int | None] | None) -> tuple[str, str]:
    """The same words in other places; nothing where one of them is gone."""
    pin, to = choice
    if now is None or pin in ("", "none"):
        return ("", "") if now is nowhere else choice
    pins = [now(int(one)) for one in pin.split(",") if one.isdecimal()]
    if not pins or None in pins:
        return "", ""
    target = now(int(to)) if to.isdecimal() else None
    return ",".join(map(str, pins)), "" if target is None else str(target)


def _choice(params: Mapping[str, str]) -> tuple[str, str]:
    return params.get("pin", ""), params.get("to", "")


def _places(was: Drawn, request: Request, grid: Grid) -> Callable[[int], int | None] | None:
    """Where a unit of what was shown stands now; None where it is where it was."""
    if _is_of(was, request):
        return None if was.units == grid.units else partial(cut_anew, was.units, grid.units)
    change = change_between(was.labels, grid.labels) if _same_options(was, request) else None
    if change is None:
        return nowhere
    grown = grid.is_causal and change.start == len(was.units)  # the end goes along with the end
    return lambda unit: len(grid) - 1 if grown and unit == change.start - 1 else change.now(unit)


def cut_anew(before: Sequence[Unit], after: Sequence[Unit], place: int) -> int | None:
    """Where the unit at `place` of a text stands where it is cut otherwise: its first character, or that special
    token."""
    if not 0 <= place < len(before):
        return None
    old = before[place]
    return next((i for i, unit in enumerate(after) if _stands_for(unit, old)), None)


def _stands_for(unit: Unit, old: Unit) -> bool:
    if unit.special or old.special:
        return unit.special and old.special and (unit.label, unit.segment) == (old.label, old.segment)
    return unit.segment == old.segment and unit.start <= old.start < unit.end


def forget() -> None:
    """Where two texts are drawn, nothing moves along."""
    st.session_state.pop(DRAWN, None)


def keep(request: Request, grid: Grid, asked: Mapping[str, str], record: str = "") -> None:
    """Remember what is shown, for the next change of text or model: `asked`, the parameters as they are meant;
    `record`, the browser's name for it, if any."""
    was: Drawn | None = st.session_state.get(DRAWN)
    if was is not None and not _is_of(was, request):
        st.session_state[BEFORE] = was
    st.session_state[DRAWN] = Drawn(request, grid.units, record, _choice(state.params()), _choice(asked))


def shown_before(request: Request) -> Drawn | None:
    """What was drawn before, if it was another text under the very same options."""
    before: Drawn | None = st.session_state.get(DRAWN)
    if before is not None and _is_of(before, request):
        before = st.session_state.get(BEFORE)
    return before if before and not _is_of(before, request) and _same_options(before, request) else None


def _same_options(was: Drawn, request: Request) -> bool:
    # What stands beside it may be the same text, by another model or with other weights.
    beside = replace(was.request, other=request.other)
    return replace(beside, text=request.text, pair=request.pair, present=request.present) == request


def _is_of(drawn: Drawn, request: Request) -> bool:
    """Whether the same text was drawn, however it was cut."""
    return (drawn.request.text, drawn.request.pair) == (request.text, request.pair)
