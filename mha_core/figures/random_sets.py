"""A role's heads against random sets of heads: a row a role, a panel a task.

In: the frame of `mha_core.experiments.selectivity_frame`. Out: a Plotly figure.
"""

import html

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from mha_core.figures.charts import ROW
from mha_core.figures.colours import page
from mha_core.figures.style import template

AROUND = 96  # pixels of a panel for its title and axis


def random_sets(frame: pd.DataFrame, *, title: str, level: float, dark: bool = False) -> go.Figure:
    """Draw the number without a role as a dot, the random sets' range as a band, the whole model as a dotted line.

    Dots are filled where `p` is below `level`.
    """
    panels = list(frame.groupby("task", sort=False))
    roles = list(dict.fromkeys(frame["role"]))
    high = ROW * len(roles) + AROUND
    figure = make_subplots(
        rows=len(panels),
        cols=1,
        subplot_titles=[
            f"{html.escape(task)}<br>{rows['unit'].iloc[0]}, "
            f"{'less' if rows['better'].iloc[0] == 'low' else 'more'} is better"
            for task, rows in panels
        ],
        vertical_spacing=0.0 if len(panels) < 2 else AROUND / (high * len(panels)),
    )
    ink, quiet = page(dark=dark)["ink"], page(dark=dark)["quiet"]
    for panel, (_, rows) in enumerate(panels, start=1):
        at = np.array([roles.index(role) for role in rows["role"]])
        first = panel == 1
        gaps = np.full(len(rows), np.nan)
        figure.add_scatter(
            x=np.column_stack([rows["low"], rows["high"], gaps]).ravel(),
            y=np.column_stack([at, at, gaps]).ravel(),
            mode="lines",
            name="random heads",
            line={"width": 8, "color": quiet},
            opacity=0.45,
            hoverinfo="skip",
            showlegend=first,
            row=panel,
            col=1,
        )
        figure.add_scatter(
            x=rows["without"],
            y=at,
            mode="markers",
            name="without the role",
            marker={
                "size": 11,
                "color": ink,
                "symbol": np.where(rows["p"] < level, "circle", "circle-open").tolist(),
            },
            customdata=rows[["role", "p", "low", "high", "n"]],
            hovertemplate="%{customdata[0]}: %{x:.2f}, p = %{customdata[1]:.2f}; random heads "
            "%{customdata[2]:.2f} to %{customdata[3]:.2f}, n = %{customdata[4]}<extra></extra>",
            showlegend=first,
            row=panel,
            col=1,
        )
        figure.add_vline(float(rows["intact"].iloc[0]), line={"dash": "dot", "color": ink}, row=panel, col=1)
        figure.update_yaxes(
            tickvals=list(range(len(roles))),
            ticktext=[html.escape(role) for role in roles],
            range=(len(roles) - 0.5, -0.5),
            showgrid=False,
            zeroline=False,
            row=panel,
            col=1,
        )
    figure.update_annotations(font={"size": 14})
    return figure.update_layout(
        template=template(dark=dark),
        title={"text": html.escape(title)},
        height=high * len(panels) + 100,
        legend={"y": 1 + 42 / (high * len(panels) - 66)},
        margin={"t": 136, "b": 30},
    )
