"""Plotly figures as plain dictionaries: a grid or a comparison in, a figure out. No Streamlit here."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from mha_core import Grid
from mha_core.figures.colours import page, ramp
from mha_core.wording import Head, head_name
from pages.parts.frame.prose import visible

Figure = dict[str, Any]
LABELS_AT_MOST = 64


def heatmap(grid: Grid, head: Head, *, dark: bool, title: str = "") -> Figure:
    """One head as a heatmap to zoom into; row = query, column = key. Labels may repeat, so axes are numeric.

    `title`: what is drawn, where it is not the raw weights of one head.
    """
    # Plotly reads its texts as markup: of RoBERTa's <s> nothing would be left.
    rows, columns = (
        [html.escape(visible(label), quote=False) for label in side]
        for side in (grid.labels, grid.key_labels)
    )
    layout = _layout(title or f"Head {head_name(head)}", rows, columns, dark=dark)
    return {"data": [_cells(grid, head, rows, columns, dark=dark)], "layout": layout}


def _cells(grid: Grid, head: Head, rows: Sequence[str], columns: Sequence[str], *, dark: bool) -> Figure:
    weights = grid.weights[head]
    seen = np.ones_like(weights, dtype=bool) if grid.visible is None else grid.visible[head[0]]
    gap = 1 if len(rows) <= LABELS_AT_MOST else 0
    return {
        "type": "heatmap",
        "z": [
            [w if there else None for w, there in zip(*row, strict=True)]
            for row in zip(weights.tolist(), seen, strict=True)
        ],
        "hoverongaps": False,
        "customdata": [[[query, key] for key in columns] for query in rows],
        "hovertemplate": "%{customdata[0]} looks at %{customdata[1]}: %{z:.1%}<extra></extra>",
        "colorscale": weights_scale(dark=dark),
        "zmin": 0,
        "zmax": max(float(weights.max()), 1e-6),
        "xgap": gap,
        "ygap": gap,
        "colorbar": {"title": {"text": "weight"}, "tickformat": ".0%", "thickness": 10, "outlinewidth": 0},
    }


def _layout(title: str, rows: Sequence[str], columns: Sequence[str], *, dark: bool) -> Figure:
    ink, quiet = (page(dark=dark)[colour] for colour in ("ink", "quiet"))
    family = "HeadScope, Georgia, serif"
    return {
        "title": {
            "text": f"{title}: row = query, looks at column = key",
            "font": {"size": 17},
            "x": 0,
            "xanchor": "left",
            "y": 0.99,
            "yanchor": "top",
        },
        "xaxis": {**_axis(columns), "side": "top", "tickangle": -60, "title": {"text": ""}},
        "yaxis": {**_axis(rows), "autorange": "reversed", "scaleanchor": "x", "title": {"text": ""}},
        "height": min(960, max(460, 32 * len(rows) + 150)),
        "margin": {"l": 90, "r": 20, "t": 150, "b": 20},
        "font": {"size": 14, "family": family, "color": ink},
        "hoverlabel": {"font": {"size": 15, "family": family}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": quiet, "activecolor": ink},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }


def save_as(file: str, kind: str) -> dict[str, Any]:
    """Plotly's own buttons, with the camera writing `kind` ("svg" or "png"); the browser makes the file."""
    return {
        "displaylogo": False,
        "displayModeBar": True,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        "toImageButtonOptions": {"format": kind, "filename": file, "scale": 2 if kind == "png" else 1},
    }


def _axis(labels: Sequence[str]) -> dict[str, Any]:
    step = -(-len(labels) // LABELS_AT_MOST)
    shown = range(0, len(labels), step)
    return {
        "tickmode": "array",
        "tickvals": list(shown),
        "ticktext": [labels[i] for i in shown],
        "showgrid": False,
        "zeroline": False,
        "constrain": "domain",
    }


def weights_scale(*, dark: bool, steps: int = 16) -> list[tuple[float, str]]:
    """Plotly's colour scale from paper at 0 to the ramp's end at 1, as (place, colour)."""
    places = [i / steps for i in range(steps + 1)]
    colours = ramp(places, page(dark=dark)["paper"], dark=dark)
    return [
        (t, f"rgb({red}, {green}, {blue})") for t, (red, green, blue) in zip(places, colours, strict=True)
    ]
