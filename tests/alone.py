"""The browser's side without the app: a picture in a page of its own, with weights made by hand.

In: two grids, or blocks with their numbers. Out: an open page on which the code that ships has drawn them.
"""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mha_core.draw.bundle import bundle, style

DRAW = """async ({ source, style, data }) => {
  const draw = (await import(`data:text/javascript;base64,${source}`)).default;
  const host = document.createElement("div");
  document.body.append(Object.assign(document.createElement("style"), { textContent: style }), host);
  const told = (globalThis.told = []);
  const tell = (name, value) => told.push([name, value]);
  draw({ data, parentElement: host, setStateValue: tell, setTriggerValue: tell });
}"""
FRAME = """<!doctype html><html lang="en"><meta charset="utf-8"><style>
:root { color-scheme: light dark; --st-background-color: #fbfaf7; --st-text-color: #1d1c1a; --st-primary-color: #a8400c;
  --st-border-color: #d8d4ca; --st-font: serif; }
@media (prefers-color-scheme: dark) { :root { --st-background-color: #151513; --st-text-color: #ecebe5; } }
body { margin: 0; background: var(--st-background-color); }</style><body></body></html>"""


def kept_window(chromium: Any, **options: Any) -> Any:
    """A browser profile whose window stays open: to open one takes longer than most of these tests do."""
    context = chromium.new_context(**options)
    context.new_page()
    return context


@cache
def _offline(chromium: Any, pixels: float) -> Any:
    return kept_window(chromium, offline=True, device_scale_factor=pixels)


@contextmanager
def new_tab(
    chromium: Any, scheme: str = "light", width: int = 1280, height: int = 1000, pixels: float = 1
) -> Iterator[Any]:
    """A tab without a network and without motion, on a screen with so many pixels to a point."""
    page = _offline(chromium, pixels).new_page()
    try:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        yield page
    finally:
        page.close()


@contextmanager
def own_page(chromium: Any, scheme: str = "light") -> Iterator[Any]:
    """An empty page; what goes wrong on it fails the test."""
    with new_tab(chromium, scheme) as page:
        wrong: list[str] = []
        page.on("pageerror", lambda problem: wrong.append(str(problem)))
        page.on("console", lambda line: line.type == "error" and wrong.append(line.text))
        yield page
    assert not wrong, wrong


def show(page: Any, content: str, folder: Path) -> Any:
    """Open a page that is one file, and wait until its picture is drawn."""
    file = folder / "picture.html"
    file.write_text(content, encoding="utf-8")
    page.goto(file.as_uri())
    page.wait_for_selector(".headscope[data-record]")
    page.evaluate("document.fonts.ready")
    page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")
    return page


def component(page: Any, name: str, **data: Any) -> Any:
    """Draw with one of the small components; what it tells the app is in `told(page)`."""
    page.set_content(FRAME)
    data = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in data.items()}
    encoded = base64.b64encode(bundle(name).encode()).decode()
    page.evaluate(DRAW, {"source": encoded, "style": style(name), "data": data})
    return page


def told(page: Any) -> list[list[Any]]:
    return page.evaluate("globalThis.told")
