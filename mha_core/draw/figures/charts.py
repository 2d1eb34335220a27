"""Charts of numbers: a table in, a Plotly figure out. Nothing is computed here.

In: a pandas DataFrame, a row a point, and the names of its columns. Out: `plotly.graph_objects.Figure`; hover text says
the numbers, a dash or a symbol tells apart what a colour tells apart.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from mha_core.display_names import head_name
from mha_core.draw.figures.colours import page
from mha_core.draw.figures.style import (
    CLEAR,
    DASHES,
    HATCHES,
    NO_LINES,
    colour_axis,
    largest,
    named_ticks,
    plain,
    template,
)  # fmt: skip

CELL = 9  # characters of a text in a cell
ROW = 26  # pixels of a bar or a head, with the space around it
FAINT, CROWDED = 0.04, 10  # a weight, and points in a plane
DARK = 0.5  # of the largest value: from here on a mark in a cell is written in the page's own colour
FEW = 5  # rows: beside fewer, the title of the colour bar stands at its side
LOW_ROW, MANY = 20, 16  # of a head where more than these are across
ABOVE, BELOW = 66, 44  # the margins of the template


def curves(
    frame: pd.DataFrame,
    x: str,
    y: str,
    by: str | None = None,
    *,
    title: str,
    x_title: str,
    y_title: str,
    percent: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Draw lines of `y` over `x`, one for each value of `by`.

    `percent`: `y` holds shares from 0 to 1.
    """
    figure = _figure(title, dark=dark)
    groups = [("", frame)] if by is None else list(frame.groupby(by, sort=False))
    number = "%{y:.1%}" if percent else "%{y:.3g}"
    for i, (name, rows) in enumerate(groups):
        figure.add_scatter(
            x=rows[x],
            y=rows[y],
            name=plain(name),
            mode="lines" if len(rows) > 1 else "markers",
            line={"dash": DASHES[i % len(DASHES)], "width": 2},
            hovertemplate=f"{plain(name)} {number} at %{{x:,}}<extra></extra>",
            showlegend=by is not None,
        )
    figure.update_xaxes(title_text=x_title, rangemode="tozero")
    figure.update_yaxes(title_text=y_title, **({"tickformat": ".0%", "range": (0, 1.02)} if percent else {}))
    return figure.update_layout(height=340)


