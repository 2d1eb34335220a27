"""THE picture: one sentence and what every head does with it, drawn in the browser by assets/js/.

In: grids (layer, head, query, key) and a selection. What the reader chooses there the browser writes into the address,
and the page is run for it. Three kinds of mounts, because what rarely changes must not travel with what often does:
the code and the font (once a tab), the weights (once a text), the view (small: which head, which words; for long texts
also the chosen head in full).

    explore_view(record.grid(), record.tokens, model_title=record.model.title,
                 selection=Selection((3, 1), pins=(10,)), key="picture")
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import streamlit as st

from mha_core.display_names import Head
from mha_core.draw.bundle import style
from mha_core.draw.payload import (
    Keep,
    Payload,
    compare_records,
    compare_view_payload,
    explore_view_payload,
    make_now,
    record_payload,
)
from mha_core.heads.roles import Role
from mha_core.record.grid import Grid
from mha_core.text.tokens import Tokens
from pages.parts.frame import state
from pages.parts.frame.selection import PARAMS, Selection
from pages.parts.picture.sealed import sealed
from pages.parts.picture.shared import files, library_address

KEEP, MOUNT = "open", "take"
# What the mounts say in the browser: one fetches the library, once a tab; the others tell it what to do.
# Where it cannot be had, it tries again.
LIBRARY = """
const address = "@@ADDRESS@@";
const bring = (tries) => import(new URL(tries ? `${address}?again=${tries}` : address, document.baseURI).href).catch(
  () => setTimeout(() => bring(tries + 1), Math.min(500 * 2 ** tries, 10000)));
export default function () {
  if (!globalThis.headscope) globalThis.headscopeComing ??= bring(0);
}
"""
# These go along with every message, so they are short.
STUB = """
export default (mount) => {
  const go = () => headscope.@@DOES@@(mount);
  globalThis.headscope ? go() : (globalThis.headscopeWaiting ??= []).push(go);@@LEAVE@@
};
"""
LEAVE = """
  return () => globalThis.headscope?.unmount(mount.parentElement);"""


def explore_view(
    grid: Grid,
    tokens: Tokens,
    *,
    model_title: str,
    selection: Selection,
    roles: Mapping[Head, Role] | None = None,
    present: bool = False,
    key: str,
    keep: Keep = make_now,
    about: Payload | None = None,
    more: Payload | None = None,
    moved: Mapping[str, str] | None = None,
    made: Payload | None = None,
    kept: Sequence[Payload] = (),
) -> str:
    """Draw one text with every head, with `selection` chosen; returns the record's name in the browser.

    `keep`: see `record_payload`. `about`: what the numbers are, see `record_payload`. `more`: what else the view says:
    `measures` (the switch), `opening` (why this was chosen), `usual` (what the head usually does), `evidence` (how
    often it is right), `why` (what made the link, where that can be asked), `twin` (the word to change), `ghost` (what
    was drawn before a word was changed) and `typed` (where its words stand in the text). `moved`: see
    `carried_selection.settle`. `made`: the record as it travels, where it is made already (cross-attention, whose units
    are those of both texts, source first). `kept`: other records that the browser needs.
    """
    record = made or record_payload(grid, tokens, model_title, roles, keep, about)
    view = explore_view_payload(grid, record, selection=selection, present=present)
    view |= more or {}
    _mount([record, *kept], view, selection, key, moved)
    return str(record["id"])


def compare_view(
    a: Grid,
    a_tokens: Tokens,
    b: Grid,
    b_tokens: Tokens,
    *,
    titles: tuple[str, str],
    selection: Selection,
    present: bool = False,
    key: str,
    keeps: tuple[Keep, Keep, Keep] = (make_now, make_now, make_now),
    abouts: Sequence[Payload | None] = (None, None),
    more: Payload | None = None,
    moved: Mapping[str, str] | None = None,
) -> str:
    """Draw two runs against each other; returns the name of A's record. Positions in the selection are A's."""
    records = compare_records(a, a_tokens, b, b_tokens, titles, keeps, abouts)
    view = compare_view_payload(a, b, records, titles=titles, selection=selection, present=present)
    _mount(records, view | (more or {}), selection, key, moved)
    return str(records[0]["id"])


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
    view: Payload,
    selection: Selection,
    key: str,
    moved: Mapping[str, str] | None = None,
) -> None:
    """`asked` is what the address said: the browser, whose address may be further by now, shows its own then."""
    asked = {name: value for name, value in state.params().items() if name in (*PARAMS, "measure")}
    data = {
        **view,
        "asked": asked,
        "selection": selection.as_json(),
        "moved": dict(moved or {}),
    }
    for number, record in enumerate(records):
        component("record", KEEP)(data=sealed(record), key=f"{key}-record-{number}")
    component("view", MOUNT)(data=packed(data), key=key)


@cache
def component(name: str, does: str, css: str | None = None) -> Callable[..., Any]:
    """A mount of that name, made once, which tells the library to do something with its data: to `KEEP` a record that
    is `sealed`, or to `MOUNT` a view that is `packed`."""
    stub = STUB.replace("@@DOES@@", does).replace("@@LEAVE@@", LEAVE if does == MOUNT else "")
    return script(name, stub, css)


def bring_library(key: str = "headscope-library") -> None:
    """Have the browser fetch what draws: once on a page, in a part of it that does not run for every picture."""
    script("library", LIBRARY.replace("@@ADDRESS@@", library_address()))(key=key)


@cache
def script(name: str, source: str, css: str | None = None) -> Callable[..., Any]:
    """A mount of that name with code of its own, made once."""
    return st.components.v2.component(f"headscope_{name}", js=source, css=css)
