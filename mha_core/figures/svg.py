"""Pieces of SVG. In: numbers in points, texts that are never markup. Out: strings."""

import re
from xml.sax.saxutils import escape

from mha_core.figures.lettering import FAMILY, style

POINTS_A_CM = 72 / 2.54
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def tag(name: str, *inside: str, **attributes: object) -> str:
    """An element; underscores in names of attributes are hyphens, those that are None are left out."""
    said = "".join(
        f' {key.replace("_", "-")}="{plain(number(value) if isinstance(value, float) else str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{said}>{''.join(inside)}</{name}>" if inside else f"<{name}{said}/>"


def words(text: str, x: float, y: float, size: float, **attributes: object) -> str:
    """A text in a line of its own, its middle at height `y`."""
    return tag("text", plain(text), x=x, y=y + 0.34 * size, font_size=size, **attributes)


def plain(text: str) -> str:
    """What the reader wrote, as text of XML."""
    return escape(_FORBIDDEN.sub("\ufffd", text), {'"': "&quot;"})


def number(value: float) -> str:
    """Two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def document(body: list[str], size: tuple[float, float], title: str, told: str, ground: str | None) -> str:
    """A whole SVG of that size in points, its width and height in centimetres; without a ground it is transparent."""
    wide, high = size
    letters = re.sub("<[^>]*>", "", "".join(body))
    head = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": f"{wide / POINTS_A_CM:.3f}cm",
        "height": f"{high / POINTS_A_CM:.3f}cm",
        "viewBox": f"0 0 {number(wide)} {number(high)}",
        "font-family": FAMILY,
        "role": "img",
    }
    rest = [] if ground is None else [tag("rect", width="100%", height="100%", fill=ground)]
    inside = [tag("title", plain(title)), tag("desc", plain(told)), f"<style>{style(letters)}</style>"]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tag("svg", *inside, *rest, *body, **head)}\n'
