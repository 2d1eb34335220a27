"""Linear layers of a loaded model multiplied by oneDNN, on processors where that is clearly faster.

Why this is worth its lines: torch multiplies by MKL, which takes an AMD processor's AVX2 path. Where that processor has
AVX-512, oneDNN takes 0.55 to 0.65 of the time, and so does a whole model (docs/benchmarks.md). On other processors it
takes 0.85 to 1.2: there MKL multiplies. The processor decides and no clock, so that every process of one machine gives
the same bits, busy or not: part files are compared byte by byte.

oneDNN is given a matrix column by column. That is a plain tensor still, of the same shape and with other strides: the
one copy of the weights, which can be read, changed, moved and saved. The operator is the one that torch's compiler
emits; its name is private to torch, so its numbers are compared once, and without it all stays as it is.
"""

import platform
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_core.engine.torch_modes import is_transformed, plain_numbers

ROWS, N_IN, N_OUT = 128, 384, 1536  # of the comparison: a layer of MiniLM


class OneDnnLinear(nn.Linear):
    """A linear layer whose matrix lies column by column, for oneDNN; with gradients, other types and devices, or
    autocast it computes as `nn.Linear`."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = nn.Parameter(by_columns(linear.weight.detach()), requires_grad=False)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """x Wᵀ + b: (..., in_features) to (..., out_features)."""
        return onednn_linear(x, self.weight, self.bias) if self._fits(x) else super().forward(x)

    def _fits(self, x: Tensor) -> bool:
        if not (x.is_cpu and x.dtype is self.weight.dtype is torch.float32 and x.numel()):
            return False
        remembers = torch.is_grad_enabled() and (
            x.requires_grad or any(parameter.requires_grad for parameter in self.parameters())
        )
        return not (remembers or torch.is_autocast_enabled("cpu") or is_transformed(x))


def freeze_for_inference(module: nn.Module) -> nn.Module:
    """Freeze a loaded model for inference and give its linear layers to oneDNN where that pays; returns the module.

    Only layers inside the module, in float32 on the CPU, are replaced.
    """
    module.eval().requires_grad_(False)
    if onednn_is_faster():
        _replace_linears(module)
        for parameter in module.parameters():
            if parameter.is_contiguous():  # a view of the mapped file, all of which it would keep in memory
                parameter.data = parameter.data.clone()
    return module


def _replace_linears(module: nn.Module) -> None:
    for name, child in module.named_children():
        if type(child) is not nn.Linear:
            _replace_linears(child)
        elif child.weight.is_cpu and child.weight.dtype is torch.float32:
            setattr(module, name, OneDnnLinear(child))


@cache
def onednn_is_faster() -> bool:
    """Return whether oneDNN is clearly faster than MKL on this processor and gives its numbers."""
    if not (torch.backends.cpu.get_cpu_capability().startswith("AVX512") and _is_amd()):
        return False
    with plain_numbers(loading=True):
        generator = torch.Generator().manual_seed(0)
        x, weight, bias = (
            torch.randn(size, generator=generator) for size in ((ROWS, N_IN), (N_OUT, N_IN), (N_OUT,))
        )
        try:
            product = onednn_linear(x, by_columns(weight), bias)
        except (AttributeError, NotImplementedError, RuntimeError):  # this torch has no such operator
            return False
        return torch.allclose(product, F.linear(x, weight, bias), atol=1e-4)


def _is_amd() -> bool:
    try:
        processor = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # Windows names the maker, as Linux does
        processor = platform.processor()
    return "AuthenticAMD" in processor


def by_columns(weight: Tensor) -> Tensor:
    """Return a matrix (out_features, in_features) with each of its columns in one piece."""
    return weight.t().contiguous().t()


def onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x Wᵀ + b by oneDNN, without gradients."""
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return result
