"""The way to the server takes a while: what is done meanwhile goes out with the controls as they were before, and
takes nothing back."""

from urllib.parse import quote

import pytest

from pages.parts.frame.presets import TIRED

pytestmark = pytest.mark.browser
WIDE = TIRED.replace("tired", "wide")
WAY = 500  # milliseconds
# What the browser asks for arrives later, in the order in which it was asked.
LATE = """
window.WebSocket = class extends window.WebSocket {
  send(data) { setTimeout(() => super.send(data), window.late ?? 0); }
};
"""
TOLD = "headscope.mounted.forEach((entry) => headscope.tell(entry))"


@pytest.fixture
def slow(visit):
    """`slow(path)`: a page that is drawn, from which every request is half a second on its way from then on."""

    def open_page(path):
        tab = visit(path).drawn()
        tab.page.add_init_script(LATE)
        tab.page.reload()
        tab.drawn()
        tab.page.evaluate(f"window.late = {WAY}")
        return tab

    return open_page


def touch(tab, head):
    """A head, at once, of which the server is told while the request before is on its way."""
    tab.head(head).click()
    tab.page.evaluate(TOLD)


def arrived(tab):
    """Both requests have been there, and the page stands still."""
    tab.page.wait_for_timeout(4 * WAY)
    return tab.settled()


def retype(tab, old, new):
    tab.word(old).dblclick()
    tab.page.keyboard.type(new)
    tab.page.keyboard.press("Enter")


def test_a_head_touched_right_after_an_example_leaves_the_example(slow):
    tab = slow("/?head=4-2&pin=10")
    tab.page.get_by_role("button", name="cat", exact=True).click()
    touch(tab, "5-7")
    arrived(tab)
    assert "cat" in tab.page.get_by_label("Your sentence", exact=True).input_value()
    assert "cat" in tab.page.url
    assert tab.word("cat").is_visible()


def test_a_head_touched_right_after_a_word_was_changed_leaves_the_word(slow):
    tab = slow("/?head=4-2&pin=10")
    retype(tab, "tired", "wide")
    touch(tab, "5-7")
    arrived(tab)
    assert tab.page.get_by_label("Your sentence", exact=True).input_value() == WIDE
    assert "pin=10" in tab.page.url
    assert "head=5-7" in tab.page.url
    assert "with “tired”" in tab.page.locator("p.trace").inner_text(), (
        "and what was before is drawn as a trace"
    )


def test_a_head_touched_right_after_a_word_was_appended_leaves_the_word(slow, smollm2):
    start = "The animal didn't cross the street because it was too"
    tab = slow(f"/?model=smollm2&text={quote(start)}&head=14-9&pin=10")
    tab.page.get_by_role("button", name="Append “ far”").click()
    touch(tab, "5-7")
    arrived(tab)
    assert tab.page.get_by_label("Your sentence", exact=True).input_value() == f"{start} far"


def test_the_second_sentence_stays_too_and_the_reader_can_take_it_back(slow):
    tab = slow("/compare?head=4-2&pin=10")
    twin = tab.page.get_by_label("Sentence B", exact=True)
    assert twin.input_value() == WIDE
    tab.page.locator(".column .unit").filter(has_text="wide").first.dblclick()
    tab.page.keyboard.type("long")
    tab.page.keyboard.press("Enter")
    touch(tab, "5-7")
    arrived(tab)
    assert twin.input_value() == TIRED.replace("tired", "long")
    tab.type(WIDE, "Sentence B")
    arrived(tab)
    assert twin.input_value() == WIDE
    assert tab.page.locator(".column .unit").filter(has_text="wide").count() > 0
