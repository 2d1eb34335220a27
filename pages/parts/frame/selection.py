"""What an address says is chosen in a picture.

In: its parameters. Out: a `Selection`, inside the picture it is for, and the sentences that say what was refused. No
Streamlit here.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mha_core.arrays import Mask
from mha_core.display_names import Head, count_noun, parse_head, short_name
from mha_core.draw.selection import Selection
from pages.parts.frame import presets
from pages.parts.frame.page_text import quoted
from pages.parts.frame.request import Request

__all__ = ["LOOK", "PARAMS", "Selection", "from_params", "parse_head"]
# The parameters of a link that belong to the picture.
CHOICES = ("head", "pin", "to")
# How it is shown: threshold in percent, order of the heads, which of two sentences looks at which, the ranking without
# a second word, and shades up to the largest weight.
LOOK = {
    "least": r"[1-9]|[1-4][0-9]|50",
    "sort": "weight",
    "between": r"AA|AB|BA|BB",
    "rank": "1",
    "scale": "largest",
}
PARAMS = (*CHOICES, *LOOK)


def _look(asked: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What is one of LOOK's values, in its order."""
    return tuple((name, asked[name]) for name in LOOK if re.fullmatch(LOOK[name], asked.get(name, "")))


def from_params(
    params: Mapping[str, str],
    request: Request,
    shape: Sequence[int],
    labels: Sequence[str],
    strongest: Callable[[Head], tuple[int, int | None] | None] | None = None,
    heads: Mask | None = None,
) -> tuple[Selection, list[str]]:
    """The selection that a link asks for in a picture of this shape, or the opening one; and what was refused.

    `strongest` gives the link of a head that a text without a word to follow opens with. `heads`: which there are,
    (layer, head); None: all.
    """
    said = list[str]()
    head = _there(presets.opening_head(request.text, request.pair or "", request.model), shape, heads)
    if "head" in params:
        asked = parse_head(params["head"])
        if asked and (asked == _there(asked, shape, heads) or request.mixed):
            head = _there(asked, shape, heads)
        else:
            given = quoted(params["head"])
            layers = count_noun(shape[0], "layer")
            size = {
                "head": f" ({layers} × {count_noun(shape[1], 'head')})",
                "layer": f" ({layers})",
                "model": "",
            }[request.per]
            said.append(f"This model has no head {given}{size}. Showing {short_name(head, request.per)}.")
    pins = _positions(params, "pin", len(labels), said)
    if pins is None:
        found = presets.opening_word(request.text, request.pair or "", labels)
        pins = () if found is None else (found,)
        link = strongest(head) if strongest and found is None else None
        if link and "to" not in params:
            return Selection(head, link[:1], link[1], _look(params)), said
    to = _positions(params, "to", len(labels), said)
    target = to[0] if to and pins else None  # no target where no word looks
    said += [
        f"The link asks for {name} {quoted(params[name])}, which does not exist."
        for name in LOOK
        if name in params and not re.fullmatch(LOOK[name], params[name])
    ]
    return Selection(head, pins, target, _look(params)), said


def _there(head: Head, shape: Sequence[int], heads: Mask | None) -> Head:
    """The head, or where it is none one of the nearest layer that has some."""
    inside = Selection(head).inside((*shape[:2], 0)).head
    if heads is None or heads[inside]:
        return inside
    layers, numbers = np.nonzero(heads)
    nearest = int(np.abs(layers - inside[0]).argmin())
    return int(layers[nearest]), int(numbers[nearest])


def _positions(params: Mapping[str, str], key: str, count: int, said: list[str]) -> tuple[int, ...] | None:
    """Positions the link gives: None where it gives none or wrong ones, () for "none"."""
    value = params.get(key)
    if value is None or value == "none":
        return None if value is None else ()
    parts = value.split(",")
    if all(re.fullmatch(r"[0-9]{1,4}", part) and int(part) < count for part in parts):
        return tuple(dict.fromkeys(map(int, parts)))
    said.append(f"The link points at {key} {quoted(value)}; this sentence has positions 0 to {count - 1}.")
    return None
