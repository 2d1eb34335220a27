"""The selection of a picture: what the URL asks for, what a sentence opens with, and how both move with the words.

In: URL parameters, a request, a grid and the view drawn before. Out: a `Selection` inside the picture, and the
sentences that say what was refused. No Streamlit here: `context.py` has the session.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mha_core import Grid, Unit
from mha_core.display_names import Head, count_noun, parse_head, short_name
from mha_core.draw.selection import Selection
from mha_core.models.model_list import OPENING_HEADS
from mha_core.wordlists import PRONOUNS
from pages.parts.frame import presets
from pages.parts.frame.page_text import quoted
from pages.parts.frame.request import Request

__all__ = ["LOOK", "PARAMS", "Selection", "parse_head", "select"]
# The parameters of a link that belong to the picture.
CHOICES = ("head", "pin", "to")
# The picture's look: threshold in percent, order of the heads, which of two sentences looks at which, the ranking
# without a second word, and shades up to the largest weight.
LOOK = {
    "least": r"[1-9]|[1-4][0-9]|50",
    "sort": "weight",
    "between": r"AA|AB|BA|BB",
    "rank": "1",
    "scale": "largest",
}
PARAMS = (*CHOICES, *LOOK)
Link = tuple[int, int | None]  # a query and a key, or every key


# ---- what the URL asks for, and what a sentence opens with
def select(
    params: Mapping[str, str],
    request: Request,
    grid: Grid,
    opening_link: Callable[[Head], Link | None] = lambda head: None,
) -> tuple[Selection, list[str]]:
    """Return the selection that URL parameters ask for in a grid, or the opening one, and a sentence a refused value.

    `opening_link`: the link that a head opens with in a text without a word to follow. In cross-attention, positions
    count the source's units first, and only the target's look.
    """
    refused = list[str]()
    n_source = 0 if grid.key_units is None else len(grid.key_units)
    n_units = n_source + len(grid)
    head, look = _head(params, request, grid, refused), _look(params)
    pins = _positions(params, "pin", n_units, refused)
    if pins is not None and n_source:
        pins = tuple(pin for pin in pins if pin >= n_source) or (() if params["pin"] == "none" else None)
    if pins is None:
        word = None if n_source else opening_word(request.text, request.pair, grid.labels)
        link = opening_link(head) if word is None else None
        if link and "to" not in params:
            return Selection(head, (link[0] + n_source,), link[1], look), refused
        pins = () if word is None else (word,)
    to = _positions(params, "to", n_units, refused)
    refused += [
        f"The link asks for {name} {quoted(params[name])}, which does not exist."
        for name in LOOK
        if name in params and not re.fullmatch(LOOK[name], params[name])
    ]
    return Selection(head, pins, to[0] if to and pins else None, look), refused


def _look(params: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the parameters among LOOK with a value it allows, in its order."""
    return tuple((name, params[name]) for name in LOOK if re.fullmatch(LOOK[name], params.get(name, "")))


def _head(params: Mapping[str, str], request: Request, grid: Grid, refused: list[str]) -> Head:
    """Return the head of the URL, or the opening one; one that the model lacks is refused, unless heads are mixed."""
    head = _nearest_head(opening_head(request.text, request.pair, request.model), grid)
    if "head" not in params:
        return head
    wanted = parse_head(params["head"])
    if wanted and (request.mixed or wanted == _nearest_head(wanted, grid)):
        return _nearest_head(wanted, grid)
    n_layers, n_heads = grid.weights.shape[:2]
    layers = count_noun(n_layers, "layer")
    size = {"head": f" ({layers} × {count_noun(n_heads, 'head')})", "layer": f" ({layers})", "model": ""}
    refused.append(
        f"This model has no head {quoted(params['head'])}{size[request.per]}. "
        f"Showing {short_name(head, request.per)}."
    )
    return head


def _nearest_head(head: Head, grid: Grid) -> Head:
    """Return the head, or one that the grid has, of the nearest layer with any."""
    inside = Selection(head).inside((*grid.weights.shape[:2], 0)).head
    if grid.heads is None or grid.heads[inside]:
        return inside
    layers, numbers = np.nonzero(grid.heads)
    nearest = int(np.abs(layers - inside[0]).argmin())
    return int(layers[nearest]), int(numbers[nearest])


def _positions(
    params: Mapping[str, str], key: str, n_units: int, refused: list[str]
) -> tuple[int, ...] | None:
    """Return the positions of a parameter: () for "none", None where it is missing or refused."""
    value = params.get(key)
    if value is None or value == "none":
        return None if value is None else ()
    parts = value.split(",")
    if all(re.fullmatch(r"[0-9]{1,4}", part) and int(part) < n_units for part in parts):
        return tuple(dict.fromkeys(map(int, parts)))
    refused.append(
        f"The link points at {key} {quoted(value)}; this sentence has positions 0 to {n_units - 1}."
    )
    return None


def opening_head(text: str, pair: str | None, model: str) -> Head:
    """Return the head that a sentence opens with in a model."""
    preset = presets.preset_of(text, pair)
    return (preset.heads if preset else {}).get(model) or OPENING_HEADS.get(model, presets.FIRST)


