"""The colours of assets/palette.json and the ramp of weights, in OKLab; assets/js/colour.js makes the same of them.

In: light or dark, and a weight from 0 to 1. Out: colours as sRGB.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.resources import asset

PALETTE: dict[str, Any] = json.loads(asset("palette.json").read_text(encoding="utf-8"))
# OKLab (Ottosson 2020): linear red, green and blue to cones, the cones' cube roots to lightness and two hues.
CONES = np.array([
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
])  # fmt: skip
LAB = np.array([
    [0.2104542553, 0.793617785, -0.0040720468],
    [1.9779984951, -2.428592205, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.808675766],
])  # fmt: skip


def page(*, dark: bool = False) -> dict[str, str]:
    """Return the page's own colours by name: paper, ink, quiet, line, shade, accent."""
    colours: dict[str, str] = PALETTE["page"]["dark" if dark else "light"]
    return colours


def ramp(
    places: Sequence[float], paper: str, *, dark: bool = False, palette: str = "weights", end: str = "end"
) -> list[tuple[int, int, int]]:
    """Return the colours at those places of a ramp of the palette: `paper` at 0, the ramp's end at 1."""
    named = PALETTE[palette]["dark" if dark else "light"]
    start, stop = oklab(paper), oklab(named[end])
    bend = np.array([0, *named.get("bend", (0, 0))])
    return [rgb(start + (stop - start) * t + bend * np.sin(np.pi * t)) for t in places]


def oklab(colour: str) -> FloatArray:
    """Return lightness and two hues of a colour `#rrggbb`."""
    c = np.array(list(bytes.fromhex(colour[1:]))) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(LAB @ np.cbrt(CONES @ linear))


def rgb(lab: FloatArray) -> tuple[int, int, int]:
    """Return the nearest colour in sRGB, 0 to 255 a channel."""
    linear = np.clip(np.linalg.solve(CONES, np.linalg.solve(LAB, lab) ** 3), 0, 1)
    c = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = np.floor(255 * c + 0.5).astype(int).tolist()
    return red, green, blue
