"""THE picture: one sentence and what every head does with it, drawn in the browser by assets/js/.

In: grids (layer, head, query, key) and a selection. Out: the selection the reader made. Three kinds of mounts,
because what rarely changes must not travel with what often does: the code and the font (once a tab), the weights
(once a text), the view (small: which head, which words; for long texts also the chosen head in full).

    chosen = explore_view(record.grid(), record.tokens, model_title=record.model.title,
                          selection=Selection((3, 1), pins=(10,)), key="picture")
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import streamlit as st

from mha_core.grid import Grid
from mha_core.picture.bundle import style
from mha_core.picture.payload import (
    Keep,
    Offers,
    Payload,
    Role,
    align,
    compare_payload,
    compare_records,
    compare_view_payload,
    explore_payload,
    explore_view_payload,
    made_now,
    record_payload,
)
from mha_core.picture.standalone import standalone_html
from mha_core.tokens import Tokens
from mha_core.wording import Head
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.selection import Selection
from pages.parts.picture.code import LEAVE, LIBRARY, STUB
from pages.parts.picture.sealed import sealed
from pages.parts.picture.shared import files, library_address
from pages.parts.picture.sync import drawn, is_current, reconcile, reported, wants_files

__all__ = [
    "align",
    "asked_measure",
    "chosen",
    "compare_payload",
    "compare_view",
    "drawn_record",
    "explore_payload",
    "explore_view",
    "packed",
    "retyped",
    "standalone_html",
    "warm",
]

Change = Callable[[], None]
FILES = ("about", "columns")  # what only files say of the numbers: it comes when their menu is opened
KEEP, MOUNT = "open", "take"


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
    on_change: Change | None = None,
    keep: Keep = made_now,
    following: Callable[[Selection], tuple[Payload | None, Change]] | None = None,
    about: Payload | None = None,
    more: Callable[[Selection], Payload] = lambda _chosen: {},
    on_measure: Change | None = None,
    on_retype: Change | None = None,
    made: Payload | None = None,
) -> Selection:
    """Draw one text with every head; return what is chosen now.

    `selection` is what the page believes, from its link; it moves the picture only when it differs from what the
    picture shows and from what this function last returned. `on_change` runs before the next run when the reader
    chose something; `chosen(key)` says what. `keep`: see `record_payload`. `notices`: sentences, or objects with a
    `text`. `following`: what stands under the sentence for a selection, and the callback of what is asked for there.
    `about`: what the numbers are, see `record_payload`. `more`: what else the view says of a selection, `measures`
    (the switch), `opening` (why this was chosen) and `ghost` (what was drawn before a word was changed). `on_measure`
    runs before the next run when the reader asked for another measure; `asked_measure(key)` says which. So does
    `on_retype` when the reader changed a word where it stands; `retyped(key)` says which. `made`: the record as it
    travels, where it is made already (cross-attention, whose units are those of both texts, source first).
    """
    said = dict(about or {})
    files = {name: said.pop(name) for name in FILES if name in said}
    record = made or record_payload(grid, tokens, model_title, roles, keep, said or None)

    under: list[tuple[Payload | None, Change]] = [(None, _nothing)]

    def view(now: Selection) -> Payload:
        if following:
            under[0] = following(now)
        saving = wants_files(st.session_state, key)
        shown = explore_view_payload(
            grid, record, selection=now, notices=notices, present=present, exact=saving
        )
        return shown | {"next": under[0][0], "files": files if saving else None} | more(now)

    return _mount([record], view, selection, key, on_change, lambda: under[0][1], on_measure, on_retype)


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
    on_change: Change | None = None,
    keeps: tuple[Keep, Keep, Keep] = (made_now, made_now, made_now),
    offers: Offers = (),
    abouts: Sequence[Payload | None] = (None, None),
    more: Callable[[Selection], Payload] = lambda _chosen: {},
    on_measure: Change | None = None,
    on_retype: Change | None = None,
) -> Selection:
    """Draw two runs against each other; return what is chosen now. Positions in the selection are A's.

    `offers`: words to look from instead, where the chosen one is the same in both.
    """
    records = compare_records(a, a_tokens, b, b_tokens, titles, keeps, abouts)

    def view(now: Selection) -> Payload:
        shown = compare_view_payload(
            a,
            b,
            records,
            titles=titles,
            selection=now,
            notices=notices,
            present=present,
            offers=offers,
            exact=wants_files(st.session_state, key),
        )
        return shown | more(now)

    return _mount(records, view, selection, key, on_change, None, on_measure, on_retype)


def chosen(key: str) -> Selection | None:
    """What the reader last chose in the picture of that key; None before the first choice."""
    return reported(st.session_state, key)


def asked_measure(key: str) -> object:
    """The measure that the reader asked for in the picture of that key, which may be anything."""
    return heard_from(key, "measure")


def retyped(key: str) -> object:
    """The word that the reader changed in the picture of that key: `unit`, `word`, in Compare `side`; or anything."""
    return heard_from(key, "retype")


def drawn_record(key: str) -> str:
    """The name of the record that the picture of that key shows, as the browser keeps it."""
    return drawn(st.session_state, key)[0]


def packed(payload: Payload) -> Payload:
    """A payload as a mount takes it: its numbers as Arrow columns, all else under `rest`.

    Streamlit asks of every value beside the numbers whether it is a table, and takes an array to Arrow by pandas.
    """
    columns = {
        name: pa.table({"0": value}) for name, value in payload.items() if isinstance(value, np.ndarray)
    }
    return {"rest": {name: value for name, value in payload.items() if name not in columns}, **columns}


def warm() -> None:
    """What the first picture would wait for: the browser's code from disk, and the libraries that pack numbers."""
    files()
    style()
    packed({"numbers": np.zeros(1, dtype=np.uint16)})


