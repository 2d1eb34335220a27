"""The first minute: one word changes by itself and back, until the visitor touches anything."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
MOVING = {"reduced_motion": "no-preference"}
WIDE, TIRED = "wide", "tired"


def dashed(person):
    return person.page.locator("path.trace")


def test_the_word_changes_once_and_back_but_not_without_motion_on_a_link_or_on_a_second_visit(reader):
    visitor = reader(**MOVING)
    expect(visitor.word(WIDE)).to_be_visible(timeout=15_000)
    visitor.word("street").click()
    expect(visitor.word(TIRED), "a touch ends it").to_be_visible()
    expect(visitor.word("street"), "and is not swallowed").to_have_attribute("aria-pressed", "true")
    still = [reader(), reader("/?head=4-2", **MOVING)]
    person = reader(**MOVING)
    n_runs = person.n_runs
    expect(person.word(WIDE)).to_be_visible(timeout=15_000)
    expect(dashed(person).first).to_be_attached()
    for other in still:
        expect(other.word(TIRED)).to_be_visible()
        expect(dashed(other)).to_have_count(0)
    visitor.page.mouse.move(2, 2)  # off the picture, which a pointer would stop
    visitor.settled().open()  # the second visit of this browser
    expect(person.word(TIRED)).to_be_visible(timeout=15_000)
    assert "?" not in person.page.url
    assert person.n_runs == n_runs, "no run of the server"
    person.page.wait_for_timeout(3000)
    for other in (person, visitor):
        assert other.word(TIRED).is_visible()
        assert dashed(other).count() == 0
