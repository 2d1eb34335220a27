"""What the reader asks for: every value of the link and the controls, checked. No Streamlit here.

In: names and values as they came from a browser. Out: a frozen `Request`, or the sentence that says why a value
was not taken.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mha_core import listed_models
from mha_core.cli.app import CHECKPOINTS
from mha_core.display_names import Per
from mha_core.heads import measures
from mha_core.models.checkpoint_series import read_series
from mha_core.models.hf_layers import Part
from mha_core.models.load import is_local, must_be_fetched
from mha_core.models.model_list import DECODER, DECODER_PACKAGE, EMBEDDED, ListedModel, step_of
from mha_core.record.grid import Specials
from mha_core.record.run import RunSpec
from pages.parts.frame.page_text import quoted

WEIGHTS = ("trained", "untrained")
UNITS = ("pieces", "words")
SPECIALS: tuple[Specials, ...] = ("shown", "hidden", "renormalised")
MEASURES = tuple(measures.BY_KEY)
AGAINST = ("sentence", "weights", "model")
ATTENTION: tuple[Part, ...] = ("encoder", "decoder", "cross")  # of an encoder-decoder


@dataclass(frozen=True)
class Request:
    """What to show: the reader's text as typed, a second text or None, and a checked choice for the rest.

    `other` is what it is compared with, on the page that compares. `attention`: of an encoder-decoder, what is looked
    at; `pair` is then what its decoder reads, None for what the model itself writes.
    """

    text: str
    pair: str | None = None
    model: str = EMBEDDED
    trained: bool = True
    unit: str = "pieces"
    specials: Specials = "shown"
    present: bool = False
    measure: str = measures.RAW.key
    other: "Request | None" = None
    attention: Part = "encoder"

    @property
    def words(self) -> bool:
        """True where the tokens of a word are taken together."""
        return self.unit == "words"

    @property
    def run(self) -> RunSpec:
        """The run to compute; everything else is how its result is shown."""
        return RunSpec(self.model, self.text, self.pair, self.trained, part=self.attention)

    def measured(self, measure: str) -> "Request":
        """Return the request, and what it is compared with, drawn by another measure."""
        return replace(self, measure=measure, other=self.other and self.other.measured(measure))

    @property
    def raw(self) -> bool:
        """True where the weights are drawn as they are."""
        return self.measure == measures.RAW.key

    @property
    def mixed(self) -> bool:
        """True where the measure mixes the heads, so that none has a picture of its own."""
        return not measures.BY_KEY[self.measure].per_head

    @property
    def per(self) -> Per:
        """Unit of a picture: a head, a layer or the whole model."""
        return measures.BY_KEY[self.measure].per


def models() -> tuple[str, ...]:
    """Return the names on offer: the embedded models, those of Hugging Face where the owner allows it, and the owner's
    own at its last checkpoint."""
    return (*_names(allowed("HUB", default="1")), *list(own_checkpoints())[-1:])


@cache
def own_checkpoints() -> Mapping[str, Path]:
    """Return the checkpoints of whoever runs the server: names of models in the order of training, and their folders.

    Raises HeadScopeError for a directory that is none of one model's checkpoints.
    """
    directory = os.environ.get(CHECKPOINTS, "").strip()
    return read_series(Path(directory)) if directory else {}


@cache
def _names(hub: bool) -> tuple[str, ...]:
    """Cached: it is called dozens of times a run, and the disk does not change while the program runs."""
    return tuple(entry.name for entry in listed_models() if entry.embedded or hub)


def name_outside(model: str) -> str:
    """Return the name that loads a model in Python and on the command line: of a checkpoint its folder, below that of
    the directory."""
    folder = own_checkpoints().get(model)
    return f"{folder.parent.name}/{folder.name}" if folder else model


def other_model(model: str) -> str:
    """Return the model that another is compared with at first: the decoder where it is here, else the next one."""
    others = [name for name in models() if name != model] or [model]
    return DECODER if DECODER in others and find_spec(DECODER_PACKAGE) else others[0]


@cache
def _entries() -> dict[str, ListedModel]:
    return {entry.name: entry for entry in listed_models()}


def title_of(model: str) -> str:
    """Return a model's name for people; one that is not listed has only its own."""
    if folder := own_checkpoints().get(model):
        return folder.parent.name
    return _entries()[model].title if model in _entries() else model


def megabytes_of(model: str) -> int:
    """Return the size of a listed model's files; 0 where the list has none."""
    return _entries()[model].megabytes if model in _entries() else 0


def model_label(name: str) -> str:
    """Return a model's name in a list, with its size and whether it has to be downloaded."""
    size = f"{megabytes:,} MB" if (megabytes := megabytes_of(name)) else ""
    download = "download" * must_be_fetched(name, local=allowed("FOLDERS"))
    return ", ".join(filter(None, (title_of(name), size, download)))


def allowed(what: str, default: str = "0") -> bool:
    """Return whether the server's owner lets users open HUB (the list's), ANY_MODEL (any hub id) or FOLDERS."""
    return (os.environ.get(f"HEADSCOPE_ALLOW_{what}", "").strip() or default) == "1"


def model_allowed(value: str) -> bool:
    """Return whether this model may be opened on this server."""
    if value in models() or step_of(value) is not None or value in own_checkpoints():
        return True
    if allowed("FOLDERS") and is_local(value):
        return True
    return allowed("ANY_MODEL") and re.fullmatch(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", value) is not None


def _not_offered(value: str, shown: str) -> str:
    offered = " · ".join(map(title_of, models()))
    switch = (
        "HUB" if value in _entries() else "FOLDERS" if re.match(r"[./~\\]|[A-Za-z]:", value) else "ANY_MODEL"
    )
    return (
        f"This server does not offer {quoted(value)}. Showing {title_of(shown)}. Offered: {offered}. "
        f"To open others, start HeadScope with `HEADSCOPE_ALLOW_{switch}=1`."
    )


def refusal(key: str, value: str, shown: str = EMBEDDED) -> str | None:
    """Return why a choice is refused, in one sentence, or None. `shown` is the model that is shown instead."""
    if key in ("model", "model2"):
        return None if model_allowed(value) else _not_offered(value, shown)
    options = {
        "weights": WEIGHTS,
        "unit": UNITS,
        "specials": SPECIALS,
        "measure": MEASURES,
        "against": AGAINST,
        "attention": ATTENTION,
    }[key]
    if value in options:
        return None
    return f"Unknown {key} {quoted(value)} in the link. Showing “{options[0]}”."
