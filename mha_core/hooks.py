"""A function of one's own that reads, or changes, what a run computes on the way: `trace(text, model, hook=...)`.

It is called as hook(name, layer, tensor), on the model's device, with a batch of one text:

- "state", layer 0 to n_layers: (1, n, d_model), what stands before that layer; at n_layers what the last one gives;
- "weights", layer 0 to n_layers - 1: (1, n_heads, n, n), after the softmax;
- "context", the same layers: (1, n_heads, n, d_v), what each head mixed, before W_o.

It returns None to leave the tensor as it is, or a tensor of the same shape that stands instead. What is kept for later
is best cloned. Rows of changed weights must still sum to one: a record is refused otherwise.
"""

from collections.abc import Callable

from torch import Tensor

from mha_core.errors import InputError, SizeError
from mha_core.multihead import HeadChange

Hook = Callable[[str, int, Tensor], Tensor | None]


class Hooked:
    """A `RunChange` that asks a hook. `changed`: whether it ever gave another tensor."""

    def __init__(self, hook: Hook) -> None:
        if not callable(hook):
            raise InputError(
                f"A hook must be a function of a name, a layer and a tensor, not {type(hook).__name__}."
            )
        self._hook = hook
        self.changed = False

    def ask(self, name: str, layer: int, tensor: Tensor) -> Tensor:
        """The tensor, or the one that the hook puts in its place."""
        found = self._hook(name, layer, tensor)
        if found is None:
            return tensor
        if not isinstance(found, Tensor) or found.shape != tensor.shape:
            given = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise SizeError(
                f"The hook gave {given} for the {name} of layer {layer}, which has shape {tuple(tensor.shape)}."
            )
        self.changed = self.changed or found is not tensor
        return found.to(tensor)

    def state(self, index: int, x: Tensor) -> Tensor:
        """Before layer `index`."""
        return self.ask("state", index, x)

    def heads(self, layer: int) -> HeadChange:
        """In a layer."""
        return HookedHeads(self, layer)


class HookedHeads:
    """A `HeadChange` that asks the hook of its run."""

    rewrites_weights = True

    def __init__(self, hooked: Hooked, layer: int) -> None:
        self._hooked, self._layer = hooked, layer

    def weights(self, weights: Tensor) -> Tensor:
        """After the softmax."""
        return self._hooked.ask("weights", self._layer, weights)

    def context(self, context: Tensor) -> Tensor:
        """Before W_o."""
        return self._hooked.ask("context", self._layer, context)
