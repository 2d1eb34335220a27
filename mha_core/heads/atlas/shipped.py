"""The atlas of the project's own passages that comes with the program, for both embedded models.

In: assets/atlas/<model>.json.gz, which `python -m mha_core.tools.atlas` writes. Out: an atlas in milliseconds, or None
where the file is not that of these weights and this text.
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mha_core.heads.atlas.collect import Example
from mha_core.heads.atlas.describe import Description, Finding
from mha_core.heads.atlas.effects import Effect, TokenEffect
from mha_core.heads.atlas.features import features
from mha_core.heads.atlas.passages import own_digest
from mha_core.heads.atlas.table import Atlas, HeadEntry, Passage
from mha_core.resources import asset


class Control(NamedTuple):
    """How many heads of a control have a description at all, and one by content."""

    described: int
    by_content: int
    heads: int


@dataclass(frozen=True, eq=False)
class Shipped:
    """An atlas, the digest of its weights, and its controls by name: untrained, shuffled."""

    atlas: Atlas
    digest: str
    controls: Mapping[str, Control]


def shipped_file(model: str) -> Path:
    """Return the path of a model's file."""
    return asset("atlas", f"{model.rsplit('/', 1)[-1]}.json.gz")


def read_shipped(model: str, digest: str | None = None) -> Shipped | None:
    """Return the atlas of a model by its name; None without one for this text, or for the weights of this digest."""
    path = shipped_file(model)
    if not path.is_file():
        return None
    data = json.loads(gzip.decompress(path.read_bytes()))
    if data["text"] != own_digest() or (digest is not None and data["digest"] != digest):
        return None
    passages = {
        int(number): Passage(text, *map(tuple, more)) for number, (text, *more) in data["passages"].items()
    }
    heads = tuple(_entry(entry) for entry in data["heads"])
    controls = {name: Control(*numbers) for name, numbers in data["controls"].items()}
    return Shipped(Atlas(heads, passages, data["n_passages"], data["n_tokens"]), data["digest"], controls)


def _entry(data: Mapping[str, Any]) -> HeadEntry:
    known = {feature.key: feature for feature in features(is_causal=False)}  # a decoder's are among them
    findings = tuple(Finding(known[key], *numbers) for key, *numbers in data["description"])
    effects = (
        Effect(*(tuple(TokenEffect(*effect) for effect in side) for side in both)) for both in data["effects"]
    )
    return HeadEntry(
        (data["head"][0], data["head"][1]),
        Description(findings, data["two"]),
        data["sink"],
        _examples(data["top"]),
        tuple(map(_examples, data["typical"])),
        _examples(data["random"]),
        tuple(effects),
    )


def _examples(rows: list[list[Any]]) -> tuple[Example, ...]:
    return tuple(Example(*row) for row in rows)
