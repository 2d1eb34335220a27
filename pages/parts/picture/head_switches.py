"""All heads as switches with what changes beside them, or coloured by an effect; drawn by assets/js/experiment.js.

In: for switches the record of the text as it is; which heads are switched, and what came of it. For effects one number
a head. Out: what the reader asks for, as the component's `ask`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from mha_core.heads.roles import Role
from mha_core.heads.words import FloatArray
from mha_core.picture.payload import Payload
from mha_core.wording import Head, head_name
from pages.parts.picture.attention_view import KEEP, MOUNT, bring_library, component, packed
from pages.parts.picture.sealed import sealed

NOTHING: Payload = {
    "off": [],
    "factor": "0",
    "factors": [],
    "badge": "",
    "done": "",
    "groups": [],
    "undo": False,
}
NOTHING |= {
    "heard": 0,
    "moved": {},
    "result": None,
    "effects": None,
    "half": None,
    "addresses": None,
    "listTitle": "",
    "strongest": [],
}
STRONGEST = 8


def head_switches(record: Payload, view: Payload, *, key: str, on_ask: Callable[[], None]) -> None:
    """Draw the heads of a record as switches; `view` as in assets/js/experiment.js."""
    shape = [record["layers"], record["heads"]]
    roles = {head: {"label": name} for name, _, _, heads in record["roles"] for head in heads.split()}
    _mount([record], {"shape": shape, "roles": roles, **view}, key, on_ask)


def head_effects(
    effects: FloatArray,
    *,
    half: FloatArray | None = None,
    listed: Sequence[Head] | None = None,
    measure: str,
    was: float,
    addresses: Mapping[str, str],
    roles: Mapping[Head, Role],
    hint: str,
    key: str,
) -> None:
    """Draw one number a head, (layer, head), NaN where it is not known yet: blue is more, orange is less.

    `half`: half the width of each one's interval. The heads that are `listed`, or else the strongest, stand beside
    them. `was` is the measure before; `addresses` lead from a head's name to where it opens.
    """
    sizes = np.abs(effects[np.isfinite(effects)])
    order = np.argsort(-np.nan_to_num(np.abs(effects), nan=-1.0), axis=None, kind="stable")[:STRONGEST]
    strongest = [divmod(int(i), effects.shape[1]) for i in order if np.isfinite(effects.flat[i])]
    strongest = strongest if listed is None else list(listed[:STRONGEST])
    view: Payload = {
        "shape": list(effects.shape),
        "effects": np.ascontiguousarray(effects, dtype=np.float32).ravel(),
        "half": None if half is None else np.ascontiguousarray(half, dtype=np.float32).ravel(),
        "top": float(sizes.max(initial=0.0)) or 1.0,
        "measure": measure,
        "was": was,
        "addresses": dict(addresses),
        "roles": {head_name(head): {"label": role.name} for head, role in roles.items()},
        "hint": hint,
        "listTitle": "Largest effects" if listed is None else "Heads that matter",
        "strongest": [
            {
                "head": head_name(head),
                "label": roles[head].name if head in roles else "",
                "effect": float(effects[head]),
                "half": None if half is None else float(half[head]),
                "address": addresses[head_name(head)],
            }
            for head in strongest
        ],
    }
    _mount([], view, key, lambda: None)


def _mount(records: list[Payload], view: Payload, key: str, on_ask: Callable[[], None]) -> None:
    ids = [record["id"] for record in records]
    data: dict[str, Any] = NOTHING | {"mode": "experiment", "records": ids, "n": 0, "selection": None, **view}
    with st.container(gap=None):
        with st.container(gap=None, key=f"{key}-data"):
            bring_library(f"{key}-library")
            for number, record in enumerate(records):
                component("record", KEEP)(data=sealed(record), key=f"{key}-record-{number}")
        component("view", MOUNT)(data=packed(data), key=key, on_ask_change=on_ask)
