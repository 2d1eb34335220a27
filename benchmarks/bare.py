"""Models as bare lines of torch calls, without a class, a hook, a check or a change that must be noticed.

`benchmarks/engine.py` prints what these take beside the engine's own: where the engine takes more, its own Python does;
where it takes less, its order of calls is the better one, so this is no lower bound. Matrices lie in panels. The
benchmark holds what every program gives to what the engine gives before anything is timed.
"""

from collections.abc import Callable

import torch
from torch import Tensor

import mha_core
from mha_core.families.bert import EncoderLayer
from mha_core.families.llama import LlamaBlock
from mha_core.layouts import to_panels

Matrix = tuple[Tensor, Tensor | None]  # panels (panels, in, width), and a bias
Run = Callable[[Tensor], tuple[Tensor, Tensor]]


def turned(*linears: torch.nn.Linear) -> Matrix:
    """The matrices of layers that read the same, as one in panels."""
    weight = torch.cat([linear.weight.as_subclass(Tensor) for linear in linears])
    bias = None if linears[0].bias is None else torch.cat([linear.bias for linear in linears])
    return to_panels(weight), bias


def times(x: Tensor, matrix: Matrix) -> Tensor:
    """x (n, in) by a matrix in panels, (n, out); many rows go a hundred or so at a time."""
    panels, bias = matrix
    y = x.new_empty(len(x), panels.shape[0] * panels.shape[2])
    for rows, into in zip(x.split(128), y.split(128), strict=True):
        beside = into.view(len(rows), len(panels), -1).transpose(0, 1)
        torch.bmm(rows.expand(len(panels), *rows.shape), panels, out=beside)
        if bias is not None:
            into.add_(bias)
    return y


def attend(q: Tensor, k: Tensor, v: Tensor, weights: Tensor, future: Tensor | None = None) -> Tensor:
    """q (heads, n, d), k and v of as many or fewer heads; what is mixed (n, heads * d), its weights in `weights`."""
    (heads, n, d), n_kv = q.shape, len(k)
    scores, at_once = weights.view(n_kv, -1, n), max(1, (1 << 18) // (heads // n_kv * n * n))
    folded, mixed = q.reshape(n_kv, -1, d), torch.empty(n_kv, heads // n_kv * n, d)
    for some in (slice(start, start + at_once) for start in range(0, n_kv, at_once)):
        keys = k[some].transpose(1, 2)
        torch.baddbmm(scores[some], folded[some], keys, alpha=d**-0.5, beta=0, out=scores[some])
        if future is not None:
            scores[some].view(-1, n, n).masked_fill_(future, -torch.inf)
        torch.softmax(scores[some], dim=-1, out=scores[some])
        torch.bmm(scores[some], v[some], out=mixed[some])
    return mixed.view(heads, n, d).transpose(0, 1).reshape(n, heads * d)


def layer(ours: mha_core.MultiHeadAttention) -> Run:
    """The layer for one text (1, n, d_model)."""
    qkv, last, heads = turned(ours.W_q, ours.W_k, ours.W_v), turned(ours.W_o), ours.n_heads

    def run(x: Tensor) -> tuple[Tensor, Tensor]:
        weights = x.new_empty(len(x), heads, x.shape[1], x.shape[1])
        joint = times(x.flatten(0, 1), qkv).view(len(x), x.shape[1], 3, heads, -1).permute(0, 2, 3, 1, 4)
        mixed = [attend(*one, into) for one, into in zip(joint, weights, strict=True)]
        return times(torch.cat(mixed), last).view(x.shape), weights

    return run


def encoder(ours: mha_core.Encoder) -> Run:
    """A BERT for token ids (1, n)."""
    heads, first = ours.config.n_heads, ours.embeddings
    layers = []
    for block in ours.layers:
        assert isinstance(block, EncoderLayer)
        a, one, two = block.attention, block.attention_norm, block.output_norm
        matrices = turned(a.W_q, a.W_k, a.W_v), turned(a.W_o), turned(block.up), turned(block.down)
        layers.append((*matrices, *((m.normalized_shape, m.weight, m.bias, m.eps) for m in (one, two))))

    def run(ids: Tensor) -> tuple[Tensor, Tensor]:
        x, n = first(ids, torch.zeros_like(ids))[0], ids.shape[1]
        weights = mha_core.memory.new_room((len(layers), heads, n, n), x)
        for (qkv, last, up, down, one, two), its in zip(layers, weights, strict=True):
            q, k, v = times(x, qkv).view(n, 3, heads, -1).permute(1, 2, 0, 3)
            x = torch.layer_norm(times(attend(q, k, v, its), last).add_(x), *one)
            x = torch.layer_norm(times(torch.ops.aten.gelu_(times(x, up)), down).add_(x), *two)
        return x, weights

    return run


def decoder(ours: mha_core.stack.Stack, head: torch.nn.Module) -> Run:
    """A Llama for token ids (1, n): the scores of the token after the last, and the weights."""
    sizes, eps, layers = ours.config, ours.config.norm_eps, []
    heads, n_kv, d = sizes.n_heads, sizes.n_kv_heads, sizes.d_k
    for block in ours.layers:
        assert isinstance(block, LlamaBlock)
        a, gains = block.attention, (block.attention_norm.weight, block.output_norm.weight)
        qkv, pair = turned(a.W_q, a.W_k, a.W_v), turned(block.gate, block.up)
        layers.append((qkv, turned(a.W_o), pair, turned(block.down), *gains))

    def norm(x: Tensor, gain: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return (x * (length.square_().mul_(1 / x.shape[-1]).add_(eps)).rsqrt_()).mul_(gain)

    def run(ids: Tensor) -> tuple[Tensor, Tensor]:
        x, n = ours.embeddings.word.weight[ids[0]], ids.shape[1]
        weights = mha_core.memory.new_room((len(layers), heads, n, n), x)
        cos, sin = ours.rotation(0, n, x).whole
        future = torch.ones(n, n, dtype=torch.bool).triu_(1)
        for (qkv, last, pair, down, one, two), its in zip(layers, weights, strict=True):
            joint = times(norm(x, one), qkv).view(n, heads + 2 * n_kv, d).transpose(0, 1)
            both, v = joint[:-n_kv], joint[-n_kv:]
            turning = torch.addcmul(both * cos, both.roll(d // 2, -1), sin)
            x = times(attend(turning[:heads], turning[heads:], v, its, future), last).add_(x)
            gate, up = times(norm(x, two), pair).chunk(2, dim=-1)
            x = times(torch.nn.functional.silu(gate, inplace=True).mul_(up), down).add_(x)
        return head(norm(x[-1:], ours.norm.weight)), weights

    return run
