"""How numbers went while something was learnt: lines over steps, as a block of a board. No Streamlit here."""

from collections.abc import Sequence

import numpy as np

from mha_core.wording import percent
from pages.parts.picture.tiles import Block, Board

SHARES = [{"value": value, "text": f"{100 * value:.0f} %"} for value in (0, 0.5, 1)]


def course(
    board: Board,
    key: str,
    name: str,
    ways: Sequence[tuple[str, Sequence[tuple[int, float]]]],
    high: float | None,
) -> Block:
    """Lines over steps; each way is its label and (step, value). Without `high` the largest value is the top."""
    lines, said = [], []
    for label, points in ways:
        steps, values = [step for step, _ in points], [value for _, value in points]
        lines.append({"label": label, "at": board.put(np.array([steps, values])), "count": len(points)})
        if not values:
            said.append(f"{label} not known yet")
            continue
        said.append(f"{label} {percent(values[-1]) if high else f'{values[-1]:.2f}'}")
    top = high or max([value for _, points in ways for _, value in points] or [1.0])
    ticks = SHARES if high else [{"value": value, "text": f"{value:.1f}"} for value in (0, top / 2, top)]
    return {
        "type": "course",
        "id": key,
        "name": name,
        "describe": f"{name}: now {', '.join(said)}",
        "lines": lines,
        "high": top,
        "ticks": ticks,
    }
