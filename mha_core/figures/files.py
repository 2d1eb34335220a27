"""A figure as a file: SVG, PDF with real text, or PNG. No browser is asked; PDF and PNG are made by vl-convert.

In: the SVG of a figure. Out: a file.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from mha_core.errors import InputError, Unavailable
from mha_core.figures.lettering import FOLDER
from mha_core.figures.svg import POINTS_A_CM

DOTS = (36, 1200)  # of an inch
SIZE = re.compile(r'width="([\d.]+)cm" height="([\d.]+)cm"')
# The typeface's two weights as files of their own, which the converter takes; it knows weights in hundreds.
SEMIBOLD, HUNDREDS = 'font-weight="650"', 'font-weight="600"'


def save(svg: str, file: str | Path, dots: int = 300) -> Path:
    """Write a figure into a file whose ending says what it is: .svg, .pdf or .png (so many dots an inch).

    Raises InputError for another ending, Unavailable if the converter is not installed.
    """
    path = Path(file)
    ending = path.suffix.lower()
    if ending == ".svg":
        path.write_text(svg, encoding="utf-8")
    elif ending == ".pdf":
        path.write_bytes(_converter().svg_to_pdf(_in_points(svg)))
    elif ending == ".png":
        if not DOTS[0] <= dots <= DOTS[1]:
            raise InputError(f"A PNG has {DOTS[0]} to {DOTS[1]} dots an inch, not {dots}.")
        path.write_bytes(_converter().svg_to_png(_in_points(svg), ppi=dots))
    else:
        raise InputError(f"A figure is written as .svg, .pdf or .png; the file is called '{path.name[:60]}'.")
    return path


def _in_points(svg: str) -> str:
    """The SVG as the converter takes it, for which one pixel is a point: its lengths in points."""
    found = SIZE.search(svg)
    if found is None:
        raise InputError("That is no figure: it does not say how wide it is.")
    wide, high = (float(part) * POINTS_A_CM for part in found.groups())
    sized = svg.replace(found[0], f'width="{wide:.3f}" height="{high:.3f}"', 1)
    return sized.replace(SEMIBOLD, HUNDREDS)


@cache
def _converter() -> Any:
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise Unavailable(
            "A PDF or a PNG needs vl-convert: pip install 'headscope[figures]', or save an SVG."
        ) from None
    vl_convert.register_font_directory(str(FOLDER))
    return vl_convert
