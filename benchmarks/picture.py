"""The README's picture, taken from the running app: `make picture` writes assets/readme/explore.png."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.conftest import CHROMIUM_ARGS, find_chromium, start_app  # noqa: E402

VIEWS = {
    "explore.png": ("/", 1280, 1130, "light"),
    "compare.png": ("/compare", 1280, 1000, "dark"),
}


def main() -> None:
    """Start the app, open each view, keep its picture."""
    target = ROOT / "assets" / "readme"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start_app(Path(folder) / "server.log")
        chromium = find_chromium(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        try:
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
