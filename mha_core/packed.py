"""Linear layers whose matrix lies in memory as this processor multiplies by it fastest: the same numbers, sooner.

`pack(module)` takes a module to be used without training and returns it with every `nn.Linear` in it replaced
by a `PackedLinear` and all parameters frozen. How a matrix lies (layouts.py) is chosen once; every call that this does
not fit (gradients, other devices and types, autocast) takes the plain way.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from operator import is_
from typing import Any, Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_core.errors import ModelError
from mha_core.layouts import (
    LARGE,
    OF_ONEDNN,
    Layout,
    from_panels,
    is_onednn_faster,
    layout_for,
    lies_in_columns,
    packing_works,
    panel_width,
    times,
    times_packed,
    to_columns,
    to_onednn,
    to_panels,
)
from mha_core.memory import Pages
from mha_core.modes import is_transformed

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
    """A frozen `nn.Linear` that keeps its weight once, in panels, columns or oneDNN's order where that can be.

    `weight` is then a copy in the plain order, made when it is asked for and equal to the last bit; it refuses to be
    changed, in place or through `.data`. Converted to another type or device, the layer keeps the plain order, and a
    change is used.
    """

    def __init__(self, linear: nn.Linear, layout: Layout | None = None) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.layout: Layout = layout_for() if layout is None else layout
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach(), requires_grad=False)
        self.block: Block | None = None  # of this layer and those that read the same input, kept by the first
        self._keep(linear.weight.detach())

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        """The matrix (out_features, in_features)."""
        kept = self._parameters["weight"]
        if kept is None or _is_plain(kept):
            return cast(Tensor, kept)
        return self._dense().as_subclass(WeightCopy)

    @property
    def has_hooks(self) -> bool:
        """Whether somebody is to be told of what this layer gives."""
        return bool(self._forward_hooks or self._forward_pre_hooks)

    @property
    def is_laid(self) -> bool:
        """Whether the matrix lies in another order than torch's own."""
        kept = self._parameters["weight"]
        return kept is not None and not _is_plain(kept)

    @property
    def laid(self) -> tuple[Tensor, Tensor | None]:
        """The matrix as it lies, and the bias: what `layouts.times` takes where `is_laid`."""
        return cast(Tensor, self._parameters["weight"]), self.bias

    def forward(self, x: Tensor) -> Tensor:
        """x Wᵀ + b: (..., in_features) to (..., out_features)."""
        return self._run(x) if self.fits(x) else F.linear(x, self._dense(), self.bias)

    def gelu(self, x: Tensor) -> Tensor:
        """GELU(x Wᵀ + b), the exact GELU; in one pass in oneDNN's order."""
        return self._run(x, gelu=True) if self.fits(x) else F.gelu(F.linear(x, self._dense(), self.bias))

    def _run(self, x: Tensor, gelu: bool = False) -> Tensor:
        kept = cast(Tensor, self._parameters["weight"])
        return (times_gelu if gelu else times)(x, kept, self.bias)

    def _keep(self, weight: Tensor) -> None:
        """Keep this plain matrix, reordered where that can be."""
        kept = weight
        if weight.device.type == "cpu" and weight.dtype == torch.float32 and weight.numel():
            if self.layout == "panels":
                kept = to_panels(weight)
            elif self.layout in OF_ONEDNN and packing_works():
                as_columns = self.layout == "columns" and weight.numel() < LARGE
                kept = to_columns(weight) if as_columns else to_onednn(weight)
        self._hold(kept)

    def _hold(self, kept: Tensor) -> None:
        # Not by assignment: `weight` is what callers read, this is what is held.
        self._parameters["weight"] = nn.Parameter(kept, requires_grad=False)

    def move_to(self, pages: Pages) -> None:
        """Keep the panels or the columns there."""
        kept = cast(Tensor, self._parameters["weight"])
        if kept.dim() == 3:
            self._hold(pages.empty(kept.shape, kept).copy_(kept))
        elif lies_in_columns(kept):
            self._hold(_columns_in(pages, kept).copy_(kept))

    def _dense(self) -> Tensor:
        kept = cast(Tensor, self._parameters["weight"])
        if _is_plain(kept):
            return kept
        # What was made so refuses to be changed in place, its views too.
        with torch.inference_mode(not torch.is_grad_enabled()):
            kept = kept.detach()
            if kept.dim() == 3:
                return from_panels(kept)
            return kept.to_dense() if kept.is_mkldnn else kept.clone(memory_format=torch.contiguous_format)

    def _plain(self) -> Tensor:
        with torch.enable_grad():
            return self._dense().detach()

    def fits(self, x: Tensor) -> bool:
        """Whether x can be multiplied as the matrix lies."""
        return self.is_laid and is_plain_input(x)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """In the plain order, for no conversion takes the other."""
        self._hold(self._plain())
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self._plain()

    def _load_from_state_dict(self, *arguments: Any) -> None:
        kept = cast(Tensor, self._parameters["weight"])
        self._hold(self._plain())
        super()._load_from_state_dict(*arguments)
        loaded = self._plain()
        in_panels = kept.dim() == 3
        if (in_panels or lies_in_columns(kept)) and loaded.dtype == kept.dtype:
            kept.copy_(to_panels(loaded, kept.shape[2]) if in_panels else loaded)  # where its neighbours' lie
            self._parameters["weight"] = cast(nn.Parameter, kept)
        else:
            self._keep(loaded)

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "block": None,
            "_parameters": {**self._parameters, "weight": self._plain()},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._keep(cast(Tensor, self._parameters["weight"]))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        plain = nn.Linear(1, 1, bias=False)
        plain.in_features, plain.out_features = self.in_features, self.out_features
        plain.weight = nn.Parameter(self._plain().clone(), requires_grad=False)
        plain.bias = deepcopy(self.bias, memo)
        return type(self)(plain, self.layout)


