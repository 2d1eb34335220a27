"""The page without a server in headless Chromium: how far from the engine, and how long against it.

All built-in sentences by both models, then texts of 16, 64 and 128 tokens, the engine on one thread in turn with the
browser.
"""

import statistics
import tempfile
import time
from pathlib import Path

import torch
from served import chromium  # puts the checkout and its tests on the path

import mha_core
from tests.conftest import HEADLESS_SHELL
from tests.test_static_numbers import SENTENCES, ask, build, difference, opened

MODELS = {"minilm": "minilm", "toy": "classroom"}
ROUNDS = 9


def main() -> None:
    """Print a line for loading, one for exactness and one a length, for each model."""
    torch.set_num_threads(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium(HEADLESS_SHELL) as browser,
        opened(browser, build(Path(folder) / "site")) as (page, _),
    ):
        for name, known in MODELS.items():
            model, start = mha_core.load_model(known, device="cpu"), time.perf_counter()
            ask(page, load=name)
            print(f"{name}: ready in {time.perf_counter() - start:.1f} s")
            worst = max(difference(ask(page, text=text, model=name), text, model) for text in SENTENCES)
            print(f"  {len(SENTENCES)} sentences: {worst:.1e} from the engine at most")
            for n in (16, 64, 128):
                text, ours, theirs = "street " * (n - len(model.tokenizer.special_names)), [], []
                for _ in range(ROUNDS):
                    start = time.perf_counter()
                    mha_core.trace(text, model)
                    ours.append(1000 * (time.perf_counter() - start))
                    theirs.append(ask(page, text=text, model=name)["took"]["run"])
                ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
                took = " ms, the engine ".join(f"{statistics.median(times):.0f}" for times in (theirs, ours))
                print(f"  {n} tokens: {took} ms, ratio {ratio:.1f}")


if __name__ == "__main__":
    main()
