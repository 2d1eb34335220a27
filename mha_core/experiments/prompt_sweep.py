"""Ablation sweep over many prompts of one kind: which heads matter beyond the one sentence that was typed?

Three methods. Zero ablation and mean ablation put a value in a head's place that the model never has there, so a head
whose output is the same in every prompt can seem to matter. Resample ablation takes the head's own output from
another prompt of the set, with other answers: what the prompts share stays, only what tells them apart is lost. So a
head is named as mattering by resample ablation alone, and only if its interval, corrected for the number of heads,
leaves out zero.

Sources: Chan et al. 2022 (causal scrubbing) for resampling; Wang et al. 2022, section 3; Zhang & Nanda 2023.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from mha_core.errors import InputError
from mha_core.experiments.interventions import same_length
from mha_core.experiments.kept import kept_of, with_means
from mha_core.experiments.outcomes import place_of, scores_of, token_of
from mha_core.experiments.parts import Part
from mha_core.experiments.prompts import Prompt
from mha_core.experiments.sweep import before_change, mean_ablated, try_heads
from mha_core.heads.word_weights import FloatArray
from mha_core.model import Model
from mha_core.wording import Head

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["resample", "mean", "zero"]
METHODS: tuple[Method, ...] = ("resample", "mean", "zero")
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class PromptEffects:
    """The logits of every prompt's answers without a change, `before` (prompt, answer), and after every head's
    ablation, `after` (prompt, layer, head, answer), NaN where a head has not been tried yet."""

    prompts: tuple[Prompt, ...]
    method: Method
    before: FloatArray
    after: FloatArray

    @property
    def changes(self) -> FloatArray:
        """The change of every answer's logit, (prompt, layer, head, answer)."""
        found: FloatArray = self.after - self.before[:, None, None]
        return found

    @property
    def effects(self) -> FloatArray:
        """The change of the logit difference, (prompt, layer, head); of the logit, where one answer is named."""
        changes = self.changes
        found: FloatArray = changes[..., 0] - (changes[..., 1] if changes.shape[-1] > 1 else 0)
        return found

    @property
    def mean(self) -> FloatArray:
        """The mean effect over prompts, (layer, head)."""
        found: FloatArray = self.effects.mean(0)
        return found

    def half_width(self, level: float = LEVEL) -> FloatArray:
        """Half the width of the t interval of the mean at 1 - `level`, (layer, head)."""
        from scipy.special import (
            stdtrit,  # scipy takes a third of a second, which no other command should wait for
        )

        n = len(self.prompts)
        found: FloatArray = stdtrit(n - 1, 1 - level / 2) * self.effects.std(0, ddof=1) / np.sqrt(n)
        return found

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
        """What the outcome is called."""
        return "logit difference" if self.before.shape[1] > 1 else "logit"

    @property
    def outcome(self) -> float:
        """The mean logit difference without a change; the mean logit, where one answer is named."""
        return float((self.before[:, 0] - (self.before[:, 1] if self.before.shape[1] > 1 else 0)).mean())

    @property
    def named(self) -> tuple[Head, ...]:
        """The heads that matter, the largest effect first: none unless by resample ablation.

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
) -> Iterator[Part[PromptEffects]]:
    """Ablate one head at a time in all prompts; the last layer first, several parts a layer.

    `seed` draws which prompt another one's head outputs are taken from. Raises InputError at the first part for fewer
    than two prompts, prompts of unequally many tokens, and answers that are not one token.
    """
    if len(prompts) < 2:
        raise InputError(f"Give two or more prompts, not {len(prompts)}.")
    tokens = [model.tokenizer.encode(prompt.text) for prompt in prompts]
    for one in tokens:
        same_length(one, tokens[0])
    if len({len(prompt.answers) for prompt in prompts}) > 1:
        raise InputError("All prompts must have two answers, or all one.")
    places = torch.tensor([place_of(None, one, model) for one in tokens], device=model.device)
    answers = torch.tensor(
        [[token_of(word, model) for word in prompt.answers] for prompt in prompts], device=model.device
    )

    def logits(hidden: Tensor, of: Sequence[int]) -> Tensor:
        rows = list(of)
        at = hidden[torch.arange(len(rows), device=hidden.device), places[rows]]
        return scores_of(at, model).gather(1, answers[rows])

    kept = kept_of(tokens, model)
    before = before_change(kept, model, logits)

    def found(after: FloatArray) -> PromptEffects:
        return PromptEffects(tuple(prompts), method, before, after)

    def swept(means: Tensor | None = None) -> Iterator[Part[PromptEffects]]:
        sources = resample_sources(prompts, seed)

        def wanted(layer: int) -> Tensor:
            contexts = kept.contexts[layer]
            if means is not None:
                return mean_ablated(contexts, means[layer], model)
            return contexts[sources] if method == "resample" else torch.zeros_like(contexts)

        for part in try_heads(kept, wanted, model, logits):
            yield Part(part.fraction, part.n, found(part.result))

    if method == "mean":
        untried = np.full((len(prompts), model.n_layers, model.n_heads, answers.shape[1]), np.nan)
        yield from with_means(model, found(untried), swept)
    else:
        yield from swept()


def resample_sources(prompts: Sequence[Prompt], seed: int = 0) -> list[int]:
    """Assign to every prompt another one, each used once, so that as few answers as possible are shared.

    Where all prompts have the same two answers, the one in which they change places comes first.
    """
    from scipy.optimize import linear_sum_assignment  # see half_width

    cost = np.random.default_rng(seed).random((len(prompts), len(prompts)))
    for i, own in enumerate(prompts):
        for j, other in enumerate(prompts):
            shared = len(set(own.answers) & set(other.answers))
            same = sum(a == b for a, b in zip(own.answers, other.answers, strict=False))
            cost[i, j] += len(prompts) * (shared + 2 * same + 10 * (i == j))
    return [int(j) for j in linear_sum_assignment(cost)[1]]
