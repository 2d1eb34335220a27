"""What a run leaves behind for others to begin from: the state before every layer, and what every head mixed."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from mha_core.model import Model
from mha_core.multihead import HeadChange
from mha_core.stack import RunChange
from mha_core.tokens import Tokens
from mha_core.trace import batch_of


@dataclass
class Kept:
    """`states`: n_layers + 1 of (batch, n, d_model), the last one before the final norm; `attended`: what the
    attention of each layer gave, the same shape; `contexts`: n_layers of (batch, n_heads, n, d_v), after changes."""

    states: list[Tensor] = field(default_factory=list)
    attended: list[Tensor] = field(default_factory=list)
    contexts: list[Tensor] = field(default_factory=list)


class _Listener:
    """A `HeadChange` that does what another one does, and keeps what the heads mixed."""

    def __init__(self, kept: Kept, inner: HeadChange | None) -> None:
        self._kept, self._inner = kept, inner

    @property
    def rewrites_weights(self) -> bool:
        return self._inner is not None and self._inner.rewrites_weights

    def weights(self, weights: Tensor) -> Tensor:
        return weights if self._inner is None else self._inner.weights(weights)

    def context(self, context: Tensor) -> Tensor:
        context = context if self._inner is None else self._inner.context(context)
        self._kept.contexts.append(context)
        return context


class _Listening:
    """A `RunChange` that does what another one does, and keeps what the heads mixed."""

    def __init__(self, kept: Kept, inner: RunChange | None) -> None:
        self._kept, self._inner = kept, inner

    def state(self, index: int, x: Tensor) -> Tensor:
        return x if self._inner is None else self._inner.state(index, x)

    def heads(self, layer: int) -> HeadChange | None:
        return _Listener(self._kept, None if self._inner is None else self._inner.heads(layer))


def kept_of(tokens: Tokens, model: Model, change: RunChange | None = None) -> Kept:
    """One run of one text, with or without interventions, and all that can be begun from again."""
    return kept_of_batch([tokens], model, change)


def kept_of_batch(batch: list[Tokens], model: Model, change: RunChange | None = None) -> Kept:
    """The same of several texts, padded."""
    kept = Kept()
    with torch.inference_mode():
        steps = model.encoder.steps(
            *batch_of(batch, model), need_weights=False, change=_Listening(kept, change)
        )
        for step in steps:
            kept.states.append(step.x)
            kept.attended.append(step.attended)
        kept.states.append(step.hidden)
    return kept
