"""Activations of runs, cached to start others from, and every head's mean output.

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

from mha_core.causal.partial_results import PartialResult, final_result
from mha_core.engine.stack import RunHooks
from mha_core.models.model import Model
from mha_core.models.trace import batch_of
from mha_core.resources import builtin_texts
from mha_core.text.tokens import Tokens

T = TypeVar("T")
BATCH = 32
MEANS_SHARE = 0.3  # share of a sweep, if the means are not cached
_MEANS: "WeakKeyDictionary[Model, Tensor]" = WeakKeyDictionary()
_LOCK = threading.Lock()


@dataclass
class ActivationCache:
    """Activations of one run, after its hooks: `states`, n_layers + 1 of (batch, n, d_model), the last one before the
    final norm; `attended`, each layer's attention output, the same shape; `contexts`, n_layers of (batch, n_heads, n,
    d_v)."""

    states: list[Tensor] = field(default_factory=list)
    attended: list[Tensor] = field(default_factory=list)
    contexts: list[Tensor] = field(default_factory=list)


@dataclass(frozen=True)
class _RecordingHooks:
    """`RunHooks` that apply others, or none, and put states and contexts into a cache."""

    cache: ActivationCache
    inner: RunHooks | None

    def state(self, index: int, x: Tensor) -> Tensor:
        x = x if self.inner is None else self.inner.state(index, x)
        self.cache.states.append(x)
        return x

    def rewrites_weights(self, layer: int) -> bool:
        return self.inner is not None and self.inner.rewrites_weights(layer)

    def weights(self, layer: int, weights: Tensor) -> Tensor:
        return weights if self.inner is None else self.inner.weights(layer, weights)

    def context(self, layer: int, context: Tensor) -> Tensor:
        context = context if self.inner is None else self.inner.context(layer, context)
        self.cache.contexts.append(context)
        return context


def run_with_cache(batch: Sequence[Tokens], model: Model, hooks: RunHooks | None = None) -> ActivationCache:
    """Run texts, padded, with or without hooks; return all that a later run can start from."""
    cache = ActivationCache()
    with torch.inference_mode():
        steps = model.encoder.steps(
            *batch_of(batch, model), need_weights=False, hooks=_RecordingHooks(cache, hooks)
        )
        cache.attended.extend(step.attended for step in steps)
    return cache


def first_replaced(model: Model) -> int:
    """Return the first position that mean ablation replaces: a causal model keeps its first token's own output."""
    return 1 if model.is_causal else 0


def mean_head_outputs(model: Model) -> Tensor:
    """Return every head's mean context, (n_layers, n_heads, d_v); blocks until it is computed."""
    return final_result(mean_steps(model))


def mean_steps(model: Model) -> Iterator[PartialResult[Tensor]]:
    """Compute every head's mean context over the built-in sentences, a batch a step; cached for each model.

    The mean is over all tokens, in a causal model all but the first of each sentence.
    """
    with _LOCK:
        cached = _MEANS.get(model)
    if cached is not None:
        yield PartialResult(1.0, 0, cached)
        return
    first = first_replaced(model)
    texts = [model.tokenizer.encode(text) for text in builtin_texts()]
    texts.sort(key=len)
    total, n = torch.zeros(model.n_layers, model.n_heads, model.config.d_k, dtype=torch.float64), 0
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        contexts = torch.stack(run_with_cache(batch, model).contexts)
        for member, tokens in enumerate(batch):
            total += contexts[:, member, :, first : len(tokens)].sum(2).double().cpu()
            n += len(tokens) - first
        means = (total / max(n, 1)).to(device=model.device, dtype=model.dtype)
        n_done = start + len(batch)
        if n_done == len(texts):
            with _LOCK:
                means = _MEANS.setdefault(model, means)
        yield PartialResult(n_done / len(texts), n_done, means)


def with_means(
    model: Model, empty: T, sweep: Callable[[Tensor], Iterator[PartialResult[T]]]
) -> Iterator[PartialResult[T]]:
    """Compute the means, then yield the parts of `sweep(means)`; `empty` is the result until then."""
    start = 0.0
    for means in mean_steps(model):
        if means.fraction < 1:
            start = MEANS_SHARE
            yield PartialResult(start * means.fraction, 0, empty)
    for part in sweep(means.result):
        yield PartialResult(start + (1 - start) * part.fraction, part.n, part.result)
