"""What a figure is to look like, and how a link says it.

In: choices. Out: a frozen `Design`; `as_link` and `from_link` are each other's way back.
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from mha_core.errors import InputError
from mha_core.wording import Head, head_name

Kind = Literal["matrix", "arcs", "lines", "bars"]
Mix = Literal["each", "mean", "maximum"]
Ground = Literal["white", "transparent"]
Unit = Literal["pieces", "words"]
Scale = Literal["full", "largest"]
KINDS, MIXES, GROUNDS, UNITS, SCALES = (get_args(each) for each in (Kind, Mix, Ground, Unit, Scale))
WIDTHS = (4.0, 40.0)  # centimetres
SIZES = (5.0, 24.0)  # points
PANELS_AT_MOST = 24
_HEAD = re.compile(r"([1-9][0-9]{0,2})-([1-9][0-9]{0,2})")


@dataclass(frozen=True)
class Design:
    """A figure: what is drawn of which heads, how wide in centimetres, its type in points.

    `heads` are (layer, head) from 0. `mix`: every head in a panel of its own, or their mean or maximum in one.
    `scale`: shades and strokes from 0 to 100 %, or to the largest weight of the figure. `unit`: pieces or words.
    """

    kind: Kind = "matrix"
    heads: tuple[Head, ...] = ()
    mix: Mix = "each"
    width: float = 8.5
    size: float = 8.0
    ground: Ground = "white"
    unit: Unit = "pieces"
    scale: Scale = "full"

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, tuple[str, ...]], ...] = (
            (self.kind, KINDS),
            (self.mix, MIXES),
            (self.ground, GROUNDS),
            (self.unit, UNITS),
            (self.scale, SCALES),
        )
        for chosen, known in choices:
            if chosen not in known:
                raise InputError(f"A figure can be {', '.join(known)}, not “{chosen}”.")
        within("wide", self.width, WIDTHS, "cm")
        within("in type", self.size, SIZES, "pt")
        if not self.heads:
            raise InputError("A figure needs one head at least; choose one.")
        if self.mix == "each" and len(self.heads) > PANELS_AT_MOST:
            raise InputError(
                f"A figure has {PANELS_AT_MOST} panels at most and {len(self.heads)} heads are chosen; choose fewer, "
                "or their mean or maximum."
            )

    def as_link(self) -> str:
        """As the value of a link's field."""
        heads = ",".join(head_name(head) for head in self.heads)
        parts = (
            self.kind,
            heads,
            self.mix,
            f"{self.width:g}",
            f"{self.size:g}",
            self.ground,
            self.unit,
            self.scale,
        )
        return "_".join(parts)


def within(said: str, value: float, limits: tuple[float, float], unit: str) -> None:
    """Raises InputError for a value outside of its limits."""
    least, most = limits
    if not least <= value <= most:
        raise InputError(f"A figure is {least:g} to {most:g} {unit} {said}, not {value:g}.")


def from_link(value: str) -> Design:
    """The design that a link asks for. Raises InputError if it is none."""
    parts = value.split("_")
    found = [_HEAD.fullmatch(name) for name in parts[1].split(",")] if len(parts) == 8 else [None]
    if None in found or not all(re.fullmatch(r"\d{1,3}(\.\d{1,2})?", part) for part in parts[3:5]):
        raise InputError("The link's figure cannot be read; showing the chosen head.")
    heads = tuple((int(each[1]) - 1, int(each[2]) - 1) for each in found if each)
    kind, _, mix, width, size, ground, unit, scale = parts
    return Design(kind, heads, mix, float(width), float(size), ground, unit, scale)  # type: ignore[arg-type]
