"""Texts that attend to themselves, asked for their weights alone: the same products in as few calls as can be.

Between two sentences a processor has forgotten this program, and with few tokens a call costs as much as a product. The
general way (multihead.py) gives the same numbers, and is taken wherever this one does not fit.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mha_core.in_place import ALONE_HEAD, in_tiles, is_of_onednn, mix
from mha_core.layouts import times
from mha_core.memory import new_room
from mha_core.packed import Block, PackedLinear

LONG = 64  # tokens from which every text of a batch is computed alone: what it needs stays in the cache
PIECE = ALONE_HEAD  # scores that are computed at once


def attend_to_itself(
    x: Tensor, projections: Sequence[nn.Linear], last: nn.Linear, n_heads: int, out: Tensor | None
) -> tuple[Tensor, Tensor] | None:
    """What attention gives for texts (batch, n, d_model), without a mask, and the weights (batch, n_heads, n, n).

    `projections` make Q, K and V, and `last` reads the contexts; `out`, if it is given, is what the weights are written
    into. None unless all matrices lie in an order of ours, the three in one block, and x can be multiplied so.
    """
    block = _block(x, projections)
    if block is None or not isinstance(last, PackedLinear) or last.has_hooks:
        return None
    batch, n, _ = x.shape
    shape = (batch, n_heads, n, n)
    if not last.is_laid:
        return None
    if out is not None and not (out.shape == shape and out.dtype is x.dtype and out.is_contiguous()):
        return None
    weights = new_room(shape, x) if out is None else out
    return attend_alone(x, block, last.laid, weights), weights


def attend_alone(x: Tensor, block: Block, last: tuple[Tensor, Tensor | None], weights: Tensor) -> Tensor:
    """The same, with all known to fit: `block` holds three matrices equally wide, `last` is what `PackedLinear.laid`
    says."""
    if len(x) == 1 or x.shape[1] < LONG:
        return _attend(x, block, last, weights)
    texts = zip(torch.split(x, 1), torch.split(weights, 1), strict=True)
    return torch.cat([_attend(text, block, last, its) for text, its in texts])


def _block(x: Tensor, projections: Sequence[nn.Linear]) -> Block | None:
    """The matrices of all three, where x fits them and they are equally wide."""
    first = projections[0]
    if not isinstance(first, PackedLinear) or first.block is None:
        return None
    fits = type(x) is Tensor and x.dim() == 3 and x.shape[-1] == first.in_features and first.fits(x)
    equally_wide = len(set(first.block.n_out)) == 1
    return first.block if fits and equally_wide and first.block.is_of(projections) else None


def _attend(x: Tensor, block: Block, last: tuple[Tensor, Tensor | None], weights: Tensor) -> Tensor:
    """What attention gives for texts (batch, n, d_model); their heads' weights are written into `weights`."""
    batch, n_heads, n, _ = weights.shape
    d_k, heads = block.n_out[0] // n_heads, batch * n_heads
    joined = times(x, block.kept, block.bias).view(batch, n, 3, n_heads, d_k)
    q, k, v = joined.permute(2, 0, 3, 1, 4).reshape(3, heads, n, d_k).unbind(0)  # of one text uncopied
    scores, keys, mixed = weights.view(heads, n, n), k.transpose(1, 2), x.new_empty(heads, n, d_k)
    at_once, scale = 0 if is_of_onednn(n * n, x) else PIECE // (n * n), d_k**-0.5
    if not at_once:
        in_tiles(q, k, v, scale, scores, mixed)
    for start in range(0, heads if at_once else 0, max(1, at_once)):
        some = slice(start, start + at_once)
        mix(scores[some], q[some], keys[some], v[some], scale, mixed[some])
    context = mixed.view(batch, n_heads, n, d_k).transpose(1, 2).reshape(batch, n, n_heads * d_k)
    return times(context, *last)
