"""The page without a server in headless Chromium: how far from the engine, how long against it, and how large.

All built-in sentences by all models, the tokens of odd and random texts by node, then texts of 16 to 256 tokens, the
engine on one thread in turn with the browser.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from served import chromium, print_head, print_row  # puts the checkout and its tests on the path

import mha_core
from tests.conftest import HEADLESS_SHELL
from tests.test_static_numbers import (
    ASK,
    ODD,
    SENTENCES,
    ask,
    build,
    difference,
    differing_tokens,
    opened,
    random_texts,
)

MODELS = {"minilm": "minilm", "smollm2": "smollm2", "toy": "classroom"}
LENGTHS = (16, 64, 128, 256)
ROUNDS = 5
RANDOM = 12_000
# The worker says how large the memory of ONNX Runtime is.
HEAP = """{ let memory;
  WebAssembly.Memory = class extends WebAssembly.Memory { constructor(size) { super(size); memory = this; } };
  addEventListener("message", ({ data: { id, heap } }) => {
    if (heap) postMessage({ id, heap: memory?.buffer.byteLength ?? 0 });
  });
}
"""


def main() -> None:
    """Print a row of exactness and one of times and sizes for each model."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        site = build(Path(folder) / "site")
        worker = site / "worker.js"
        worker.write_text(HEAP + worker.read_text("utf-8"), "utf-8")
        sizes = {name: sum(path.stat().st_size for path in site.glob(f"models/{name}/*")) for name in MODELS}
        sizes |= {name: size + _runtime(site) for name, size in sizes.items() if name != "toy"}
        with chromium(HEADLESS_SHELL) as browser, opened(browser, site) as (page, _):
            isolation = page.evaluate("Number(crossOriginIsolated) + 1")
            print(f"{browser.version}, {isolation} thread", flush=True)
            print_head(
                "model", "weights of sentences", "next token", f"tokens of {len(ODD) + RANDOM:,} texts"
            )
            models = {name: mha_core.load_model(known, device="cpu") for name, known in MODELS.items()}
            rows = {name: _timed(page, name, model) for name, model in models.items()}
            for name, model in models.items():
                differ = differing_tokens(model, [*ODD, *random_texts(RANDOM)], Path(folder))
                print_row(model.title, *_compared(page, name, model), f"{len(differ)} differ")
            print_head("model", "ready", *(f"{n} tokens" for n in LENGTHS), "one more", "heap", "download")
            for name, cells in rows.items():
                print_row(models[name].title, *cells, f"{sizes[name] / 1e6:.1f} MB")


def _runtime(site: Path) -> int:
    return sum(path.stat().st_size for path in site.glob("onnxruntime/*") if path.suffix != ".txt")


def _compared(page: Any, name: str, model: mha_core.Model) -> tuple[str, str]:
    """Compare all sentences' weights and likeliest next tokens with the engine's."""
    worst, same = 0.0, 0
    for text in SENTENCES:
        answer = ask(page, text=text, model=name)
        worst = max(worst, difference(answer, text, model))
        if model.next_head is not None:
            same += answer["likeliest"][0] == mha_core.predict_next(text, model, k=1)[0].id
    return f"{worst:.1e}", f"{same} of {len(SENTENCES)}" if model.next_head is not None else "none"


def _timed(page: Any, name: str, model: mha_core.Model) -> list[str]:
    """Return how long a model takes to load, for each length with its ratio to the engine, and its memory."""
    page.evaluate(ASK)  # a worker of its own
    start = time.perf_counter()
    ask(page, load=name)
    cells = [f"{time.perf_counter() - start:.1f} s"]

    def run(text: str) -> float:
        return float(ask(page, text=text, model=name)["took"]["run"])

    for n in LENGTHS:
        text, theirs, ours = ("street " * (n - len(model.tokenizer.special_names))).strip(), [], []
        for _ in range(ROUNDS):
            ours.append(_milliseconds(lambda text=text: mha_core.trace(text, model)))
            run("it")  # what a text began with is not computed again
            theirs.append(run(text))
        ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
        cells.append(f"{statistics.median(theirs):.0f} ms ({ratio:.1f})")
    more = []
    for _ in range(ROUNDS if model.is_causal else 0):
        run("street " * 127 + "street")
        more.append(run("street " * 128 + "street"))
    cells.append(f"{statistics.median(more):.0f} ms" if more else "")
    return [*cells, f"{ask(page, heap=True)['heap'] / 1e6:.0f} MB"]


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
