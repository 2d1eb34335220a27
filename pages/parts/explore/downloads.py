"""Below the picture: one head as a heatmap to zoom into, and everything a reader can take away."""

import streamlit as st

from mha_core import Grid, Record
from mha_core.wording import head_name
from pages.parts.explore import export
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture import figures
from pages.parts.picture.attention_view import explore_payload, standalone_html

# Beyond this a file of all heads is made for the chosen head alone: 60 MB of text is no gift.
CELLS_AT_MOST = 400_000


def heatmap(grid: Grid, selection: Selection, request: Request) -> None:
    """The chosen head in Plotly, drawn when opened: its script is 4.7 MB, so nobody waits for it unasked."""
    box = st.expander(
        f"Head {head_name(selection.head)} as a heatmap to zoom into", key="heatmap", on_change="rerun"
    )
    if not box.open:
        return
    with box:
        kind = st.segmented_control(
            "The camera saves", ["svg", "png"], default="svg", required=True, key="camera"
        )
        st.plotly_chart(
            figures.heatmap(grid, selection.head, dark=st.context.theme.type == "dark"),
            key="heatmap-figure",
            theme=None,
            config=figures.save_as(
                export.file_name(request, "", head_name(selection.head)).removesuffix("."), kind or "svg"
            ),
            alt=f"Heatmap of head {head_name(selection.head)}",
        )
        say("Drag to zoom, double-click to see all. Row = query, looks at column = key.")


def offer(record: Record, grid: Grid, selection: Selection, request: Request) -> None:
    """Numbers, code and link of this view; made when opened."""
    box = st.expander("Take it away: numbers, code, a page that works offline", key="take", on_change="rerun")
    if not box.open:
        return
    every = [(layer, head) for layer in range(grid.weights.shape[0]) for head in range(grid.weights.shape[1])]
    heads = every if grid.weights.size <= CELLS_AT_MOST else [selection.head]
    which = f"all {len(every)} heads" if len(heads) > 1 else f"head {head_name(selection.head)}"
    with box:
        with st.container(horizontal=True, key="files"):
            _file(f"CSV, {which}", export.csv_of(grid, heads), export.file_name(request, "csv"), "text/csv")
            _file(
                f"JSON, {which}",
                export.json_of(record, grid, request, selection, heads),
                export.file_name(request, "json"),
                "application/json",
            )
            title = f"HeadScope: {request.text}"[:120]
            page = standalone_html(
                explore_payload(
                    grid,
                    record.tokens,
                    model_title=record.model.title,
                    selection=selection,
                ),
                title=title,
            )
            _file("HTML, works offline", page, export.file_name(request, "html"), "text/html")
        say("The link to exactly this view:")
        st.code(export.link_of(st.context.url or "", request, selection), language=None, wrap_lines=True)
        say("The lines of Python that give the same numbers:")
        st.code(export.python_of(request, selection), language="python", wrap_lines=True)


def _file(label: str, content: str, file: str, mime: str) -> None:
    st.download_button(label, content, file, mime, on_click="ignore", key=f"file-{file}")
