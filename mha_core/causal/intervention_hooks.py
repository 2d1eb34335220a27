"""Interventions as hooks of a run: each an affine edit of contexts, weights or states, by layer.

Built for one call; owns its tensors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.causal.activation_cache import first_replaced, mean_head_outputs, run_with_cache
from mha_core.causal.interventions import (
    Intervention,
    MeanAblation,
    PatchHeads,
    PatchStates,
    ReplaceAttention,
    ScaleHeads,
    check,
    same_length,
)
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

Index = tuple[int | list[int], ...]


@dataclass
class AffineEdit:
    """x times `scale` plus `shift`, (n_heads or n, ..., width) each."""

    scale: Tensor
    shift: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.scale + self.shift

    def replace(self, index: Index, value: Tensor | float) -> None:
        """Set these positions to `value`."""
        self.scale[index] = 0.0
        self.shift[index] = value

    def multiply(self, index: Index, factor: float) -> None:
        """Multiply these positions by `factor`, after the edits so far."""
        self.scale[index] *= factor
        self.shift[index] *= factor


class InterventionHooks:
    """`RunHooks` of interventions in texts of one length."""

    def __init__(self, model: Model, n: int) -> None:
        self._model, self._n = model, n
        self._states: dict[int, AffineEdit] = {}
        self._weights: dict[int, AffineEdit] = {}
        self._contexts: dict[int, AffineEdit] = {}

    def state(self, index: int, x: Tensor) -> Tensor:
        """Edit the states (batch, n, d_model) before layer `index`."""
        return _edited(x, self._states.get(index))

    def rewrites_weights(self, layer: int) -> bool:
        """Return whether an intervention edits this layer's weights."""
        return layer in self._weights

    def weights(self, layer: int, weights: Tensor) -> Tensor:
        """Edit a layer's weights (batch, n_heads, n, n)."""
        return _edited(weights, self._weights.get(layer))

    def context(self, layer: int, context: Tensor) -> Tensor:
        """Edit a layer's contexts (batch, n_heads, n, d_v)."""
        return _edited(context, self._contexts.get(layer))

    def edit_of_state(self, index: int) -> AffineEdit:
        """Return the edit of a state, (n, d_model); at first it changes nothing."""
        return self._edit(self._states, index, self._n, self._model.d_model)

    def edit_of_weights(self, layer: int) -> AffineEdit:
        """Return the edit of a layer's weights, (n_heads, n, n); at first it changes nothing."""
        return self._edit(self._weights, layer, self._model.n_heads, self._n, self._n)

    def edit_of_context(self, layer: int) -> AffineEdit:
        """Return the edit of a layer's contexts, (n_heads, n, d_v); at first it changes nothing."""
        return self._edit(self._contexts, layer, self._model.n_heads, self._n, self._model.config.d_k)

    def _edit(self, edits: dict[int, AffineEdit], index: int, *shape: int) -> AffineEdit:
        if index not in edits:
            scale = torch.ones(*shape[:-1], 1, device=self._model.device, dtype=self._model.dtype)
            edits[index] = AffineEdit(scale, scale.new_zeros(shape))
        return edits[index]


def intervention_hooks(
    interventions: Sequence[Intervention], tokens: Tokens, model: Model
) -> InterventionHooks | None:
    """Return the hooks of a run of these tokens, or None for no interventions.

    Raises InputError for interventions that do not fit the text or the model.
    """
    if not interventions:
        return None
    check(interventions, tokens, model)
    with torch.inference_mode():
        hooks = InterventionHooks(model, len(tokens))
        for intervention in interventions:
            _add(hooks, intervention, tokens, model)
    return hooks


def _edited(x: Tensor, edit: AffineEdit | None) -> Tensor:
    return x if edit is None else edit(x)


def _add(hooks: InterventionHooks, intervention: Intervention, tokens: Tokens, model: Model) -> None:
    if isinstance(intervention, ScaleHeads):
        for layer, head in intervention.heads:
            hooks.edit_of_context(layer).multiply((head,), intervention.factor)
    elif isinstance(intervention, MeanAblation):
        means, positions = mean_head_outputs(model), list(range(first_replaced(model), len(tokens)))
        for layer, head in intervention.heads:
            hooks.edit_of_context(layer).replace((head, positions), means[layer, head])
    elif isinstance(intervention, ReplaceAttention):
        for layer, head in intervention.heads:
            rows, weights = _replacement_rows(intervention, layer, len(tokens), model)
            hooks.edit_of_weights(layer).replace((head, rows), weights)
    else:
        _add_patch(hooks, intervention, tokens, model)


def _add_patch(
    hooks: InterventionHooks, patch: PatchHeads | PatchStates, tokens: Tokens, model: Model
) -> None:
    source = model.tokenizer.encode(patch.text, patch.pair)
    same_length(source, tokens)
    cache = run_with_cache([source], model)
    if isinstance(patch, PatchStates):
        for index, position in patch.places:
            hooks.edit_of_state(index).replace((position,), cache.states[index][0, position])
        return
    positions = list(range(len(tokens)) if patch.positions is None else patch.positions)
    for layer, head in patch.heads:
        hooks.edit_of_context(layer).replace((head, positions), cache.contexts[layer][0, head, positions])


def _replacement_rows(edit: ReplaceAttention, layer: int, n: int, model: Model) -> tuple[list[int], Tensor]:
    """Return the query rows to replace in a layer and their new weights, (row, key), each row summing to 1.

    A row that sees none of the new weights keeps its own.
    """
    visible = torch.from_numpy(model.info.visibility.in_layer(layer, n)).to(model.device, model.dtype)
    if isinstance(edit.to, tuple):
        target = visible.new_tensor(edit.to).expand(n, n)
    elif isinstance(edit.to, int):
        target = torch.zeros_like(visible)
        target[:, edit.to] = 1
    else:  # "uniform"
        target = visible
    target = target * visible
    sums = target.sum(-1, keepdim=True)
    queries = range(n) if edit.query is None else (edit.query,)
    rows = [query for query in queries if float(sums[query]) > 0]
    return rows, target[rows] / sums[rows]
