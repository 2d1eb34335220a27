"""How many heads can go? Four orders in which to take them, least important first, and the curve of what is left.

Orders are made on some texts and the curve is counted on others. Sources: Michel et al. 2019, sections 3.2 and 4 (one
head at a time; equation 2, the gradient of the gates as a proxy, normalised by layer). "20 to 40 % can be pruned" is
their finding, for other models.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from mha_core.errors import InputError
from mha_core.experiments.interventions import Factor
from mha_core.experiments.outcomes import Cosine, Loss, Outcome, losses
from mha_core.experiments.parts import Part, last
from mha_core.experiments.prompts import prompts
from mha_core.experiments.sweep import every_head
from mha_core.experiments.tasks import EmbeddingTask, gates_without, plain_texts, share_right
from mha_core.heads.word_weights import FloatArray
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.trace import batch_of
from mha_core.wording import Head

if TYPE_CHECKING:
    import pandas as pd

CHOSEN_ON = 8  # texts that an order is made on
COUNTED_ON = 30  # built-in sentences that a curve is counted on, beside a decoder's passages
POINTS = 20  # of a curve, about: close together at its beginning, where it is decided what can go


@dataclass(frozen=True)
class Curve:
    """What is left, in points of 100, after so many heads are gone: the share of next words that a decoder has right,
    or the mean cosine of an encoder's embeddings with those of the whole model. `n`: over how many of them.
    """

    measure: str
    n: int
    gone: tuple[int, ...]
    points: tuple[float, ...]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a point: `gone`, how many heads are, and `points` of 100 that are left."""
        import pandas as pd

        return pd.DataFrame({"gone": self.gone, "points": self.points})

    def loses(self, points: float) -> int | None:
        """The first number of heads after which so many points are lost; None if they never are."""
        lost = (
            gone for gone, left in zip(self.gone, self.points, strict=True) if self.points[0] - left >= points
        )
        return next(lost, None)


def pruning_texts(model: Model) -> tuple[list[Tokens], list[Tokens]]:
    """Texts to make an order on, and others to count the curve on."""
    plain = plain_texts(model)
    chosen = plain[:: max(1, len(plain) // CHOSEN_ON)][:CHOSEN_ON]
    counted = [tokens for tokens in plain if tokens not in chosen][:COUNTED_ON]
    passages = prompts().ordinary if model.next_head is not None else ()
    return chosen, counted + [model.tokenizer.encode(text) for text in passages]


def order_by_effect(texts: Sequence[Tokens], model: Model) -> Iterator[Part[tuple[Head, ...]]]:
    """By what is lost without a head alone, the mean over the texts; one part a text."""
    total = np.zeros((model.n_layers, model.n_heads))
    for number, tokens in enumerate(_some(texts), start=1):
        total += _harm(tokens, model, ())
        yield Part(number / len(texts), number, _sorted(total))


def order_by_gradient(texts: Sequence[Tokens], model: Model) -> Iterator[Part[tuple[Head, ...]]]:
    """By the absolute gradient of the loss with respect to a head's gate, the mean over the texts, divided by the
    layer's norm (Michel et al. 2019, section 4.1). One pass a text, where every other order takes one for each head.

    Where a model has no loss, the cosine with the next text's embedding takes its place.
    """
    total = np.zeros((model.n_layers, model.n_heads))
    for number, tokens in enumerate(_some(texts), start=1):
        total += gate_gradient(tokens, model, texts[number % len(texts)])
        norms = np.linalg.norm(total, axis=1, keepdims=True)
        yield Part(number / len(texts), number, _sorted(total / np.where(norms > 0, norms, 1)))


def order_greedy(texts: Sequence[Tokens], model: Model, at_once: int = 1) -> Iterator[Part[tuple[Head, ...]]]:
    """Take the `at_once` heads that matter least, try all others again without them, and so on; one part a round.

    The heads that are left at the end come last, in the order in which they mattered.
    """
    if at_once < 1:
        raise InputError(f"at_once must be 1 or more, not {at_once}.")
    every, gone = model.n_layers * model.n_heads, list[Head]()
    while len(gone) < every:
        base = (Factor(tuple(gone)),) if gone else ()
        total = sum((_harm(tokens, model, base) for tokens in _some(texts)), np.zeros(()))
        order = [head for head in _sorted(total) if head not in gone]
        gone += order[:at_once]
        yield Part(len(gone) / every, len(gone), (*gone, *order[at_once:]))


def order_random(model: Model, seed: int = 0) -> tuple[Head, ...]:
    """All heads in a random order: the baseline."""
    places = np.random.default_rng(seed).permutation(model.n_layers * model.n_heads)
    return tuple((int(i) // model.n_heads, int(i) % model.n_heads) for i in places)


def prune_curve(
    order: Sequence[Head], texts: Sequence[Tokens], model: Model, counts: Sequence[int] | None = None
) -> Iterator[Part[Curve]]:
    """The curve of an order, one part a point; `counts` (0 among them) of heads gone, or about 20."""
    every = len(order)
    gone = tuple(counts or dict.fromkeys(round(every * (i / POINTS) ** 2) for i in range(POINTS + 1)))
    if model.next_head is None:
        task = EmbeddingTask(_some(texts), model)
        measure, n = "cosine of the embedding", len(texts)
    else:
        measure, n = "next words right", sum(len(tokens) - 1 for tokens in texts)
    points = list[float]()
    for number, count in enumerate(gone, start=1):
        gates = gates_without(order[:count], model)
        left = task(gates) if model.next_head is None else share_right(_some(texts), model, gates)
        points.append(100 * left)
        yield Part(number / len(gone), number, Curve(measure, n, gone[:number], tuple(points)))


def gate_gradient(tokens: Tokens, model: Model, other: Tokens) -> FloatArray:
    """The absolute gradient of a text's loss (or its cosine with another text) by every head's gate."""
    gates = torch.ones(model.n_layers, model.n_heads, device=model.device, requires_grad=True)
    with torch.enable_grad():
        hidden = _final(tokens, model, gates)
        if model.next_head is not None:
            value = losses(hidden, torch.tensor(tokens.ids, device=model.device), model).mean()
        else:
            with torch.no_grad():
                theirs = _final(other, model, gates).mean(0)
            value = torch.cosine_similarity(hidden.mean(0), theirs, dim=-1)
        (gradient,) = torch.autograd.grad(value, gates)
    return np.asarray(gradient.abs().double().cpu().numpy())


def _final(tokens: Tokens, model: Model, gates: Tensor) -> Tensor:
    output = model.encoder(*batch_of([tokens], model), gates=gates, need_weights=False)
    hidden: Tensor = output.hidden[0]
    return hidden


def _harm(tokens: Tokens, model: Model, base: tuple[Factor, ...]) -> FloatArray:
    """What is lost without each head, more is worse, (layer, head)."""
    outcome: Outcome = Cosine() if model.next_head is None else Loss()
    found = last(every_head(tokens, model, outcome, base=base))
    return -found.effect if model.next_head is None else found.effect


def _sorted(harm: FloatArray) -> tuple[Head, ...]:
    order = np.argsort(harm, axis=None, kind="stable")
    columns = harm.shape[1]
    return tuple((int(i) // columns, int(i) % columns) for i in order)


def _some(texts: Sequence[Tokens]) -> Sequence[Tokens]:
    if not texts:
        raise InputError("No text to count on. Give one or more.")
    return texts
