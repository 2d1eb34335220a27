"""What the reader asks for: every value of the link and the controls, checked. No Streamlit here.

In: names and values as they came from a browser. Out: a frozen `Request`, a checked view, or the sentence
that says why a value was not taken.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mha_core import shelf
from mha_core.heads.importance import KINDS, Kind
from pages.parts.frame import presets
from pages.parts.frame.prose import quoted

Head = tuple[int, int]

WEIGHTS = ("trained", "untrained")
UNITS = ("pieces", "words")
SPECIALS = ("shown", "hidden", "renormalised")
MEASURES = KINDS
MIXED = ("rollout", "flow")  # these have no heads of their own
AGAINST = ("sentence", "weights", "model")


@dataclass(frozen=True)
class Request:
    """What to show: the reader's text as typed, a second text or None, and a checked choice for the rest.

    `other` is what it is compared with, on the page that compares.
    """

    text: str
    pair: str | None = None
    model: str = "minilm"
    trained: bool = True
    unit: str = "pieces"
    specials: str = "shown"
    present: bool = False
    measure: Kind = "raw"
    other: "Request | None" = None

    @property
    def words(self) -> bool:
        return self.unit == "words"


@dataclass(frozen=True)
class View:
    """What is chosen in the picture: head is (layer, head), pins and to are positions, all from 0."""

    head: Head
    pins: tuple[int, ...] = ()
    to: int | None = None


def name(head: Head) -> str:
    """A head as people read it: layer and head, numbered from 1."""
    return f"{head[0] + 1}-{head[1] + 1}"


def models() -> tuple[str, ...]:
    """Names a reader may choose: the embedded models, and those of the hub where the owner allows it."""
    return tuple(entry.name for entry in shelf() if entry.embedded or allowed("HUB", default="1"))


def title_of(model: str) -> str:
    return next((entry.title for entry in shelf() if entry.name == model), model)


def allowed(what: str, default: str = "0") -> bool:
    """What the server's owner lets readers open: HUB (the shelf's), ANY_MODEL (any hub id), FOLDERS."""
    return os.environ.get(f"HEADSCOPE_ALLOW_{what}", default) != "0"


def model_allowed(value: str) -> bool:
    """Whether a reader may open this model on this server."""
    if value in models():
        return True
    if allowed("FOLDERS") and "\0" not in value and Path(value).is_dir():
        return True
    return allowed("ANY_MODEL") and re.fullmatch(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", value) is not None


def refusal(key: str, value: str) -> str | None:
    """Why a choice is not taken, in one sentence; None where it is."""
    if key in ("model", "model2"):
        there = model_allowed(value)
        return (
            None
            if there
            else f"There is no model {quoted(value)} on this server; you see {title_of('minilm')}."
        )
    options = {
        "weights": WEIGHTS,
        "unit": UNITS,
        "specials": SPECIALS,
        "measure": MEASURES,
        "against": AGAINST,
    }[key]
    if value in options:
        return None
    return f"The link asks for {key} {quoted(value)}, which there is not; you see “{options[0]}”."


def view_of(
    query: Mapping[str, str], request: Request, shape: Sequence[int], labels: Sequence[str]
) -> tuple[View, list[str]]:
    """The view the link asks for in a picture of this shape, or the opening one; and what was refused."""
    layers, heads, said = shape[0], shape[1], []
    preset = presets.opening(request.text, request.pair or "")
    head = _inside(preset.head if preset else (3, 1), layers, heads)
    if "head" in query:
        asked = parse_head(query["head"])
        if asked and (asked == _inside(asked, layers, heads) or request.measure in MIXED):
            head = _inside(asked, layers, heads)
        else:
            given = quoted(query["head"])
            said.append(f"There is no head {given} in {layers} layers of {heads}; you see {name(head)}.")
    pins = _positions(query, "pin", len(labels), said)
    if pins is None:
        found = presets.opening_word(request.text, request.pair or "", labels)
        pins = () if found is None else (found,)
    to = _positions(query, "to", len(labels), said)
    return View(head, pins, to[0] if to else None), said


def query_of(view: View) -> dict[str, str]:
    """The view as parameters of a link; `view_of` reads it back."""
    query = {"head": name(view.head), "pin": ",".join(map(str, view.pins)) or "none"}
    return query if view.to is None else {**query, "to": str(view.to)}


def parse_head(value: str) -> Head | None:
    """(layer, head) from 0 of "4-2", or None."""
    match = re.fullmatch(r"([1-9][0-9]{0,2})-([1-9][0-9]{0,2})", value)
    return (int(match[1]) - 1, int(match[2]) - 1) if match else None


def _inside(head: Head, layers: int, heads: int) -> Head:
    return min(head[0], layers - 1), min(head[1], heads - 1)


def _positions(query: Mapping[str, str], key: str, count: int, said: list[str]) -> tuple[int, ...] | None:
    """Positions the link gives: None where it gives none or wrong ones, () for "none"."""
    value = query.get(key)
    if value is None or value == "none":
        return None if value is None else ()
    parts = value.split(",")
    if all(re.fullmatch(r"[0-9]{1,4}", part) and int(part) < count for part in parts):
        return tuple(dict.fromkeys(map(int, parts)))
    said.append(f"The link points at {key} {quoted(value)}; this sentence has positions 0 to {count - 1}.")
    return None
