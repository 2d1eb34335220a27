"""What once led a visitor astray: a first click that was swallowed, a column cut off, sheets of nothing."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
SOON = 30_000
MOVES = "tired / wide, toy model"


def press(person, name):
    person.page.get_by_role("link", name=name, exact=True).first.click()


def test_a_visitor_points_presses_and_types_and_is_understood(reader):
    person = reader()
    person.word("street").hover()
    person.reads("street looks at")
    person.page.get_by_role("heading", level=1).hover()
    person.reads("looks from it to animal")
    person.word("it").click()
    person.word("animal").click()
    person.reads("Head 4-2: it → animal 68%, the strongest of 72 heads")
    ranking = person.page.get_by_role("region", name="Heads ranked").get_by_role("list")
    box = ranking.bounding_box()
    row = ranking.get_by_role("button", name=re.compile("^4-2")).bounding_box()
    for start, length in (("x", "width"), ("y", "height")):
        assert box[start] <= row[start] <= box[start] + box[length] - row[length], "in sight"
    person.word("it").click()
    expect(person.word("it"), "a second click takes back").to_have_attribute("aria-pressed", "false")
    person.open("/?text=Paris%0A%0Ais%0Alarge.")
    sentence = person.page.get_by_label("Your sentence", exact=True)
    lines = sentence.bounding_box()
    person.type("Dogs bark.").reads("Dogs")
    line = sentence.bounding_box()
    assert (lines["x"], lines["width"]) == (line["x"], line["width"])
    assert lines["height"] <= 5 * line["height"]
    words = person.page.get_by_label("word by word").get_by_role("button")
    pinned = [word.inner_text() for word in words.all() if word.get_attribute("aria-pressed") == "true"]
    assert pinned, "a new sentence opens on a word"
    assert set(pinned) <= {"Dogs", "bark"}


def test_a_comparison_prints_whole_and_its_example_does_not_leave_its_model_to_the_next(reader):
    person = reader("/compare")
    page, model = person.page, person.page.get_by_test_id("stPopoverButton").first
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= 4, "sheets"
    page.emulate_media(media="print")
    last = page.get_by_text("will fit by chance").last.bounding_box()
    height = page.evaluate("document.documentElement.scrollHeight")
    assert last["y"] + last["height"] <= height, "or it is scrolled to, not printed"
    expect(page.get_by_role("link", name=re.compile("^(Skip to|Compare$)"))).to_have_count(0)
    page.emulate_media(media="screen")
    for pair in (MOVES, "tired / wide", MOVES):
        press(person, pair)
        expect(model).to_contain_text("Toy model" if pair == MOVES else "MiniLM", timeout=SOON)
        person.settled()
    press(person, "Explore")
    expect(page.get_by_role("region", name="Both sentences")).to_have_count(0, timeout=SOON)
    person.reads("Head 2-2").settled()
    picture = page.locator(".headscope[data-record]")
    picture.evaluate("(root) => root.setAttribute('data-first', '')")
    press(person, "long-distance verb")
    expect(model).to_contain_text("MiniLM", timeout=SOON)
    person.settled()  # until then the picture before may still stand beside it
    person.reads("looks from are to keys")
    expect(picture).to_have_count(1)
    expect(picture, "the picture that is there draws another model").to_have_attribute("data-first", "")
