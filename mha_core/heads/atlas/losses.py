"""What would be lost without each head of a decoder: the tokens of a text that become less likely.

In: passages and a model. Out, growing passage by passage: for every head the mean cost in nats per token, and
the tokens that lose most. One head at a time is taken away; others may do its work then, so little lost is not little
done.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp

import numpy as np

from mha_core.heads.atlas.effects import without_from
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.trace import run
from mha_core.wording import Head

TOLD = 8  # tokens of each head


@dataclass(frozen=True)
class Loss:
    """A token of a passage (`position` from 0) and its probability with and without the head."""

    passage: int
    position: int
    before: float
    after: float


@dataclass
class HeadLoss:
    """One head's: `nats` is the mean rise of surprise over `n` tokens, `tokens` those whose probability falls most."""

    n: int = 0
    nats: float = 0.0
    tokens: list[Loss] = field(default_factory=list)

    def add(self, passage: int, whole: np.ndarray, without: np.ndarray) -> None:
        """One passage's log probabilities of all tokens but the first."""
        self.nats = (self.nats * self.n + float((whole - without).sum())) / (self.n + len(whole))
        self.n += len(whole)
        falls = np.exp(whole) - np.exp(without)
        for i in np.argsort(-falls)[:TOLD]:
            if falls[i] > 0:
                self.tokens.append(Loss(passage, int(i) + 1, exp(whole[i]), exp(without[i])))
        self.tokens = sorted(self.tokens, key=lambda one: one.after - one.before)[:TOLD]


def losses(
    passages: Sequence[tuple[int, Tokens]], model: Model, layers: Sequence[int] | None = None
) -> Iterator[tuple[int, dict[Head, HeadLoss]]]:
    """After every passage (of all layers asked for): how many are done, and what every head costs so far.

    Raises InputError for a model that predicts no next token.
    """
    found: dict[Head, HeadLoss] = {}
    for done, (number, tokens) in enumerate(passages, 1):
        states = run([tokens], model, need_weights=False).hidden_states
        for layer in range(model.n_layers) if layers is None else layers:
            whole, without = without_from(states[layer], tokens, model, layer, states[-1])
            for head in range(model.n_heads):
                found.setdefault((layer, head), HeadLoss()).add(number, whole, without[head])
        yield done, found
