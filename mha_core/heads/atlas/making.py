"""How the numbers that come with the program are made: the reader through a model, its controls, what heads raise and
cost.

In: a model. Out: a `Shipped`. It is work of minutes on the small models, so it says what it is at.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace

import numpy as np

from mha_core.heads.atlas.effects import Place, Raised, raised
from mha_core.heads.atlas.features import pair_features
from mha_core.heads.atlas.losses import HeadLoss, losses
from mha_core.heads.atlas.reader import read_reader
from mha_core.heads.atlas.reading import passage_tokens, read_passages
from mha_core.heads.atlas.shipped import Control, Shipped
from mha_core.heads.atlas.sums import AtlasSums, PassageKept
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.wording import Head

RAISED_AT = 6  # moments of each head
TAKEN_AWAY_ON = 7  # passages, each of another register: taking every head away costs a minute a passage
Say = Callable[[str], None]


def make(model: Model, say: Say, seed: int = 0) -> Shipped:
    """Everything that is shipped of a model, from the reader's passages; `say` is told how far it is."""
    lines = [passage.text for passage in read_reader()]
    sums = _read(lines, model, "reader", say)
    found = atlas(sums)
    twin = load_model(model.name, trained=False, device=str(model.device))
    controls = {
        "untrained": control(atlas(_read(lines, twin, "untrained twin", say))),
        "shuffled": control(atlas(shuffled(sums, seed))),
    }
    raises, lost = dict[Head, tuple[tuple[Raised, ...], ...]](), dict[Head, HeadLoss]()
    if model.next_head is not None:
        raises = raised_at(found, model)
        passages = one_of_a_register(model)
        for done, lost in losses(passages, model):  # noqa: B007 - the last one has everything
            say(f"what is lost without each head: {done} of {len(passages)} passages")
    return Shipped(found, model.digest, controls, raises, lost)


def _read(lines: Iterable[str], model: Model, what: str, say: Say) -> AtlasSums:
    for part in read_passages(lines, model):
        say(f"{what}: {part.n} passages")
    return part.sums


def control(found: Atlas) -> Control:
    """How many of its heads have a description."""
    return Control(found.n_described, found.n_by_content, len(found.heads))


def shuffled(sums: AtlasSums, seed: int = 0) -> AtlasSums:
    """The same moments at the same places, but every passage's tokens in a random order, special ones apart: what is
    said of places must stay, what is said of tokens must vanish."""
    rng = np.random.default_rng(seed)
    mixed = copy(sums)
    mixed.passages = {number: _shuffled(one, sums.is_causal, rng) for number, one in sums.passages.items()}
    return mixed


def _shuffled(one: PassageKept, is_causal: bool, rng: np.random.Generator) -> PassageKept:
    pieces = list(one.tokens.pieces)
    places = [i for i, piece in enumerate(pieces) if not piece.special]
    for i, piece in zip(places, [pieces[int(j)] for j in rng.permutation(places)], strict=True):
        pieces[i] = piece
    tokens = replace(one.tokens, pieces=tuple(pieces))
    found = pair_features(tokens, is_causal)
    return PassageKept(tokens, found.pairs, found.counts, found.rows)


def one_of_a_register(model: Model) -> list[tuple[int, Tokens]]:
    """The first passage of some registers, with its number: what heads are taken away on."""
    first = dict[str, tuple[int, Tokens]]()
    for number, passage in enumerate(read_reader()):
        tokens = passage_tokens(passage.text, model)
        if tokens is not None:
            first.setdefault(passage.register, (number, tokens))
    return list(first.values())[:TAKEN_AWAY_ON]


def raised_at(found: Atlas, model: Model) -> dict[Head, tuple[tuple[Raised, ...], ...]]:
    """For the first moments of every head what its output there raises."""
    wanted: dict[int, list[tuple[Head, int, Place]]] = defaultdict(list)
    for entry in found.heads:
        for i, one in enumerate(entry.strongest[:RAISED_AT]):
            wanted[one.passage].append((entry.head, i, (*entry.head, one.query)))
    at: dict[Head, dict[int, tuple[Raised, ...]]] = defaultdict(dict)
    for number, places in wanted.items():
        tokens = model.tokenizer.encode(found.passages[number].text)
        told = raised(tokens, model, [place for _, _, place in places])
        for (head, i, _), tokens_raised in zip(places, told, strict=True):
            at[head][i] = tokens_raised
    return {head: tuple(told[i] for i in sorted(told)) for head, told in at.items()}
