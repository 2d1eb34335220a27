"""Curves of what is left while heads go, as SVG: points of 100 over the number of heads that are gone. No Streamlit."""

import html
from collections.abc import Callable, Mapping, Sequence

from mha_core.experiments import Curve

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 96, 12, 40
Scale = Callable[[float], float]
DASHES = ("", "7 4", "2 4", "9 3 2 3")


def chart(found: Mapping[str, Curve], n_heads: int, lost: Sequence[float]) -> str:
    """One line an order, each with a dash of its own and its name at the end; marks where points are lost."""
    low = min(min(curve.points) for curve in found.values())
    high = max(curve.points[0] for curve in found.values())
    floor = min(low, high - max(lost) * 1.5)

    def x(gone: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * gone / n_heads

    def y(points: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - points) / ((high - floor) or 1.0)

    parts = [_axes(x, y, n_heads, floor, high)]
    first = next(iter(found.values()))
    for points in lost:
        level = y(first.points[0] - points)
        parts.append(f'<line class="lost" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>')
        parts.append(f'<text class="quiet" x="{WIDTH - RIGHT + 4}" y="{level + 4:.1f}">−{points:.0f}</text>')
    ends = list[float]()
    for dash, (name, curve) in zip(DASHES, found.items(), strict=False):
        path = " ".join(f"{x(g):.1f},{y(p):.1f}" for g, p in zip(curve.gone, curve.points, strict=True))
        parts.append(f'<polyline points="{path}" stroke-dasharray="{dash}"/>')
        parts += [
            f'<circle cx="{x(g):.1f}" cy="{y(p):.1f}" r="2.2"><title>{html.escape(name)}: {g} heads gone, {p:.1f} '
            "points</title></circle>"
            for g, p in zip(curve.gone, curve.points, strict=True)
        ]
        middle = len(curve.gone) * (3 + len(ends)) // 8
        at = min(middle, len(curve.gone) - 1)
        ends.append(at)
        parts.append(
            f'<text class="name" x="{x(curve.gone[at]) + 6:.1f}" y="{y(curve.points[at]) - 6:.1f}">{html.escape(name)}</text>'
        )
    told = "; ".join(
        f"{name}: " + ", ".join(f"{p:.1f} with {g} gone" for g, p in zip(curve.gone[::4], curve.points[::4], strict=True))
        for name, curve in found.items()
    )
    return (
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(told)}">{"".join(parts)}</svg>'
    )


def _axes(x: Scale, y: Scale, n_heads: int, floor: float, high: float) -> str:
    step = next(size for size in (1, 2, 5, 10, 20, 25) if (high - floor) / size <= 6)
    parts = [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(floor):.1f}" y2="{y(floor):.1f}"/>']
    ticks = [step * i for i in range(int(high // step) + 1) if step * i >= floor]
    parts += [f'<text class="quiet end" x="{LEFT - 6}" y="{y(p) + 4:.1f}">{p:g}</text>' for p in ticks]
    for i in range(5):
        gone = round(n_heads * i / 4)
        parts.append(f'<text class="quiet mid" x="{x(gone):.1f}" y="{HEIGHT - BOTTOM + 18}">{gone}</text>')
    parts.append(f'<text class="quiet mid" x="{x(n_heads / 2):.1f}" y="{HEIGHT - 4}">heads gone</text>')
    return "".join(parts)
