"""The atlas of the project's own reader as numbers that come with the program, and how they are made.

In: assets/atlas/<model>.json.gz, which `make atlas` writes. Out: an atlas with what each head raises and costs, ready
in milliseconds, or None where the file is not that of this model and this text.
"""

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mha_core.heads.atlas.describe import Description, Finding
from mha_core.heads.atlas.effects import Raised
from mha_core.heads.atlas.features import features
from mha_core.heads.atlas.losses import HeadLoss, Loss
from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.reader import reader_digest
from mha_core.heads.atlas.table import Atlas, HeadEntry, Line
from mha_core.resources import asset
from mha_core.wording import Head

DIGITS = 5
COMMAND = "python -m mha_core heads atlas --model {} --ship"


@dataclass(frozen=True)
class Control:
    """How many heads of a control have a description at all, and one by content."""

    described: int
    by_content: int
    heads: int


@dataclass(frozen=True, eq=False)
class Shipped:
    """An atlas with more about it. `raises`: for a head's first strongest moments the tokens raised there; `losses`:
    what is lost without a head; both empty for an encoder. `controls` by name: untrained, shuffled."""

    atlas: Atlas
    digest: str
    controls: dict[str, Control] = field(default_factory=dict)
    raises: dict[Head, tuple[tuple[Raised, ...], ...]] = field(default_factory=dict)
    losses: dict[Head, HeadLoss] = field(default_factory=dict)


def shipped_file(model: str) -> Path:
    """Where the numbers of a model stand."""
    return asset("atlas", f"{model.rsplit('/', 1)[-1]}.json.gz")


def read_shipped(model: str, digest: str | None = None) -> Shipped | None:
    """The numbers of a model by its name on the shelf; None if there are none for this text, or not for the weights
    with this digest."""
    path = shipped_file(model)
    if not path.is_file():
        return None
    data = json.loads(gzip.decompress(path.read_bytes()))
    if data["text"] != reader_digest() or (digest is not None and data["digest"] != digest):
        return None
    return _unpacked(data)


def write_shipped(found: Shipped, model: str, path: Path) -> None:
    """Write the numbers; the same numbers give the same bytes."""
    text = json.dumps(packed(found, model), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def packed(found: Shipped, model: str) -> dict[str, Any]:
    """The numbers as they are written, with what they belong to and the command that makes them."""
    atlas = found.atlas
    return {
        "model": model,
        "digest": found.digest,
        "text": reader_digest(),
        "command": COMMAND.format(model),
        "n_passages": atlas.n_passages,
        "n_tokens": atlas.n_tokens,
        "controls": {name: [c.described, c.by_content, c.heads] for name, c in found.controls.items()},
        "passages": {
            str(number): [line.text, line.labels, line.starts, line.ends]
            for number, line in atlas.passages.items()
        },
        "heads": [_head(entry, found) for entry in atlas.heads],
    }


def _head(entry: HeadEntry, found: Shipped) -> dict[str, Any]:
    loss = found.losses.get(entry.head)
    return {
        "head": entry.head,
        "two": entry.description.two,
        "description": [
            [one.feature.key, _short(one.share), _short(one.baseline), one.n]
            for one in entry.description.findings
        ],
        "measures": {name: _short(value) for name, value in entry.measures.items()},
        "strongest": _moments(entry.strongest),
        "tenths": [_moments(tenth) for tenth in entry.tenths],
        "random": _moments(entry.random),
        "raises": [[[r.text, _short(r.logits)] for r in one] for one in found.raises.get(entry.head, ())],
        "loss": loss
        and [
            loss.n,
            _short(loss.nats),
            [[t.passage, t.position, _short(t.before), _short(t.after)] for t in loss.tokens],
        ],
    }


def _moments(moments: tuple[Moment, ...]) -> list[list[float]]:
    return [[one.passage, one.query, one.key, _short(one.weight), _short(one.brings)] for one in moments]


def _short(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def _unpacked(data: dict[str, Any]) -> Shipped:
    known = {feature.key: feature for feature in features(is_causal=False)}  # a decoder's are among them
    entries, raises, losses = [], {}, {}
    for one in data["heads"]:
        head: Head = (one["head"][0], one["head"][1])
        found = tuple(Finding(known[key], *numbers) for key, *numbers in one["description"])
        entries.append(
            HeadEntry(
                head,
                Description(found, one["two"]),
                one["measures"],
                _read(one["strongest"]),
                tuple(_read(tenth) for tenth in one["tenths"]),
                _read(one["random"]),
            )
        )
        if one["raises"]:
            raises[head] = tuple(tuple(Raised(*pair) for pair in moment) for moment in one["raises"])
        if one["loss"]:
            n, nats, tokens = one["loss"]
            losses[head] = HeadLoss(n, nats, [Loss(*token) for token in tokens])
    passages = {
        int(number): Line(text, tuple(labels), tuple(starts), tuple(ends))
        for number, (text, labels, starts, ends) in data["passages"].items()
    }
    controls = {name: Control(*numbers) for name, numbers in data["controls"].items()}
    whole = Atlas(tuple(entries), passages, data["n_passages"], data["n_tokens"])
    return Shipped(whole, data["digest"], controls, raises, losses)


def _read(moments: list[list[float]]) -> tuple[Moment, ...]:
    return tuple(Moment(int(p), int(q), int(k), w, b) for p, q, k, w, b in moments)
