"""The first minute: one word changes by itself and back, until the visitor touches anything."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
FIRST = "/#first"  # of this browser: nothing is kept of an earlier visit
WIDE, TIRED = "wide", "tired"


def word(tab, text):
    return tab.page.get_by_label("word by word").get_by_role("button", name=text, exact=True)


def dashed(tab):
    return tab.page.locator("path.trace")


def test_the_word_changes_once_with_the_trace_of_its_arcs_and_back(visit):
    tab = visit(FIRST)
    asked = tab.page.evaluate("talk.asked")
    expect(word(tab, WIDE)).to_be_visible(timeout=15_000)
    expect(dashed(tab).first).to_be_attached()
    expect(word(tab, TIRED)).to_be_visible(timeout=15_000)
    expect(dashed(tab)).to_have_count(0)
    assert "?" not in tab.page.url
    assert tab.page.evaluate("talk.asked") == asked, "no run of the server"
    tab.page.wait_for_timeout(5000)
    expect(word(tab, TIRED)).to_be_visible()


def test_a_touch_ends_it_and_is_not_swallowed(visit):
    tab = visit(FIRST)
    expect(word(tab, WIDE)).to_be_visible(timeout=15_000)
    word(tab, "street").click()
    expect(word(tab, TIRED)).to_be_visible()
    expect(word(tab, "street")).to_have_attribute("aria-pressed", "true")
    tab.settled()


def test_nothing_moves_without_motion_on_a_link_and_on_a_second_visit(visit):
    ways = [(FIRST, "reduce"), ("/?head=4-2#first", "no-preference"), ("/", "no-preference")]
    tabs = [visit(path, reduced_motion=motion) for path, motion in ways]
    tabs[0].page.wait_for_timeout(6000)
    for tab in tabs:
        expect(word(tab, TIRED)).to_be_visible()
        expect(dashed(tab)).to_have_count(0)
