"""All heads as switches, each with its small picture; drawn by assets/js/experiment.js.

In: the record of the text as it is, and which heads are switched. Out: what the reader asks for, as the component's
`ask`.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from mha_core.draw.payload import Payload
from pages.parts.picture.attention_view import KEEP, MOUNT, bring_library, component, packed
from pages.parts.picture.sealed import encode_record


def head_switches(record: Payload, view: Payload, *, key: str, on_ask: Callable[[], None]) -> None:
    """Draw the heads of a record as switches; `view` as in assets/js/experiment.js."""
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
