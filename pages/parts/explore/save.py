"""The box "Save" under the picture of one run or two: a figure, the numbers, an offline page, a link, code.

In: a `Comparison`. The files are made when they are asked for.
"""

import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import streamlit as st

from mha_core import Grid, HeadScopeError
from mha_core.display_names import Head, head_name
from mha_core.draw.crossed import cross_payload
from mha_core.draw.figures.attention import WIDTHS, captioned, figure
from mha_core.draw.payload import Payload, compare_payload, explore_payload
from mha_core.draw.standalone import standalone_html
from mha_core.draw.static_site.build import toy_page
from mha_core.heads import measures
from mha_core.record.compare import difference
from pages.parts.explore.comparison import Comparison
from pages.parts.explore.export import SIDES, Figure, csv_of, file_name, json_of_runs, python_of, view_name
from pages.parts.explore.tables import box
from pages.parts.frame import head_facts
from pages.parts.frame.charts import FORMATS, camera, is_dark, show_source
from pages.parts.frame.context import Context
from pages.parts.frame.page_text import markup, say

# Beyond this a file of all heads would be 60 MB of text: it is made for the selected head alone.
MAX_CELLS = 400_000
KINDS = {"matrix": "Matrix", "heads": "All heads", "arcs": "Arcs", "lines": "Lines", "bars": "Bars"}
MIME = {"csv": "text/csv", "json": "application/json", "html": "text/html"}
OFFLINE = "HTML, works offline"
COMPUTES = "HTML, computes (toy model)"
MORE_HEADS = 5
WIDTH = 16.0  # centimetres: a column of text on A4


class File(NamedTuple):
    """A file to save: its button's label, its name, and what makes it."""

    label: str
    name: str
    make: Callable[[], str]


def draw(runs: Comparison) -> None:
    """Draw the box: the figure of one run, or of A, B or their difference, then files, link and code."""
    opened = box("Save", "save")
    if opened is None:
        return
    with opened:
        side = ""
        if len(runs.contexts) == 2:
            side = st.segmented_control("Of", SIDES, default=SIDES[-1], required=True, key="figure-of")
        kind, width, form = _figure_options()
        heads = [runs.selection.head]
        if not side and runs.sides[0].per == "head" and kind != "heads":
            heads += _more_heads(runs.grids[0], heads[0])
        chosen = Figure(kind, width, heads, side or "")
        _draw_figure(runs, chosen, form)
        with st.container(horizontal=True, key="files"):
            for label, name, make in _files(runs):
                kind = MIME[name.rpartition(".")[2]]
                st.download_button(label, make, name, kind, on_click="ignore", key=f"file-{name}")
        show_source(runs.link, python_of(runs, chosen))


def _figure_options() -> tuple[str, float, str]:
    """Return the figure's kind, its width in centimetres, and the format of its camera."""
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
    """Return the heads to draw beside the selected one, in the order they were picked."""
    others = [head for head in np.ndindex(*grid.weights.shape[:2]) if head != chosen and grid.has(head)]
    names = {head_name((layer, head)): (layer, head) for layer, head in others}
    picked = st.multiselect(
        "More heads", names, max_selections=MORE_HEADS, key="figure-heads", placeholder="none", width=480
    )
    return [names[name] for name in picked]


def _draw_figure(runs: Comparison, chosen: Figure, form: str) -> None:
    """Draw the figure as it is saved, or say why there is none."""
    is_change = chosen.side == SIDES[-1]
    grid = difference(*runs.grids) if is_change else runs.grids[chosen.side == "B"]
    try:
        drawn = figure(
            grid,
            chosen.kind,
            heads=chosen.heads,
            queries=runs.pins_in(chosen.side),
            width_cm=chosen.width,
            title=_title(runs, chosen),
            signed=is_change,
            dark=is_dark(),
        )
    except HeadScopeError as error:
        say(str(error), "notice")
        return
    title = str(drawn.layout.title.text).replace("<br>", " ")
    config = camera(" ".join([chosen.kind, chosen.side, view_name(runs)]), form)
    config["toImageButtonOptions"] |= {"width": drawn.layout.width, "height": drawn.layout.height}
    with st.container(key="figure-sheet"):  # it scrolls on a narrow screen: what is seen is what is saved
        markup(f"<style>.st-key-figure {{ min-width: {drawn.layout.width:.0f}px; }}</style>")
        st.plotly_chart(drawn, key="figure", theme=None, width="content", config=config, alt=title)


