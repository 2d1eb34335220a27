"""The README's pictures, taken from the running app: `make picture` writes them into assets/readme."""

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from PIL import Image  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from tests.conftest import CHROMIUM_ARGS, find_chromium, start_app  # noqa: E402

VIEWS = {
    "explore.png": ("/", 1280, 1130, "light"),
    "compare.png": ("/compare", 1280, 1000, "dark"),
}
SECONDS = 16  # of a first visit, in which "tired" becomes "wide" and "tired" again
WAY = {"x": 20, "y": 60, "width": 1060, "height": 440}


def moving(page: Any) -> bytes:
    """Film a first visit as an animated WebP."""
    frames, times, start = [], [], time.monotonic()
    while time.monotonic() < start + SECONDS:
        times.append(time.monotonic())
        frames.append(Image.open(io.BytesIO(page.screenshot(clip=WAY))).convert("RGB"))
    lasting = [int(1000 * (b - a)) for a, b in zip(times, [*times[1:], time.monotonic()], strict=True)]
    out = io.BytesIO()
    frames[0].save(
        out, "webp", save_all=True, append_images=frames[1:], duration=lasting, loop=0, quality=70, method=4
    )
    return out.getvalue()


def main() -> None:
    """Start the app, open each view, keep its picture."""
    target = ROOT / "assets" / "readme"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start_app(Path(folder) / "server.log")
        chromium = find_chromium(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
            page.goto(server.url)
            page.wait_for_selector(".headscope[data-arrived-ms]", timeout=120_000)
            (target / "first-visit.webp").write_bytes(moving(page))
            page.close()
            for name, (path, width, height, scheme) in VIEWS.items():
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.goto(server.url + path)
                page.wait_for_selector(".headscope[data-arrived-ms]", timeout=120_000)
                page.wait_for_timeout(2500)  # the arcs' 150 ms and the fonts
                page.screenshot(path=target / name)
                page.close()
                print(target / name)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