def _is_plain(kept: Tensor) -> bool:
    return kept.dim() == 2 and not kept.is_mkldnn and not lies_in_columns(kept)


def _columns_in(pages: Pages, like: Tensor, n_out: int | None = None) -> Tensor:
    """Room for a matrix in columns, of as many outputs as the other one if not said otherwise."""
    return pages.empty((like.shape[1], len(like) if n_out is None else n_out), like).t()


def times_gelu(x: Tensor, kept: Tensor, bias: Tensor | None) -> Tensor:
    """The exact GELU of x Wᵀ + b, as the matrix lies; in one pass of oneDNN's."""
    if kept.dim() == 3:
        result: Tensor = torch.ops.aten.gelu_(times(x, kept, bias))
        return result
    return times_packed(x, kept, bias, gelu=True)


def pack(module: nn.Module, layout: Layout | None = None) -> nn.Module:
    """Freeze a module for inference and pack its linear layers, in place; returns the module.

    `layout`: the one that is faster on this processor, unless it is given.
    """
    module.eval().requires_grad_(False)
    layout = layout_for() if layout is None else layout
    plain = [m.weight for m in module.modules() if type(m) is nn.Linear and m.weight.is_cpu]
    _pack(module, layout, Pages(sum(w.nbytes for w in plain) if layout in ("panels", "columns") else 0))
    return module


def _pack(module: nn.Module, layout: Layout, pages: Pages) -> None:
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, PackedLinear(child, layout))
        else:
            _pack(child, layout, pages)
    joined = set[nn.Linear]()
    for names in getattr(module, "READ_TOGETHER", ()):
        linears = [getattr(module, name) for name in names]
        if _lay_together(linears, pages):
            joined.update(linears)
    for child in module.children():
        if isinstance(child, PackedLinear) and child not in joined:
            child.move_to(pages)