def opening_word(text: str, pair: str | None, labels: Sequence[str]) -> int | None:
    """Return the position of the word that a sentence opens with: the preset's, else the first pronoun."""
    preset = presets.preset_of(text, pair) or presets.minimal_pair(text)
    words = {preset.word.casefold()} if preset and preset.word else PRONOUNS
    return next((i for i, label in enumerate(labels) if label.casefold().strip(".,;:!?") in words), None)


# ---- what moves along with its words
@dataclass(frozen=True)
class DrawnView:
    """A picture as it was drawn: its request, its units, and its record's name in the browser.

    `in_url`: `pin` and `to` as the URL had them; `choice`: the same in this picture, until the browser writes it.
    """

    request: Request
    units: tuple[Unit, ...]
    record: str
    in_url: tuple[str, str]
    choice: tuple[str, str]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(unit.label for unit in self.units)

    def has_text(self, request: Request) -> bool:
        """Return whether it has the text of a request, however that was cut into units."""
        return (self.request.text, self.request.pair) == (request.text, request.pair)

    def has_options(self, request: Request) -> bool:
        """Return whether it differs from a request in nothing but its text and what it is compared with."""
        beside = replace(self.request, other=request.other, present=request.present)
        return replace(beside, text=request.text, pair=request.pair) == request


@dataclass(frozen=True)
class Change:
    """One stretch of a text that changed: from `start` on, `new` units replace `old` ones."""

    start: int
    old: int
    new: int

    def moved(self, unit: int) -> int | None:
        """Return a unit's new position: of the first changed one, the first new one's; None where it is gone."""
        if unit < self.start:
            return unit
        if unit >= self.start + self.old:
            return unit - self.old + self.new
        return self.start if unit == self.start and self.new else None


def change_between(before: Sequence[str], after: Sequence[str]) -> Change | None:
    """Return the one stretch in which two rows of labels differ; None where it is more than half of the longer one."""
    least = min(len(before), len(after))
    start = next((i for i in range(least) if before[i] != after[i]), least)
    end = next((i for i in range(least - start) if before[-1 - i] != after[-1 - i]), least - start)
    if 2 * (start + end) < max(len(before), len(after)):
        return None
    return Change(start, len(before) - start - end, len(after) - start - end)


def realign(
    params: Mapping[str, str], view: DrawnView | None, request: Request, grid: Grid
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the URL parameters with `pin` and `to` moved along with their words, and those that changed.

    Among these, "" clears a choice whose word is gone.
    """
    in_url = pin_and_to(params)
    if view is None or not in_url[0] or in_url not in (view.in_url, view.choice):
        return dict(params), {}  # nothing to move, or the URL was written for this text
    pin, to = _moved(view, request, grid)
    choice = {"pin": pin, "to": to}
    changed = {key: value for key, value in choice.items() if params.get(key, "") != value}
    return {key: value for key, value in {**params, **choice}.items() if value or key not in choice}, changed


def pin_and_to(params: Mapping[str, str]) -> tuple[str, str]:
    """Return the parameters `pin` and `to`, "" for one that is missing."""
    return params.get("pin", ""), params.get("to", "")


def _moved(view: DrawnView, request: Request, grid: Grid) -> tuple[str, str]:
    """Return a view's `pin` and `to` in this grid; both "" where a pinned word is gone."""
    if view.has_text(request) and view.units == grid.units:
        return view.choice
    pin, to = view.choice
    move = _unit_mapping(view, request, grid)
    if move is None or pin == "none":
        return ("", "") if move is None else view.choice
    pins = [move(int(each)) for each in pin.split(",") if each.isdecimal()]
    if not pins or None in pins:
        return "", ""
    target = move(int(to)) if to.isdecimal() else None
    return ",".join(map(str, pins)), "" if target is None else str(target)


def _unit_mapping(view: DrawnView, request: Request, grid: Grid) -> Callable[[int], int | None] | None:
    """Return the function from a unit's position in a view to the one in this grid; None for another text."""
    if view.has_text(request):
        return partial(recut, view.units, grid.units)
    change = change_between(view.labels, grid.labels) if view.has_options(request) else None
    if change is None:
        return None
    if grid.is_causal and change.start == len(view.units):  # the end of a decoder's text stays at the end
        return lambda unit: len(grid) - 1 if unit == change.start - 1 else change.moved(unit)
    return change.moved


def recut(before: Sequence[Unit], after: Sequence[Unit], position: int) -> int | None:
    """Return a unit's position in the same text cut otherwise: by its first character, or that special token."""
    if not 0 <= position < len(before):
        return None
    return next((i for i, unit in enumerate(after) if _stands_for(unit, before[position])), None)


def _stands_for(unit: Unit, old: Unit) -> bool:
    if unit.special or old.special:
        return unit.special and old.special and (unit.label, unit.segment) == (old.label, old.segment)
    return unit.segment == old.segment and unit.start <= old.start < unit.end
