"""Linear layers reordered once for oneDNN: the same numbers in about half of the time on a CPU.

`pack(module)` takes a module to be used without training and returns it with every `nn.Linear` in it replaced
by a `PackedLinear` and all parameters frozen. The reordering uses the operators that torch's own compiler
emits; their names are private to torch, so a self-check decides whether they are used at all, and every call
that they do not fit (gradients, other devices and types, autocast, a weight changed since) takes the plain way.
"""

from copy import deepcopy
from functools import cache
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PackedLinear(nn.Linear):
    """A frozen `nn.Linear` that also keeps its weight in oneDNN's order.

    A weight changed in place or moved is noticed and the plain weight is used from then on; one changed through
    `.data` or a NumPy view, which torch does not count as changes, is not.
    """

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = nn.Parameter(linear.weight.detach(), requires_grad=False)
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach(), requires_grad=False)
        self._reorder()

    def forward(self, x: Tensor) -> Tensor:
        """x Wᵀ + b: (..., in_features) to (..., out_features)."""
        return self._run(x, "none", "") if self._fits(x) else F.linear(x, self.weight, self.bias)

    def gelu(self, x: Tensor) -> Tensor:
        """GELU(x Wᵀ + b), the exact GELU, in one pass."""
        return self._run(x, "gelu", "none") if self._fits(x) else F.gelu(F.linear(x, self.weight, self.bias))

    def _run(self, x: Tensor, activation: str, algorithm: str) -> Tensor:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._packed, self.bias, activation, [], algorithm
        )
        return result

    def _reorder(self) -> None:
        usable = packing_works() and self.weight.device.type == "cpu" and self.weight.dtype == torch.float32
        self._packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach()) if usable else None
        self._seen = self._stamp()

    def _stamp(self) -> tuple[int, int]:
        return self.weight.data_ptr(), self.weight._version

    def _fits(self, x: Tensor) -> bool:
        return (
            self._packed is not None
            and x.dtype == torch.float32
            and x.device.type == "cpu"
            and x.numel() > 0
            and not torch.compiler.is_compiling()
            and not torch.is_autocast_enabled("cpu")
            and not (torch.is_grad_enabled() and (x.requires_grad or self.weight.requires_grad))
            and self._seen == self._stamp()
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_packed": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._reorder()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copy = type(self)(self)
        copy.weight = deepcopy(self.weight, memo)
        copy.bias = deepcopy(self.bias, memo)
        copy._reorder()
        return copy


def pack(module: nn.Module) -> nn.Module:
    """Freeze a module for inference and pack its linear layers, in place; returns the module."""
    module.eval().requires_grad_(False)
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, PackedLinear(child))
        else:
            pack(child)
    return module


def linear_gelu(linear: nn.Linear, x: Tensor) -> Tensor:
    """GELU after a linear layer, fused where the layer is packed."""
    return linear.gelu(x) if isinstance(linear, PackedLinear) else F.gelu(linear(x))


def times_transposed(left: Tensor, right: Tensor) -> Tensor:
    """left rightᵀ of two matrices, (n, d) and (m, d) to (n, m), by oneDNN where that can be.

    Without gradients, on the CPU.
    """
    if packing_works() and left.dtype == right.dtype == torch.float32:
        # Strided operands are computed by a reference kernel a thousand times slower: copy them first.
        result: Tensor = torch.ops.mkldnn._linear_pointwise(
            left.contiguous(), right.contiguous(), None, "none", [], ""
        )
        return result
    return left @ right.t()


@cache
def packing_works() -> bool:
    """Whether this torch has the operators and they give what a plain linear layer gives (to 1e-5)."""
    generator = torch.Generator().manual_seed(0)
    x, w, b = (torch.randn(size, generator=generator) for size in ((3, 5, 17), (19, 17), (19,)))
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(w)
        plain = torch.ops.mkldnn._linear_pointwise(x, packed, b, "none", [], "")
        gelu = torch.ops.mkldnn._linear_pointwise(x, packed, b, "gelu", [], "none")
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    expected = F.linear(x, w, b)
    return torch.allclose(plain, expected, atol=1e-5) and torch.allclose(gelu, F.gelu(expected), atol=1e-5)
