"""The sentence with arcs from the words that look to those that are looked at, one panel under the other.

Of two texts (cross-attention) the source stands above the target, and the arcs between the two lines.
"""

from collections.abc import Sequence

from mha_core.errors import InputError
from mha_core.figures.lettering import runs_leftward, width
from mha_core.figures.panels import Panel
from mha_core.figures.sheet import Sheet
from mha_core.figures.svg import number, tag, words
from mha_core.wording import percent

SMALLEST = 4.0  # points; smaller type is not read
SPACE, WIDEST = 0.3, 1.2  # between words at least and at most, of the size
WORTH_SAYING = 0.02
BETWEEN = 6.5  # of the size, from the source's line to the target's


def _fitted(names: Sequence[str], size: float, wide: float) -> float:
    return min(size, wide / (sum(width(name, 1.0) + SPACE for name in names) - SPACE))


def draw(sheet: Sheet, found: list[Panel]) -> tuple[list[str], float]:
    """The panels, one under the other, and what the strokes mean; how high all is, in points. Raises InputError for a
    line that nobody could read."""
    size = min(_fitted(names, sheet.size, sheet.width) for names in (sheet.names, sheet.keys))
    if size < SMALLEST:
        raise InputError(
            "The text is too long for arcs over one line at this width; take a wider figure, or draw a matrix."
        )
    middles = _middles(sheet, sheet.names, size)
    body, y = [], 0.0
    for panel in found:
        links = sheet.links(panel.weights)
        if sheet.key_names is not None:
            body += _between(sheet, panel, middles, links, y, size)
            y += 1.5 * sheet.size + BETWEEN * size + 2.1 * size
            continue
        reach = max((abs(middles[q] - middles[k]) for q, k, _ in links), default=0.0)
        rise = min(0.35 * reach, 0.22 * sheet.width) * 0.75 + 1.6 * size
        body.append(sheet.title(panel, 0.0, y + 0.8 * sheet.size))
        base = y + 1.5 * sheet.size + rise
        body += [
            _arc(sheet, middles, link, base - 0.75 * size, size) for link in sorted(links, key=lambda a: a[2])
        ]
        body += [
            words(name, middles[i], base, size, text_anchor="middle", **sheet.bold(i))
            for i, name in enumerate(sheet.names)
        ]
        body += _shares(sheet, panel, middles, links, base + 1.15 * size, min(size, sheet.size) * 0.9)
        y = base + 2.1 * size
    body.append(sheet.stroke_bar(y + 0.8 * sheet.size))
    return body, y + 1.8 * sheet.size


def _middles(sheet: Sheet, names: Sequence[str], size: float) -> list[float]:
    """Where the middle of every word of a line stands."""
    line = sum(width(name, size) for name in names)
    space = min(WIDEST * size, (sheet.width - line) / max(1, len(names) - 1))
    middles, x = [], 0.0
    for name in names:
        wide = width(name, size)
        middles.append(x + wide / 2)
        x += wide + space
    return [x - space - middle for middle in middles] if runs_leftward(names) else middles


def _between(
    sheet: Sheet,
    panel: Panel,
    middles: list[float],
    links: list[tuple[int, int, float]],
    y: float,
    size: float,
) -> list[str]:
    """The source's words, what each of them gets under it, and the target's with arcs up to those."""
    above, small = _middles(sheet, sheet.keys, size), min(size, sheet.size) * 0.9
    top = y + 1.5 * sheet.size + 0.6 * size
    base = top + BETWEEN * size
    found = [sheet.title(panel, 0.0, y + 0.8 * sheet.size)]
    for q, k, weight in sorted(links, key=lambda link: link[2]):
        thick, colour = sheet.stroke(weight)
        thick = min(thick, size)
        tip = max(1.6, thick * 0.8)
        start, point = base - 0.75 * size, top + 1.9 * size
        end, pull = point + 1.2 * tip, (base - top) * 0.3
        d = (
            f"M{number(middles[q])} {number(start)}C{number(middles[q])} {number(start - pull)} "
            f"{number(above[k])} {number(end + pull)} {number(above[k])} {number(end)}"
        )
        found.append(
            tag(
                "g",
                tag("path", d=d, fill="none", stroke=colour, stroke_width=thick),
                tag("path", d=_tip(above[k], end, point, tip), fill=colour),
            )
        )
    found += [
        words(name, above[k], top, size, text_anchor="middle", fill=sheet.ink)
        for k, name in enumerate(sheet.keys)
    ]
    found += [
        words(name, middles[q], base, size, text_anchor="middle", **sheet.bold(q))
        for q, name in enumerate(sheet.names)
    ]
    return found + _shares(sheet, panel, above, links, top + 1.15 * size, small)


def _arc(sheet: Sheet, middles: list[float], link: tuple[int, int, float], y: float, size: float) -> str:
    q, k, weight = link
    thick, colour = sheet.stroke(weight)
    thick = min(thick, size)
    a, b = middles[q], middles[k]
    tip = max(1.6, thick * 0.8)
    if q == k:
        out, up, back = (number(part * size) for part in (-0.4, -1.1, 0.9))
        d = f"M{number(a - 0.25 * size)} {number(y)}c{out} {up} {back} {up} {number(0.5 * size)} 0"
        return tag("path", d=d, fill="none", stroke=colour, stroke_width=thick)
    high = y - min(0.35 * abs(a - b), 0.22 * sheet.width) - 0.6 * size
    end = y - 1.2 * tip
    d = f"M{number(a)} {number(y)}C{number(a)} {number(high)} {number(b)} {number(high)} {number(b)} {number(end)}"
    point = _tip(b, end, y, tip)
    arc = tag("path", d=d, fill="none", stroke=colour, stroke_width=thick)
    return tag("g", arc, tag("path", d=point, fill=colour))


def _tip(x: float, start: float, end: float, tip: float) -> str:
    """The point of an arc, from height `start` to `end`."""
    return f"M{number(x - 0.75 * tip)} {number(start)}H{number(x + 0.75 * tip)}L{number(x)} {number(end)}z"


def _shares(
    sheet: Sheet,
    panel: Panel,
    middles: list[float],
    links: list[tuple[int, int, float]],
    y: float,
    size: float,
) -> list[str]:
    """Percentages under the words that are looked at, the largest first; one that finds no room is left out. Of several
    chosen words it is their mean, also over those whose own link is too weak to be drawn."""
    if sheet.pins:
        means = panel.weights[list(sheet.pins)].mean(axis=0)
        shares = {k: float(means[k]) for _, k, _ in links}
    else:
        shares = {k: weight for _, k, weight in sorted(links, key=lambda link: link[2])}
    taken: list[tuple[float, float]] = []
    found = []
    for k, weight in sorted(shares.items(), key=lambda item: -item[1]):
        half = width(percent(weight), size) / 2 + 0.2 * size
        x = min(max(middles[k], half), sheet.width - half)
        if weight < WORTH_SAYING or any(x - half < b and a < x + half for a, b in taken):
            continue
        taken.append((x - half, x + half))
        found.append(words(percent(weight), x, y, size, text_anchor="middle", fill=sheet.ink))
    return found
