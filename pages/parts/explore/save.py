"""What a reader takes away, in one box under the picture: a figure, the numbers, an offline page, a link, code.

In: records, grids and what is chosen. The files are made when they are asked for.
"""

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from mha_core import AttentionRecord, Grid, HeadScopeError
from mha_core.display_names import Head, head_name, place_name
from mha_core.draw.crossed import cross_payload
from mha_core.draw.figures.attention import WIDTHS, captioned, figure
from mha_core.draw.payload import compare_payload, explore_payload
from mha_core.draw.standalone import standalone_html
from mha_core.draw.static_site.build import toy_page
from mha_core.heads import measures
from mha_core.record.compare import difference
from pages.parts.explore import export, export_both
from pages.parts.explore.tables import box
from pages.parts.frame import head_facts
from pages.parts.frame.charts import FORMATS, camera, is_dark
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection

# Beyond this a file of all heads is made for the chosen head alone: 60 MB of text is no gift.
CELLS_AT_MOST = 400_000
KINDS = {
    "matrix": "Matrix",
    "heads": "All heads",
    "arcs": "Arcs",
    "lines": "Lines",
    "bars": "Bars",
}
MIME = {"csv": "text/csv", "json": "application/json", "html": "text/html"}
OFFLINE = "HTML, works offline"
COMPUTES = "HTML, computes (toy model)"
MORE_HEADS = 5
WIDTH = 16.0  # centimetres: a column of text on A4


class File(NamedTuple):
    """A file to save: what its button says, its name, and what makes it."""

    label: str
    name: str
    make: Callable[[], str]


def of_one(record: AttentionRecord, grid: Grid, chosen: Selection, request: Request, link: str) -> None:
    """Draw the box "Save" of one text; `chosen` by positions in the grid."""
    opened = box("Save", "save")
    if opened is None:
        return
    with opened:
        kind, width, form = _options()
        also = _more_heads(grid, chosen.head) if request.per == "head" and kind != "heads" else []
        heads = [chosen.head, *also]
        title = _title(record, request, kind, heads)
        name = f"{kind} {place_name(chosen.head, request.per)} {export.stem(request)}"
        _draw(partial(_figure, grid, kind, width, heads, chosen.pins, title), name, form)
        _buttons(_files(record, grid, chosen, request, link))
        _code(link, export.python_of(grid, request, chosen, link, kind, width, also))


def of_both(runs: export_both.Comparison) -> None:
    """Draw the box "Save" of two runs: A, B and their difference."""
    opened = box("Save", "save")
    if opened is None:
        return
    with opened:
        *_, change = sides = export_both.SIDES
        side = st.segmented_control("Of", sides, default=change, required=True, key="figure-of") or change
        kind, width, form = _options()
        grids = dict(zip(sides, (*runs.grids, difference(*runs.grids)), strict=True))
        make = partial(_figure, grids[side], kind, width, [runs.selection.head], runs.chosen_in(side))
        _draw(
            partial(make, _title_of_both(runs, side, kind), signed=side == change),
            f"{kind} {side} {runs.stem}",
            form,
        )
        _buttons(
            [
                File("CSV", f"headscope-{runs.stem}.csv", partial(export_both.csv_of, runs)),
                File("JSON", f"headscope-{runs.stem}.json", partial(export_both.json_of_both, runs)),
                File(OFFLINE, f"headscope-{runs.stem}.html", partial(offline_of_both, runs)),
            ]
        )
        _code(runs.link, export_both.python_of(runs, side, kind, width))


