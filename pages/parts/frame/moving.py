"""The text was changed, or how it is cut: what is chosen moves along with its words.

In: what was shown before, and the grid that is shown now. Out: positions in the link that name the same words, or none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from mha_core import Grid, Unit
from pages.parts.frame import state
from pages.parts.frame.request import Request


@dataclass(frozen=True)
class Drawn:
    """What a picture shows: of which text, under which options, of what; `record` as the browser keeps it."""

    request: Request
    units: tuple[Unit, ...]
    record: str

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


def settle(request: Request, grid: Grid) -> None:
    """After the text was changed, or how it is cut, here or on another page: what was chosen moves along with its
    words, or is forgotten."""
    left: Drawn | None = st.session_state.pop(state.LEFT, None)
    if st.session_state.pop(state.MOVES, False):
        now = _places(request, grid)
    elif left is not None and _is_of(left, request) and left.units != grid.units:
        now = partial(cut_anew, left.units, grid.units)
    else:
        return
    asked = state.params()
    pins = [now(int(pin)) for pin in asked.get("pin", "").split(",") if pin.isdecimal()] if now else []
    if not pins or None in pins:
        if asked.get("pin") != "none" or now is None:
            state.forget_words()
        return
    to = now(int(asked["to"])) if now and asked.get("to", "").isdecimal() else None
    state.change({"pin": ",".join(map(str, pins)), "to": None if to is None else str(to)})


def _places(request: Request, grid: Grid) -> Callable[[int], int | None] | None:
    """Where a unit of what was shown before stands now; None where nothing is known of it, or too much is new."""
    same: Drawn | None = st.session_state.get(state.DRAWN)
    if same is not None and _is_of(same, request):
        return partial(cut_anew, same.units, grid.units)
    was = shown_before(request)
    change = was and change_between(was.labels, grid.labels)
    return change.now if change else None


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
    """Where two texts are drawn, nothing moves along: what was chosen is forgotten when a text was changed."""
    if st.session_state.pop(state.MOVES, False):
        state.forget_words()
    st.session_state.pop(state.LEFT, None)
    st.session_state.pop(state.DRAWN, None)


def keep(request: Request, grid: Grid, record: str = "") -> None:
    """Remember what is shown, for the next change of text or model; `record`: the browser's name for it, if any."""
    st.session_state[state.DRAWN] = Drawn(request, grid.units, record)


def shown_before(request: Request) -> Drawn | None:
    """What was drawn before, if it was another text under the very same options."""
    was: Drawn | None = st.session_state.get(state.BEFORE)
    if was is None or (was.request.text, was.request.pair) == (request.text, request.pair):
        return None
    # What stands beside it may be the same text, by another model or with other weights.
    beside = replace(was.request, other=request.other)
    same = replace(beside, text=request.text, pair=request.pair, present=request.present) == request
    return was if same else None


def _is_of(drawn: Drawn, request: Request) -> bool:
    """Whether the same text was drawn, however it was cut."""
    return (drawn.request.text, drawn.request.pair) == (request.text, request.pair)
