"""Interventions as what the loop over layers takes: for every head what it mixed times `scale` plus `shift`, for
weights and states what is kept and what stands instead. Made for one call, of tensors of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.experiments.interventions import (
    Factor,
    Intervention,
    MeanAblation,
    PatchHeads,
    Rows,
    check,
    same_length,
)
from mha_core.experiments.kept import first_replaced, kept_of, mean_contexts
from mha_core.model import Model
from mha_core.multihead import HeadChange
from mha_core.tokens import Tokens


@dataclass
class Affine:
    """x times `scale` plus `shift`, (n_heads or n, ..., width) each."""

    scale: Tensor
    shift: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.scale + self.shift

    def then(self, at: tuple[int | list[int], ...], value: Tensor | float) -> None:
        """From now on `value` stands at these places."""
        self.scale[at] = 0.0
        self.shift[at] = value

    def times(self, at: tuple[int | list[int], ...], factor: float) -> None:
        """From now on what stands at these places counts `factor` times."""
        self.scale[at] *= factor
        self.shift[at] *= factor


class LayerChange:
    """A `HeadChange`: the interventions in one layer."""

    def __init__(self) -> None:
        self.mixed: Affine | None = None
        self.rows: Affine | None = None

    @property
    def rewrites_weights(self) -> bool:
        return self.rows is not None

    def weights(self, weights: Tensor) -> Tensor:
        return weights if self.rows is None else self.rows(weights)

    def context(self, context: Tensor) -> Tensor:
        return context if self.mixed is None else self.mixed(context)


class Changes:
    """A `RunChange` for texts of one length: what to do in which layer, and before which."""

    def __init__(self, model: Model, n: int) -> None:
        self._shape = (model.n_heads, n, model.config.d_k)
        self._width, self._like = model.d_model, torch.empty(0, device=model.device, dtype=model.dtype)
        self._heads: dict[int, LayerChange] = {}
        self._states: dict[int, Affine] = {}

    def state(self, index: int, x: Tensor) -> Tensor:
        change = self._states.get(index)
        return x if change is None else change(x)

    def heads(self, layer: int) -> HeadChange | None:
        return self._heads.get(layer)

    def mixed(self, layer: int) -> Affine:
        """What is done in a layer to what its heads mixed, (n_heads, n, d_v)."""
        change = self._heads.setdefault(layer, LayerChange())
        if change.mixed is None:
            heads, n, _ = self._shape
            change.mixed = self._nothing((heads, n, 1), self._shape)
        return change.mixed

    def rows(self, layer: int) -> Affine:
        """What is done in a layer to weights, (n_heads, n, n)."""
        change = self._heads.setdefault(layer, LayerChange())
        if change.rows is None:
            heads, n, _ = self._shape
            change.rows = self._nothing((heads, n, 1), (heads, n, n))
        return change.rows

    def at_state(self, index: int) -> Affine:
        """What is done to a state, (n, d_model)."""
        if index not in self._states:
            n = self._shape[1]
            self._states[index] = self._nothing((n, 1), (n, self._width))
        return self._states[index]

    def _nothing(self, scale: tuple[int, ...], shift: tuple[int, ...]) -> Affine:
        return Affine(self._like.new_ones(scale), self._like.new_zeros(shift))


def changes_of(interventions: Sequence[Intervention], tokens: Tokens, model: Model) -> Changes | None:
    """The change that a run of these tokens takes, or None where nothing is intervened.

    Raises InputError for interventions that do not fit the text or the model.
    """
    if not interventions:
        return None
    check(interventions, tokens, model)
    with torch.inference_mode():
        changes = Changes(model, len(tokens))
        for one in interventions:
            _add(changes, one, tokens, model)
    return changes


def _add(changes: Changes, one: Intervention, tokens: Tokens, model: Model) -> None:
    if isinstance(one, Factor):
        for layer, head in one.heads:
            changes.mixed(layer).times((head,), one.factor)
    elif isinstance(one, MeanAblation):
        means, replaced = mean_contexts(model), list(range(first_replaced(model), len(tokens)))
        for layer, head in one.heads:
            changes.mixed(layer).then((head, replaced), means[layer, head])
    elif isinstance(one, Rows):
        for layer, head in one.heads:
            where, values = _rows(one, layer, len(tokens), model)
            changes.rows(layer).then((head, where), values)
    elif isinstance(one, PatchHeads):
        _patch_heads(changes, one, tokens, model)
    else:
        source = model.tokenizer.encode(one.text, one.pair)
        same_length(source, tokens)
        states = kept_of([source], model).states
        for index, position in one.places:
            changes.at_state(index).then((position,), states[index][0, position])


def _patch_heads(changes: Changes, one: PatchHeads, tokens: Tokens, model: Model) -> None:
    source = model.tokenizer.encode(one.text, one.pair)
    same_length(source, tokens)
    contexts = kept_of([source], model).contexts
    at = list(range(len(tokens)) if one.positions is None else one.positions)
    for layer, head in one.heads:
        changes.mixed(layer).then((head, at), contexts[layer][0, head, at])


def _rows(one: Rows, layer: int, n: int, model: Model) -> tuple[list[int], Tensor]:
    """The rows of a layer that change, and what stands in them, (row, key)."""
    visible = torch.from_numpy(model.info.visibility.in_layer(layer, n)).to(model.device, model.dtype)
    if isinstance(one.to, tuple):
        wanted = visible.new_tensor(one.to).expand(n, n)
    elif isinstance(one.to, int):
        wanted = torch.zeros_like(visible)
        wanted[:, one.to] = 1
    else:
        wanted = visible
    wanted = wanted * visible
    sums = wanted.sum(-1, keepdim=True)
    rows = range(n) if one.query is None else (one.query,)
    where = [row for row in rows if float(sums[row]) > 0]
    return where, wanted[where] / sums[where]
