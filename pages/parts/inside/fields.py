"""Boxes for whole numbers: what is none, or out of reach, is said under them, and the number before stays in use.

In: which numbers, and what is told. Out: a board on the page. A component's value is checked again here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.picture.tiles import Board

Told = Callable[[str, int | bool], None]


@dataclass(frozen=True)
class Field:
    """A whole number that a reader types: its key, its name on the screen, what it is at first, and its reach."""

    key: str
    label: str
    first: int
    least: int
    most: int

    def in_link(self) -> int:
        """What the link says; the first where it says none, or one out of reach."""
        text = state.params().get(self.key, "")
        asked = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else self.first
        return asked if self.least <= asked <= self.most else self.first


def ask(
    key: str,
    fields: Sequence[Field],
    values: Mapping[str, int],
    told: Told,
    flags: Mapping[str, tuple[str, bool]] | None = None,
) -> None:
    """The boxes, with the numbers in them now, and flags (a name and whether it is on) beside them."""
    board = Board()
    board.add(
        {
            "type": "fields",
            "id": key,
            "items": [
                {
                    "key": field.key,
                    "label": field.label,
                    "value": values[field.key],
                    "least": field.least,
                    "most": field.most,
                }
                for field in fields
            ],
            "flags": [{"key": name, "label": label, "on": on} for name, (label, on) in (flags or {}).items()],
        }
    )
    board.show(key, {"field": partial(_typed, key, {field.key: field for field in fields}, told)})


def _typed(key: str, fields: Mapping[str, Field], told: Told) -> None:
    """A browser may send anything: only what the boxes can hold is passed on."""
    value = heard_from(key, "field")
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)):
        return
    name, number = value
    if isinstance(number, bool) and name not in fields:
        told(name, number)
    elif (
        name in fields
        and isinstance(number, int | float)
        and fields[name].least <= number <= fields[name].most
        and number == int(number)
    ):
        told(name, int(number))
