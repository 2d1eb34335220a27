"""A stranger in front of the app: a browser, and what a person can see and press.

Nothing here knows how the app is made. Pages are opened by their address; parts are found by role and label.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from running import AppServer

DESKTOP = {"width": 1280, "height": 800}
IDLE = "[data-testid=stApp][data-test-script-state=notRunning], #files"  # or the page without a server
# For how long nothing on the page changed, in steps of 50 ms: Streamlit says that a run is over before the browser has
# drawn what came of it. A clock would go on while the browser has no time to draw; these steps do not.
WATCH = """
(() => {
  if (location.protocol.startsWith("http") && !sessionStorage.getItem("opened")) localStorage.clear();
  if (location.protocol.startsWith("http")) sessionStorage.setItem("opened", "yes");
  window.calm = 0;
  setInterval(() => { window.calm += 1; }, 50);
  const watcher = new MutationObserver(() => { window.calm = 0; });
  const watch = (root) => watcher.observe(root, { childList: true, subtree: true, characterData: true });
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {  // pictures are drawn in roots of their own
    const root = attach.call(this, options);
    watch(root);
    return root;
  };
  watch(document);
})();
"""
QUIET = f"""() => document.querySelector("{IDLE}") && window.calm > 5"""


@dataclass
class Reader:
    """One person with one tab; `errors` is what no person should meet."""

    page: Any
    base: str
    errors: list[str] = field(default_factory=list)
    flying: set[Any] = field(default_factory=set)
    arrived: int = 0
    n_runs: int = 0  # of the page's script, that its browser asked for

    def open(self, address: str = "/") -> "Reader":
        self.page.goto(self.base + address)
        # Before its first run Streamlit may say for a while that none is under way.
        self.page.get_by_role("heading", level=1).first.wait_for(state="attached", timeout=60_000)
        return self.settled()

    def settled(self) -> "Reader":
        """Wait until no run is under way, nothing is on its way to the browser, and the page stands still."""
        deadline, arrived = time.monotonic() + 60, self.arrived
        while time.monotonic() < deadline:
            self.page.wait_for_function(QUIET, timeout=60_000, polling=50)
            if not self.flying and self.arrived == arrived:
                return self
            arrived = self.arrived
            self.page.evaluate("window.calm = 0")  # what has arrived meanwhile may yet be drawn
        pytest.fail(f"still on the way: {[request.url for request in self.flying]}")

    def type(self, text: str, label: str = "Your sentence") -> "Reader":
        box = self.page.get_by_label(label, exact=True)
        box.fill(text)
        box.press("Enter")
        return self.settled()

    def reads(self, text: str) -> "Reader":
        """Wait until this stands with the sentence in the picture."""
        sentence = self.page.get_by_role("region", name=re.compile("entence"))
        sentence.filter(has_text=re.compile(text)).wait_for(timeout=120_000)
        return self

    def reaches(self, parts: Any, key: str = "Tab") -> None:
        """Press a key until the focus is on one of these."""
        for _ in range(40):
            self.page.keyboard.press(key)
            if parts.and_(self.page.locator(":focus")).count():
                return
        pytest.fail(f"{key} does not lead there")

    def word(self, text: str) -> Any:
        """A word of the sentence in the picture, to press or to point at."""
        return self.page.get_by_label("word by word").get_by_role("button", name=text, exact=True).first

    def head(self, name: str) -> Any:
        """A small head in the picture of all heads, such as 4-2."""
        return self.page.get_by_role("gridcell", name=re.compile(f"^Head {name}[:,]"))


@pytest.fixture(scope="session")
def app(app_server: AppServer) -> AppServer:
    """The app as `make run` starts it; shared by the tests of this process."""
    return app_server


@pytest.fixture(scope="session")
def profile(chromium) -> Any:
    """One browser profile for most people, in which Streamlit's own scripts are fetched and compiled once."""
    return opened_profile(chromium)


def opened_profile(chromium: Any, **options: Any) -> Any:
    context = chromium.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
    context.add_init_script(WATCH)
    return context


@pytest.fixture
def reader(chromium, profile, app) -> Iterator[Callable[..., Reader]]:
    """`reader(address, viewport=..., color_scheme=...)`: a person with a new tab, on `server=` another app; any other
    option of Playwright's contexts, or `fresh=True`, gives a browser profile of one's own. At the end no one may have
    met an error in the console, or made the browser ask another host."""
    closing, readers = [], []

    def start(
        address: str | None = "/",
        server: AppServer | None = None,
        viewport: Any = DESKTOP,
        color_scheme: Any = "light",
        reduced_motion: Any = "reduce",
        fresh: bool = False,
        **options: Any,
    ) -> Reader:
        context = opened_profile(chromium, **options) if fresh or options else profile
        page = context.new_page()
        closing.append(page if context is profile else context)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        person = Reader(page, (server or app).url)
        readers.append(person)
        listen(person)
        return person if address is None else person.open(address)

    yield start
    for one in closing:
        one.close()
    assert not [problem for person in readers for problem in person.errors]


def listen(person: Reader) -> None:
    """Note every error in the console, every request to another host, and every run that is asked for."""

    def asked(request: Any) -> None:
        person.flying.add(request)
        ours = (person.base, person.base.replace("http", "ws", 1), "data:", "blob:", "about:", "file:")
        if not request.url.startswith(ours):
            person.errors.append(f"asked {request.url}")

    def answered(request: Any) -> None:
        person.flying.discard(request)
        person.arrived += 1

    def said(line: Any) -> None:
        if line.type == "error":
            person.errors.append(f"said {line.text[:300]} {line.location.get('url', '')}")

    def sent(message: bytes | str) -> None:
        person.n_runs += message[:1] == b"\x5a"  # as protobuf, a message that asks for a run begins so

    person.page.on("request", asked)
    person.page.on("requestfinished", answered)
    person.page.on("requestfailed", answered)
    person.page.on("pageerror", lambda problem: person.errors.append(f"threw {problem}"))
    person.page.on("console", said)
    person.page.on("websocket", lambda socket: socket.on("framesent", sent))
