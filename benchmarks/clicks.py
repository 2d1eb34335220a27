"""What a click in a picture asks of the server: messages from the browser, runs of the page, CPU and bytes.

    python benchmarks/clicks.py [--clicks 9] [--app OTHER/app.py ...] [--only Compare]

A reader in a browser opens a page, clicks on heads or words there, a second apart, and goes on to nothing else. Printed
are medians of a click: what the browser sent, runs, CPU of the script's thread and of the event loop, what came back.
With `--app` other checkouts are asked in turn, click by click. Clicks whose numbers the browser has send nothing until
what stands below the picture is seen; `benchmarks/steps.py` says what that costs then.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from benchmarks.steps import Server, closing_server  # noqa: E402
from tests.conftest import CHROMIUM_ARGS, find_chromium  # noqa: E402

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")
LONG = " ".join(["The quick brown fox jumps over the lazy dog while small birds sing."] * 8)
RERUN = 0x5A  # the first byte of a message that asks for a run
REST = 1000  # milliseconds from click to click
HEADS, WORDS = ".headscope [role=gridcell]", ".headscope [data-unit]"
COLUMNS = ".headscope [data-column]"
# Name, page, its link, what is clicked.
STEPS: tuple[tuple[str, str, dict[str, str], str], ...] = (
    ("Explore: a head", "", {"text": TIRED}, HEADS),
    ("Explore: a word", "", {"text": TIRED}, WORDS),
    ("Explore, value-weighted: a head", "", {"text": TIRED, "measure": "value"}, HEADS),
    ("Explore, what it brings: a head", "", {"text": TIRED, "brings": "1"}, HEADS),
    ("Explore, 122 tokens: a head", "", {"text": LONG}, HEADS),
    ("Compare: a head", "compare", {"text": TIRED, "text2": WIDE}, HEADS),
    ("Compare: a word", "compare", {"text": TIRED, "text2": WIDE}, COLUMNS),
    ("Compare: a tab", "compare", {"text": TIRED, "text2": WIDE}, ".headscope .tabs [aria-pressed=false]"),
    ("Compare, value-weighted: a head", "compare", {"text": TIRED, "measure": "value"}, HEADS),
    ("Compare, 122 tokens: a head", "compare", {"text": LONG, "text2": f"{LONG} Why?"}, HEADS),
    ("Heads: a head", "specialization", {}, ".head"),
    ("Atlas: a head", "atlas", {}, ".dot"),
    ("Experiment: a head", "experiment", {"text": TIRED}, ".headscope .all-heads button[aria-label^=Head]"),
    ("Inside: a token", "inside", {"text": TIRED}, "td.word[role=button], td.word"),
)


@dataclass
class Talk:
    """What went over a page's web sockets: messages that ask for a run, and bytes that came."""

    asked: int = 0
    came: int = 0

    def listen(self, page: Page) -> None:
        def sent(frame: str | bytes) -> None:
            self.asked += isinstance(frame, bytes) and frame[:1] == bytes([RERUN])

        def received(frame: str | bytes) -> None:
            self.came += len(frame)

        def both(socket: object) -> None:
            socket.on("framesent", sent)
            socket.on("framereceived", received)

        page.on("websocket", both)


class Tab:
    """A page of one checkout, and what it has cost."""

    def __init__(self, server: Server, page: Page) -> None:
        self.server, self.page, self.talk = server, page, Talk()
        self.talk.listen(page)

    def open(self, path: str, query: dict[str, str], target: str) -> None:
        """The page, and nobody speaks any more."""
        self.page.goto(f"{self.server.url}/{path}?{urlencode(query)}")
        self.page.wait_for_selector(target, timeout=120_000)
        before = -1
        while before != self.talk.asked + self.talk.came:
            before = self.talk.asked + self.talk.came
            self.page.wait_for_timeout(2 * REST)

    def click(self, target: str, number: int) -> dict[str, float]:
        """What one click costs until a second later."""
        found = self.page.locator(target)
        before, asked, came = self.server.meter(), self.talk.asked, self.talk.came
        found.nth(5 * number % found.count()).evaluate("cell => cell.click()")
        self.page.wait_for_timeout(REST)
        after = self.server.meter()
        cost = {name: 1e3 * (after[name] - before[name]) for name in ("script", "loop")}
        return {
            "messages": self.talk.asked - asked,
            "runs": after["runs"] - before["runs"],
            **cost,
            "bytes": self.talk.came - came,
        }


def rows(tabs: dict[str, Tab], clicks: int, only: str) -> Iterator[str]:
    """The table, line by line."""
    yield "| app | click | messages | runs | script | event loop | bytes back |"
    yield "|---|---|---|---|---|---|---|"
    for name, path, query, target in STEPS:
        if not name.startswith(only):
            continue
        costs: dict[str, list[dict[str, float]]] = {app: [] for app in tabs}
        for tab in tabs.values():
            tab.open(path, query, target)
        for number in range(1, clicks + 1):
            for app, tab in tabs.items():
                costs[app].append(tab.click(target, number))
        for app, found in costs.items():
            middle = {key: statistics.median(cost[key] for cost in found) for key in found[0]}
            yield (
                f"| {app} | {name} | {middle['messages']:.0f} | {middle['runs']:.0f} | {middle['script']:.1f} ms | "
                f"{middle['loop']:.1f} ms | {middle['bytes']:,.0f} |"
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clicks", type=int, default=9)
    parser.add_argument("--app", type=Path, nargs="*", default=[ROOT / "app.py"], help="checkouts to compare")
    parser.add_argument("--only", default="", help="how the names of the steps begin")
    options = parser.parse_args()
    with ExitStack() as opened:
        playwright = opened.enter_context(sync_playwright())
        chromium = find_chromium(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        opened.callback(browser.close)
        tabs = {}
        for app in options.app:
            server = opened.enter_context(closing_server(app.resolve()))
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            tabs[app.resolve().parent.name] = Tab(server, page)
        for line in rows(tabs, options.clicks, options.only):
            print(line, flush=True)


if __name__ == "__main__":
    main()
