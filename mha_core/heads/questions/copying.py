"""Names: what a head writes about a name that it looks at, does it speak for the name or against it?

In: a decoder. Out: `ScoredCases` of name copiers and of negative name heads. A case is a name that is one token: right
where it is among the five highest (lowest) logits of what the head's value and output matrices make of it. That says
nothing of where the head looks, so the mass is the attention that names get from the end of prompts after which a name
comes. In these, names stand at many distances: no head gets half of the mass by position.

To beat: the best of all heads with random weights as large as their own, and with shuffled output matrices; the control
is the head's own values with another head's output matrix.

Sources: Elhage et al. 2021 (OV circuits that copy); Wang et al. 2022, section 3 (name movers, negative ones); McDougall
et al. 2023 (copy suppression).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from mha_core.arrays import FloatArray
from mha_core.causal.outcomes import token_of
from mha_core.causal.prompts import prompts
from mha_core.causal.residual_parts import next_matrix
from mha_core.display_names import percent
from mha_core.errors import InputError
from mha_core.heads.baselines import constant
from mha_core.heads.cases import ScoredCases
from mha_core.heads.cluster_stats import half_of
from mha_core.heads.copying import FIRST, Weights, copies
from mha_core.heads.questions.base import Question
from mha_core.heads.survey import Options, stream_corpus
from mha_core.heads.word_weights import tokens_in
from mha_core.models.model import Model
from mha_core.models.trace import check_model
from mha_core.text.tokens import Tokens

N_NAMES, AT_LEAST = 40, 4
RIVALS: dict[Weights, str] = {
    "random": "the best of all heads with random weights",
    "shuffled": "the best of all heads with shuffled output matrices",
}
CONTROL = "its values with another head's output matrix"
KINDS = {
    "mover": ("name → its own logit, raised", "copies names to where a name comes next", "highest"),
    "suppression": ("name → its own logit, lowered", "suppresses names where a name comes next", "lowest"),
}


@dataclass(frozen=True)
class Naming:
    """The beginning of a sentence after which a name comes; `places` are the tokens of the names in it."""

    tokens: Tokens
    places: tuple[int, ...]


class NamingCollector:
    """Collects how much of its attention every head gives to the names, from the last token."""

    def __init__(self) -> None:
        self.mass: list[FloatArray] = []

    def add(self, weights: FloatArray, item: Naming) -> None:
        """Collect one text; weights (layer, head, query, key) over its tokens."""
        self.mass.append(weights[:, :, -1, item.places].sum(-1, dtype=np.float64).ravel())


def names_of(model: Model) -> list[str]:
    """Return the names that are one token of a decoder, N_NAMES at most.

    Raises InputError for a model whose copying cannot be measured: one without a known inside or a next token, or with
    fewer than AT_LEAST names.
    """
    check_model(model)
    next_matrix(model)
    every = prompts().names
    names = [name for name in every if len(model.tokenizer.ids_of(f" {name}")) == 1]
    if len(names) < AT_LEAST:
        raise InputError(
            f"{len(names)} of {len(every)} names are one token of {model.title}; copying takes {AT_LEAST}."
        )
    token_of(FIRST, model)
    return names[:N_NAMES]


def namings(names: Sequence[str], model: Model) -> list[Naming]:
    """Return a prompt for each name, which it shares with the name after it."""
    prompts_with_names = list[Naming]()
    forms = prompts().naming
    for i, (a, b) in enumerate(zip(names, [*names[1:], names[0]], strict=True)):
        text = forms[i % len(forms)].format(A=a, B=b)
        tokens = model.tokenizer.encode(text)
        spans = [match.span() for match in re.finditer(rf"\b({a}|{b})\b", text)]
        prompts_with_names.append(
            Naming(tokens, tuple(place for span in spans for place in tokens_in(tokens, span)))
        )
    return prompts_with_names


def by_distance(texts: Sequence[Naming]) -> float:
    """Return in how many of the prompts a name stands at the distance from the end at which most have one."""
    far = Counter(len(text.tokens) - 1 - place for text in texts for place in text.places)
    return max(far.values()) / len(texts)


def copying_cases(model: Model, corpus: str, options: Options | None = None) -> Iterator[ScoredCases]:
    """Yield both questions; none where they are stopped. Raises InputError as `names_of` does."""
    names, stop = names_of(model), None if options is None else options.stop
    texts, collector = namings(names, model), NamingCollector()
    stream_corpus(texts, model, [collector], Options(stop=stop))
    copied = dict[Weights, FloatArray]()
    for weights in ("own", *RIVALS):
        layers = list[torch.Tensor]()
        for layer in copies([f" {name}" for name in names], model, weights=weights):
            layers.append(layer)
            if stop and stop():
                return
        copied[weights] = torch.cat(layers, 1).mT.float().cpu().numpy()  # (kind, case, head)
    blind = float(np.mean([len(text.places) / len(text.tokens) for text in texts]))
    chance = f"{percent(blind)} by chance, {percent(by_distance(texts))} by distance"
    for number, kind in enumerate(KINDS):
        rivals = [(name, copied[weights][number]) for weights, name in RIVALS.items()]
        rules = tuple(constant(name, right[:, right.mean(0).argmax()]) for name, right in rivals)
        yield ScoredCases(
            _question(kind, corpus, len(names), chance),
            copied["own"][number],
            np.arange(len(names)),
            np.array([half_of(name) for name in names], dtype=bool),
            rules,
            copied["shuffled"][number],
            mass=np.mean(collector.mass, axis=0),
        )


def _question(kind: str, corpus: str, n: int, chance: str) -> Question:
    title, does, end = KINDS[kind]
    asks = (
        f"Of {n} one-token names, how many are among the five {end} logits of what the head writes? At the end of "
        f"{n} prompts it must also give names half of its attention ({chance})."
    )
    return Question(kind, kind, title, does, asks, corpus, control=CONTROL)
