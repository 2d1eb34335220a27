"""The colours of assets/palette.json as Python and CSS take them; assets/js/colour.js makes the same ramps of them.

In: light or dark. Out: CSS variables of the page, and the ramp of weights as a scale for Plotly.
"""

import json
from typing import Any

import numpy as np

from pages.parts.picture.bundle import ASSETS

PALETTE: dict[str, Any] = json.loads((ASSETS / "palette.json").read_text(encoding="utf-8"))
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


def page(*, dark: bool) -> dict[str, str]:
    """The page's own colours by name: paper, ink, quiet, line, shade, accent."""
    colours: dict[str, str] = PALETTE["page"]["dark" if dark else "light"]
    return colours


def css_variables() -> str:
    """The page's colours as declarations that follow the reader's scheme."""
    light, dark = page(dark=False), page(dark=True)
    return " ".join(f"--{name}: light-dark({light[name]}, {dark[name]});" for name in light)


def weights_scale(*, dark: bool, steps: int = 16) -> list[tuple[float, str]]:
    """Plotly's colour scale from paper at 0 to the ramp's end at 1, as (place, colour)."""
    ramp = PALETTE["weights"]["dark" if dark else "light"]
    paper, end = _oklab(page(dark=dark)["paper"]), _oklab(ramp["end"])
    bend = np.array([0, *ramp["bend"]])
    places = [i / steps for i in range(steps + 1)]
    return [(t, _rgb(paper + (end - paper) * t + bend * np.sin(np.pi * t))) for t in places]


def _oklab(colour: str) -> np.ndarray:
    c = np.array(list(bytes.fromhex(colour[1:]))) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(LAB @ np.cbrt(CONES @ linear))


def _rgb(lab: np.ndarray) -> str:
    linear = np.clip(np.linalg.solve(CONES, np.linalg.solve(LAB, lab) ** 3), 0, 1)
    c = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = np.floor(255 * c + 0.5).astype(int).tolist()
    return f"rgb({red}, {green}, {blue})"
