"""One screen at a time: which the URL asks for, and the ways to another one.

In: the screens of a part. Out: the one to draw; Back and Next, the list, the map and the arrow keys change the URL.
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
    """A screen by its key in the URL; `draw` fills it where a part draws its screens itself."""

    key: str
    title: str
    draw: Callable[..., Any] = lambda *_: None


def here(screens: Sequence[Screen], first: str = "") -> int:
    """Return the place of the screen that the URL asks for; without one, of `first` or 0."""
    wanted = state.params().get("at", first)
    keys = [screen.key for screen in screens]
    return keys.index(wanted) if wanted in keys else 0


def draw_pager(key: str, screens: Sequence[Screen], index: int, *blocks: Block) -> None:
    """Draw the way through the screens, with these blocks above it."""
    keys = tuple(screen.key for screen in screens)
    say_unknown("at", keys, screens[index].title)
    items = [{"key": screen.key, "title": screen.title} for screen in screens]
    board = Board()
    board.add(*blocks, {"type": "pager", "items": items, "now": index})
    board.show(key, {"station": partial(_jump, key, keys), "go": partial(_turn, key, keys, index)}, keys=True)


def heading(index: int, screen: Screen) -> None:
    """Write the screen's heading for screen readers; the list of screens shows it."""
    markup(f'<h2 class="hs-aloud">{index + 1} · {html.escape(screen.title)}</h2>')


def _jump(key: str, keys: Sequence[str]) -> None:
    station = heard_from(key, "station")
    if isinstance(station, str) and station in keys:
        go(station)


def _turn(key: str, keys: Sequence[str], index: int) -> None:
    step = heard_from(key, "go")
    if step in (1, -1) and 0 <= index + step < len(keys):
        go(keys[index + step])


def go(screen: str) -> None:
    """Open another screen; a number that was chosen stays behind."""
    state.change({"at": screen, "cell": None})


def beside(key: str, *words: Block) -> Any:
    """Draw words on the left; return the place to their right."""
    left, right = st.columns([2, 3], gap="large")
    board = Board()
    board.add(*words)
    with left:
        board.show(key)
    return right
