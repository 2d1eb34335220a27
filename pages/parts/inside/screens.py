"""One screen at a time: which there are, which the link asks for, and the ways to another one.

In: the screens of a part. Out: the one to draw; Back and Next, the list, the map and the arrow keys change the link.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import markup
from pages.parts.picture.tiles import Block, Board


@dataclass(frozen=True)
class Screen:
    """`key` stands in the link; `draw` fills it; `station` is its place on the map; `cell` the table to ask about."""

    key: str
    title: str
    draw: Callable[..., Any]
    station: str = ""
    cell: str = ""


def here(screens: Sequence[Screen], first: str = "") -> int:
    """The screen that the link asks for; without one, `first` or the first."""
    asked = state.params().get("at", first)
    keys = [screen.key for screen in screens]
    return keys.index(asked) if asked in keys else 0


def way(key: str, screens: Sequence[Screen], now: int, *blocks: Block) -> None:
    """The way through the screens, with the map above it where there is one."""
    say_unknown("at", [screen.key for screen in screens], screens[now].title)
    board = Board()
    items = [{"key": screen.key, "title": screen.title} for screen in screens]
    board.add(*blocks, {"type": "pager", "items": items, "now": now})
    keys = tuple(screen.key for screen in screens)
    board.show(key, {"station": partial(_jump, key, keys), "go": partial(_turn, key, keys, now)}, keys=True)


def aloud(now: int, screen: Screen) -> None:
    """The screen's heading for who listens; the list of screens says it to the eye."""
    markup(f'<h2 class="hs-aloud">{now + 1} · {html.escape(screen.title)}</h2>')


def _jump(key: str, keys: Sequence[str]) -> None:
    wanted = heard_from(key, "station")
    if isinstance(wanted, str) and wanted in keys:
        go(wanted)


def _turn(key: str, keys: Sequence[str], now: int) -> None:
    step = heard_from(key, "go")
    if step in (1, -1) and 0 <= now + step < len(keys):
        go(keys[now + step])


def go(screen: str) -> None:
    """To another screen; a number that was asked about stays behind."""
    state.change({"at": screen, "cell": None})


def beside(key: str, *words: Block) -> Any:
    """Draw words on the left; return the place to their right."""
    left, right = st.columns([2, 3], gap="large")
    board = Board()
    board.add(*words)
    with left:
        board.show(key)
    return right
