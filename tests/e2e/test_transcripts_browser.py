"""What a browser draws and says aloud of pages is what it drew and said when they were last read (transcripts.py)."""

import re
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest
from test_transcripts import DOG, MARY, hold
from transcripts import flat
from visit import TIRED, WIDE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(
        sys.platform != "linux", reason="places and shades are kept as Chromium on Linux has them"
    ),
]

SHAPES = (Path(__file__).parent / "shapes.js").read_text(encoding="utf-8")
# Not the heads' jobs: what stands there depends on what others have asked the same server before.
PAGES = {
    "explore": ("/", {"text": TIRED, "head": "4-2", "pin": "10"}),
    "explore two": (
        "/",
        {"text": DOG, "head": "3-5", "pin": "5,2", "unit": "words", "specials": "hidden", "to": "1"},
    ),
    "explore pair": (
        "/",
        {"text": "Maria gave the book to her sister.", "pair": "She had read it.", "head": "2-3", "pin": "3"},
    ),
    "explore value": ("/", {"text": TIRED, "head": "4-2", "pin": "10", "measure": "value"}),
    "explore rollout": ("/", {"text": DOG, "pin": "6", "measure": "rollout"}),
    "explore moment": ("/", {"model": "classroom", "text": WIDE, "head": "2-1", "pin": "7", "moment": "400"}),
    "explore decoder": ("/", {"model": "smollm2", "text": MARY, "head": "14-9", "pin": "10"}),
    "compare": ("/compare", {"text": TIRED, "text2": WIDE, "head": "4-2", "pin": "10", "to": "2"}),
    "compare lengths": (
        "/compare",
        {"text": DOG, "text2": "The dog barked because the big one saw a cat.", "head": "2-4", "pin": "4"},
    ),
    "compare weights": ("/compare", {"text": TIRED, "against": "weights", "head": "3-3", "pin": "6"}),
    "compare models": ("/compare", {"text": TIRED, "against": "model", "model2": "classroom", "pin": "10"}),
    "atlas": ("/atlas", {"head": "4-2"}),
    "atlas colour": ("/atlas", {"head": "3-9", "x": "entropy", "colour": "layer"}),
    "switch": ("/experiment", {"model": "minilm", "text": TIRED, "off": "6-6,2-3"}),
    "switch decoder": ("/experiment", {"text": MARY, "off": "14-9,3-1", "set": "2"}),
    "decided": (
        "/experiment",
        {"model": "minilm", "text": TIRED, "try": "Where is it decided?", "from": WIDE},
    ),
    "ready": ("/experiment", {"try": "Ready-made", "ready": "six"}),
    **{
        f"inside {at}": ("/inside", {"text": TIRED, "head": "4-2", "pin": "10", "at": at, "matrices": "true"})
        for at in ("sentence", "qkv", "scores", "weights", "z", "row", "output", "parts")
    },
    "by hand": ("/inside", {"part": "By hand", "at": "scores"}),
    "many": ("/inside", {"part": "One head or many", "text": TIRED, "head": "4-2", "pin": "10"}),
    "variants": ("/inside", {"part": "Variants", "text": TIRED, "head": "4-2", "groups": "4"}),
    "sizes": ("/inside", {"part": "Sizes and costs"}),
    **{
        f"lesson {step}": ("/learn", {"text": TIRED, "head": "4-2", "pin": "10", "step": step})
        for step in ("budget", "rows", "asking", "softmax", "split", "tells")
    },
    "training": ("/training", {"train": "Where does it look?"}),
}
SAVED = ("explore", "explore two", "explore decoder", "compare", "compare lengths", "compare models")


def drawn(tab, when: str) -> list[str]:
    said = tab.page.locator("[data-testid=stMain]").aria_snapshot()
    return [
        f"== {when}",
        *(line.replace(tab.base, "") for line in [*said.splitlines(), *tab.page.evaluate(SHAPES)]),
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_browser_draws_and_says_what_it_did(name, visit):
    path, query = PAGES[name]
    tab = visit(f"{path}?{urlencode(query)}").settled()
    tab.page.wait_for_timeout(300)
    found = drawn(tab, "opened")
    fields = tab.page.locator("canvas:visible, [role=grid]:visible, [role=radiogroup]:visible [tabindex='0']")
    for i in range(min(fields.count(), 2)):
        box = fields.nth(i).bounding_box()
        if box:
            tab.page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.6 * box["height"])
            found += [line for line in drawn(tab, f"pointed at {i}") if line not in found]
    if name in SAVED:
        found += saved(tab)
    hold(f"browser {name}", found)


def saved(tab) -> list[str]:
    """What the entries of the menu "Save" save; the PDF goes through the print dialog, and has tests of its own."""
    lines = []
    for kind in ("SVG", "CSV", "JSON"):
        tab.page.get_by_role("button", name="Save", exact=True).first.click()
        with tab.page.expect_download() as waiting:
            tab.page.get_by_role("menuitem", name=re.compile(kind)).click()
        content = waiting.value.path().read_text(encoding="utf-8").replace(tab.base, "")
        lines += flat({"name": waiting.value.suggested_filename, "content": content}, f"saved {kind}")
    return lines
