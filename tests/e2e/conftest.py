"""A reader in a real browser. Every visit fails on a request to another host and on an error in the console."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from alone import kept_window, own_page, show
from drawn import Picture

PICTURE = ".headscope[data-record]"
SCREEN = {"width": 1280, "height": 900}
CALLS = count(1)

# Notes what the page and the server say to each other, as protobuf: 0x5a opens a message that asks for a run of the
# script; 0x22 opens "a run begins", 0x30 "it is over", with 2 after it if it stops because another was asked for; 0x0a
# and 0x12 may stand before these. The end of a run that was under way when the next was asked for is not the end of
# that one. A new tab starts with nothing stored.
LISTEN = """
(() => {
  if (!location.protocol.startsWith("http")) return;
  if (!sessionStorage.getItem("opened")) localStorage.clear();
  sessionStorage.setItem("opened", "yes");
  if (!location.hash) localStorage.setItem("headscope-visited", "1");  // a visit to "/#first" is a browser's first
  const talk = (window.talk = { begun: false, over: false, last: 0, call: 0, asked: 0 });
  const note = () => { talk.last = performance.now(); };
  new MutationObserver(note).observe(document, { childList: true, subtree: true, characterData: true });
  function heard(bytes) {
    let i = 0;
    while (bytes[i] === 0x0a || bytes[i] === 0x12) {
      let length = 0, shift = 0;
      do { i += 1; length |= (bytes[i] & 0x7f) << shift; shift += 7; } while (bytes[i] & 0x80);
      i += length + 1;
    }
    if (bytes[i] === 0x22) Object.assign(talk, { begun: true, over: false });
    if (bytes[i] === 0x30 && bytes[i + 1] !== 2) talk.over = talk.begun;
  }
  window.WebSocket = class extends window.WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        note();
        heard(new Uint8Array(data));
      });
    }
    send(data) {
      note();
      if (data[0] === 0x5a) {
        Object.assign(talk, { begun: false, over: false });
        talk.asked += 1;
      }
      super.send(data);
    }
  };
})();
"""
# The run that was asked for last is over, the component has told the server what was chosen in it, and for a tenth of a
# second nobody spoke and nothing on the page changed.
SETTLED = """
(call) => {
  const talk = window.talk, now = performance.now();
  if (!talk || !document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]")) return false;
  if (talk.call !== call) Object.assign(talk, { call, last: now });
  return talk.over && !window.headscope?.untold && now - talk.last > 100;
}
"""
# As who goes on outside of the picture: what is chosen in it need not be told before.
TOLD = "globalThis.headscope?.mounted.forEach((entry) => entry.untold && headscope.tell(entry))"
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass
class Visit:
    """One page in one browser tab, with what went wrong in it."""

    page: Any
    base: str
    errors: list[str] = field(default_factory=list)
    flying: set[Any] = field(default_factory=set)  # requests under way: a part of Streamlit, a font

    def open(self, path: str = "/") -> "Visit":
        self.page.goto(self.base + path)
        return self.settled()

    def settled(self) -> "Visit":
        """Have Python told what is chosen, and wait until the script is done and the page has drawn it."""
        self.page.evaluate(TOLD)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.page.wait_for_function(SETTLED, arg=next(CALLS), timeout=60_000, polling=25)
            self.page.evaluate(PAINTED)
            if not self.flying:
                return self
        pytest.fail(f"still on the way: {[request.url for request in self.flying]}")

    def asked(self, request: Any) -> None:
        self.flying.add(request)
        if not is_ours(request.url, self.base):
            self.errors.append(f"asked {request.url}")

    def answered(self, request: Any) -> None:
        self.flying.discard(request)

    def drawn(self) -> "Visit":
        self.page.wait_for_selector(PICTURE, timeout=30_000)
        return self.settled()

    def type(self, text: str, label: str = "Your sentence") -> "Visit":
        self.page.get_by_label(label, exact=True).fill(text)
        self.page.get_by_label(label, exact=True).press("Enter")
        return self.settled()

    def said(self) -> str:
        """The computed sentence under the picture."""
        return self.page.locator("p.inwords").first.get_attribute("data-said")

    def word(self, text: str) -> Any:
        return self.page.get_by_label("word by word").get_by_role("button", name=text, exact=True).first

    def head(self, name: str) -> Any:
        return self.page.get_by_role("gridcell", name=re.compile(rf"^Head {name}[:,]"))


@pytest.fixture
def tab(chromium) -> Iterator[Any]:
    """An empty page without a network; what goes wrong on it fails the test."""
    with own_page(chromium) as page:
        yield page


@pytest.fixture
def draw(chromium, tmp_path) -> Iterator[Callable[..., Picture]]:
    """`draw(html, scheme)`: a picture in a tab of its own, without motion and without a network."""
    with ExitStack() as tabs:
        yield lambda content, scheme="light": Picture(
            show(tabs.enter_context(own_page(chromium, scheme)), content, tmp_path)
        )


def is_ours(url: str, base: str) -> bool:
    return url.startswith((base, base.replace("http", "ws", 1), "data:", "blob:", "about:"))


@pytest.fixture(scope="session")
def kept_context(chromium) -> Any:
    """One browser profile for all tabs, so that Streamlit's own scripts are read and compiled once."""
    return kept_window(chromium, viewport=SCREEN)


@pytest.fixture
def visit(chromium, kept_context, app_server, fresh_server) -> Iterator[Callable[..., Visit]]:
    """`visit(path)`: a new tab on the shared server, or on `server=` another one.

    `viewport`, `color_scheme` and `reduced_motion` are the tab's; any other option of Playwright's contexts makes a
    profile of its own. It asks for `fresh_server` so that tabs are closed before their server is.
    """
    contexts, visits = [], []

    def start(
        path: str = "/",
        server: Any = app_server,
        viewport: Any = SCREEN,
        color_scheme: Any = "light",
        reduced_motion: Any = "no-preference",
        **options: Any,
    ) -> Visit:
        context = kept_context
        if options:
            contexts.append(context := chromium.new_context(**options))
        context.clear_cookies()
        page = context.new_page()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        page.add_init_script(LISTEN)
        tab = Visit(page, server.url)
        visits.append(tab)
        page.on("request", tab.asked)
        page.on("requestfinished", tab.answered)
        page.on("requestfailed", tab.answered)
        page.on("pageerror", lambda problem: tab.errors.append(f"threw {problem}"))
        page.on("console", lambda line: note(tab, line))
        return tab.open(path)

    yield start
    for tab in visits:
        tab.page.close()
    for context in contexts:
        context.close()
    assert not [problem for tab in visits for problem in tab.errors]


def note(tab: Visit, line: Any) -> None:
    if line.type != "error":
        return
    tab.errors.append(f"said {line.text[:300]} {line.location.get('url', '')}")
