"""What a figure is to look like. In: choices. Out: a frozen `Design`."""

from dataclasses import dataclass
from typing import Literal, get_args

from mha_core.errors import InputError
from mha_core.wording import Head

Kind = Literal["matrix", "arcs", "lines", "bars"]
Mix = Literal["each", "mean", "maximum"]
Ground = Literal["white", "transparent"]
Scale = Literal["full", "largest"]
KINDS, MIXES, GROUNDS, SCALES = (get_args(each) for each in (Kind, Mix, Ground, Scale))
WIDTHS = (4.0, 40.0)  # centimetres
SIZES = (5.0, 24.0)  # points
PANELS_AT_MOST = 24


@dataclass(frozen=True)
class Design:
    """A figure: what is drawn of which heads, how wide in centimetres, its type in points.

    `heads` are (layer, head) from 0. `mix`: every head in a panel of its own, or their mean or maximum in one.
    `scale`: shades and strokes from 0 to 100 %, or to the largest weight of the figure.
    """

    kind: Kind = "matrix"
    heads: tuple[Head, ...] = ()
    mix: Mix = "each"
    width: float = 8.5
    size: float = 8.0
    ground: Ground = "white"
    scale: Scale = "full"

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, tuple[str, ...]], ...] = (
            (self.kind, KINDS),
            (self.mix, MIXES),
            (self.ground, GROUNDS),
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


def within(said: str, value: float, limits: tuple[float, float], unit: str) -> None:
    """Raises InputError for a value outside of its limits."""
    least, most = limits
    if not least <= value <= most:
        raise InputError(f"A figure is {least:g} to {most:g} {unit} {said}, not {value:g}.")
