"""Compute the atlas that comes with the program: `python -m mha_core.tools.atlas MODEL`.

The project's own passages through the model and its controls, and what a decoder's heads raise and lower; minutes of
work, written to assets/atlas/.
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.effects import Effect, effects
from mha_core.heads.atlas.passages import own_digest, own_passages, read_passages
from mha_core.heads.atlas.shipped import Control, Shipped, shipped_file
from mha_core.heads.atlas.table import Atlas, HeadEntry, atlas
from mha_core.models.load import load_model
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

DIGITS = 5
WITH_EFFECTS = 6  # top examples of each head


def make(model: Model, seed: int = 0) -> Shipped:
    """Return everything that is shipped of a model."""
    collection = collect(own_passages(), model)
    untrained = load_model(model.name, trained=False, device=str(model.device))
    controls = {
        "untrained": control(atlas(collect(own_passages(), untrained))),
        "shuffled": control(atlas(shuffled(collection, seed))),
    }
    whole = atlas(collection)
    return Shipped(whole if model.next_head is None else with_effects(whole, model), model.digest, controls)


def collect(lines: Iterable[str], model: Model) -> Collection:
    """Return what is kept of the lines."""
    collection = Collection(model.n_layers, model.n_heads, model.info.visibility)
    for batch in read_passages(lines, model):
        for passage in batch:
            collection.add(*passage)
        _say(f"{model.title}{'' if model.trained else ', random weights'}: {collection.n_passages} passages")
    return collection


def control(made_of: Atlas) -> Control:
    """Return how many of its heads have a description."""
    return Control(made_of.n_described, made_of.n_by_content, len(made_of.heads))


def shuffled(collection: Collection, seed: int = 0) -> Collection:
    """Return the same examples at the same places, every passage's tokens in a random order, special ones apart:
    descriptions by place must stay, descriptions by token must vanish."""
    rng = np.random.default_rng(seed)
    mixed = copy(collection)
    mixed.passages = {number: _shuffled(tokens, rng) for number, tokens in collection.passages.items()}
    return mixed


def _shuffled(tokens: Tokens, rng: np.random.Generator) -> Tokens:
    pieces = list(tokens.pieces)
    places = [i for i, piece in enumerate(pieces) if not piece.special]
    for i, piece in zip(places, [pieces[int(j)] for j in rng.permutation(places)], strict=True):
        pieces[i] = piece
    return replace(tokens, pieces=tuple(pieces))


def with_effects(whole: Atlas, model: Model) -> Atlas:
    """Return the atlas with what each head raises and lowers at its first top examples, each passage read once."""
    wanted = defaultdict(list)
    for entry in whole.heads:
        for example in entry.top[:WITH_EFFECTS]:
            wanted[example.passage].append((*entry.head, example.query))
    by_place: dict[tuple[int, int, int, int], Effect] = {}
    for number, places in wanted.items():
        tokens = model.tokenizer.encode(whole.passages[number].text)
        for place, effect in zip(places, effects(tokens, model, places), strict=True):
            by_place[number, *place] = effect
    entries = [
        replace(
            entry,
            effects=tuple(
                by_place[example.passage, *entry.head, example.query] for example in entry.top[:WITH_EFFECTS]
            ),
        )
        for entry in whole.heads
    ]
    return replace(whole, heads=tuple(entries))


def write(shipped: Shipped, model: str, path: Path) -> None:
    """Write the file; the same numbers give the same bytes."""
    text = json.dumps(packed(shipped, model), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def packed(shipped: Shipped, model: str) -> dict[str, Any]:
    """Return what the file holds: the numbers, what they belong to, and the command that makes them."""
    return {
        "model": model,
        "digest": shipped.digest,
        "text": own_digest(),
        "command": f"python -m mha_core.tools.atlas {model}",
        "n_passages": shipped.atlas.n_passages,
        "n_tokens": shipped.atlas.n_tokens,
        "controls": shipped.controls,
        "passages": {str(number): passage for number, passage in shipped.atlas.passages.items()},
        "heads": [_packed(entry) for entry in shipped.atlas.heads],
    }


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


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Write the file of a named model."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.tools.atlas", description=__doc__)
    parser.add_argument("model", choices=("minilm", "smollm2"))
    name = parser.parse_args().model
    shipped = make(load_model(name))
    write(shipped, name, shipped_file(name))


if __name__ == "__main__":
    main()
