"""What would it say next, in a browser: a click appends a word and its row appears, going on goes on until Stop."""

from urllib.parse import quote

import pytest

from mha_core import trace
from mha_core.wording import percent

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ANIMAL = "The animal didn't cross the street because it was too"
LINK = f"/?model=smollm2&text={quote(ANIMAL)}&head=14-9"


def take(tab, name):
    return tab.page.get_by_role("button", name=f"Append “{name}”")


def box(tab):
    return tab.page.get_by_label("Your sentence", exact=True)


def button(tab, name):
    return tab.page.get_by_role("button", name=name, exact=True)


def wait_for(tab, done, what, seconds=60):
    for _ in range(seconds * 10):
        if done():
            return
        tab.page.wait_for_timeout(100)
    pytest.fail(f"not in {seconds} s: {what}")


def test_a_click_appends_a_word_and_its_row_in_the_picture_is_that_of_a_trace(visit, smollm2):
    tab = visit(f"{LINK}&pin=10").drawn()
    first = tab.page.locator(".likeliest button").first
    assert first.get_attribute("aria-label") == "Append “ far”, 60.4 %"
    assert first.inner_text().split("\n") == ["␣", "far", "60.4 %"]
    assert tab.page.locator(".likeliest li").count() == 10
    first.focus()
    tab.page.keyboard.press("Enter")
    wait_for(tab, lambda: "“far”" in (tab.said() or ""), "the row of the new word")
    tab.settled()
    assert box(tab).input_value() == f"{ANIMAL} far"
    assert "too+far" in tab.page.url
    assert "pin=11" in tab.page.url, "the pin goes along with the end"
    row = trace(f"{ANIMAL} far", smollm2).weights[13, 8, 11]
    assert f"({percent(float(row.max()))})" in tab.said()
    assert first.evaluate("node => node.getRootNode().activeElement === node"), "the focus stays on the list"


@pytest.mark.long
def test_going_on_says_words_and_stop_stops_it(visit, smollm2):
    tab = visit(LINK).drawn()
    button(tab, "Go on word by word").click()
    wait_for(tab, lambda: len(box(tab).input_value()) > len(f"{ANIMAL} far away"), "three words")
    button(tab, "Stop going on").click()
    wait_for(tab, lambda: tab.page.locator(".said-on").inner_text().startswith("Stopped after"), "the stop")
    tab.settled()
    said = box(tab).input_value()
    tab.page.wait_for_timeout(1500)
    assert box(tab).input_value() == said
    assert said.startswith(f"{ANIMAL} far away to")
    n = len(smollm2.tokenizer.encode(said)) - 11
    assert tab.page.locator(".said-on").inner_text() == f"Stopped after {n} tokens."
    assert "pin=8" in tab.page.url, "what is pinned stays"
    names = tab.page.get_by_label("word by word").locator("[data-unit]").all_inner_texts()
    assert len(names) == n + 11
    assert button(tab, "Go on word by word").is_visible()


@pytest.mark.long
def test_the_list_can_be_asked_after_a_pinned_word_and_goes_on_from_there(visit):
    tab = visit(f"{LINK}&pin=8", viewport={"width": 420, "height": 900}).drawn()
    button(tab, "After “it”").click()
    wait_for(
        tab, lambda: button(tab, "After “it”").get_attribute("aria-pressed") == "true", "the other place"
    )
    assert tab.page.get_by_role("button", name="Go on from there with “ was”").locator(
        ".stands"
    ).inner_text() == ("in the text")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 420
    tab.page.get_by_role("button", name="Go on from there with “ was”").click()
    wait_for(tab, lambda: box(tab).input_value().endswith("because it was"), "the other text")


@pytest.mark.long
def test_an_encoder_has_no_such_list(visit):
    tab = visit().drawn()
    assert tab.page.locator("section.next").is_hidden()
