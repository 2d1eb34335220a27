"""A reader in a real browser. Every visit fails on a request to another host and on an error in the console."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

READY = "[data-testid=stApp][data-test-script-state=notRunning]"
PICTURE = ".headscope[data-record]"


@dataclass
class Visit:
    """One page in one browser tab, with what went wrong in it."""

    page: Any
    base: str
    errors: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> "Visit":
        self.page.goto(self.base + path)
        return self.settled()

    def settled(self) -> "Visit":
        """Wait until the script is done and the page has drawn it."""
        self.page.wait_for_timeout(120)
        self.page.wait_for_selector(READY, timeout=60_000)
        self.page.wait_for_timeout(250)
        return self

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
        return self.page.get_by_role("gridcell", name=f"Head {name}:")


def is_ours(url: str, base: str) -> bool:
    return url.startswith((base, base.replace("http", "ws", 1), "data:", "blob:", "about:"))


@pytest.fixture
def visit(chromium, app_server, fresh_server) -> Iterator[Callable[..., Visit]]:
    """`visit(path, **context)`: a new tab on the shared server, or on `server=` another one.

    It asks for `fresh_server` so that tabs are closed before their server is.
    """
    contexts, visits = [], []

    def start(path: str = "/", server: Any = app_server, **options: Any) -> Visit:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        tab = Visit(page, server.url)
        visits.append(tab)
        page.on("request", lambda r: is_ours(r.url, server.url) or tab.errors.append(f"asked {r.url}"))
        page.on("pageerror", lambda problem: tab.errors.append(f"threw {problem}"))
        page.on("console", lambda line: note(tab, line))
        return tab.open(path)

    yield start
    for context in contexts:
        context.close()
    assert not [problem for tab in visits for problem in tab.errors]


def note(tab: Visit, line: Any) -> None:
    if line.type != "error":
        return
    # On a deep link Streamlit looks for its core under the page's own path first, and takes the 404 for a no.
    if "404" in line.text and "/_stcore/" in line.location.get("url", ""):
        return
    tab.errors.append(f"said {line.text[:300]} {line.location.get('url', '')}")
