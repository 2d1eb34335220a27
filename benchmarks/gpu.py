"""The engine on a graphics card: beside torch, beside transformers, and beside what the card itself can do.

    python benchmarks/gpu.py            # a minute and a half on an H100
    python benchmarks/gpu.py --small    # small sizes, also on a CPU: does it run? Taken by itself without a card

Needs torch, transformers and numpy. Weights are random and nothing is downloaded. TF32 is off. First numbers are
compared in float32 (a difference above 1e-4 ends the run with status 1; how far both are from float64 says what is
rounding), then both sides are timed in turn. Of a call the least that has to be moved and multiplied is counted:
weights and inputs read once, results written once. What that is of the card's own rates (a copy, a matrix product of
the same type, measured in the same run) stands beside it.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from engine import CLOSE, apart, compared, cpu_name, synchronise  # puts the checkout on the path too
from torch import Tensor, nn

import mha_core
from mha_core.models.weights import assemble, config_of

WIDTH, HEADS = 768, 12
Numbers = tuple[Tensor, ...] | list[Tensor]


class Sizes(NamedTuple):
    """Sizes to measure: (batch, length) of the layer and of each model, and how large the models are."""

    layer: tuple[tuple[int, int], ...]
    bert: tuple[tuple[int, int], ...]
    llama: tuple[tuple[int, int], ...]
    bert_config: dict[str, int]
    llama_config: dict[str, int]
    probe: int  # rows of the matrices with which the card's rates are measured


FULL = Sizes(
    layer=((8, 128), (1, 2048), (8, 2048)),
    bert=((1, 128), (32, 128), (1, 512), (16, 512)),
    llama=((1, 128), (8, 128), (1, 512), (4, 512), (1, 2048)),
    bert_config={},  # transformers' own defaults are BERT-base
    llama_config={
        "vocab_size": 128_256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 4096,
    },
    probe=8192,
)  # fmt: skip
SMALL = Sizes(
    layer=((2, 32), (1, 128)),
    bert=((2, 32),),
    llama=((2, 32), (1, 300)),
    bert_config={"num_hidden_layers": 2, "vocab_size": 1000},
    llama_config={
        "vocab_size": 1000, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
        "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 512,
    },
    probe=256,
)  # fmt: skip


class Card(NamedTuple):
    """The device at its best, measured: bytes a second of a copy, operations a second of a product by type."""

    name: str
    bandwidth: float
    rates: dict[torch.dtype, float]


class TimedCall(NamedTuple):
    """A timed call: against what, ours / theirs, our seconds, and the least bytes and operations it needs."""

    what: str
    against: str
    ratio: float
    seconds: float
    n_bytes: float
    operations: float
    dtype: torch.dtype


def main() -> int:
    """Compare, measure, print; 1 if numbers differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="small sizes and short rounds")
    parser.add_argument("--seconds", type=float, default=2.0, help="of measuring a row")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    small = options.small or device == "cpu"
    sizes, seconds = (SMALL, min(options.seconds, 0.2)) if small else (FULL, options.seconds)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")  # no TF32
    started = time.perf_counter()
    with torch.inference_mode():
        card = measured_card(device, sizes.probe)
        print(f"{card.name}, torch {torch.__version__}{', small sizes' if small else ''}\n")
        agree = print_parity(device, sizes)
        print_rates(card)
        print_rows(card, every_row(device, sizes, seconds))
    print(f"\n{time.perf_counter() - started:.0f} s in all")
    return 0 if agree else 1


# The card's rates


