"""A chart on a page: the figure, a camera, and its numbers as a table for who cannot see or point at it.

In: a Plotly figure and the table it was drawn from. Out: what was selected in it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from mha_core.record.export import csv_of

FORMATS = ("png", "svg")
CAMERA = "camera"  # what every chart's camera saves in this session


def is_dark() -> bool:
    """Return whether the reader sees the dark theme."""
    return st.context.theme.type == "dark"


def chart(
    figure: go.Figure,
    frame: pd.DataFrame,
    *,
    key: str,
    columns: Mapping[str, Any] | None = None,
    on_select: Callable[[], None] | Literal["rerun"] | None = None,
    about: Mapping[str, str] | None = None,
) -> None:
    """Draw a figure with the table behind it; `columns` as `column_config`, `about` as columns of its file.

    `on_select` is called when something of it is selected, or the page run again: `selected_heads(key)` says what.
    """
    title = str(figure.layout.title.text)
    kind = st.session_state.get(CAMERA, FORMATS[0])
    picked: dict[str, Any] = (
        {"on_select": on_select, "selection_mode": ("points", "box")} if on_select else {}
    )
    st.plotly_chart(figure, key=key, theme=None, config=camera(title, kind), alt=title, **picked)
    box = st.popover("Numbers", type="tertiary", key=f"{key}-numbers", on_change="rerun")
    if box.open:
        with box:
            st.dataframe(frame, hide_index=True, column_config=columns, key=f"{key}-table", alt=title)
            if about is not None:
                st.download_button(
                    "CSV",
                    lambda: csv_of(frame.assign(**about)),
                    f"{file_name(title)}.csv",
                    on_click="ignore",
                    key=f"{key}-csv",
                )
            st.segmented_control(
                "Camera saves",
                FORMATS,
                default=kind,
                required=True,
                key=f"{key}-camera",
                on_change=_set_camera,
                args=(key,),
            )


def _set_camera(key: str) -> None:
    st.session_state[CAMERA] = st.session_state[f"{key}-camera"]


def camera(title: str, kind: str) -> dict[str, Any]:
    """Plotly's own buttons; the browser writes the picture as `kind`, "png" or "svg"."""
    return {
        "displaylogo": False,
        "modeBarButtonsToRemove": ["lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        "toImageButtonOptions": {
            "format": kind,
            "filename": file_name(title),
            "scale": 2 if kind == "png" else 1,
        },
    }


def file_name(title: str) -> str:
    """Return the name of a file of a chart with that title, without its ending."""
    return "headscope-" + "-".join(re.findall("[a-z0-9]+", title.lower()))[:80]


def selected_heads(key: str) -> list[tuple[int, int]]:
    """Return the heads (layer, head from 0) that are selected in the head map `key`, in order; MLPs are none."""
    points = (st.session_state.get(key) or {}).get("selection", {}).get("points", [])
    found = set()
    for point in points:
        place = point.get("customdata")
        if place is not None and len(place) >= 2:
            layer, head = (place[i] if isinstance(place, list | tuple) else place[str(i)] for i in (0, 1))
            if int(head):
                found.add((int(layer) - 1, int(head) - 1))
    return sorted(found)
