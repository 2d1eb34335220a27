"""Atlases as files: those of the project's own passages that come with the program, and those of merged parts.

In: an atlas and what it is of, or a file. Out: a file, or an atlas in milliseconds. `python -m mha_core.tools.atlas`
writes assets/atlas/<model>.json.gz, `headscope merge --table` any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mha_core.heads.atlas.collect import Example
from mha_core.heads.atlas.describe import Description, Finding
from mha_core.heads.atlas.effects import Effect, TokenEffect
from mha_core.heads.atlas.features import features
from mha_core.heads.atlas.passages import own_digest
from mha_core.heads.atlas.table import Atlas, HeadEntry, Passage
from mha_core.heads.packed_files import read_packed, write_packed
from mha_core.resources import asset

DIGITS = 5


class Control(NamedTuple):
    """How many heads of a control have a description at all, and one by content."""

    described: int
    by_content: int
    heads: int


@dataclass(frozen=True, eq=False)
class Shipped:
    """An atlas, the model and the digest of its weights, its text (a digest, or names of files), the command that made
    it, and its controls by name: untrained, shuffled; none of merged parts."""

    atlas: Atlas
    model: str
    digest: str
    text: str
    command: str
    controls: Mapping[str, Control] = field(default_factory=dict)
    trained: bool = True

    @property
    def corpus(self) -> str:
        """Return the name of its text."""
        return "the project's own passages" if self.text == own_digest() else self.text


def shipped_file(model: str) -> Path:
    """Return the path of a model's file."""
    return asset("atlas", f"{model.rsplit('/', 1)[-1]}.json.gz")


def read_shipped(model: str, digest: str | None = None) -> Shipped | None:
    """Return the atlas of a model by its name; None without one for this text, or for the weights of this digest."""
    path = shipped_file(model)
    shipped = read_atlas(path) if path.is_file() else None
    is_known = shipped is not None and shipped.text == own_digest() and digest in (None, shipped.digest)
    return shipped if is_known else None


def read_atlas(path: str | Path) -> Shipped:
    """Return an atlas that `write_atlas` wrote. Raises InputError, with its name, for a file that is none."""
    return read_packed(path, _unpacked, "atlas")


def write_atlas(shipped: Shipped, path: Path) -> None:
    """Write the file; the same numbers give the same bytes."""
    write_packed(packed(shipped), path)


def packed(shipped: Shipped) -> dict[str, Any]:
    """Return what the file holds: the numbers, what they belong to, and the command that makes them."""
    return {
        "model": shipped.model,
        "digest": shipped.digest,
        "text": shipped.text,
        "command": shipped.command,
        "n_passages": shipped.atlas.n_passages,
        "n_tokens": shipped.atlas.n_tokens,
        "controls": shipped.controls,
        "passages": {str(number): passage for number, passage in shipped.atlas.passages.items()},
        "heads": [_packed(entry) for entry in shipped.atlas.heads],
    } | ({} if shipped.trained else {"trained": False})


def _unpacked(data: Mapping[str, Any]) -> Shipped:
    passages = {
        int(number): Passage(text, *map(tuple, more)) for number, (text, *more) in data["passages"].items()
    }
    whole = Atlas(tuple(map(_entry, data["heads"])), passages, data["n_passages"], data["n_tokens"])
    controls = {name: Control(*numbers) for name, numbers in data["controls"].items()}
    model, digest, text, command = (data[name] for name in ("model", "digest", "text", "command"))
    return Shipped(whole, model, digest, text, command, controls, data.get("trained", True))


def _packed(entry: HeadEntry) -> dict[str, Any]:
    findings = [(each.feature.key, each.share, each.baseline, each.n) for each in entry.description.findings]
    content = {
        "head": entry.head,
        "two": entry.description.two,
        "description": findings,
        "sink": entry.sink,
        "top": entry.top,
        "typical": entry.typical,
        "random": entry.random,
        "effects": entry.effects,
    }
    return {name: _rounded(value) for name, value in content.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return [_rounded(each) for each in value] if isinstance(value, tuple | list) else value


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