def _options() -> tuple[str, float, str]:
    """What figure it is: its kind, its width in centimetres, and the format that its camera saves."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="figure-options"):
        kind = st.selectbox(
            "Figure", list(KINDS), format_func=KINDS.__getitem__, key="figure-kind", width=150
        )
        width = st.number_input(
            "Width, cm", *WIDTHS, WIDTH, 1.0, format="%.1f", key="figure-width", width=130
        )
        form = st.segmented_control(
            "The camera saves",
            FORMATS,
            format_func=str.upper,
            default="svg",
            required=True,
            key="figure-form",
        )
    return kind, width, form or "svg"


def _more_heads(grid: Grid, chosen: Head) -> list[Head]:
    """Heads to draw beside the chosen one, in the order they were picked."""
    there = [head for head in np.ndindex(*grid.weights.shape[:2]) if head != chosen and grid.has(head)]
    names = {head_name((layer, head)): (layer, head) for layer, head in there}
    picked = st.multiselect(
        "More heads", names, max_selections=MORE_HEADS, key="figure-heads", placeholder="none", width=480
    )
    return [names[name] for name in picked]


def _figure(
    grid: Grid,
    kind: str,
    width: float,
    heads: Sequence[Head],
    queries: Sequence[int],
    title: str,
    *,
    signed: bool = False,
) -> go.Figure:
    return figure(
        grid, kind, heads=heads, queries=queries, width_cm=width, title=title, signed=signed, dark=is_dark()
    )


def _draw(make: Callable[[], go.Figure], stem: str, form: str) -> None:
    """The figure as it is saved, or why there is none."""
    try:
        drawn = make()
    except HeadScopeError as error:
        say(str(error), "notice")
        return
    title = str(drawn.layout.title.text).replace("<br>", " ")
    config = camera(stem, form)
    config["toImageButtonOptions"] |= {"width": drawn.layout.width, "height": drawn.layout.height}
    with st.container(
        key="figure-sheet"
    ):  # where the screen is narrower it scrolls: what is seen is what is saved
        markup(f"<style>.st-key-figure {{ min-width: {drawn.layout.width:.0f}px; }}</style>")
        st.plotly_chart(drawn, key="figure", theme=None, width="content", config=config, alt=title)


def _title(record: AttentionRecord, request: Request, kind: str, heads: Sequence[Head]) -> str:
    """What a figure says of itself: as `record.plot` does, and the measure where it is not raw weights."""
    if request.raw:
        return captioned(record, kind, heads)
    place = place_name(heads[0], request.per)
    if len(heads) > 1:
        place = "heads " + ", ".join(map(head_name, heads))
    what = f"{place[0].upper()}{place[1:]}" if kind != "heads" else "All heads"
    return f"{what} of {record.model.title}, {measures.BY_KEY[request.measure].label.lower()}: {_shortened(record)}"


def _title_of_both(runs: export_both.Comparison, side: str, kind: str) -> str:
    if side in "AB":
        at = "AB".index(side)
        return f"{side}: {_title(runs.records[at], runs.sides[at], kind, [runs.selection.head])}"
    place = "all heads" if kind == "heads" else runs.place
    a, b = map(_shortened, runs.records)
    return (
        f"A minus B, {place}. A: {a}, {runs.records[0].model.title}. B: {b}, {runs.records[1].model.title}."
    )


def _shortened(record: AttentionRecord) -> str:
    return f"“{textwrap.shorten(record.tokens.text, 80, placeholder='…')}”"


def _files(record: AttentionRecord, grid: Grid, chosen: Selection, request: Request, link: str) -> list[File]:
    """Numbers of all heads, or where those are too many of the chosen one, and the picture as a page."""
    place = place_name(chosen.head, request.per)
    heads, which, part = [chosen.head], place, place.replace(" ", "-")
    if grid.weights.size <= CELLS_AT_MOST and grid.weights.shape[:2] != (1, 1):
        heads = list(np.ndindex(*grid.weights.shape[:2]))
        which, part = f"all {len(heads)} {'heads' if request.per == 'head' else 'layers'}", "all"
    csv_of = partial(export.csv_of, record, grid, request, heads, link)
    json_of = partial(export.json_of, record, grid, request, chosen, heads, link)
    page = partial(offline, record, grid, chosen, request, link)
    return [
        File(f"CSV, {which}", export.file_name(request, "csv", part), csv_of),
        File(f"JSON, {which}", export.file_name(request, "json", part), json_of),
        File(OFFLINE, export.file_name(request, "html", place.replace(" ", "-")), page),
        File(COMPUTES, export.file_name(request, "html", "computes"), partial(toy_page, [request.text])),
    ]


def offline(record: AttentionRecord, grid: Grid, chosen: Selection, request: Request, link: str) -> str:
    """Return the picture of one text as a page of its own."""
    if record.is_cross:
        payload = cross_payload(record, grid, chosen)
    else:
        payload = explore_payload(
            grid,
            record.tokens,
            model_title=record.model.title,
            selection=chosen,
            roles={} if request.mixed else head_facts.roles_of(request.model, request.trained),
            about=export.about(record, grid, request),
        )
    return standalone_html(payload, title=f"HeadScope: {request.text}"[:120], link=link)


def offline_of_both(runs: export_both.Comparison) -> str:
    """Return the picture of two runs as a page of its own."""
    (a, b), (grid_a, grid_b) = runs.records, runs.grids
    payload = compare_payload(
        grid_a,
        a.tokens,
        grid_b,
        b.tokens,
        titles=(a.model.title, b.model.title),
        selection=runs.selection,
        abouts=[export.about(*each) for each in zip(runs.records, runs.grids, runs.sides, strict=True)],
    )
    return standalone_html(payload, title=f"HeadScope: {runs.sides[0].text}"[:120], link=runs.link)


def _buttons(files: Sequence[File]) -> None:
    with st.container(horizontal=True, key="files"):
        for label, name, make in files:
            kind = MIME[name.rpartition(".")[2]]
            st.download_button(label, make, name, kind, on_click="ignore", key=f"file-{name}")


def _code(link: str, python: str) -> None:
    """The link to the view, and the lines that make the numbers and the figure again."""
    say("Link to this view:")
    st.code(link, language=None, wrap_lines=True)
    say("Python, where HeadScope is installed:")
    st.code(python, language="python", wrap_lines=True)
