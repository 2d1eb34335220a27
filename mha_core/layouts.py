"""How a frozen matrix lies in memory, so that a CPU multiplies by it fast.

"rows" is torch's own order, (out_features, in_features). "panels" cuts the matrix into blocks of some 384 columns of
Wᵀ and stores them one after the other, (panels, in_features, width): what the library is given then needs no turning,
and a block stays in a core's cache. The other two are for oneDNN, by the operators that torch's compiler emits; their
names are private to torch, so a self-check decides whether they are used at all. "columns" is Wᵀ as it is, still of the
shape (out_features, in_features); "onednn" is the order of oneDNN's own kernels. Of few rows the columns are multiplied
faster, one row included, by which a decoder steps; of matrices beyond a core's cache oneDNN's own order is, so those
lie in it under "columns" too.

MKL is slow on processors of other vendors and oneDNN is not, so `chosen` measures, once a process.
"""

import os
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import gcd
from typing import Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from mha_core.errors import InputError
from mha_core.modes import plain_numbers

Layout = Literal["rows", "panels", "columns", "onednn"]
NAMES: dict[Layout, str] = {
    "rows": "matrices row by row, as torch keeps them",
    "panels": "matrices in panels of columns",
    "columns": "matrices column by column, for oneDNN",
    "onednn": "matrices in oneDNN's order",
}
LAYOUT_VARIABLE = "HEADSCOPE_LAYOUT"
OF_ONEDNN: tuple[Layout, ...] = ("columns", "onednn")
WIDTH, NARROWEST, WIDEST = 384, 128, 768  # of a panel, in columns
TALLEST = 128  # rows that are multiplied at once
# oneDNN must take less than this of the time of panels: where it is the faster one it takes 0.55 to 0.65, elsewhere
# 0.85 to 1.2, on a busy machine too. With three rounds and a limit of 0.8 a start was seen to choose wrongly.
CLEARLY = 0.72
ROWS, SHAPE, ROUNDS = 128, (1536, 384), 5
# Columns must take less than so much of the time of oneDNN's own order, by few rows and of so many matrices in turn: a
# guard for processors that nobody tried. In the cache both take the same, from SSE4.1 to AVX-512, once in 24 starts 1.3
# for 1; a model's, which come from memory, take 0.8, and one product reads what three would.
FEW_ROWS, IN_TURN, ALIKE = 16, 4, 1.5
LARGE = 1 << 21  # numbers of a matrix from which "columns" leaves it to oneDNN's own order: 8 MiB


def layout_for(wanted: Layout | None = None, *, steps: bool = False) -> Layout:
    """The layout to use: the one in HEADSCOPE_LAYOUT, or `wanted`, or the one measured; with `steps`, for a decoder's
    steps of one row, panels instead of oneDNN's order, which is the slowest there on every processor.

    Raises InputError if the variable of the environment names none.
    """
    said = os.environ.get(LAYOUT_VARIABLE, "").strip().lower()
    if said and said not in get_args(Layout):
        raise InputError(
            f"{LAYOUT_VARIABLE} is {said[:20]!a}; it is one of {', '.join(get_args(Layout))}, or not set."
        )
    found = cast(Layout, said) if said else wanted or _measured(steps)
    return "rows" if found in OF_ONEDNN and not packing_works() else found


def _measured(steps: bool) -> Layout:
    found = chosen()
    return "panels" if steps and found == "onednn" else found


def is_onednn_faster() -> bool:
    """Whether products are oneDNN's here, by the same rule: those of queries with keys too, which have no layout."""
    return layout_for() in OF_ONEDNN


def said() -> str:
    """How the matrices of models lie on this processor, for a person."""
    encoders, decoders = layout_for(), layout_for(steps=True)
    return f"On this processor: {NAMES[encoders]}; a decoder's {NAMES[decoders]}."


@cache
def chosen() -> Layout:
    """The fastest one of panels, columns and oneDNN's order on this processor, by CPU time; takes 15 to 45 ms."""
    if not packing_works():
        return "panels"
    with plain_numbers(loading=True):
        x, w = torch.ones(ROWS, SHAPE[1]), torch.ones(SHAPE)
        panels, packed = to_panels(w), to_onednn(w)
        by_panels, by_onednn = fastest(
            (lambda: times_panels(x, panels, None), lambda: times_packed(x, packed, None))
        )
        if by_onednn >= CLEARLY * by_panels:
            return "panels"
        laid = [[lay(w) for _ in range(IN_TURN)] for lay in (to_columns, to_onednn)]
        by_columns, by_onednn = fastest([partial(_times_each, x[:FEW_ROWS], kept) for kept in laid])
    return "columns" if by_columns < ALIKE * by_onednn else "onednn"


def _times_each(x: Tensor, matrices: Sequence[Tensor]) -> None:
    for kept in matrices:
        times_packed(x, kept, None)


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


def to_columns(weight: Tensor) -> Tensor:
    """A matrix (out_features, in_features) whose columns lie one after the other, each in one piece."""
    return weight.t().contiguous().t()


def to_onednn(weight: Tensor) -> Tensor:
    """A matrix (out_features, in_features) in oneDNN's own order, opaque to torch."""
    result: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight)
    return result


def lies_in_columns(kept: Tensor) -> bool:
    """Whether a matrix (out_features, in_features) lies so, or is the part of some outputs of one that does; not for
    one column, which lies in rows just as well."""
    return (
        not kept.is_mkldnn
        and kept.dim() == 2
        and kept.shape[1] > 1
        and kept.stride(0) == 1
        and kept.stride(1) >= len(kept)
    )


def times(x: Tensor, kept: Tensor, bias: Tensor | None) -> Tensor:
    """x Wᵀ + b, (..., in_features) to (..., out_features), as the matrix lies: in panels or for oneDNN."""
    return times_panels(x, kept, bias) if kept.dim() == 3 else times_packed(x, kept, bias)


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
    """x Wᵀ + b by oneDNN, of a matrix in its own order or in columns, and the exact GELU of that in one pass if asked
    for.

    A part of a matrix in columns is multiplied by torch's own library: oneDNN has no fast way for columns that do not
    touch, and took 2,000 times as long.
    """
    if not (packed.is_mkldnn or packed.stride(1) == len(packed) or packed.stride(0) == packed.shape[1]):
        plain = F.linear(x, packed, bias)
        return F.gelu(plain) if gelu else plain
    activation, algorithm = ("gelu", "none") if gelu else ("none", "")
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, activation, [], algorithm)
    return result


@cache
def packing_works() -> bool:
    """Whether this torch has oneDNN's operators and they give what a plain linear layer gives (to 1e-5)."""
    generator = torch.Generator().manual_seed(0)
    x, w, b = (torch.randn(size, generator=generator) for size in ((3, 5, 17), (19, 17), (19,)))
    try:
        kept = to_onednn(w), to_columns(w), to_columns(torch.cat((w, w)))[:19]
        found = [(times_packed(x, each, b), times_packed(x, each, b, gelu=True)) for each in kept]
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    expected = F.linear(x, w, b)
    return all(
        torch.allclose(plain, expected, atol=1e-5) and torch.allclose(gelu, F.gelu(expected), atol=1e-5)
        for plain, gelu in found
    )
