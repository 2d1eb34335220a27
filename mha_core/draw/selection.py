"""The selection in a picture: a head, the words it looks from, the word it looks at. From link to browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mha_core.display_names import Head, head_name


@dataclass(frozen=True)
class Selection:
    """`head` is (layer, head), `pins` and `to` are positions of units; all from 0. `look`: parameters of LOOK."""

    head: Head
    pins: tuple[int, ...] = ()
    to: int | None = None
    look: tuple[tuple[str, str], ...] = ()

    def inside(self, shape: Sequence[int]) -> "Selection":
        """Limit the selection to a picture of (layers, heads, units, ...): a head and positions that exist."""
        layers, heads, n = shape[:3]
        head = (min(max(self.head[0], 0), layers - 1), min(max(self.head[1], 0), heads - 1))
        pins = tuple(pin for pin in self.pins if 0 <= pin < n)
        to = self.to if pins and self.to is not None and 0 <= self.to < n else None
        return Selection(head, pins, to, self.look)

    def as_json(self) -> dict[str, Any]:
        """Return the selection for the browser; `from_json` reads what it sends back."""
        chosen = {"head": list(self.head), "pins": list(self.pins), "to": self.to}
        return chosen | ({"look": dict(self.look)} if self.look else {})

    def as_params(self) -> dict[str, str]:
        """Return the parameters of a link; `from_params` reads them back."""
        params = {"head": head_name(self.head), "pin": ",".join(map(str, self.pins)) or "none"}
        return (params if self.to is None else {**params, "to": str(self.to)}) | dict(self.look)
