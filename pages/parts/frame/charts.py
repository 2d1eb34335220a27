"""A chart on a page: the figure, its numbers as a table for users who cannot see or point at it, and files.

In: a Plotly figure and the table it was drawn from. Out: the heads selected in it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from mha_core.display_names import Head
from mha_core.draw.figures.charts import curves
from mha_core.record.export import csv_of, json_of
from pages.parts.frame import url_params
from pages.parts.frame.page_text import say

Points = Iterable[tuple[int, float]]  # (step, value)
SHARE = st.column_config.NumberColumn(format="percent")
HEAD_NAME = r"[?&]head=(\d+-\d+)"  # what a column of links to heads shows
FORMATS = ("png", "svg")
CAMERA = "camera"  # session key of the format that cameras save
PRESENTED = 1.5  # times the size of a chart on a projector


def is_dark() -> bool:
    """Return whether the user sees the dark theme."""
    return st.context.theme.type == "dark"


def chart(
    figure: go.Figure,
    frame: pd.DataFrame,
    *,
    key: str,
    columns: Mapping[str, Any] | None = None,
    on_select: Callable[[], None] | Literal["rerun"] | None = None,
    about: Mapping[str, str] | None = None,
    lines: Sequence[str] = (),
) -> None:
    """Draw a figure, its table in a box "Numbers" (`columns` as `column_config`), and a box "Save".

    `about`: columns added to the files; its "link" is offered by itself. `lines`: Python that computes the numbers.
    `on_select` is called when something of it is selected, or the page run again: `selected_heads(key)` says what.
    """
    title = str(figure.layout.title.text)
    if url_params.is_presented():
        _enlarge(figure)
    kind = st.session_state.get(CAMERA, FORMATS[0])
    selection: dict[str, Any] = (
        {"on_select": on_select, "selection_mode": ("points", "box")} if on_select else {}
    )
    st.plotly_chart(figure, key=key, theme=None, config=camera(title, kind), alt=title, **selection)
    with st.container(horizontal=True, gap="small", key=f"{key}-boxes"):
        numbers = st.popover("Numbers", type="tertiary", key=f"{key}-numbers", on_change="rerun")
        files = st.popover("Save", type="tertiary", key=f"{key}-save", on_change="rerun")
    if numbers.open:
        with numbers:
            st.dataframe(frame, hide_index=True, column_config=columns, key=f"{key}-table", alt=title)
    if files.open:
        with files:
            _files(frame.assign(**about or {}), key, file_name(title), kind)
            show_source((about or {}).get("link", ""), "\n".join(lines))


def show_source(link: str, python: str) -> None:
    """Offer the link to a view and the Python that computes it, where there are any."""
    if link:
        say("Link to this view:")
        st.code(link, language=None, wrap_lines=True)
    if python:
        say("Python, where HeadScope is installed:")
        st.code(python, language="python", wrap_lines=True)


def _enlarge(figure: go.Figure) -> None:
    """Enlarge a figure and its type for a projector."""
    layout, large = figure.layout, {"font_size": PRESENTED * 14, "title_font_size": PRESENTED * 14}
    top = layout.margin.t if layout.margin.t is not None else layout.template.layout.margin.t
    figure.update_layout(height=PRESENTED * layout.height, margin_t=PRESENTED * top, **large)
    figure.update_traces(textfont_size=PRESENTED * 12, selector={"type": "bar"})
    figure.for_each_xaxis(lambda axis: axis.update(title_font_size=PRESENTED * 14))
    figure.for_each_yaxis(lambda axis: axis.update(title_font_size=PRESENTED * 14))


def _files(frame: pd.DataFrame, key: str, name: str, kind: str) -> None:
    """Draw the figure's format and the buttons for its numbers."""
    st.segmented_control(
        "The camera on the figure saves",
        FORMATS,
        format_func=str.upper,
        default=kind,
        required=True,
        key=f"{key}-camera",
        on_change=lambda: st.session_state.update({CAMERA: st.session_state[f"{key}-camera"]}),
    )
    with st.container(horizontal=True, gap="small"):
        for ending, write in {"csv": csv_of, "json": json_of}.items():
            st.download_button(
                ending.upper(),
                partial(write, frame),
                f"{name}.{ending}",
                on_click="ignore",
                key=f"{key}-{ending}",
            )


def show_table(
    frame: pd.DataFrame, *, key: str, alt: str, columns: Mapping[str, Any] | None = None, row_height: int = 28
) -> None:
    """Draw a whole table; `columns` as `column_config`, `alt` for screen readers."""
    st.dataframe(
        frame,
        hide_index=True,
        column_config=columns,
        height="content",
        row_height=row_height,
        key=key,
        alt=alt,
    )


def camera(title: str, kind: str) -> dict[str, Any]:
    """Return the settings of Plotly's buttons; the camera saves `kind`, "png" or "svg"."""
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


def selected_heads(key: str) -> list[Head]:
    """Return the heads that are selected in the head map `key`, in order; MLPs are none."""
    points = (st.session_state.get(key) or {}).get("selection", {}).get("points", [])
    heads = set()
    for point in points:
        place = point.get("customdata")
        if place is not None and len(place) >= 2:
            layer, head = (place[i] if isinstance(place, list | tuple) else place[str(i)] for i in (0, 1))
            if int(head):
                heads.add((int(layer) - 1, int(head) - 1))
    return sorted(heads)


def course(title: str, lines: Mapping[str, Points], *, key: str, share: bool = False) -> None:
    """Draw a line for each name; `share`: the values are shares of right answers, else losses."""
    value = "share" if share else "loss (nats)"
    rows = [(name, step, number) for name, points in lines.items() for step, number in points]
    frame = pd.DataFrame(rows, columns=["line", "step", value])
    several = "line" if len(lines) > 1 else None
    figure = curves(
        frame,
        "step",
        value,
        several,
        title=title,
        x_title="step",
        y_title=value,
        percent=share,
        dark=is_dark(),
    )
    figure.update_layout(height=280)
    chart(figure, frame, key=key)
