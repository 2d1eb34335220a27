"""What once led a visitor astray: a first click that was swallowed, a column cut off, sheets of nothing."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
LAPTOP = {"width": 1366, "height": 768}
SOON = 30_000
MOVES = "tired / wide, toy model"
DOCUMENT = "() => document.documentElement.scrollHeight"


def says(person, text):
    """What stands with the sentence in the picture."""
    expect(person.page.get_by_role("region", name="The sentence")).to_contain_text(text, timeout=SOON)


def press(person, name):
    person.page.get_by_role("link", name=name, exact=True).first.click()


def test_pointing_shows_where_a_word_looks_and_it_then_animal_gives_their_link(reader):
    person = reader()
    person.word("street").hover()
    says(person, "street looks at")
    person.page.get_by_role("heading", level=1).hover()
    says(person, "looks from it to animal")
    person.word("it").click()
    person.word("animal").click()
    says(person, "Head 4-2: it → animal 68%, the strongest of 72 heads")
    ranking = person.page.get_by_role("region", name="Heads ranked").get_by_role("list")
    box = ranking.bounding_box()
    row = ranking.get_by_role("button", name=re.compile("^4-2")).bounding_box()
    for start, length in (("x", "width"), ("y", "height")):
        assert box[start] <= row[start] <= box[start] + box[length] - row[length], "in sight"
    person.word("it").click()
    expect(person.word("it"), "a second click takes back").to_have_attribute("aria-pressed", "false")


def test_a_new_sentence_opens_on_a_word(reader):
    person = reader().type("Dogs bark.")
    says(person, "Dogs")
    words = person.page.get_by_label("word by word").get_by_role("button")
    pinned = [word.inner_text() for word in words.all() if word.get_attribute("aria-pressed") == "true"]
    assert pinned
    assert set(pinned) <= {"Dogs", "bark"}


def test_an_example_does_not_leave_its_model_to_the_next(reader):
    person = reader("/compare")
    model = person.page.get_by_test_id("stPopoverButton").first
    for pair in (MOVES, "tired / wide", MOVES):
        press(person, pair)
        shown = "Toy model" if pair == MOVES else "MiniLM"
        expect(model).to_contain_text(shown, timeout=SOON)
        person.settled()
    person.page.get_by_role("link", name="Explore", exact=True).click()
    says(person, "Head 2-2")
    press(person, "long-distance verb")
    expect(model).to_contain_text("MiniLM", timeout=SOON)
    person.settled()  # until then the picture before may still stand beside it
    says(person, "looks from are to keys")


def test_a_page_prints_whole_on_the_sheets_that_it_fills(reader):
    person = reader("/compare")
    sheets = len(re.findall(rb"/Type\s*/Page\b", person.page.pdf(format="A4")))
    assert 1 <= sheets <= 4
    person.page.emulate_media(media="print")
    last = person.page.get_by_text("will fit by chance").last.bounding_box()
    assert last["y"] + last["height"] <= person.page.evaluate(DOCUMENT), "or it is scrolled to, not printed"
    expect(person.page.get_by_role("link", name=re.compile("^(Skip to|Compare$)"))).to_have_count(0)


def test_the_heads_stay_where_they_are_while_one_is_switched(reader):
    person = reader("/experiment", viewport=LAPTOP)
    head = person.page.get_by_role("button", name=re.compile("^Head 24-4"))
    expect(head).to_be_visible(timeout=60_000)
    person.settled()
    head.scroll_into_view_if_needed()
    before = head.bounding_box()
    for said in ("Without 24-4", "SmolLM2 135M, 4-bit predicts"):
        person.page.mouse.click(before["x"] + before["width"] / 2, before["y"] + before["height"] / 2)
        expect(person.page.get_by_text(said).first).to_be_visible(timeout=SOON)
        person.settled()
        assert head.bounding_box() == before


def test_a_new_line_leaves_the_sentence_its_width(reader):
    boxes = []
    for text in ("Paris+is+large.", "Paris%0A%0Ais%0Alarge."):
        boxes.append(reader(f"/?text={text}").page.get_by_label("Your sentence", exact=True).bounding_box())
    one, lines = boxes
    assert (lines["x"], lines["width"]) == (one["x"], one["width"])
    assert lines["height"] <= 5 * one["height"]
