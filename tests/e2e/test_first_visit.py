"""The first minute: one word changes by itself and back, until the visitor touches anything."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
MOVING = {"reduced_motion": "no-preference"}
WIDE, TIRED = "wide", "tired"


def dashed(person):
    return person.page.locator("path.trace")


def test_the_word_changes_once_and_back_but_not_without_motion_on_a_link_or_on_a_second_visit(reader):
    still = [reader(), reader("/?head=4-2", **MOVING), reader(**MOVING).open()]
    person = reader(**MOVING)
    n_runs = person.n_runs
    expect(person.word(WIDE)).to_be_visible(timeout=15_000)
    expect(dashed(person).first).to_be_attached()
    for other in still:
        expect(other.word(TIRED)).to_be_visible()
        expect(dashed(other)).to_have_count(0)
    expect(person.word(TIRED)).to_be_visible(timeout=15_000)
    expect(dashed(person)).to_have_count(0)
    assert "?" not in person.page.url
    assert person.n_runs == n_runs, "no run of the server"
    person.page.wait_for_timeout(3000)
    expect(person.word(TIRED)).to_be_visible()


def test_a_touch_ends_it_and_is_not_swallowed(reader):
    person = reader(**MOVING)
    expect(person.word(WIDE)).to_be_visible(timeout=15_000)
    person.word("street").click()
    expect(person.word(TIRED)).to_be_visible()
    expect(person.word("street")).to_have_attribute("aria-pressed", "true")
    person.settled()


def test_another_model_is_drawn_by_the_picture_that_is_there(reader):
    person = reader("/?model=classroom")
    picture = person.page.locator(".headscope[data-record]")
    picture.evaluate("(root) => root.setAttribute('data-first', '')")
    person.page.locator(".st-key-options button").first.click()
    person.page.get_by_role("combobox", name="Model").click()
    person.page.get_by_role("option", name="MiniLM").first.click()
    expect(person.page.locator(".st-key-options")).to_contain_text("MiniLM")
    person.settled()
    expect(picture).to_have_count(1)
    expect(picture).to_have_attribute("data-first", "")
