"""All heads as points in a plane of two measures, and the list of what they are described by. No Streamlit here.

In: an atlas. Out: data for assets/js/atlas.js, and rows.
"""

from collections import Counter
from typing import Any

from mha_core.figures.colours import PALETTE
from mha_core.heads.atlas.habits import HABITS
from mha_core.heads.atlas.said import NO_DESCRIPTION, label
from mha_core.heads.atlas.table import Atlas, HeadEntry
from mha_core.wording import Head, head_name
from pages.parts.atlas.lines import marked

EXTREMES = 2  # heads named at each end of each axis
COLOURED = 7  # descriptions with a colour and a letter of their own
COLOURS: list[str] = PALETTE["heads"]
OTHER = ("·", "another description")
BY = ("description", "layer")
# Layers from first to last, as CSS: so much of the accent over the page's ground.
MIXED = "color-mix(in oklab, var(--st-primary-color) {}%, var(--st-background-color))"


def counts(found: Atlas) -> list[tuple[str, int]]:
    """Every description with how many heads have it, the commonest first; those without one last."""
    counted = Counter(label(entry.description) for entry in found.heads)
    none = counted.pop(NO_DESCRIPTION, 0)
    return [*sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])), (NO_DESCRIPTION, none)]


def points_data(found: Atlas, x: str, y: str, by: str, only: str, chosen: Head) -> dict[str, Any]:
    """The picture: every head of the description asked for (all if none is)."""
    shown = [entry for entry in found.heads if only in ("", label(entry.description))]
    colours = _colours(found)
    axes = {axis: _axis(found, key) for axis, key in (("x", x), ("y", y))}
    extreme = {entry.head for key in (x, y) for entry in _ends(shown, key)}
    n_layers = 1 + max(entry.head[0] for entry in found.heads)
    heads = []
    for entry in shown:
        letter, colour = colours.get(label(entry.description), ("", ""))
        if by == "layer":
            letter, colour = "", _of_layer(entry.head[0], n_layers)
        heads.append(
            {
                "id": head_name(entry.head),
                "x": _place(entry, x, axes["x"]),
                "y": _place(entry, y, axes["y"]),
                "letter": letter,
                "colour": colour,
                "extreme": entry.head in extreme,
                "label": f"Head {head_name(entry.head)}: {label(entry.description)}.",
                **_strongest(found, entry),
            }
        )
    return {
        "kind": "points",
        "of": _of(only),
        "chosen": head_name(chosen),
        "heads": heads,
        "legend": _legend(colours, by, n_layers),
        **{axis: _ends_said(key, axes[axis]) for axis, key in (("x", x), ("y", y))},
    }


def _of(only: str) -> str:
    """Which heads the picture has."""
    if only == NO_DESCRIPTION:
        return "Heads without a description"
    return f"Heads described by “{only}”" if only else "All heads"


def _strongest(found: Atlas, entry: HeadEntry) -> dict[str, Any]:
    if not entry.strongest:
        return {"line": ["", "", "", "", ""], "first": "query"}
    one = entry.strongest[0]
    return marked(found.passages[one.passage], one.query, one.key)


def _axis(found: Atlas, key: str) -> tuple[float, float]:
    values = [entry.measures[key] for entry in found.heads]
    return (0.0, 1.0) if HABITS[key][1] else (min(0.0, *values), max(values) or 1.0)


def _place(entry: HeadEntry, key: str, axis: tuple[float, float]) -> float:
    low, high = axis
    return round((entry.measures[key] - low) / ((high - low) or 1.0), 4)


def _ends(shown: list[HeadEntry], key: str) -> list[HeadEntry]:
    ordered = sorted(shown, key=lambda entry: entry.measures[key])
    return ordered[:EXTREMES] + ordered[-EXTREMES:]


def _ends_said(key: str, axis: tuple[float, float]) -> dict[str, str]:
    share = HABITS[key][1]
    low, high = (f"{100 * end:.0f} %" if share else f"{end:.1f}" for end in axis)
    return {"label": HABITS[key][0], "low": low, "high": high}


def _colours(found: Atlas) -> dict[str, tuple[str, str]]:
    """Letter and colour of every description; the rarer ones share a dot."""
    given: dict[str, tuple[str, str]] = {}
    for i, (name, _) in enumerate(one for one in counts(found) if one[0] != NO_DESCRIPTION):
        given[name] = (chr(ord("A") + i), COLOURS[i]) if i < COLOURED else (OTHER[0], COLOURS[-1])
    return given


def _of_layer(layer: int, n_layers: int) -> str:
    """The colour of a layer (from 0)."""
    return MIXED.format(round(100 * layer / max(n_layers - 1, 1)))


def _legend(colours: dict[str, tuple[str, str]], by: str, n_layers: int) -> list[dict[str, str]]:
    if by == "layer":
        some = dict.fromkeys((0, (n_layers - 1) // 2, n_layers - 1))
        return [
            {"letter": "", "name": f"layer {layer + 1}", "colour": _of_layer(layer, n_layers)}
            for layer in some
        ]
    named = [(letter, name, colour) for name, (letter, colour) in colours.items() if letter != OTHER[0]]
    rest = [(OTHER[0], OTHER[1], COLOURS[-1])] if len(colours) > COLOURED else []
    entries = [*named, *rest, ("", NO_DESCRIPTION, "transparent")]
    return [dict(zip(("letter", "name", "colour"), entry, strict=True)) for entry in entries]
