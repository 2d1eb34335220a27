"""All heads as points between two measures, for paper: every head has its place, the ends their names.

In: points with their places from 0 to 1. Out: an SVG with the typeface inside. Colour is never alone: a point carries
its letter, and the legend says letter, colour and name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mha_core.figures.colours import page
from mha_core.figures.lettering import width
from mha_core.figures.svg import POINTS_A_CM, document, tag, words

DOT = 4.2  # points, the radius
EDGE = 34.0  # beside the plane, for its numbers


@dataclass(frozen=True)
class Dot:
    """One head: `x` and `y` from 0 to 1, `colour` as #rrggbb or empty, `named` if its name is written beside it."""

    name: str
    x: float
    y: float
    letter: str
    colour: str
    named: bool


@dataclass(frozen=True)
class Axis:
    """What is measured, and what stands at the two ends."""

    label: str
    low: str
    high: str


def scatter(
    dots: Sequence[Dot],
    axes: tuple[Axis, Axis],
    legend: Sequence[tuple[str, str, str]],
    title: str,
    told: str,
    width_cm: float = 17.0,
    size: float = 9.0,
) -> str:
    """The figure as SVG, `width_cm` wide, its type `size` points; `legend` is letter, name and colour of each kind.
    `told` is written small beneath it and says what it is of."""
    wide = width_cm * POINTS_A_CM
    plane = wide - 2 * EDGE
    high = plane * 0.52
    colours = page()
    ink, quiet, line, paper = (colours[name] for name in ("ink", "quiet", "line", "paper"))
    left, top = EDGE, 3.6 * size
    across, upwards = axes
    body = [
        words(upwards.label, 0.0, 0.7 * size, size, fill=ink),
        tag("path", d=f"M{left:.1f} {top:.1f}V{top + high:.1f}H{left + plane:.1f}", fill="none", stroke=line),
        words(upwards.high, left - 4, top, size * 0.9, fill=quiet, text_anchor="end"),
        words(upwards.low, left - 4, top + high, size * 0.9, fill=quiet, text_anchor="end"),
    ]
    foot = top + high + 1.9 * size
    body += [
        words(across.low, left, foot, size * 0.9, fill=quiet),
        words(across.label, left + plane / 2, foot, size, fill=ink, text_anchor="middle"),
        words(across.high, left + plane, foot, size * 0.9, fill=quiet, text_anchor="end"),
    ]
    for dot in sorted(dots, key=lambda one: one.named):
        x, y = left + dot.x * plane, top + (1 - dot.y) * high
        body += _circle(dot.letter, dot.colour or paper, x, y, quiet, ink)
        if dot.named:
            body.append(words(dot.name, x, y - DOT - 0.5 * size, size * 0.9, fill=ink, text_anchor="middle"))
    y, x = foot + 2.2 * size, 0.0
    for letter, name, colour in legend:
        entry = 2.2 * size + width(name, size * 0.9)
        if x and x + entry > wide:
            x, y = 0.0, y + 1.6 * size
        body += _circle(letter, colour or paper, x + DOT, y, quiet, ink)
        body.append(words(name, x + 2.6 * DOT, y, size * 0.9, fill=ink))
        x += entry
    y += 2.0 * size
    for sentence in lines_of(told, wide, size * 0.8):
        body.append(words(sentence, 0.0, y, size * 0.8, fill=quiet))
        y += 1.15 * size
    return document(body, (wide, y), title, told, paper)


def _circle(letter: str, colour: str, x: float, y: float, edge: str, ink: str) -> list[str]:
    dot = tag("circle", cx=x, cy=y, r=DOT, fill=colour, fill_opacity=0.75, stroke=edge, stroke_width=0.6)
    return [dot, words(letter, x, y, 5.5, fill=ink, text_anchor="middle")] if letter else [dot]


def lines_of(text: str, wide: float, size: float) -> list[str]:
    """A text broken between words into lines that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width(longer, size) > wide:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
