"""Layers without their modules: what a run for all weights computes, written down once as a line of calls on tensors.

With few tokens a fifth of a layer's time was Python's: modules called, attributes looked up, every matrix asked whether
it fits, every sum in memory of its own. A block whose matrices lie in an order of ours (layouts.py) gives its layer as
one function (`Block.straight`), and `Straight` keeps those of a stack for as long as no module changes. The numbers are
those of the general way (stack.py), which is taken wherever this one does not fit.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from operator import is_
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as of_torch

from mha_core.in_place import attend_in_place
from mha_core.layouts import times
from mha_core.multihead import KeyValueStore, MultiHeadAttention
from mha_core.packed import Block as Joined
from mha_core.packed import PackedLinear, times_gelu
from mha_core.rotary import Rotation
from mha_core.self_attention import attend_alone

if TYPE_CHECKING:
    from mha_core.stack import Block

# What stands around a layer's input: the turns of its positions, and the keys and values of earlier tokens.
Around = tuple[Rotation | None, KeyValueStore | None]
# A layer, or its attention: the input (batch, n, d_model), a tensor (batch, n_heads, n, n_k) that the weights are
# written into, and what stands around. What it gives, of the input's shape, is a tensor of its own.
Layer = Callable[[Tensor, Tensor, Around], Tensor]
Matrix = tuple[Tensor, Tensor | None]  # a matrix as it lies, and its bias, as `times` takes them
IN_PLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": torch.ops.aten.gelu_,
    "gelu_new": partial(torch.ops.aten.gelu_, approximate="tanh"),
    "gelu_pytorch_tanh": partial(torch.ops.aten.gelu_, approximate="tanh"),
    "relu": torch.relu_,
    "silu": partial(F.silu, inplace=True),
}
NOTHING: Around = (None, None)
# Hooks that are told of all modules there are; their names are private to torch.
OF_EVERY_MODULE: list[dict[int, Any]] = [
    getattr(of_torch, name, {}) for name in ("_global_forward_hooks", "_global_forward_pre_hooks")
]
END = object()


class NotStraightError(Exception):
    """A part that cannot be had so, because it lies in rows, say."""


class Straight:
    """The layers of a stack; None if one of them cannot be had so."""

    def __init__(self, stack: nn.Module, blocks: Sequence["Block"], is_causal: bool) -> None:
        modules = list(stack.modules())
        self._parts: list[dict[str, Any]] = [
            held for module in modules for held in (module._parameters, module._modules) if held
        ]
        self._hooks: list[dict[int, Any]] = OF_EVERY_MODULE + [
            held for module in modules for held in (module._forward_hooks, module._forward_pre_hooks)
        ]
        self._held = list(self._now())
        try:
            self.layers: list[Layer] | None = [block.straight(is_causal) for block in blocks]
        except NotStraightError:
            self.layers = None

    def holds(self) -> bool:
        """Whether the modules still hold the tensors and parts that they held."""
        return all(map(is_, chain(self._now(), (END,)), chain(self._held, (END,))))

    def is_watched(self) -> bool:
        """Whether somebody is to be told of what a module gives."""
        return any(self._hooks)

    def _now(self) -> Iterable[object]:
        return chain.from_iterable(map(dict.values, self._parts))


def matrix(linear: nn.Linear) -> Matrix:
    """The matrix and the bias of one layer."""
    if type(linear) is not PackedLinear or not linear.is_laid:
        raise NotStraightError
    return linear.laid


def activated(linear: nn.Linear, activation: str) -> Callable[[Tensor], Tensor]:
    """A layer with what comes after it."""
    kept, bias = matrix(linear)
    if activation == "gelu":
        return lambda x: times_gelu(x, kept, bias)
    function = IN_PLACE[activation]
    return lambda x: function(times(x, kept, bias))


def joined(*linears: nn.Linear) -> Joined:
    """The one matrix of layers that read the same input."""
    block = linears[0].block if isinstance(linears[0], PackedLinear) else None
    if block is None or not block.is_of(linears):
        raise NotStraightError
    return block


def norm(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """LayerNorm or RMSNorm."""
    if type(module) is nn.LayerNorm:
        shape, weight, bias, eps = module.normalized_shape, module.weight, module.bias, module.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
    if type(module) is nn.RMSNorm and len(module.normalized_shape) == 1:
        return rms_norm(module)
    raise NotStraightError


def rms_norm(module: nn.RMSNorm) -> Callable[[Tensor], Tensor]:
    """RMSNorm over the last axis: torch's own takes twice as many calls, which a step of one token feels."""
    gain, share = module.weight, 1 / module.normalized_shape[-1]
    least = torch.tensor(torch.finfo(torch.float32).eps if module.eps is None else module.eps)

    def normed(x: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        scaled = x * torch.addcmul(least, length, length, value=share).rsqrt_()
        return scaled if gain is None else scaled.mul_(gain)

    return normed


def attention(layer: MultiHeadAttention, is_causal: bool) -> Layer:
    """The attention of a layer over whole texts."""
    block, last = joined(layer.W_q, layer.W_k, layer.W_v), matrix(layer.W_o)
    n_heads, n_kv = layer.n_heads, layer.n_kv_heads
    if type(layer) is not MultiHeadAttention or layer.dropout or layer.d_k != layer.d_v:
        raise NotStraightError

    def general(x: Tensor, weights: Tensor, around: Around) -> Tensor:
        projected = times(x, block.kept, block.bias)
        heads = projected.view(*x.shape[:2], n_heads + 2 * n_kv, -1).transpose(1, 2)
        turned, v = torch.split_with_sizes(heads, [n_heads + n_kv, n_kv], dim=1)
        rotation, store = around
        if rotation is not None:
            turned = rotation.apart(turned)
        q, k = torch.split_with_sizes(turned, [n_heads, n_kv], dim=1)
        if store is not None:
            k, v = store.extend(k, v)
        hides = is_causal and x.shape[1] > 1
        context, _ = attend_in_place(q, k, v, None, hides, q.shape[-1] ** -0.5, weights)
        return times(context.transpose(1, 2).flatten(2), *last)

    def alone(x: Tensor, weights: Tensor, around: Around) -> Tensor:
        return attend_alone(x, block, last, weights) if around == NOTHING else general(x, weights, around)

    return general if is_causal or n_heads != n_kv else alone
