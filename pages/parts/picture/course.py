"""How numbers went while something was learnt: lines over steps, as a chart on the page."""

from collections.abc import Iterable, Mapping

import pandas as pd

from mha_core.draw.figures.charts import curves
from pages.parts.frame.charts import chart, is_dark

Points = Iterable[tuple[int, float]]  # (step, value)


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
