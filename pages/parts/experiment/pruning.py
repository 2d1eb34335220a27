"""Pruning: heads zero-ablated one after the other, least important first, and what is left, for both models."""

from collections.abc import Callable, Iterator, Mapping

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from mha_core import Model
from mha_core.experiments import (
    Curve,
    Part,
    order_by_effect,
    order_by_gradient,
    order_greedy,
    order_random,
    prune_curve,
    pruning_texts,
)
from mha_core.figures import charts
from mha_core.model_list import DECODER, EMBEDDED
from mha_core.wording import Head, counted
from pages.parts.experiment.frame import caveat
from pages.parts.frame import loading, shell
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import heading, say
from pages.parts.frame.progress import work
from pages.parts.frame.request import Request

LOST = (1.0, 5.0)  # points
GREEDY_AT_MOST = (
    100  # heads of a model that is also pruned by greedy choice: every round tries all that are left
)
AT_ONCE = 6
EFFECT, GRADIENT, GREEDY, RANDOM = "by effect", "by gradient", "greedy", "at random"
Curves = Mapping[str, Curve]


def view(_request: Request) -> None:
    """Both models of the shelf, side by side."""
    for column, name in zip(st.columns(2, gap="large"), (DECODER, EMBEDDED), strict=True):
        with column:
            used = shell.or_show_error(loading.named_model, name)
            if used is not None:
                _one(used)
    caveat()


def _one(used: Model) -> None:
    heading(f"{used.title}, {used.n_layers * used.n_heads} heads")
    work(
        (f"prune-{used.name}", used.fingerprint),
        lambda: curves(used),
        lambda found: _show(found, used),
        button=f"Prune {used.title}",
        unit="steps",
        one="step",
    )


def _show(found: Curves | None, used: Model) -> None:
    if not found:
        return
    say(finding(found, used.n_layers * used.n_heads), "finding")
    frame = pd.concat([curve.to_frame().assign(order=name) for name, curve in found.items()])
    chart(curves_figure(frame, dark=is_dark()), frame, key=f"pruned-{used.name}")


def curves_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Draw a line for each order, and the levels at which so many points are lost."""
    first = float(frame["points"].iloc[0])
    return charts.curves(
        frame,
        "gone",
        "points",
        "order",
        title="Points left without heads",
        x_title="heads ablated",
        y_title="points of 100",
        levels=[(first - lost, f"−{lost:.0f} point{'s' * (lost != 1)}") for lost in LOST],
        dark=dark,
    )


def curves(used: Model) -> Iterator[Part[Curves]]:
    """The curve of every order, one after the other; orders are made on other texts than the curves are counted on."""
    chosen, counted = pruning_texts(used)
    orders: dict[str, Callable[[], Iterator[Part[tuple[Head, ...]]]]] = {
        EFFECT: lambda: order_by_effect(chosen, used),
        GRADIENT: lambda: order_by_gradient(chosen, used),
        RANDOM: lambda: iter((Part(1.0, 1, order_random(used)),)),
    }
    if used.n_layers * used.n_heads <= GREEDY_AT_MOST:
        orders[GREEDY] = lambda: order_greedy(chosen, used, AT_ONCE)
    found, n = dict[str, Curve](), 0
    for number, (name, make) in enumerate(orders.items()):
        order: tuple[Head, ...] = ()
        for part in make():
            order, n = part.result, n + 1
            yield Part((number + part.fraction / 2) / len(orders), n, dict(found))
        for curve in prune_curve(order, counted, used):
            found[name], n = curve.result, n + 1
            yield Part((number + 0.5 + curve.fraction / 2) / len(orders), n, dict(found))


def finding(found: Curves, n_heads: int) -> str:
    """Where the best order loses one point and five, and where a random one does."""
    best = max(found, key=lambda name: tuple(_kept(found[name], points) for points in reversed(LOST)))
    curve = found[best]
    lost = [_lost(curve, points, n_heads) for points in LOST]
    measure = curve.measure[:1].upper() + curve.measure[1:]
    text = f"{measure}: {curve.points[0]:.1f} points at first (n = {curve.n}). Taken {best}, {lost[0]} and {lost[1]}"
    if RANDOM in found and best != RANDOM:
        text += f"; at random {_lost(found[RANDOM], LOST[1], n_heads)}"
    return f"{text}."


def _kept(curve: Curve, points: float) -> int:
    gone = curve.loses(points)
    return curve.gone[-1] + 1 if gone is None else gone


def _lost(curve: Curve, points: float, n_heads: int) -> str:
    gone = curve.loses(points)
    name = f"{points:.0f} point{'s are' if points != 1 else ' is'}"
    if gone is None:
        return f"{name} not lost by {counted(curve.gone[-1], 'head')}"
    return f"{name} lost with {counted(gone, 'head')} gone ({100 * gone / n_heads:.0f} %)"
