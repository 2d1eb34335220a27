"""Linear layers reordered once for oneDNN: the same numbers in about half of the time on a CPU.

`pack(module)` takes a module to be used without training and returns it with every `nn.Linear` in it replaced
by a `PackedLinear` and all parameters frozen. The reordering uses the operators that torch's own compiler
emits; their names are private to torch, so a self-check decides whether they are used at all, and every call
that they do not fit (gradients, other devices and types, autocast) takes the plain way.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any, Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_core.errors import ModelError

PACKED = (
    "This weight is a copy of one that is stored for a fast processor, and changing it would change nothing; "
    "load_model(name, shared=False) gives a model whose weights can be changed, load_state_dict replaces them."
)
IN_PLACE = ("__iadd__", "__isub__", "__imul__", "__itruediv__")


class WeightCopy(Tensor):
    """What a packed layer says its weight is: a tensor to read and compute with, which refuses to be changed."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        in_place = name.endswith("_") and not name.startswith("__")
        if in_place or name in ("__setitem__", "__set__", *IN_PLACE) or func == Tensor.data.__get__:  # type: ignore[attr-defined]
            raise ModelError(PACKED)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class PackedLinear(nn.Linear):
    """A frozen `nn.Linear` that keeps its weight once, in oneDNN's order where that can be.

    `weight` is then a copy in the plain order, made when it is asked for and equal to the last bit; it refuses to be
    changed, in place or through `.data`. Converted to another type or device, the layer keeps the plain order, and a
    change is used.
    """

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach(), requires_grad=False)
        self._keep(linear.weight.detach())

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        """The matrix (out_features, in_features)."""
        kept = self._parameters["weight"]
        if kept is None or not kept.is_mkldnn:
            return cast(Tensor, kept)
        return self._dense().as_subclass(WeightCopy)

    def forward(self, x: Tensor) -> Tensor:
        """x Wᵀ + b: (..., in_features) to (..., out_features)."""
        return self._run(x, "none", "") if self._fits(x) else F.linear(x, self._dense(), self.bias)

    def gelu(self, x: Tensor) -> Tensor:
        """GELU(x Wᵀ + b), the exact GELU, in one pass."""
        return (
            self._run(x, "gelu", "none") if self._fits(x) else F.gelu(F.linear(x, self._dense(), self.bias))
        )

    def _run(self, x: Tensor, activation: str, algorithm: str) -> Tensor:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._parameters["weight"], self.bias, activation, [], algorithm
        )
        return result

    def _keep(self, weight: Tensor) -> None:
        """Keep this plain matrix, reordered where that can be."""
        usable = packing_works() and weight.device.type == "cpu" and weight.dtype == torch.float32
        kept = torch.ops.mkldnn._reorder_linear_weight(weight) if usable else weight
        # Not by assignment: `weight` is what callers read, this is what is held.
        self._parameters["weight"] = nn.Parameter(kept, requires_grad=False)

    def _dense(self) -> Tensor:
        kept = cast(Tensor, self._parameters["weight"])
        if not kept.is_mkldnn:
            return kept
        with torch.inference_mode(
            not torch.is_grad_enabled()
        ):  # what was made so refuses to be changed in place, its views too
            return kept.detach().to_dense()

    def _plain(self) -> Tensor:
        with torch.enable_grad():
            return self._dense().detach()

    def _fits(self, x: Tensor) -> bool:
        kept = self._parameters["weight"]
        return (
            kept is not None
            and kept.is_mkldnn
            and x.dtype == torch.float32
            and x.device.type == "cpu"
            and x.numel() > 0
            and not torch.compiler.is_compiling()
            and not torch.is_autocast_enabled("cpu")
            and not (torch.is_grad_enabled() and x.requires_grad)
        )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """In the plain order, for no conversion takes the other."""
        self._parameters["weight"] = nn.Parameter(self._plain(), requires_grad=False)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self._plain()

    def _load_from_state_dict(self, *arguments: Any) -> None:
        self._parameters["weight"] = nn.Parameter(self._plain(), requires_grad=False)
        super()._load_from_state_dict(*arguments)
        self._keep(self._plain())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parameters": {**self._parameters, "weight": self._plain()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._keep(cast(Tensor, self._parameters["weight"]))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        plain = nn.Linear(1, 1, bias=False)
        plain.in_features, plain.out_features = self.in_features, self.out_features
        plain.weight = nn.Parameter(self._plain().clone(), requires_grad=False)
        plain.bias = deepcopy(self.bias, memo)
        return type(self)(plain)


def pack(module: nn.Module) -> nn.Module:
    """Freeze a module for inference and pack its linear layers, in place; returns the module."""
    module.eval().requires_grad_(False)
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, PackedLinear(child))
        else:
            pack(child)
    return module


def lay_by_columns(module: nn.Module) -> nn.Module:
    """Freeze a module for inference and store each matrix of its linear layers column by column, in place.

    F.linear hands a matrix over transposed, which a CPU's library reads badly when there are few rows; stored so,
    16 to 128 rows take 0.85 to 0.9 of the time, and one row, a decoder's step, no more than before.
    """
    module.eval().requires_grad_(False)
    for child in module.modules():
        if type(child) is nn.Linear and child.weight.device.type == "cpu":
            child.weight = nn.Parameter(child.weight.t().contiguous().t(), requires_grad=False)
    return module


def linear_gelu(linear: nn.Linear, x: Tensor) -> Tensor:
    """GELU after a linear layer, fused where the layer is packed."""
    return linear.gelu(x) if isinstance(linear, PackedLinear) else F.gelu(linear(x))


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
