"""The page without a server in headless Chromium: how far from the engine, and how long against it.

All built-in sentences by both models, then texts of 16, 64 and 128 tokens, the engine on one thread in turn with the
browser.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

import torch  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

import mha_core  # noqa: E402
from tests.conftest import CHROMIUM_ARGS, HEADLESS_SHELL, find_chromium  # noqa: E402
from tests.test_static_numbers import SENTENCES, ask, build, difference, opened  # noqa: E402

MODELS = {"minilm": "minilm", "toy": "classroom"}
ROUNDS = 9


def main() -> None:
    """Print a line for loading, one for exactness and one a length, for each model."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = build(Path(folder) / "site")
        chromium = find_chromium(playwright.chromium.executable_path, HEADLESS_SHELL)
        with opened(playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS), site) as (
            page,
            _,
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
                    medians = [statistics.median(times) for times in (theirs, ours)]
                    print(
                        f"  {n} tokens: {medians[0]:.0f} ms, the engine {medians[1]:.0f} ms, ratio {ratio:.1f}"
                    )


if __name__ == "__main__":
    main()
