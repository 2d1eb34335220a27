"""Experiment in a real browser: switches, undo and the link, and the map with progress and Stop."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pixels
import pytest
from mha_core.heads.ablation import ablate_each

from mha_core import predict_next
from mha_core.wording import percent

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
MARY = "When Mary and John went to the store, John gave a drink to"
MINILM = f"/experiment?model=minilm&text={quote(TIRED)}"
PATIENCE = 120_000


def head(tab, name):
    return tab.page.get_by_role("button", name=re.compile(rf"^Head {name}[,:.]"))


def off(tab):
    return parse_qs(urlsplit(tab.page.url).query).get("off", [""])[0]


def finding(tab):
    return tab.page.locator(".hs-finding").first.inner_text()


def wait_for_link(tab, heads):
    for _ in range(300):
        if off(tab) == heads:
            return tab.settled()
        tab.page.wait_for_timeout(100)
    pytest.fail(f"the link says {off(tab)!r}, not {heads!r}")
    return tab


def test_heads_are_switched_by_pointer_and_key_undone_and_kept_in_the_link(visit):
    tab = visit(MINILM).drawn()
    head(tab, "6-6").click()
    wait_for_link(tab, "6-6")
    assert finding(tab).startswith("Without 6-6 the text's embedding has cosine 0.99")
    assert head(tab, "6-6").get_attribute("aria-pressed") == "true"
    start, end = (head(tab, name).bounding_box() for name in ("2-3", "2-5"))
    tab.page.mouse.move(start["x"] + 5, start["y"] + 5)
    tab.page.mouse.down()
    tab.page.mouse.move(end["x"] + 5, end["y"] + 5, steps=12)
    tab.page.mouse.up()
    wait_for_link(tab, "2-3,2-4,2-5,6-6")
    assert finding(tab).startswith("Without these 4 heads")
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Space")
    focused = tab.page.evaluate("document.activeElement.shadowRoot.activeElement.ariaLabel")
    assert focused.startswith("Head 3-3")
    wait_for_link(tab, "2-3,2-4,2-5,3-3,6-6")
    tab.page.get_by_role("button", name="Undo", exact=True).click()
    wait_for_link(tab, "2-3,2-4,2-5,6-6")
    tab.page.get_by_role("button", name="1", exact=True).first.click()
    wait_for_link(tab, ",".join(f"1-{i}" for i in range(1, 13)) + ",2-3,2-4,2-5,6-6")
    tab.page.get_by_role("button", name="16 at random").click()
    while "6-6" in off(tab):
        tab.page.wait_for_timeout(100)
    tab.settled()
    assert len(off(tab).split(",")) == 16
    assert not set(off(tab).split(",")) & {"2-3", "2-4", "2-5", "6-6", "1-1"}
    tab.page.get_by_role("button", name="All as they were").click()
    wait_for_link(tab, "")
    assert tab.page.locator(".switch.off").count() == 0


@pytest.mark.slow
def test_every_head_in_turn_shows_its_progress_stops_goes_on_and_ends(visit, smollm2):
    tab = visit("/experiment?try=Which+matter%3F")
    tab.page.get_by_role("button", name="Try every head").click(timeout=PATIENCE)
    tab.page.get_by_role("button", name="Stop").click(timeout=PATIENCE)
    row = tab.page.locator(".st-key-progress-row-every")
    tab.page.get_by_role("button", name="Go on").wait_for(timeout=PATIENCE)
    stopped = int(re.search(r"Stopped after (\d+) of 270 heads", row.inner_text())[1])
    assert 0 <= stopped < 270
    tab.page.get_by_role("button", name="Go on").click()
    row.wait_for(state="detached", timeout=PATIENCE)
    tab.settled()
    tokens, away = smollm2.tokenizer.encode(MARY), np.ones((30, 9), np.float32)
    away[23, 3] = 0
    before, after = (
        {word.text: word.probability for word in predict_next(tokens, smollm2, k=2000, gates=g)}[" Mary"]
        for g in (None, away)
    )
    assert finding(tab).startswith(
        "Of 270 heads 24-4 matters most: without it the logit difference goes from 6.12 to 3.08, and Mary falls from "
        f"{percent(before)} to {percent(after)}."
    )
    cell = tab.page.get_by_role("link", name=re.compile("^Head 24-4")).first
    assert cell.get_attribute("aria-label") == "Head 24-4: logit difference 6.12 → 3.08 (−3.04)."
    cell.hover()
    assert tab.page.locator(".pointed").inner_text() == "Head 24-4: logit difference 6.12 → 3.08 (−3.04)."
    cell.click()
    tab.drawn()
    assert "head=24-4" in tab.page.url
    assert tab.page.get_by_label("Your sentence", exact=True).input_value() == MARY


@pytest.mark.slow
def test_the_map_s_colours_are_the_effects(visit, model):
    tab = visit(f"{MINILM}&try=Which+matter%3F")
    tab.page.get_by_role("button", name="Try every head").click(timeout=PATIENCE)
    tab.page.get_by_role("link", name=re.compile("^Head 1-1.*: cosine of the embedding 1.00")).first.wait_for(
        timeout=PATIENCE
    )
    tab.page.locator(".st-key-progress-row-every").wait_for(state="detached", timeout=PATIENCE)
    tab.settled()
    effects = -ablate_each(model.tokenizer.encode(TIRED), model)
    canvas = tab.page.locator(".stage > canvas")
    drawn, frame = pixels.of_canvas(canvas), canvas.bounding_box()
    cells = tab.page.locator("a.switch")
    assert cells.count() == 72
    seen = np.zeros((6, 12))
    for i in range(72):
        box = cells.nth(i).bounding_box()
        colour = drawn[
            round(box["y"] - frame["y"] + box["height"] / 2), round(box["x"] - frame["x"] + box["width"] / 2)
        ]
        seen.flat[i] = pixels.changes(colour[None], pixels.THEMES["light"])[0]
    assert np.abs(seen - effects / np.abs(effects).max()).max() < 0.03
