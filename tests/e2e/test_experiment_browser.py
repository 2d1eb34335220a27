"""Experiment in a real browser: switches, undo and the link, the map with progress and Stop, and a ready experiment."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pixels
import pytest

from mha_core import predict_next, trace
from mha_core.heads.ablation import ablate_each
from mha_core.wording import percent

pytestmark = [pytest.mark.browser, pytest.mark.slow]
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


@pytest.mark.long
def test_a_link_opens_what_was_switched_and_the_small_pictures_are_the_weights(visit, model):
    tab = visit(f"{MINILM}&off=3-1,6-6&set=2", viewport={"width": 1280, "height": 720}).drawn()
    assert finding(tab).startswith("With 3-1 and 6-6 doubled the text's embedding has cosine")
    assert head(tab, "6-6").inner_text().endswith("×2")
    assert tab.page.get_by_role("button", name="twice as much").get_attribute("aria-pressed") == "true"
    canvas = tab.page.locator(".stage > canvas")
    drawn = pixels.of_canvas(canvas)
    frame = canvas.bounding_box()
    weights = trace(TIRED, model).weights
    n = weights.shape[-1]
    for name in ("1-3", "4-2", "5-12"):
        box = head(tab, name).bounding_box()
        layer, number = (int(part) - 1 for part in name.split("-"))
        seen = pixels.weights(
            pixels.small(drawn, box["x"] - frame["x"], box["y"] - frame["y"], box["width"], n),
            pixels.THEMES["light"],
        )
        assert np.abs(seen - weights[layer, number]).max() < 0.02
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.long
def test_a_strangers_link_with_silly_heads_gets_a_sentence_also_on_a_phone(visit):
    tab = visit(f"{MINILM}&off=99-99&set=banana", viewport={"width": 420, "height": 900}).drawn()
    notices = tab.page.locator(".hs-notice").all_inner_texts()
    assert notices == [
        "There is no head 99-99; the model has 6 layers of 12 heads. No head is switched.",
        "A switched head cannot be set to “banana”, only to “0”, “mean”, “2”; it gives nothing.",
    ]
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 420
    assert tab.page.locator(".switch").count() == 72


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_a_ready_experiment_is_one_click_and_answers_with_numbers(visit, smollm2):
    tab = visit("/experiment?try=Ready-made")
    tab.page.get_by_role("button", name="The key to the cabinets").click(timeout=PATIENCE)
    tab.page.locator(".hs-finding").wait_for(timeout=PATIENCE)
    tab.settled()
    assert "ready=key" in tab.page.url
    said = finding(tab)
    away = np.ones((30, 9), np.float32)
    words = {
        w.text: w for w in predict_next(smollm2.tokenizer.encode("The key to the cabinets"), smollm2, k=2000)
    }
    assert said.startswith(
        f"is gets {percent(words[' is'].probability)}, are {percent(words[' are'].probability)}."
    )
    name = re.search(r"(\d+)-(\d+) matters most", said)
    away[int(name[1]) - 1, int(name[2]) - 1] = 0
    without = {
        w.text: w
        for w in predict_next(
            smollm2.tokenizer.encode("The key to the cabinets"), smollm2, k=2000, gates=away
        )
    }
    difference = [side[" is"].logit - side[" are"].logit for side in (words, without)]
    numbers = [f"{value:.2f}".replace("-", "−") for value in difference]
    assert f"the logit difference goes from {numbers[0]} to {numbers[1]}" in said
    assert tab.page.locator("table.answer tr").count() == 7
    shown = tab.page.url
    tab.page.locator(".st-key-top").get_by_role("link", name="Experiment").click()
    tab.settled()
    assert (finding(tab), tab.page.url) == (said, shown), "the page that is open already stays as it is"
    tab.page.get_by_role("link", name="Switch these heads yourself").click()
    tab.drawn()
    assert finding(tab).startswith(f"Without {name[0].split()[0]} is falls from")


@pytest.mark.long
def test_who_comes_from_explore_has_the_model_that_speaks_and_the_sentence_and_goes_back_to_the_first(visit):
    tab = visit(f"/?text={quote(TIRED)}").drawn()
    top = tab.page.locator(".st-key-top")
    top.get_by_role("link", name="Experiment", exact=True).click()
    tab.page.get_by_text("SmolLM2 135M, 4-bit, trained").first.wait_for(timeout=PATIENCE)
    tab.settled()
    assert tab.page.get_by_label("Your sentence", exact=True).input_value() == TIRED
    assert finding(tab).startswith("As it is, SmolLM2 135M, 4-bit gives ")
    top.get_by_role("link", name="Explore", exact=True).click()
    tab.page.get_by_text("MiniLM, trained").first.wait_for(timeout=PATIENCE)
    tab.drawn()
    assert tab.said().startswith("Head 4-2: ")
    assert tab.page.get_by_label("Your sentence", exact=True).input_value() == TIRED