def measured_card(device: str, rows: int) -> Card:
    """Copy and multiply large matrices: the least time of ten calls each."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{cpu_name()}, 1 thread"
    source = torch.empty(4, rows, rows, device=device)
    target = torch.empty_like(source)
    bandwidth = 2 * source.nbytes / fastest(partial(target.copy_, source), device)
    del source, target
    rates = {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        a, b = (torch.randn(rows, rows, device=device, dtype=dtype) for _ in range(2))
        rates[dtype] = 2 * rows**3 / fastest(partial(torch.matmul, a, b), device)
    return Card(name, bandwidth, rates)


def fastest(call: Callable[[], object], device: str) -> float:
    """Return the least seconds of ten calls, after one that warms up."""
    seconds = []
    for _ in range(11):
        synchronise(device)
        start = time.perf_counter()
        call()
        synchronise(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


# Comparison of the numbers


def print_parity(device: str, sizes: Sizes) -> bool:
    """Print the largest differences in float32, and say whether all are small enough."""
    print("| float32 numbers of | against | largest difference | ours from float64 | theirs |")
    print("|---|---|---|---|---|")
    agree = True
    for what, against, ours, theirs, exact in compared_numbers(device, sizes):
        difference = apart(ours, theirs)
        verdict = "" if difference <= CLOSE else " (too large)"
        rounded = f"{apart(ours, exact):.1e} | {apart(theirs, exact):.1e}"
        print(f"| {what} | {against} | {difference:.1e}{verdict} | {rounded} |")
        agree &= difference <= CLOSE  # false for nan too
    print()
    return agree


def compared_numbers(device: str, sizes: Sizes) -> Iterator[tuple[str, str, Numbers, Numbers, Numbers]]:
    """Yield names of ours and theirs, and the numbers: ours, theirs, and those of float64."""
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, device=device).eval()
    layer = mha_core.MultiHeadAttention.from_torch(theirs)
    x = torch.randn(2, 100, WIDTH, device=device)
    own = theirs(x, x, x, need_weights=True, average_attn_weights=False)
    exact = textbook(deepcopy(layer).double(), x.double())
    yield "layer: output, weights", "nn.MultiheadAttention", layer(x), own, exact
    yield "layer: output, weights", "the textbook's formula", layer(x), textbook(layer, x), exact
    q, k, v = core_inputs(2, 300, device, torch.float32, shared=3)
    context = mha_core.scaled_dot_product_attention(q, k, v, is_causal=True)[0]
    fused = partial(F.scaled_dot_product_attention, is_causal=True, enable_gqa=True)
    exact = fused(q.double(), k.double(), v.double())
    yield "core: grouped queries, causal", "torch's SDPA", [context], [fused(q, k, v)], [exact]
    for name, pair in (("BERT", bert_pair), ("Llama", llama_pair)):
        ours, other, ids = *pair(device, sizes), torch.randint(900, (2, 128), device=device)
        peers = other(ids, output_attentions=True)
        # Ours once more for float64: some steps of transformers stay in float32.
        mine, exact = ([run.hidden, *run.weights] for run in (ours(ids), ours.double()(ids)))
        what = f"{name}: last states, every weight"
        yield what, "transformers", mine, [peers[0], *peers.attentions], exact


# Times


def every_row(device: str, sizes: Sizes, seconds: float) -> Iterator[TimedCall]:
    """Yield all rows; one that the card's memory cannot hold is left out."""
    calls: list[Callable[[], TimedCall]] = []
    for dtype in (torch.float32, torch.bfloat16):
        for row in (layer_row, core_row):
            calls += [partial(row, *size, device, dtype, seconds) for size in sizes.layer]
    yield from run_rows(calls)
    for name, pair, dtypes, texts in (
        ("BERT", bert_pair, (torch.float32, torch.float16), sizes.bert),
        ("Llama", llama_pair, (torch.bfloat16,), sizes.llama),
    ):
        ours, theirs = pair(device, sizes)
        for dtype in dtypes:
            ours.to(dtype), theirs.to(dtype)
            yield from run_rows([partial(model_row, name, ours, theirs, *text, seconds) for text in texts])
        del ours, theirs


def run_rows(calls: list[Callable[[], TimedCall]]) -> Iterator[TimedCall]:
    """Yield the rows of calls, but for those that find no room."""
    for call in calls:
        try:
            yield call()
        except torch.OutOfMemoryError as problem:
            print(f"A row is left out: {str(problem).splitlines()[0][:200]}", file=sys.stderr)


def layer_row(batch: int, n: int, device: str, dtype: torch.dtype, seconds: float) -> TimedCall:
    """Time the layer with every head's weights, against the textbook's compiled."""
    layer = mha_core.MultiHeadAttention(WIDTH, HEADS).eval().to(device, dtype)
    x = torch.randn(batch, n, WIDTH, device=device, dtype=dtype)
    peer, called = compiled(layer, x)
    ratio, took = compared(lambda: layer(x), lambda: peer(layer, x), seconds, device)
    moved = sum(p.nbytes for p in layer.parameters()) + 2 * x.nbytes + batch * HEADS * n * n * x.itemsize
    operations = 8 * batch * n * WIDTH**2 + 4 * batch * n * n * WIDTH
    return TimedCall(f"layer with weights ({batch}, {n})", called, ratio, took, moved, operations, dtype)


