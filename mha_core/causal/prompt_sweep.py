"""Ablation sweep over many prompts of one kind: which heads matter beyond one sentence?

Three methods. Zero and mean ablation replace a head's output by a value that the model never has there, so a head with
the same output in every prompt can seem to matter. Resample ablation takes the head's own output from another prompt,
with other answers: it removes only what differs between prompts. So a head counts as mattering by resample ablation
alone, and only if its interval, corrected for the number of heads, leaves out zero.

Sources: Chan et al. 2022 (causal scrubbing) for resampling; Wang et al. 2022, section 3; Zhang & Nanda 2023.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import FloatArray
from mha_core.causal.activation_cache import run_with_cache, with_means
from mha_core.causal.interventions import same_length
from mha_core.causal.outcomes import answer_id, place_of, scores_of
from mha_core.causal.partial_results import PartialResult
from mha_core.causal.prompts import Prompt
from mha_core.causal.sweep import before_change, mean_ablated, try_heads
from mha_core.display_names import Head
from mha_core.errors import InputError
from mha_core.models.model import Model

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["resample", "mean", "zero"]
METHODS: tuple[Method, ...] = ("resample", "mean", "zero")
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class PromptEffects:
    """Logits of every prompt's answers without a change, `before` (prompt, answer), and after every head's
    ablation, `after` (prompt, layer, head, answer), NaN where not tried yet."""

    prompts: tuple[Prompt, ...]
    method: Method
    before: FloatArray
    after: FloatArray

    @property
    def changes(self) -> FloatArray:
        """Change of every answer's logit, (prompt, layer, head, answer)."""
        changes: FloatArray = self.after - self.before[:, None, None]
        return changes

    @property
    def effects(self) -> FloatArray:
        """Change of the logit difference, (prompt, layer, head); of the logit, for prompts of one answer."""
        changes = self.changes
        effects: FloatArray = changes[..., 0] - (changes[..., 1] if changes.shape[-1] > 1 else 0)
        return effects

    @property
    def mean(self) -> FloatArray:
        """Mean effect over prompts, (layer, head)."""
        mean: FloatArray = self.effects.mean(0)
        return mean

    def half_width(self, level: float = LEVEL) -> FloatArray:
        """Return half the width of the t interval of the mean at 1 - `level`, (layer, head)."""
        from scipy.special import (
            stdtrit,  # importing scipy takes a third of a second
        )

        n = len(self.prompts)
        half: FloatArray = stdtrit(n - 1, 1 - level / 2) * self.effects.std(0, ddof=1) / np.sqrt(n)
        return half

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a head, layer and head from 1: means over the prompts, `effect` with its 95% interval.

        `before`: the mean outcome without a change. `target` and `against`: the mean change of that answer's logit.
        `matters`: see `named`.
        """
        import pandas as pd

        mean, half, named = self.mean, self.half_width(), set(self.named)
        layer, head = np.indices(mean.shape).reshape(2, -1)
        answers = dict(
            zip(("target", "against"), self.changes.mean(0).reshape(mean.size, -1).T, strict=False)
        )
        return pd.DataFrame(
            {
                "layer": layer + 1,
                "head": head + 1,
                "method": self.method,
                "before": self.outcome,
                "after": self.outcome + mean.ravel(),
                "effect": mean.ravel(),
                "low": (mean - half).ravel(),
                "high": (mean + half).ravel(),
                **answers,
                "matters": [place in named for place in np.ndindex(mean.shape)],
            }
        )

    @property
    def measure(self) -> str:
        """Name of the outcome."""
        return "logit difference" if self.before.shape[1] > 1 else "logit"

    @property
    def outcome(self) -> float:
        """Mean logit difference without a change; the mean logit, for prompts of one answer."""
        return float((self.before[:, 0] - (self.before[:, 1] if self.before.shape[1] > 1 else 0)).mean())

    @property
    def named(self) -> tuple[Head, ...]:
        """Heads that matter, the largest effect first; empty unless by resample ablation.

        Their t interval at 1 - 0.05 / (number of heads) leaves out zero (Bonferroni).
        """
        if self.method != "resample":
            return ()
        mean = self.mean
        sizes = np.where(np.abs(mean) > self.half_width(LEVEL / mean.size), np.abs(mean), 0)
        order = np.argsort(-sizes, axis=None, kind="stable")[: np.count_nonzero(sizes)]
        return tuple((int(i) // mean.shape[1], int(i) % mean.shape[1]) for i in order)


def sweep_prompts(
    prompts: Sequence[Prompt], model: Model, method: Method = "resample", *, seed: int = 0
) -> Iterator[PartialResult[PromptEffects]]:
    """Ablate one head at a time in all prompts; the last layer first, several parts a layer.

    `seed` draws which prompt another one's head outputs come from. Raises InputError at the first part for fewer
    than two prompts, prompts of unequally many tokens, and answers that are neither one token nor a label.
    """
    if len(prompts) < 2:
        raise InputError(f"Give two or more prompts, not {len(prompts)}.")
    tokens = [model.tokenizer.encode(prompt.text) for prompt in prompts]
    for each in tokens:
        same_length(each, tokens[0])
    if len({len(prompt.answers) for prompt in prompts}) > 1:
        raise InputError("All prompts must have two answers, or all one.")
    places = torch.tensor([place_of(None, each, model) for each in tokens], device=model.device)
    answers = torch.tensor(
        [[answer_id(answer, model) for answer in prompt.answers] for prompt in prompts], device=model.device
    )

    def logits(hidden: Tensor, prompt_of_run: Sequence[int]) -> Tensor:
        rows = list(prompt_of_run)
        states = hidden[torch.arange(len(rows), device=hidden.device), places[rows]]
        return scores_of(states, model).gather(1, answers[rows])

    cache = run_with_cache(tokens, model)
    before = before_change(cache, model, logits)

    def effects(after: FloatArray) -> PromptEffects:
        return PromptEffects(tuple(prompts), method, before, after)

    def sweep(means: Tensor | None = None) -> Iterator[PartialResult[PromptEffects]]:
        sources = resample_sources(prompts, seed)

        def replacement(layer: int) -> Tensor:
            contexts = cache.contexts[layer]
            if means is not None:
                return mean_ablated(contexts, means[layer], model)
            return contexts[sources] if method == "resample" else torch.zeros_like(contexts)

        for part in try_heads(cache, replacement, model, logits):
            yield PartialResult(part.fraction, part.n, effects(part.result))

    if method == "mean":
        untried = np.full((len(prompts), model.n_layers, model.n_heads, answers.shape[1]), np.nan)
        yield from with_means(model, effects(untried), sweep)
    else:
        yield from sweep()


def resample_sources(prompts: Sequence[Prompt], seed: int = 0) -> list[int]:
    """Assign to every prompt another one, each used once, so that as few answers as possible are shared.

    Where all prompts have the same two answers, one with the answers swapped is preferred.
    """
    from scipy.optimize import linear_sum_assignment  # see half_width

    cost = np.random.default_rng(seed).random((len(prompts), len(prompts)))
    for i, own in enumerate(prompts):
        for j, other in enumerate(prompts):
            shared = len(set(own.answers) & set(other.answers))
            same = sum(a == b for a, b in zip(own.answers, other.answers, strict=False))
            cost[i, j] += len(prompts) * (shared + 2 * same + 10 * (i == j))
    return [int(j) for j in linear_sum_assignment(cost)[1]]
