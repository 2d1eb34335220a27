"""A user's function that reads or edits a run's activations: `trace(text, model, hook=...)`.

It is called as hook(name, layer, tensor), on the model's device, with a batch of one text:

- "state", layer 0 to n_layers: (1, n, d_model), the state before that layer; at n_layers the last layer's output;
- "weights", layer 0 to n_layers - 1: (1, n_heads, n, n), after the softmax;
- "context", the same layers: (1, n_heads, n, d_v), each head's output before W_o.

It returns None to leave the tensor as it is, or a tensor of the same shape to go on with. Clone what you store.
Rows of edited weights must still sum to one: a record is refused otherwise.
"""

from collections.abc import Callable

from torch import Tensor

from mha_core.errors import InputError, SizeError

Hook = Callable[[str, int, Tensor], Tensor | None]


class UserHooks:
    """`RunHooks` that call a user's function. `has_edited`: it has returned another tensor."""

    def __init__(self, hook: Hook) -> None:
        if not callable(hook):
            raise InputError(
                f"A hook must be a function of a name, a layer and a tensor, not {type(hook).__name__}."
            )
        self._hook = hook
        self.has_edited = False

    def state(self, index: int, x: Tensor) -> Tensor:
        """Call it with the state before layer `index`."""
        return self._call("state", index, x)

    def rewrites_weights(self, layer: int) -> bool:
        """Return True: only the call shows which weights it edits."""
        return True

    def weights(self, layer: int, weights: Tensor) -> Tensor:
        """Call it with a layer's weights."""
        return self._call("weights", layer, weights)

    def context(self, layer: int, context: Tensor) -> Tensor:
        """Call it with a layer's contexts."""
        return self._call("context", layer, context)

    def _call(self, name: str, layer: int, tensor: Tensor) -> Tensor:
        result = self._hook(name, layer, tensor)
        if result is None:
            return tensor
        if not isinstance(result, Tensor) or result.shape != tensor.shape:
            given = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
            raise SizeError(
                f"The hook gave {given} for the {name} of layer {layer}, which has shape {tuple(tensor.shape)}."
            )
        self.has_edited = self.has_edited or result is not tensor
        return result.to(tensor)