def _title(runs: Comparison, chosen: Figure) -> str:
    """Return the figure's title: of one run as `record.plot` has it, with the measure where it is not raw weights."""
    if chosen.side in ("", "A", "B"):
        title = _title_of_one(runs.contexts[chosen.side == "B"], chosen)
        return f"{chosen.side}: {title}" if chosen.side else title
    place = "all heads" if chosen.kind == "heads" else runs.place
    (text_a, title_a), (text_b, title_b) = (
        (_shortened(record.tokens.text), record.model.title) for record in runs.records
    )
    return f"A minus B, {place}. A: {text_a}, {title_a}. B: {text_b}, {title_b}."


def _title_of_one(context: Context, chosen: Figure) -> str:
    record, request = context.record, context.request
    if request.raw:
        return captioned(record, chosen.kind, chosen.heads)
    place = context.place
    if len(chosen.heads) > 1:
        place = "heads " + ", ".join(map(head_name, chosen.heads))
    subject = f"{place[0].upper()}{place[1:]}" if chosen.kind != "heads" else "All heads"
    measure, text = measures.BY_KEY[request.measure].label.lower(), _shortened(record.tokens.text)
    return f"{subject} of {record.model.title}, {measure}: {text}"


def _shortened(text: str) -> str:
    return f"“{textwrap.shorten(text, 80, placeholder='…')}”"


def _files(runs: Comparison) -> list[File]:
    """Return numbers and the picture as a page; of one run of all heads, where these are not too many."""
    (context, *others), heads, part = runs.contexts, [runs.selection.head], ""
    label = "" if others else f", {runs.place}"
    n_layers, n_heads = context.grid.weights.shape[:2]
    if not others and context.grid.weights.size <= MAX_CELLS and (n_layers, n_heads) != (1, 1):
        heads, part = list(np.ndindex(n_layers, n_heads)), "all"
        label = f", all {len(heads)} {'heads' if context.request.per == 'head' else 'layers'}"
    files = [
        File(f"CSV{label}", file_name(runs, "csv", part), partial(csv_of, runs, heads)),
        File(f"JSON{label}", file_name(runs, "json", part), partial(json_of_runs, runs, heads)),
        File(OFFLINE, file_name(runs, "html"), partial(offline, runs)),
    ]
    if others:
        return files
    compute = partial(toy_page, [context.request.text])
    return [*files, File(COMPUTES, file_name(runs, "html", "computes"), compute)]


def offline(runs: Comparison) -> str:
    """Return the picture as a page of its own."""
    title = f"HeadScope: {runs.sides[0].text}"[:120]
    return standalone_html(_offline_payload(runs), title=title, link=runs.link)


def _offline_payload(runs: Comparison) -> Payload:
    first, *second = runs.contexts
    tokens, title = first.record.tokens, first.record.model.title
    if second:
        (b,) = second
        return compare_payload(
            first.grid,
            tokens,
            b.grid,
            b.record.tokens,
            titles=(title, b.record.model.title),
            selection=first.selection,
            abouts=[first.about, b.about],
        )
    if first.record.is_cross:
        return cross_payload(first.record, first.grid, replace(first.selection, pins=first.pins))
    request = first.request
    roles = {} if request.mixed else head_facts.roles_of(request.model, request.trained)
    return explore_payload(
        first.grid, tokens, model_title=title, selection=first.selection, roles=roles, about=first.about
    )
