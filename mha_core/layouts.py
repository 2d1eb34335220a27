"""How a frozen matrix lies in memory, so that a CPU multiplies by it fast.

"rows" is torch's own order, (out_features, in_features). "panels" cuts the matrix into blocks of some 384 columns of
Wᵀ and stores them one after the other, (panels, in_features, width): what the library is given then needs no turning,
and a block stays in a core's cache. "onednn" is the order of oneDNN's own kernels, by the operators that torch's
compiler emits; their names are private to torch, so a self-check decides whether they are used at all.

MKL is slow on processors of other vendors and oneDNN is not, so `chosen` measures, once a process.
"""

import os
import time
from collections.abc import Callable, Sequence
from functools import cache
from math import gcd
from typing import Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from mha_core.errors import InputError
from mha_core.modes import plain_numbers

Layout = Literal["rows", "panels", "onednn"]
NAMES: dict[Layout, str] = {
    "rows": "matrices row by row, as torch keeps them",
    "panels": "matrices in panels of columns",
    "onednn": "matrices in oneDNN's order",
}
LAYOUT_VARIABLE = "HEADSCOPE_LAYOUT"
WIDTH, NARROWEST, WIDEST = 384, 128, 768  # of a panel, in columns
TALLEST = 128  # rows that are multiplied at once
# oneDNN must take less than this of the time of panels: where it is the faster one it takes 0.55 to 0.65, elsewhere
# 0.85 to 1.2, on a busy machine too. With three rounds and a limit of 0.8 a start was seen to choose wrongly.
CLEARLY = 0.72
ROWS, SHAPE, ROUNDS = 128, (1536, 384), 5


def layout_for(wanted: Layout | None = None, *, steps: bool = False) -> Layout:
    """The layout to use: the one in HEADSCOPE_LAYOUT, or `wanted`, or the one measured; with `steps`, for a decoder's
    steps of one row, panels: oneDNN's order is the slowest there on every processor.

    Raises InputError if the variable of the environment names none.
    """
    said = os.environ.get(LAYOUT_VARIABLE, "").strip().lower()
    if said and said not in get_args(Layout):
        raise InputError(
            f"{LAYOUT_VARIABLE} is {said[:20]!a}; it is one of {', '.join(get_args(Layout))}, or not set."
        )
    found = cast(Layout, said) if said else wanted or ("panels" if steps else chosen())
    return "rows" if found == "onednn" and not packing_works() else found


def said() -> str:
    """How the matrices of models lie on this processor, for a person."""
    encoders, decoders = layout_for(), layout_for(steps=True)
    return f"On this processor: {NAMES[encoders]}; a decoder's {NAMES[decoders]}."


@cache
def chosen() -> Layout:
    """The faster one of panels and oneDNN's order on this processor, by CPU time; takes 25 to 40 ms."""
    if not packing_works():
        return "panels"
    with plain_numbers(loading=True):
        x, w = torch.ones(ROWS, SHAPE[1]), torch.ones(SHAPE)
        panels, packed = to_panels(w), torch.ops.mkldnn._reorder_linear_weight(w)
        by_panels, by_onednn = fastest(
            (lambda: times_panels(x, panels, None), lambda: times_packed(x, packed, None))
        )
    return "onednn" if by_onednn < CLEARLY * by_panels else "panels"


def fastest(calls: Sequence[Callable[[], object]]) -> list[float]:
    """The least CPU seconds of each call in a few rounds, after one that does not count: what is busy beside it only
    ever adds to a time."""
    times = [float("inf") for _ in calls]
    for counts in (False, *(True,) * ROUNDS):
        for i, call in enumerate(calls):
            start = time.thread_time()
            call()
            taken = time.thread_time() - start
            if counts:
                times[i] = min(times[i], taken)
    return times


def panel_width(*n_columns: int) -> int:
    """The width of panels that matrices of so many columns can share: the common divisor next to WIDTH, or all columns
    where none is near; 0 if there is no such width."""
    common = gcd(*n_columns)
    near = [d for d in range(NARROWEST, min(common, WIDEST) + 1) if common % d == 0]
    if near:
        return min(near, key=lambda d: (abs(d - WIDTH), d))
    return common if common == max(n_columns) else 0


def to_panels(weight: Tensor, width: int | None = None) -> Tensor:
    """A matrix (out_features, in_features) as panels (panels, in_features, width)."""
    n_out, n_in = weight.shape
    width = panel_width(n_out) if width is None else width
    return weight.reshape(n_out // width, width, n_in).transpose(1, 2).contiguous()


def from_panels(panels: Tensor) -> Tensor:
    """The matrix (out_features, in_features) again, equal to the last bit; a tensor of its own."""
    n_panels, n_in, width = panels.shape
    return panels.transpose(1, 2).clone(memory_format=torch.contiguous_format).view(n_panels * width, n_in)


def times_panels(x: Tensor, panels: Tensor, bias: Tensor | None) -> Tensor:
    """x Wᵀ + b, (..., in_features) to (..., out_features), without gradients."""
    n_panels, n_in, width = panels.shape
    rows = x.reshape(-1, n_in)
    if n_panels == 1:
        result = rows @ panels[0] if bias is None else torch.addmm(bias, rows, panels[0])
        return result.view(*x.shape[:-1], width)
    if len(rows) == 1:  # the panels' results lie one after the other as they come
        result = torch.bmm(rows.expand(n_panels, 1, n_in), panels).view(*x.shape[:-1], n_panels * width)
        return result if bias is None else result.add_(bias)
    result = x.new_empty(len(rows), n_panels * width)
    count = round(len(rows) / TALLEST)  # many rows at once leave a core's cache before the bias is added
    blocks = (
        [(rows, result)]
        if count < 2
        else zip(rows.tensor_split(count), result.tensor_split(count), strict=True)
    )
    for block, into in blocks:
        beside = into.view(len(block), n_panels, width).transpose(0, 1)
        torch.bmm(block.expand(n_panels, *block.shape), panels, out=beside)
        if bias is not None:
            into.add_(bias)
    return result.view(*x.shape[:-1], n_panels * width)


def times_packed(x: Tensor, packed: Tensor, bias: Tensor | None, gelu: bool = False) -> Tensor:
    """x Wᵀ + b by oneDNN, and the exact GELU of that in one pass if asked for."""
    activation, algorithm = ("gelu", "none") if gelu else ("none", "")
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, activation, [], algorithm)
    return result


@cache
def packing_works() -> bool:
    """Whether this torch has oneDNN's operators and they give what a plain linear layer gives (to 1e-5)."""
    generator = torch.Generator().manual_seed(0)
    x, w, b = (torch.randn(size, generator=generator) for size in ((3, 5, 17), (19, 17), (19,)))
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(w)
        plain, gelu = times_packed(x, packed, b), times_packed(x, packed, b, gelu=True)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    expected = F.linear(x, w, b)
    return torch.allclose(plain, expected, atol=1e-5) and torch.allclose(gelu, F.gelu(expected), atol=1e-5)