def textbook(layer: mha_core.MultiHeadAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the formula as every tutorial writes it."""
    batch, n, _ = x.shape
    q, k, v = (
        w(x).view(batch, n, layer.n_heads, -1).transpose(1, 2) for w in (layer.W_q, layer.W_k, layer.W_v)
    )
    weights = torch.softmax(q @ k.transpose(-1, -2) / layer.d_k**0.5, dim=-1)
    return layer.W_o((weights @ v).transpose(1, 2).reshape(batch, n, -1)), weights


def compiled(layer: nn.Module, x: Tensor) -> tuple[Callable[[nn.Module, Tensor], object], str]:
    """Return the textbook's layer by torch.compile; as it stands where nothing here can compile it."""
    torch.compiler.reset()
    compiled_textbook = torch.compile(textbook, dynamic=False)
    try:
        compiled_textbook(layer, x)
    except torch.OutOfMemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 - without a compiler every version of torch raises another error
        print(f"torch.compile falls back: {str(problem).splitlines()[0][:200]}", file=sys.stderr)
        return textbook, "textbook, not compiled: no compiler here"
    return compiled_textbook, "textbook, torch.compile"


def core_row(batch: int, n: int, device: str, dtype: torch.dtype, seconds: float) -> TimedCall:
    """Time the core without weights, against the kernel of torch that it calls."""
    q, k, v = core_inputs(batch, n, device, dtype)
    ratio, took = compared(
        lambda: mha_core.scaled_dot_product_attention(q, k, v, need_weights=False),
        lambda: F.scaled_dot_product_attention(q, k, v),
        seconds,
        device,
    )
    what = f"core without weights ({batch}, {n})"
    return TimedCall(what, "torch's SDPA", ratio, took, 4 * q.nbytes, 4 * batch * n * n * WIDTH, dtype)


def core_inputs(
    batch: int, n: int, device: str, dtype: torch.dtype, shared: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Return random queries, keys and values; `shared` query heads read one key head."""
    q = torch.randn(batch, HEADS, n, WIDTH // HEADS, device=device, dtype=dtype)
    k, v = torch.randn(2, batch, HEADS // shared, n, WIDTH // HEADS, device=device, dtype=dtype)
    return q, k, v


def model_row(
    name: str, ours: mha_core.Stack, theirs: nn.Module, batch: int, n: int, seconds: float
) -> TimedCall:
    """Time a model that gives every head's weights, against transformers in eager mode."""
    weight = next(ours.parameters())
    ids = torch.randint(900, (batch, n), device=weight.device)
    ratio, took = compared(
        lambda: ours(ids), lambda: theirs(ids, output_attentions=True), seconds, weight.device.type
    )
    sizes, layers = ours.config, list(ours.layers.parameters())
    written = sizes.n_layers * batch * (sizes.n_heads * n * n + n * sizes.d_model)
    moved = sum(p.nbytes for p in layers) + written * weight.itemsize
    attention = 4 * sizes.n_layers * batch * n * n * sizes.n_heads * sizes.d_k
    operations = 2 * batch * n * sum(p.numel() for p in layers) + attention
    what = f"{name} with every head's weights ({batch}, {n})"
    return TimedCall(what, "transformers, eager", ratio, took, moved, operations, weight.dtype)


# Models of the usual sizes, with random weights


def bert_pair(device: str, sizes: Sizes) -> tuple[mha_core.Stack, nn.Module]:
    """Return our encoder and transformers' on the same weights, in float32."""
    from transformers import BertConfig, BertModel

    config = BertConfig(**sizes.bert_config, attn_implementation="eager")
    with torch.device(device):
        return twin_of(BertModel(config, add_pooling_layer=False))


def llama_pair(device: str, sizes: Sizes) -> tuple[mha_core.Stack, nn.Module]:
    """Return our decoder and transformers' on the same weights, in float32; nothing is kept for a next token."""
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(**sizes.llama_config, attn_implementation="eager", use_cache=False)
    with torch.device(device):
        return twin_of(LlamaModel(config))


def twin_of(theirs: nn.Module) -> tuple[mha_core.Stack, nn.Module]:
    """Return our stack of a model of transformers, whose heads are made to look at few tokens, as trained ones do."""
    for name, parameter in theirs.named_parameters():
        if re.search(r"(query|key|q_proj|k_proj)\.weight$", name):
            # Of any width, scores spread alike: the wider they do, the more rounding grows from layer to layer.
            parameter.mul_(3 * (WIDTH / parameter.shape[1]) ** 0.5)
    config = config_of(theirs.config.to_dict(), "random weights")
    ours, _ = assemble(config, theirs.state_dict().items(), "random weights")
    return ours.eval(), theirs.eval()


# Output


def print_rates(card: Card) -> None:
    """Print what the card does at best."""
    products = ", ".join(f"{kind(dtype)} {rate / 1e12:.3g}" for dtype, rate in card.rates.items())
    print(f"At best: a copy moves {card.bandwidth / 1e9:.4g} GB/s; products, in TFLOP/s: {products}.\n")


def print_rows(card: Card, rows: Iterator[TimedCall]) -> None:
    """Print each row as soon as it is measured."""
    print("| what | type | against | ours / theirs | ours | moved | of a copy's rate | of a product's |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        copied = row.n_bytes / row.seconds / card.bandwidth
        multiplied = row.operations / row.seconds / card.rates[row.dtype]
        took = f"{row.seconds * 1e3:.3g} ms | {row.n_bytes / 1e6:.4g} MB | {copied:.0%} | {multiplied:.0%}"
        print(f"| {row.what} | {kind(row.dtype)} | {row.against} | {row.ratio:.2f} | {took} |", flush=True)


def kind(dtype: torch.dtype) -> str:
    """Return a type's short name."""
    return str(dtype).removeprefix("torch.")


if __name__ == "__main__":
    sys.exit(main())
