"""Trials of readers: many with long texts, a server that starts anew under them, tabs, links."""

import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from house import Outcome, Reader, folder, sentence, server, together, wait_until

from benchmarks.wire import highest, megabytes, visit
from mha_core.reader import read_reader
from tests.conftest import AppServer, find_chromium, start_app, unused_port

SESSIONS, TEXTS = 60, 500
WORDS = 100  # about 128 tokens
LINK = {
    "text": "The animal didn't cross the street because it was too tired.",
    "unit": "words",
    "head": "4-2",
}
MORE_LINKS: tuple[tuple[str, dict[str, str]], ...] = (
    ("", {**LINK, "specials": "renormalised", "pin": "8", "to": "2"}),
    ("compare", {**LINK, "against": "untrained"}),
    ("inside", LINK),
)


def fault_5() -> Outcome:
    """60 pages with texts of some 128 tokens open, and 500 other texts, on a server that keeps 200 MB of them."""
    words = [word for passage in read_reader() for word in passage.text.split()]

    def text(number: int) -> str:
        start = 83 * number % (len(words) - WORDS)
        return f"{number} " + " ".join(words[start : start + WORDS])

    with folder() as place, server(place, HEADSCOPE_STORE_MB="200") as app, ExitStack() as stack:
        before = megabytes(app.process.pid)
        with highest(app.process.pid) as most:
            readers = [stack.enter_context(Reader(app)) for _ in range(SESSIONS)]
            together(lambda i: readers[i].run(), SESSIONS)
            start, n = time.monotonic(), SESSIONS + TEXTS

            def type_some(i: int) -> int:
                mine = range(i, n, SESSIONS)
                return sum(readers[i].run(text(k)).shows(text(k)) for k in mine)

            good = sum(together(type_some, SESSIONS))
            took, high = time.monotonic() - start, most()
        alive = app.healthy()
    return Outcome(
        good == n and alive and high <= 900,
        f"{good}/{n} answered in {took:.0f} s; memory {before} MB, {high} MB at most",
    )


def restarted(how: int, within: float) -> Outcome:
    """30 readers, the server ended and started anew on its port, and what each types first afterwards."""
    with folder() as place, ExitStack() as stack:
        port = unused_port()
        app = start_app(place / "first.log", port=port)
        readers = [Reader(app) for _ in range(30)]
        with ExitStack() as open_pages:
            for reader in readers:
                open_pages.enter_context(reader)
            together(lambda i: readers[i].run(sentence("before", i)), 30)
            ended = time.monotonic()
            if how == signal.SIGKILL:
                app.stop(grace=0)
            else:
                app.stop()
        app.process.wait()
        stopped = time.monotonic() - ended
        again = stack.enter_context(server(place, port=port))
        ready = time.monotonic()

        def first_typed(i: int) -> bool:
            text = sentence("after", i)
            readers[i].app = again
            with readers[i] as reader:
                return reader.run(text).shows(text)

        good = sum(together(first_typed, 30))
        done = time.monotonic()
    return Outcome(
        good == 30 and done - ready <= within,
        f"{good}/30 first sentences shown, the last {done - ready:.1f} s after the new process was ready "
        f"({done - ended:.1f} s after the signal, of which {stopped:.1f} s to stop and "
        f"{ready - ended - stopped:.1f} s to start)",
    )


def fault_6() -> Outcome:
    """SIGTERM and a new process under 30 readers."""
    return restarted(signal.SIGTERM, within=10)


def fault_7() -> Outcome:
    """SIGKILL and a new process under 30 readers."""
    return restarted(signal.SIGKILL, within=20)


def fault_8() -> Outcome:
    """Two tabs of one browser, and one of them duplicated."""
    from playwright.sync_api import sync_playwright

    with folder() as place, server(place) as app, sync_playwright() as playwright:
        executable = find_chromium(playwright.chromium.executable_path)
        if executable is None:
            return Outcome(False, "not tried: there is no Chromium here")
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context()
        tabs = [context.new_page(), context.new_page()]
        for number, tab in enumerate(tabs):
            tab.goto(f"{app.url}/?text=Tab+{number}+is+here.")
            settled(tab)
        with context.expect_page() as opened:  # as "Duplicate" does: with what the tab had stored
            tabs[0].evaluate("window.open(location.href)")
        tabs.append(opened.value)
        settled(tabs[2])
        texts = [f"The {word} tab has a sentence of its own." for word in ("first", "second", "third")]
        for tab, text in zip(tabs, texts, strict=True):
            box = tab.get_by_label("Sentence", exact=True).or_(tab.locator("input[type=text]")).first
            box.fill(text)
            box.press("Enter")
        good = 0
        for tab, text in zip(tabs, texts, strict=True):
            tab.wait_for_function(
                "text => decodeURIComponent(location.search.replaceAll('+', ' ')).includes(text)", arg=text
            )
            settled(tab)
            shown = tab.locator("input[type=text]").first.input_value()
            good += shown == text and all(other == text or other not in tab.content() for other in texts)
        browser.close()
    return Outcome(good == 3, f"{good} of 3 tabs keep their own sentence, address and picture")


def settled(tab: Any) -> None:
    """Wait until the page's run is over."""
    tab.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)


def pictures(app: AppServer) -> list[list[tuple[str, bytes]]]:
    """What each link draws, component by component."""
    found = []
    for page, query in MORE_LINKS:
        parts = [answer.delta.new_element.bidi_component for answer in visit(app.url, page, **query)]
        found.append([
            (part.component_name, part.json.encode() or part.bytes or part.mixed.SerializeToString(deterministic=True))
            for part in parts
            if part.component_name
        ])  # fmt: skip
    return found


def fault_10() -> Outcome:
    """Links opened before and after two restarts."""
    with folder() as place:
        port, seen = unused_port(), []
        for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
            app = start_app(Path(place) / "log", port=port)
            wait_until(lambda app=app: app.get("/ready")[2] == "ready")  # type: ignore[misc]
            seen.append(pictures(app))
            app.stop(grace=0 if how == signal.SIGKILL else 10)
    same = sum(seen[0][i] == seen[1][i] == seen[2][i] for i in range(len(MORE_LINKS)))
    parts = sum(map(len, seen[0]))
    size = sum(len(content) for one in seen[0] for _, content in one)
    return Outcome(
        same == len(MORE_LINKS) and parts >= len(MORE_LINKS),
        f"{same} of {len(MORE_LINKS)} links give the same data to the byte ({parts} components, {size / 1e6:.1f} MB)",
    )