def _mount(
    records: list[Payload],
    view: Callable[[Selection], Payload],
    wanted: Selection,
    key: str,
    on_change: Change | None,
    on_ask: Callable[[], Change] | None = None,
    on_measure: Change | None = None,
    on_retype: Change | None = None,
) -> Selection:
    sent = reconcile(st.session_state, key, wanted, tuple(record["id"] for record in records))
    data = view(sent.answered) | {"n": sent.number, "selection": sent.selection.as_json()}
    told = on_change or _nothing

    def after(act: Change | None) -> Change:
        """What else the reader asks for finds the link as it was chosen: a browser that has not heard of that yet
        sends the link before."""

        def both() -> None:
            if is_current(st.session_state, key):
                told()
            if act:
                act()

        return both

    with st.container(gap=None, key=f"{key}-data"):
        for number, record in enumerate(records):
            component("record", KEEP)(data=sealed(record), key=f"{key}-record-{number}")
    component("view", MOUNT)(
        data=packed(data),
        key=key,
        on_selection_change=told,
        on_ask_change=after(on_ask() if on_ask else None),
        on_measure_change=after(on_measure),
        on_retype_change=after(on_retype),
    )
    return sent.answered


def _nothing() -> None:
    """A callback that leaves everything to the run that follows it."""


@cache
def component(name: str, does: str) -> Callable[..., Any]:
    """A mount of that name, made once, which tells the library to do something with its data: to `KEEP` a record that
    is `sealed`, or to `MOUNT` a view that is `packed`."""
    stub = STUB.replace("@@DOES@@", does).replace("@@LEAVE@@", LEAVE if does == MOUNT else "")
    return script(name, stub)


def bring_library(key: str = "headscope-library") -> None:
    """Have the browser fetch what draws: once on a page, in a part of it that does not run for every picture."""
    script("library", LIBRARY.replace("@@ADDRESS@@", library_address()))(key=key)


@cache
def script(name: str, source: str) -> Callable[..., Any]:
    """A mount of that name with code of its own, made once."""
    return st.components.v2.component(f"headscope_{name}", js=source)
