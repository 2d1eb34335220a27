"""Attention of heads as a figure for paper, slides and pages.

In: a grid (layer, head, query, key), and which of its heads and rows. Out: a Plotly figure, which writes itself as
HTML, JSON or, with kaleido, as an image.
"""

import textwrap
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from mha_core.arrays import FloatArray
from mha_core.display_names import Head, head_name, visible
from mha_core.draw.figures.charts import bars
from mha_core.draw.figures.colours import page
from mha_core.draw.figures.links import arcs, lines
from mha_core.draw.figures.sheet import INCH, Sheet, text_width
from mha_core.draw.figures.style import NO_LINES, named_ticks, plain, template
from mha_core.errors import InputError
from mha_core.record.compact_weights import pooled
from mha_core.record.grid import Grid

if TYPE_CHECKING:
    from mha_core.record.record import AttentionRecord

WIDTHS = (4.0, 40.0)  # centimetres
SIDE = 32  # cells of a head's side where all heads are drawn
MAX_PANELS = 24
LINE = 1.3  # from line to line of a text, of the size
WIDTH, PHONE = 640, 360  # pixels, where no width is asked for: what is planned with, and the least
CELLS = NO_LINES | {"showline": False, "ticks": ""}


def figure(
    grid: Grid,
    kind: str = "matrix",
    *,
    heads: Sequence[Head] = ((3, 1),),
    queries: Sequence[int] = (),
    width_cm: float | None = None,
    title: str = "",
    signed: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Draw where heads look.

    `kind`: "matrix", query down and key across; "heads", all heads of the grid; "arcs" over the sentence; "lines"
    between two columns; "bars", where the rows `queries` look, on average. `heads` are (layer, head) from 0, a panel
    each. `queries`: rows that are looked from; arcs and lines without them show the strongest links between words.
    `width_cm`: at 96 pixels an inch. `signed`: the weights are differences of two runs, from -1 to 1.

    Raises InputError for another kind or width, a head or row that is not there, bars without rows, and a text that
    has no room.
    """
    if kind not in DRAW:
        raise InputError(f"A figure can be {', '.join(DRAW)}, not “{kind}”.")
    if width_cm is not None and not WIDTHS[0] <= width_cm <= WIDTHS[1]:
        raise InputError(f"A figure is {WIDTHS[0]:g} to {WIDTHS[1]:g} cm wide, not {width_cm:g}.")
    if not len(grid) or not grid.key_labels:
        raise InputError("Nothing of this text is left to draw.")
    if kind == "heads":
        heads = list(np.ndindex(*grid.weights.shape[:2]))
    elif not 1 <= len(heads) <= MAX_PANELS:
        raise InputError(f"A figure of this kind has 1 to {MAX_PANELS} heads, not {len(heads)}.")
    else:
        _ = [grid[head_name(head)] for head in heads]  # raises for one that is not there
    if not all(0 <= query < len(grid) for query in queries):
        raise InputError(
            f"There are {len(grid)} rows to look from, 0 to {len(grid) - 1}; given are {queries}."
        )
    width = None if width_cm is None else width_cm / 2.54 * INCH
    sheet = Sheet(grid, tuple(heads), tuple(queries), width, signed, dark)
    return _finished(DRAW[kind](sheet), sheet, title)


def captioned(record: "AttentionRecord", kind: str, heads: Sequence[Head]) -> str:
    """Return a title ready for a caption: which heads, of which model, with which text (shortened)."""
    names = [head_name(head) for head in heads]
    what = "All heads" if kind == "heads" else f"{'Head' if len(names) == 1 else 'Heads'} {', '.join(names)}"
    text = " | ".join(part for part in (record.tokens.text, record.tokens.pair) if part)
    if record.keys is not None:
        text = f"{record.keys.text} | {text}"
    return f"{what} of {record.model.title}: “{textwrap.shorten(text, 80, placeholder='…')}”"


def matrix(sheet: Sheet) -> go.Figure:
    """Draw a heatmap a head, all on one scale, the rows that are looked from framed."""
    n, size, (rows, columns) = len(sheet.heads), sheet.size, sheet.weights.shape[1:]
    left, below = (
        max(text_width(name, size) for name in each) + size for each in (sheet.rows, sheet.columns)
    )
    room = (sheet.width or WIDTH) - left - 5.5 * size
    across = ceil(n / ceil(n / max(1, min(n, int(room // (12 * size))))))
    cell = min(2 * size, (room / across - 2 * size) / columns)
    if cell * columns < 3 * size:
        raise InputError("The words leave no room for a matrix at this width; take a wider figure.")
    down, gap = ceil(n / across), 2.5 * size
    high = down * cell * rows + (down - 1) * gap
    drawn = make_subplots(
        down,
        across,
        subplot_titles=sheet.names if n > 1 else None,
        horizontal_spacing=2 * size / room,
        vertical_spacing=gap / high,
    )
    step = ceil(1.2 * size / cell)
    for i, (name, weights) in enumerate(zip(sheet.names, sheet.weights, strict=True)):
        place = {"row": i // across + 1, "col": i % across + 1}
        drawn.add_heatmap(
            z=weights,
            customdata=sheet.links,
            hovertemplate=f"{name}: %{{customdata}}, %{{z:{sheet.number}}}<extra></extra>",
            hoverongaps=False,
            coloraxis="coloraxis",
            xgap=min(1, cell / 10),
            ygap=min(1, cell / 10),
            **place,
        )
        below_all, leftmost = i + across >= n, i % across == 0
        ticks = named_ticks(sheet.columns, step) | CELLS
        drawn.update_xaxes(**ticks, showticklabels=below_all, tickangle=-90, **place)
        ticks = named_ticks(sheet.marked, step) | CELLS
        drawn.update_yaxes(**ticks, showticklabels=leftmost, autorange="reversed", **place)
        for row in sheet.queries:
            ends = {"x0": -0.5, "x1": columns - 0.5, "y0": row - 0.5, "y1": row + 0.5}
            drawn.add_shape(line={"color": page(dark=sheet.dark)["accent"], "width": 2}, **ends, **place)
    drawn.update_annotations(font_size=size)
    spare = (room / across - 2 * size - cell * columns) * across if sheet.width else 0  # cells are square
    margin = {"l": left, "r": 5.5 * size + spare, "b": below, "t": 1.5 * size * (n > 1)}
    return drawn.update_layout(coloraxis=sheet.colour_axis(high), height=high + below, margin=margin)


def every_head(sheet: Sheet) -> go.Figure:
    """Draw all heads as one heatmap of small matrices, layer down and head across; what is too small to be seen keeps
    its largest weight."""
    layers, heads = sheet.grid.weights.shape[:2]
    small = _largest(sheet.weights)
    rows, columns = small.shape[1:]
    gap = 1 + max(rows, columns) // 12
    tiles = np.full((layers, rows + gap, heads, columns + gap), np.nan, dtype=small.dtype)
    tiles[:, :rows, :, :columns] = small.reshape(layers, heads, rows, columns).swapaxes(1, 2)
    z = tiles.reshape(layers * (rows + gap), -1)[:-gap, :-gap]
    place, words = "Head %{y:.0f}-%{x:.0f}", None
    if small.shape == sheet.weights.shape:  # a cell is a weight, and has words
        words = np.full(tiles.shape[1:], "", dtype=object)
        words[:rows, :, :columns] = sheet.links[:, None]
        words = np.tile(words.reshape(rows + gap, -1), (layers, 1))[:-gap, :-gap]
        place += ": %{customdata}"
    dx, dy = 1 / (columns + gap), 1 / (rows + gap)
    drawn = go.Figure().add_heatmap(
        z=z,
        x0=1 - (columns - 1) / 2 * dx,
        dx=dx,
        y0=1 - (rows - 1) / 2 * dy,
        dy=dy,
        hoverongaps=False,
        customdata=words,
        hovertemplate=f"{place}, %{{z:{sheet.number}}}<extra></extra>",
        coloraxis="coloraxis",
    )
    size = sheet.size
    font = {"size": size}
    drawn.update_xaxes(
        title={"text": "head", "font": font}, tickvals=list(range(1, heads + 1)), side="top", **CELLS
    )
    drawn.update_yaxes(
        title={"text": "layer", "font": font},
        tickvals=list(range(1, layers + 1)),
        autorange="reversed",
        **CELLS,
    )
    room = (sheet.width or WIDTH) - 9 * size
    margin = {"l": 3.5 * size, "r": 5.5 * size, "t": 3.5 * size, "b": 5}
    height = min(room / heads, 5 * size) * layers
    return drawn.update_layout(coloraxis=sheet.colour_axis(height), height=height, margin=margin)


def _largest(weights: FloatArray) -> FloatArray:
    """Return weights (..., query, key) in at most SIDE rows and columns: the one furthest from 0 under each cell."""
    most = pooled(np.where(np.isnan(weights), -np.inf, weights), SIDE)
    least = -pooled(np.where(np.isnan(weights), -np.inf, -weights), SIDE)
    furthest: FloatArray = np.where(most >= -least, most, least)
    return np.where(np.isinf(furthest), np.float32(np.nan), furthest)


def looks(sheet: Sheet) -> go.Figure:
    """Draw where the chosen rows look on average: a bar a word, a colour and a pattern a head."""
    if not sheet.queries:
        raise InputError("Bars show where a word looks; choose a word of the sentence.")
    means = sheet.weights[:, list(sheet.queries)]
    seen = np.isfinite(means).any(axis=1)
    shares = np.where(seen, np.nansum(means, axis=1) / len(sheet.queries), np.nan)
    frame = pd.DataFrame({"word": sheet.keys, **dict(zip(sheet.names, shares, strict=True))})
    start = ", ".join(f"“{sheet.rows[q]}”" for q in sheet.queries)
    title = f"{'change of attention' if sheet.signed else 'attention'} from {start}"
    drawn = bars(frame, "word", sheet.names, title="", x_title=title, percent=True, dark=sheet.dark)
    n, size = len(sheet.heads), sheet.size
    drawn.update_xaxes(title_font_size=size, nticks=6)
    height = (len(frame) * (1.2 * n + 0.6) + 3.5) * size
    return drawn.update_layout(height=height, margin={"t": 3 * size * (n > 1), "b": 3.5 * size})


def _finished(drawn: go.Figure, sheet: Sheet, title: str) -> go.Figure:
    """Add the title in lines that fit, the size, the type and the ground."""
    size, margin = sheet.size, drawn.layout.margin
    wide = sheet.width or drawn.layout.width
    signs = int((wide or PHONE) / (0.55 * size)) - 2
    title_lines = [plain(line) for line in textwrap.wrap(title and visible(title), signs)]
    above = (LINE * len(title_lines) + 0.8) * size
    return drawn.update_layout(
        template=template(dark=sheet.dark),
        title={
            "text": "<br>".join(title_lines),
            "font": {"size": size},
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "pad": {"b": (margin.t or 0) + (0.5 + LINE * (len(title_lines) - 1)) * size, "l": 8},
        },
        font={"size": size},
        width=wide,
        height=drawn.layout.height + above + (margin.t or 0),
        margin={"t": above + (margin.t or 0)},
        paper_bgcolor=page(dark=True)["paper"] if sheet.dark else "white",
    )


DRAW = {"matrix": matrix, "heads": every_head, "arcs": arcs, "lines": lines, "bars": looks}
