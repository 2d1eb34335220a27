"""A picture in the browser, drawn by assets/js/.

In: records and a view (`explore/picture.py`), and a selection. Choices made there the browser writes into the URL, and
the page is run for them. Three kinds of mounts, so that what rarely changes does not travel with what often does: the
code and the font (once a tab), the weights (once a text), the view (small; of long texts also the selected head).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import streamlit as st

from mha_core.draw.bundle import style
from mha_core.draw.payload import Payload
from pages.parts.frame import url_params
from pages.parts.frame.selection import PARAMS, Selection
from pages.parts.picture.sealed import encode_record
from pages.parts.picture.shared import files, library_address

KEEP, MOUNT = "open", "mountPacked"
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


def draw(
    records: Sequence[Payload], view: Payload, selection: Selection, key: str, moved: Mapping[str, str]
) -> None:
    """Draw a picture with a selection; `moved`: the parameters that the browser has to write, as its words have moved.

    `asked` is what the URL said: a browser whose URL is further by now shows its own choice.
    """
    in_url = {name: value for name, value in url_params.params().items() if name in (*PARAMS, "measure")}
    data = {**view, "asked": in_url, "selection": selection.as_json(), "moved": dict(moved)}
    with st.container(key=f"{key}-records"):  # one place for one or two
        for number, record in enumerate(records):
            component("record", KEEP)(data=encode_record(record), key=f"{key}-record-{number}")
    component("view", MOUNT)(data=packed(data), key=key)


def packed(payload: Payload) -> Payload:
    """A payload as a mount takes it: its numbers as Arrow columns, all else under `rest`.

    Streamlit asks of every value beside the numbers whether it is a table, and takes an array to Arrow by pandas.
    """
    columns = {
        name: pa.table({"0": value}) for name, value in payload.items() if isinstance(value, np.ndarray)
    }
    return {"rest": {name: value for name, value in payload.items() if name not in columns}, **columns}


def warm() -> None:
    """Load what the first picture would wait for: the browser's code, and the libraries that pack numbers."""
    files()
    style()
    packed({"numbers": np.zeros(1, dtype=np.uint16)})


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


def head_switches(record: Payload, view: Payload, *, key: str, on_ask: Callable[[], None]) -> None:
    """Draw the heads of a record as switches, each with its small picture; `view` as in assets/js/experiment.js.

    The component's event `ask` has the heads that are asked for.
    """
    roles = {head: {"label": name} for name, _, _, heads, _ in record["roles"] for head in heads.split()}
    about: dict[str, Any] = {
        "mode": "experiment",
        "records": [record["id"]],
        "shape": [record["layers"], record["heads"]],
        "roles": roles,
        "n": 0,
        "selection": None,
    }
    with st.container(gap=None):
        with st.container(gap=None, key=f"{key}-data"):
            bring_library(f"{key}-library")
            component("record", KEEP)(data=encode_record(record), key=f"{key}-record-0")
        component("view", MOUNT)(data=packed(about | view), key=key, on_ask_change=on_ask)


def component_event(key: str, event: str) -> object:
    """Return the value of an event, which may be anything; None once its component has left the page.

    A browser that does not know that yet still reports the event.
    """
    mount = st.session_state.get(key)
    return mount.get(event) if isinstance(mount, Mapping) else None