def head_map(
    frame: pd.DataFrame,
    value: str,
    *,
    title: str,
    name: str,
    text: str | None = None,
    mark: str | None = None,
    outlined: str | None = None,
    chosen: tuple[int, int] | None = None,
    signed: bool = False,
    percent: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Draw every head as a cell, the longer side of the model across; each is a point with `customdata` (layer, head).

    `frame` has a row a head with `layer` and `head` from 1 (a row without a head is the layer's MLP, in a line of its
    own and with 0 as its head), its `value` (shares where `percent`; nan is drawn empty), its hover text in the column
    `text`, and a letter or sign to draw in the cell in the column `mark`. `chosen` (layer, head from 0) is framed, and
    so are selected heads and, thinner, those that are true in the column `outlined`. `signed`: values below zero have a
    colour of their own. `name` titles the colours.
    """
    layers, heads = int(frame["layer"].max()), int(frame["head"].max())
    mlp = heads + 2  # a line is empty between
    depth = mlp if frame["head"].isna().any() else heads
    lines = frame["head"].fillna(mlp).astype(int)
    layers_across = layers > heads
    values = np.full((layers, depth), np.nan)
    values[frame["layer"] - 1, lines - 1] = frame[value]
    top, number = largest(values), ".1%" if percent else ".2f"
    x, y = (frame["layer"], lines) if layers_across else (lines, frame["layer"])
    width, rows = (layers, depth) if layers_across else (depth, layers)
    row = ROW if width <= MANY else LOW_ROW
    figure = _figure(title, dark=dark)
    figure.add_heatmap(
        x=np.arange(1, width + 1),
        y=np.arange(1, rows + 1),
        xgap=2,
        ygap=2,
        hoverinfo="skip",
        z=values.T if layers_across else values,
        coloraxis="coloraxis",
    )
    names = [
        f"MLP {layer}" if line == mlp else head_name((layer - 1, line - 1))
        for layer, line in zip(frame["layer"], lines, strict=True)
    ]
    ground = np.where(frame[value].abs() > DARK * top, "paper", "ink")
    labels = [f"{each}: {v:{number}}" for each, v in zip(names, frame[value], strict=True)]
    colours = page(dark=dark)
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers+text" if mark else "markers",
        marker={
            "size": row,
            "symbol": "square",
            "color": CLEAR,
            "opacity": 0,
            "line": {"width": 3, "color": colours["accent"]},
        },
        selected={"marker": {"opacity": 1}, "textfont": {"color": colours["accent"]}},
        unselected={"marker": {"opacity": 0}},
        textfont={"color": [colours[on] for on in ground]},
        text=None if mark is None else [plain(each) for each in frame[mark]],
        customdata=frame[["layer", "head"]].fillna(0),
        hovertext=labels if text is None else [plain(each) for each in frame[text]],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    places = list(zip(x, y, strict=True))
    if outlined is not None:
        for place in (place for place, has in zip(places, frame[outlined], strict=True) if has):
            figure.add_shape(_frame_around(*place, 0.5, colours["ink"], 3))
            figure.add_shape(_frame_around(*place, 0.42, colours["paper"], 1))
    if chosen is not None:
        place = (chosen[0] + 1, chosen[1] + 1)
        figure.add_shape(_frame_around(*(place if layers_across else place[::-1]), 0.5, colours["accent"], 3))
    ticks = NO_LINES | {"constrain": "domain"}
    head_ticks: dict[str, Any] = _every(heads)
    if depth == mlp:
        numbers = head_ticks["tickvals"]
        head_ticks = {"tickvals": [*numbers, mlp], "ticktext": [*map(str, numbers), "MLP"]}
    of_layers, of_heads = {"title_text": "layer", **_every(layers)}, {"title_text": "head", **head_ticks}
    across, down = (of_layers, of_heads) if layers_across else (of_heads, of_layers)
    figure.update_xaxes(side="top", range=(0.5, width + 0.5), **ticks, **across)
    figure.update_yaxes(range=(rows + 0.5, 0.5), **ticks, **down)
    scale, height = colour_axis(values, name, number, signed=signed, dark=dark), row * rows + ABOVE + 34
    if rows < FEW:
        scale["colorbar"] |= {"title": {"text": name, "side": "right"}, "len": 1.4, "nticks": 4}
    # A click selects a head, Shift adds one; the box is a tool of the bar. Dragging would eat a finger's scrolling.
    return figure.update_layout(
        coloraxis=scale,
        height=height,
        plot_bgcolor=colours["shade"],
        margin={"t": ABOVE + 24, "b": 10},
        dragmode=False,
        clickmode="event+select",
        hoverdistance=-1,  # a press anywhere in a cell is its head
    )


def bars(
    frame: pd.DataFrame,
    label: str,
    values: Sequence[str],
    *,
    title: str,
    x_title: str,
    percent: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Draw bars across, the first row on top: one for each column of `values`, side by side."""
    figure = _figure(title, dark=dark)
    number = ":.1%" if percent else ":.3~g"
    names = [plain(each) for each in frame[label]]
    for i, name in enumerate(values):
        figure.add_bar(
            y=list(range(len(frame))),
            x=frame[name],
            orientation="h",
            name=plain(name),
            marker={"pattern": {"shape": HATCHES[i % len(HATCHES)]}},
            customdata=names,
            texttemplate=f"%{{x{number}}}",
            textposition="outside",
            textfont={"size": 12},
            constraintext="none",
            cliponaxis=False,
            hovertemplate=f"%{{customdata}}, {plain(name)}: %{{x{number}}}<extra></extra>",
            showlegend=len(values) > 1,
        )
    figure.update_yaxes(**named_ticks(names), autorange="reversed", showgrid=False)
    figure.update_xaxes(title_text=x_title, **({"tickformat": ".0%"} if percent else {}))
    numbers = frame[list(values)].to_numpy(dtype=float)
    if np.isfinite(numbers).any():  # room for the number after the longest bar, to either side
        low, high = min(float(np.nanmin(numbers)), 0.0), max(float(np.nanmax(numbers)), 0.0)
        pad = 0.18 * (high - low) or 1.0
        figure.update_xaxes(
            range=(low - 1.6 * pad if low < 0 else 0, high + pad if high > 0 or not low else 0)
        )
    height = ROW * len(frame) * max(1, len(values)) + ABOVE + BELOW
    return figure.update_layout(height=height, barmode="group", bargap=0.25)


def plane(
    frame: pd.DataFrame,
    *,
    title: str,
    hull: np.ndarray | None = None,
    marks: pd.DataFrame | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw points `x`, `y` with their `label`, sized by `weight` (0 to 1) where there is one; both axes have one scale.

    Where there are many, points of little weight have their name under the pointer only. `hull` (point, 2): corners of
    an area to shade. `marks`: points `x`, `y`, `label` that stand out.
    """
    figure = _figure(title, dark=dark)
    if hull is not None and len(hull) > 1:
        corners = np.concatenate([hull, hull[:1]])
        figure.add_scatter(
            x=corners[:, 0],
            y=corners[:, 1],
            mode="lines",
            fill="toself",
            line={"width": 1},
            opacity=0.5,
            hoverinfo="skip",
            showlegend=False,
        )
    weights = frame["weight"] if "weight" in frame else pd.Series(1.0, index=frame.index)
    labels = np.array([plain(each) for each in frame["label"]], object)
    figure.add_scatter(
        x=frame["x"],
        y=frame["y"],
        mode="markers+text",
        cliponaxis=False,
        text=np.where((weights >= FAINT) | (len(frame) < CROWDED), labels, ""),
        textposition="top center",
        marker={"size": 8 + 18 * np.sqrt(weights) if "weight" in frame else 8},
        customdata=np.arange(len(frame)),
        hovertext=labels,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    if marks is not None:
        figure.add_scatter(
            x=marks["x"],
            y=marks["y"],
            mode="markers+text",
            cliponaxis=False,
            text=[plain(each) for each in marks["label"]],
            textposition="bottom center",
            marker={"size": 14, "symbol": "cross", "color": page(dark=dark)["accent"]},
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    points = pd.concat([frame, *([] if marks is None else [marks])])
    for axis, update in (("x", figure.update_xaxes), ("y", figure.update_yaxes)):  # room for the names
        low, high = float(points[axis].min()), float(points[axis].max())
        pad = 0.12 * (high - low) or 1.0
        update(range=(low - pad, high + pad))
    figure.update_xaxes(showticklabels=False, **NO_LINES)
    figure.update_yaxes(showticklabels=False, **NO_LINES, scaleanchor="x")
    return figure.update_layout(height=380, margin={"l": 10, "r": 10, "t": 40, "b": 10})


def turned(
    before: tuple[float, float], after: tuple[float, float], *, title: str, dark: bool = False
) -> go.Figure:
    """Draw a pair of numbers as an arrow in a plane, before and after a turn."""
    figure = _figure(title, dark=dark)
    for name, (x, y), dash in (("before", before, "dash"), ("after", after, "solid")):
        figure.add_scatter(
            x=[0, x],
            y=[0, y],
            name=name,
            mode="lines+markers",
            line={"dash": dash, "width": 3},
            marker={"symbol": "arrow", "size": [0, 14], "angleref": "previous"},
            hovertemplate=f"{name} %{{x:.3f}}, %{{y:.3f}}<extra></extra>",
        )
    reach = 1.15 * max(map(abs, (*before, *after))) or 1.0
    figure.update_xaxes(range=(-reach, reach))
    figure.update_yaxes(range=(-reach, reach), scaleanchor="x")
    return figure.update_layout(height=280)


def cells(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    name: str,
    row_title: str = "",
    column_title: str = "",
    signed: bool = False,
    percent: bool = False,
    texts: Sequence[Sequence[str]] | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw a matrix (row, column) with its names; nan is drawn empty. Names may repeat.

    `texts` (row, column) stand in the cells, cut where they are long, and whole in the hover text.
    """
    figure, number = _figure(title, dark=dark), ".1%" if percent else ".2f"
    row_names, column_names = ([plain(name) for name in names] for names in (rows, columns))
    start, names = "", [[[row, column] for column in column_names] for row in row_names]
    if texts is not None:
        start, colours = f"{plain(row_title)} ", page(dark=dark)
        on_dark = np.abs(values).ravel() > DARK * largest(values)
        words = [text for row in texts for text in row]
        for cell, word in zip((cell for row in names for cell in row), words, strict=True):
            cell[1] += f": {plain(word)}"
        figure.add_scatter(
            x=np.tile(np.arange(len(columns)), len(rows)),
            y=np.repeat(np.arange(len(rows)), len(columns)),
            mode="text",
            text=[plain(word if len(word) <= CELL else f"{word[: CELL - 1]}…") for word in words],
            textfont={"size": 12, "color": [colours["paper" if each else "ink"] for each in on_dark]},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_heatmap(
        z=values,
        customdata=names,
        hovertemplate=f"{start}%{{customdata[0]}}, {plain(column_title)} %{{customdata[1]}}: "
        f"%{{z:{number}}}<extra></extra>",
        hoverongaps=False,
        xgap=1,
        ygap=1,
        coloraxis="coloraxis",
    )
    across, down = (-0.5, len(columns) - 0.5), (len(rows) - 0.5, -0.5)
    figure.update_xaxes(**named_ticks(column_names), **NO_LINES, title_text=column_title, range=across)
    figure.update_yaxes(**named_ticks(row_names), **NO_LINES, title_text=row_title, range=down)
    axis = colour_axis(values, name, number, signed=signed, dark=dark)
    return figure.update_layout(coloraxis=axis, height=ROW * len(rows) + ABOVE + 30, margin={"t": 40})


def _frame_around(x: int, y: int, half: float, colour: str, width: int) -> dict[str, Any]:
    """Return a rectangle around a cell."""
    sides = {"x0": x - half, "x1": x + half, "y0": y - half, "y1": y + half}
    return {"type": "rect", **sides, "line": {"color": colour, "width": width}}


def _figure(title: str, *, dark: bool) -> go.Figure:
    return go.Figure(layout={"template": template(dark=dark), "title": {"text": plain(title)}})


def _every(n: int) -> dict[str, Any]:
    """Return ticks at every number up to n, or at every other where there are many."""
    return {"tickvals": list(range(1, n + 1, 1 if n <= 16 else 2))}
