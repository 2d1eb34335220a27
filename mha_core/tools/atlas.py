"""Compute the atlas that comes with the program: `python -m mha_core.tools.atlas MODEL`.

The project's own passages through the model and its controls, and what a decoder's heads raise and lower; minutes of
work, written to assets/atlas/.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from dataclasses import replace

import numpy as np

from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.effects import Effect, effects
from mha_core.heads.atlas.passages import own_digest, own_passages, read_passages
from mha_core.heads.atlas.shipped import Control, Shipped, shipped_file, write_atlas
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.models.load import load_model
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

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
    whole = whole if model.next_head is None else with_effects(whole, model)
    command = f"python -m mha_core.tools.atlas {model.name}"
    return Shipped(whole, model.name, model.digest, own_digest(), command, controls)


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


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Write the file of a named model."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.tools.atlas", description=__doc__)
    parser.add_argument("model", choices=("minilm", "smollm2"))
    name = parser.parse_args().model
    shipped = make(load_model(name))
    write_atlas(shipped, shipped_file(name))


if __name__ == "__main__":
    main()