def _lay_together(linears: Sequence[nn.Linear], pages: Pages) -> bool:
    """Make one matrix of those that read the same input and lie alike, in panels or columns; each layer keeps a view of
    its part."""
    held = [linear._parameters["weight"] for linear in linears if isinstance(linear, PackedLinear)]
    kept: list[Tensor] = [matrix for matrix in held if matrix is not None]
    n_out, biases = [linear.out_features for linear in linears], [linear.bias for linear in linears]
    has_bias = all(bias is not None for bias in biases)
    if len(kept) < len(linears) or not (has_bias or all(bias is None for bias in biases)):
        return False
    width = panel_width(*n_out)
    if width and all(matrix.dim() == 3 for matrix in kept):
        joined = pages.empty((sum(n_out) // width, linears[0].in_features, width), kept[0])
        parts = torch.split(joined, [n // width for n in n_out])
        laid = [to_panels(cast(PackedLinear, linear)._plain(), width) for linear in linears]
    elif all(map(lies_in_columns, kept)):
        joined = _columns_in(pages, kept[0], sum(n_out))
        parts, laid = torch.split(joined, n_out), kept
    else:
        return False
    for linear, part, matrix in zip(linears, parts, laid, strict=True):
        part.copy_(matrix)
        cast(PackedLinear, linear)._hold(part)
    bias = torch.cat([cast(Tensor, each) for each in biases]) if has_bias else None
    if bias is not None:
        for linear, piece in zip(linears, torch.split(bias, n_out), strict=True):
            linear.bias = nn.Parameter(piece, requires_grad=False)
    views = tuple(linear._parameters.get(name) for linear in linears for name in ("weight", "bias"))
    cast(PackedLinear, linears[0]).block = Block(joined, bias, n_out, views)
    return True


def together(x: Tensor, *linears: nn.Linear) -> tuple[Tensor, ...]:
    """What each of the layers gives for x; one product where their matrices lie in one block."""
    first = linears[0]
    block = first.block if isinstance(first, PackedLinear) else None
    if block is None or not block.is_of(linears) or not cast(PackedLinear, first).fits(x):
        return tuple(linear(x) for linear in linears)
    return torch.split(times(x, block.kept, block.bias), block.n_out, dim=-1)


@dataclass(frozen=True)
class Block:
    """The matrices of several layers in one, as panels (panels, in_features, width) or in columns (all outputs,
    in_features), and their biases; `parts`, the weight and bias of each, are views of them."""

    kept: Tensor
    bias: Tensor | None
    n_out: list[int]
    parts: tuple[Tensor | None, ...]

    def is_of(self, linears: Sequence[nn.Linear]) -> bool:
        """Whether these are the layers, in their order, and each still keeps its part."""
        now = [linear._parameters.get(name) for linear in linears for name in ("weight", "bias")]
        return len(now) == len(self.parts) and all(map(is_, now, self.parts))


def is_plain_input(x: Tensor) -> bool:
    """Whether x is numbers of fp32 on the CPU and nothing is to be remembered of what is done to them."""
    return (
        x.dtype is torch.float32
        and x.is_cpu
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not (x.requires_grad and torch.is_grad_enabled())
        and not is_transformed(x)
    )


def times_rows(x: Tensor, weight: Tensor) -> Tensor:
    """x Wᵀ of a matrix (out_features, in_features) that lies in rows, by whichever library is faster here."""
    fits = is_plain_input(x) and weight.dtype is torch.float32 and weight.is_cpu and weight.is_contiguous()
    if fits and not (weight.requires_grad and torch.is_grad_enabled()) and is_onednn_faster():
        return times_packed(x, weight, None)
    return F.linear(x, weight)


def linear_gelu(linear: nn.Linear, x: Tensor) -> Tensor:
    """GELU after a linear layer, fused where the layer is packed."""
    return linear.gelu(x) if isinstance(linear, PackedLinear) else F.gelu(linear(x))
