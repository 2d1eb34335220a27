"""Another reader's new sentence while somebody's long work goes on: calm and beside it, in one run.

    python benchmarks/beside.py [atlas experiment training classroom ...] [--visits 20]

A browser starts the work (the reader's own text of 5,000 words read by SmolLM2, the map of every head of SmolLM2, a
live training). Meanwhile another reader makes fresh visits with new sentences on the embedded encoder, as in load.py.
The ratio is what they wait beside the work over what they wait without; for the atlas also the seconds until its
first moments and its end, and from a click on a head until that head's page is drawn.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from benchmarks.wire import wait_for  # noqa: E402
from mha_core.reader import read_reader  # noqa: E402
from tests.conftest import CHROMIUM_ARGS, AppServer, find_chromium, start_app  # noqa: E402

WORDS = 5_000
READY = "[data-testid=stApp][data-test-script-state=notRunning]"
DONE = "text=/Done: [0-9,]+ passages/"


def text_of(words: int) -> str:
    """That many words of the project's reader, again from its start if they do not suffice."""
    lines: list[str] = []
    while sum(map(len, map(str.split, lines))) < words:
        lines += [one.text for one in read_reader()]
    kept, count = list[str](), 0
    for line in lines:
        kept.append(line)
        count += len(line.split())
        if count >= words:
            break
    return "\n".join(kept)


def atlas(page: Page, url: str) -> None:
    """The reader's own text through SmolLM2."""
    page.goto(f"{url}/atlas?model=smollm2")
    page.wait_for_selector(READY, timeout=120_000)
    page.get_by_label("Your text", exact=True).fill(text_of(WORDS))
    page.get_by_label("Your text", exact=True).press("Control+Enter")
    page.wait_for_selector("text=so far:", timeout=120_000)


def experiment(page: Page, url: str) -> None:
    """Every head of SmolLM2 taken away in turn."""
    page.goto(f"{url}/experiment?model=smollm2&try=Which heads matter here?")
    page.wait_for_selector(READY, timeout=120_000)
    page.get_by_role("button", name="Try every head").click()
    page.wait_for_selector("text=/heads tried/", timeout=120_000)


def training(page: Page, url: str) -> None:
    """One layer and two learn induction."""
    page.goto(f"{url}/training?train=induction&limit=4000")
    page.wait_for_selector(READY, timeout=120_000)
    page.get_by_role("button", name="Start").first.click()
    page.wait_for_selector("text=Training …", timeout=120_000)


def classroom(page: Page, url: str) -> None:
    """The classroom's model learns."""
    page.goto(f"{url}/training?train={quote('Where does it look?')}")
    page.wait_for_selector(READY, timeout=120_000)
    page.get_by_role("button", name="Start").first.click()
    page.wait_for_selector("text=Training …", timeout=120_000)


WORK: dict[str, Callable[[Page, str], None]] = {
    "atlas": atlas,
    "experiment": experiment,
    "training": training,
    "classroom": classroom,
}


def waits(app: AppServer, n: int, tag: str) -> list[float]:
    """Seconds of n fresh visits, each with a sentence nobody has asked for."""
    found = []
    for i in range(n):
        start = time.perf_counter()
        wait_for(app.url, text=f"The reader number {i} of the {tag} was asked because it was new.")
        found.append(time.perf_counter() - start)
    return found


def said(seconds: list[float]) -> str:
    """Median and 95th percentile."""
    ordered = sorted(seconds)
    late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"{statistics.median(ordered):.2f} s (95 %: {late:.2f} s)"


def click_to_head(page: Page, url: str, n: int = 10) -> list[float]:
    """Seconds from a press on a head's point until that head's page is drawn, on the shipped atlas of SmolLM2."""
    page.goto(f"{url}/atlas?model=smollm2")
    page.wait_for_selector(".atlas .dot", timeout=120_000)
    page.wait_for_selector(READY)
    found = []
    for i in range(n):
        name = page.locator(".atlas .dot").nth(20 + 9 * i).get_attribute("data-id")
        start = time.perf_counter()
        page.locator(f'.atlas .dot[data-id="{name}"]').dispatch_event("click")
        page.wait_for_selector(f"text=Head {name}:", timeout=30_000)
        found.append(time.perf_counter() - start)
        page.wait_for_selector(READY)
    return found


def main() -> None:
    """Start the app for every kind of work anew; print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", nargs="*", choices=[*WORK, []], default=[*WORK])
    parser.add_argument("--visits", type=int, default=20)
    options = parser.parse_args()
    print("| work | calm | beside it | ratio of medians |\n|---|---|---|---|")
    for name in options.work:
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            app = start_app(Path(folder) / "server.log")
            chromium = find_chromium(playwright.chromium.executable_path)
            browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            try:
                wait_for(app.url, text="The first visit pays for what is made once.")
                calm = waits(app, options.visits, "calm")
                clicks = click_to_head(page, app.url) if name == "atlas" else []
                began = time.perf_counter()
                WORK[name](page, app.url)
                first = time.perf_counter() - began
                beside = waits(app, options.visits, name)
                ratio = statistics.median(beside) / statistics.median(calm)
                print(f"| {name} | {said(calm)} | {said(beside)} | {ratio:.2f} |", flush=True)
                if name == "atlas":
                    page.wait_for_selector(DONE, timeout=300_000)
                    print(
                        f"\nFirst moments after {first:.1f} s with the page's load, all after "
                        f"{time.perf_counter() - began:.0f} s; a head's page {said(clicks)} after the click.\n"
                    )
            finally:
                browser.close()
                app.stop()


if __name__ == "__main__":
    main()
