"""The README's pictures, taken from the running app: `make picture` writes them into assets/readme."""

import io
import time
from typing import Any

from PIL import Image
from served import DRAWN, ROOT, chromium, running_app

VIEWS = {
    "explore.png": ("/", 1280, 1130, "light"),
    "compare.png": ("/compare", 1280, 1000, "dark"),
}
SECONDS = 16  # of a first visit, in which "tired" becomes "wide" and "tired" again
FRAME = {"x": 20, "y": 60, "width": 1060, "height": 440}


def film(page: Any) -> bytes:
    """Film a first visit as an animated WebP."""
    frames, times, start = [], [], time.monotonic()
    while time.monotonic() < start + SECONDS:
        times.append(time.monotonic())
        frames.append(Image.open(io.BytesIO(page.screenshot(clip=FRAME))).convert("RGB"))
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
    with running_app() as app, chromium() as browser:

        def opened(path: str, width: int, height: int, scheme: str) -> Any:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(app.url + path)
            page.wait_for_selector(DRAWN, timeout=120_000)
            return page

        (target / "first-visit.webp").write_bytes(film(opened("", 1280, 800, "light")))
        for name, view in VIEWS.items():
            page = opened(*view)
            page.wait_for_timeout(2500)  # the arcs' 150 ms and the fonts
            page.screenshot(path=target / name)
            print(target / name)


if __name__ == "__main__":
    main()
