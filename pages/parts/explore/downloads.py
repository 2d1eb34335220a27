"""Below the picture: one head as a heatmap to zoom into, and everything a reader can take away."""

from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import AttentionRecord, Grid
from mha_core.heads import measures
from mha_core.picture.crossed import cross_payload
from mha_core.picture.payload import Payload, explore_payload
from mha_core.picture.standalone import standalone_html
from mha_core.wording import place_name
from pages.parts.explore import export
from pages.parts.frame import head_facts
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture import figures

# Beyond this a file of all heads is made for the chosen head alone: 60 MB of text is no gift.
CELLS_AT_MOST = 400_000


def heatmap(grid: Grid, selection: Selection, request: Request) -> None:
    """The chosen head in Plotly, drawn when opened: its script is 4.7 MB, so nobody waits for it unasked."""
    box = _box("What is chosen as a heatmap to zoom into", "heatmap")
    if box is None:
        return
    place = place_name(selection.head, request.per)
    title = f"{place[0].upper()}{place[1:]}, {measures.BY_KEY[request.measure].label.lower()}"
    with box:
        kind = st.segmented_control(
            "The camera saves", ["svg", "png"], default="svg", required=True, key="camera"
        )
        st.plotly_chart(
            figures.heatmap(grid, selection.head, title=title, dark=st.context.theme.type == "dark"),
            key="heatmap-figure",
            theme=None,
            config=figures.save_as(
                export.file_name(request, "", place.replace(" ", "-")).removesuffix("."), kind or "svg"
            ),
            alt=f"Heatmap of {place}",
        )
        say("Drag to zoom, double-click to see all. Row = query, looks at column = key.")


def _box(label: str, key: str) -> Any:
    """A box to open; None while it is closed. A label that changed would make it another one, which is closed."""
    box = st.expander(label, key=key, on_change="rerun")
    return box if box.open else None


def offer(record: AttentionRecord, grid: Grid, selection: Selection, request: Request) -> None:
    """Numbers, code and link of this view; made when opened."""
    box = _box("Export: numbers, code, a page that works offline", "take")
    if box is None:
        return
    every = [(layer, head) for layer in range(grid.weights.shape[0]) for head in range(grid.weights.shape[1])]
    heads = every if grid.weights.size <= CELLS_AT_MOST else [selection.head]
    which = _which(request, len(every)) if len(heads) > 1 else place_name(selection.head, request.per)
    part = "all" if len(heads) > 1 else which.replace(" ", "-")
    link = export.link_of(st.context.url or "", request, selection)
    if record.is_cross:  # in the picture the source's units are counted first
        selection = replace(selection, pins=tuple(pin - len(grid.key_labels) for pin in selection.pins))
    with box:
        with st.container(horizontal=True, key="files"):
            table = export.csv_of(record, grid, request, heads, link)
            _file(f"CSV, {which}", table, export.file_name(request, "csv", part), "text/csv")
            _file(
                f"JSON, {which}",
                export.json_of(record, grid, request, selection, heads, link),
                export.file_name(request, "json", part),
                "application/json",
            )
            title = f"HeadScope: {request.text}"[:120]
            page = standalone_html(_payload(record, grid, selection, request), title=title, link=link)
            place = place_name(selection.head, request.per).replace(" ", "-")
            _file("HTML, works offline", page, export.file_name(request, "html", place), "text/html")
        say("The link to exactly this view:")
        st.code(link, language=None, wrap_lines=True)
        say("The lines of Python that give the same numbers, where HeadScope is installed:")
        st.code(export.python_of(request, selection, link), language="python", wrap_lines=True)


def _payload(record: AttentionRecord, grid: Grid, selection: Selection, request: Request) -> Payload:
    """The picture as it travels, all heads exact."""
    if record.is_cross:
        return cross_payload(record, grid, selection)
    return explore_payload(
        grid,
        record.tokens,
        model_title=record.model.title,
        selection=selection,
        roles={} if request.mixed else head_facts.roles_of(request.model, request.trained),
        about=export.about(record, grid, request),
        exact=True,
    )


def _which(request: Request, count: int) -> str:
    return f"all {count} {'heads' if request.per == 'head' else 'layers'}"


def _file(label: str, content: str, file: str, mime: str) -> None:
    st.download_button(label, content, file, mime, on_click="ignore", key=f"file-{file}")
