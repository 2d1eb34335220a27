"""What runs leave behind for others to begin from: states and head outputs of one run, and every head's mean output.

In a causal model the first token's own head output is no part of the mean, and mean ablation keeps it: many heads
attend to that token when they do nothing (attention sink), and a foreign output there breaks them all.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from mha_core.experiments.parts import Part, last
from mha_core.heads.builtin import read_builtin
from mha_core.model import Model
from mha_core.multihead import HeadChange
from mha_core.stack import RunChange
from mha_core.tokens import Tokens
from mha_core.trace import batch_of

T = TypeVar("T")
BATCH = 32
MEANS_SHARE = 0.3  # of a sweep's work, if the means are not known yet
_MEANS: "WeakKeyDictionary[Model, Tensor]" = WeakKeyDictionary()
_LOCK = threading.Lock()


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


def kept_of(batch: Sequence[Tokens], model: Model, change: RunChange | None = None) -> Kept:
    """Run texts, padded, with or without interventions, and keep all that can be begun from again."""
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


def first_replaced(model: Model) -> int:
    """The first position that mean ablation replaces: a causal model keeps its first token's own output."""
    return 1 if model.is_causal else 0


def mean_contexts(model: Model) -> Tensor:
    """The mean context of every head, (n_layers, n_heads, d_v); waits until it is known."""
    return last(mean_steps(model))


def mean_steps(model: Model) -> Iterator[Part[Tensor]]:
    """The mean context of every head over the built-in sentences, in steps of some of them; made once for a model.

    The mean is over all tokens, in a causal model all but the first of each sentence.
    """
    with _LOCK:
        known = _MEANS.get(model)
    if known is not None:
        yield Part(1.0, 0, known)
        return
    first = first_replaced(model)
    texts = [model.tokenizer.encode(one.text) for one in read_builtin()]
    texts.sort(key=len)
    total, n = torch.zeros(model.n_layers, model.n_heads, model.config.d_k, dtype=torch.float64), 0
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        contexts = torch.stack(kept_of(batch, model).contexts)
        for member, tokens in enumerate(batch):
            total += contexts[:, member, :, first : len(tokens)].sum(2).double().cpu()
            n += len(tokens) - first
        means = (total / max(n, 1)).to(device=model.device, dtype=model.dtype)
        done = start + len(batch)
        if done == len(texts):
            with _LOCK:
                means = _MEANS.setdefault(model, means)
        yield Part(done / len(texts), done, means)


def with_means(model: Model, empty: T, sweep: Callable[[Tensor], Iterator[Part[T]]]) -> Iterator[Part[T]]:
    """The parts of a `sweep` that is given the means; `empty` is the result while they are being made."""
    start = 0.0
    for part in mean_steps(model):
        if part.fraction < 1:
            start = MEANS_SHARE
            yield Part(start * part.fraction, 0, empty)
    for found in sweep(part.result):
        yield Part(start + (1 - start) * found.fraction, found.n, found.result)
