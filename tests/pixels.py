"""A drawn picture turned back into numbers, by rules of its own: nothing here comes from the code that draws.

In: a canvas, or the colours of a picture. Out: weights (dark is much) and changes (blue: more in A, orange: more
in B), read in OKLab (Ottosson 2020), where both ramps are straight lines of lightness.
"""

import base64
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image


@dataclass(frozen=True)
class Theme:
    """The colours a reader is promised: paper at nothing, and what each ramp ends at."""

    paper: tuple[int, int, int]
    ink: tuple[int, int, int]
    more: tuple[int, int, int]
    less: tuple[int, int, int]


THEMES = {
    "light": Theme((251, 250, 247), (17, 28, 54), (6, 74, 140), (156, 62, 0)),
    "dark": Theme((21, 21, 19), (228, 238, 255), (126, 190, 255), (255, 168, 92)),
}


def of_canvas(canvas: Any) -> np.ndarray:
    """The pixels of a canvas on the page: (height, width, 4)."""
    png = canvas.evaluate("canvas => canvas.toDataURL().split(',')[1]")
    return np.array(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA"))


# Ottosson's two matrices, transposed: from linear red, green and blue to cones, from cones to OKLab.
CONES = np.array([
    [0.4122214708, 0.2119034982, 0.0883024619],
    [0.5363325363, 0.6806995451, 0.2817188376],
    [0.0514459929, 0.1073969566, 0.6299787005],
])  # fmt: skip
LAB = np.array([
    [0.2104542553, 1.9779984951, 0.0259040371],
    [0.7936177850, -2.4285922050, 0.7827717662],
    [-0.0040720468, 0.4505937099, -0.8086757660],
])  # fmt: skip


def oklab(rgb: Any) -> np.ndarray:
    """(.., 3 or 4) of 0..255 as lightness, green-red, blue-yellow."""
    c = np.asarray(rgb, float)[..., :3] / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ CONES) @ LAB


def weights(rgb: Any, theme: Theme) -> np.ndarray:
    """How far a colour is from paper to ink, 0 to 1."""
    paper, ink = (oklab(end)[0] for end in (theme.paper, theme.ink))
    return (oklab(rgb)[..., 0] - paper) / (ink - paper)


def changes(rgb: Any, theme: Theme) -> np.ndarray:
    """How far a colour is from paper towards blue (plus) or orange (minus), -1 to 1."""
    lab, paper = oklab(rgb), oklab(theme.paper)
    end = (oklab(theme.more)[0] + oklab(theme.less)[0]) / 2
    size = (lab[..., 0] - paper[0]) / (end - paper[0])
    return np.where(lab[..., 2] < paper[2], size, -size)


def colour(text: str) -> tuple[int, ...]:
    """`#010203`, `rgb(1, 2, 3)` or `rgb(1 2 3)` as numbers."""
    if text.startswith("#"):
        return tuple(bytes.fromhex(text[1:]))
    return tuple(int(part) for part in text.split("(")[1].rstrip(")").replace(",", " ").split()[:3])
