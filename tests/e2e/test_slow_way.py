"""The way to the server takes a while: what is done meanwhile goes out with the controls as they were before, and
takes nothing back."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from pages.parts.frame.presets import TIRED

pytestmark = pytest.mark.browser
WIDE = TIRED.replace("tired", "wide")
WAY = 400  # milliseconds
# What the browser asks for arrives later, in the order in which it was asked.
LATE = """(way) => {
  const native = Object.getPrototypeOf(WebSocket.prototype), send = native.send;
  window.onItsWay = 0;
  native.send = function (data) {
    window.onItsWay += 1;
    const leave = () => {
      window.onItsWay -= 1;
      if (data[0] === 0x5a) Object.assign(window.talk, { begun: false, over: false });
      send.call(this, data);
    };
    setTimeout(leave, way);
  };
}"""
TOLD = "headscope.mounted.forEach((entry) => headscope.tell(entry))"


@pytest.fixture
def slow(visit):
    """`slow(path)`: a page that stands, from which every request is a while on its way from then on."""

    def open_page(path):
        tab = visit(path)
        tab.page.evaluate(LATE, WAY)
        return tab

    return open_page


def touch(tab, head):
    """A head, at once, of which the server is told while the request before is on its way."""
    tab.head(head).click()
    tab.page.evaluate(TOLD)


def arrived(tab):
    """All requests have been there, and the page stands still."""
    while True:
        tab.page.wait_for_function("() => window.onItsWay === 0")
        tab.settled()
        if tab.page.evaluate("window.onItsWay") == 0:
            return tab


def retype(tab, old, new):
    tab.word(old).dblclick()
    tab.page.keyboard.type(new)
    tab.page.keyboard.press("Enter")


@pytest.mark.slow
def test_a_head_touched_right_after_a_word_was_changed_leaves_the_word(slow):
    tab = slow("/?head=4-2&pin=10").drawn()
    retype(tab, "tired", "wide")
    touch(tab, "5-7")
    arrived(tab)
    assert tab.page.get_by_label("Your sentence", exact=True).input_value() == WIDE
    assert "pin=10" in tab.page.url
    assert "head=5-7" in tab.page.url
    assert "with “tired”" in tab.page.locator("p.trace").inner_text(), (
        "and what was before is drawn as a trace"
    )


@pytest.mark.slow
def test_the_second_sentence_stays_too_and_the_reader_can_take_it_back(slow):
    tab = slow("/compare?head=4-2&pin=10").drawn()
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


def in_link(tab):
    return dict(parse_qsl(urlsplit(tab.page.url).query))


@pytest.mark.slow
def test_a_question_asked_right_after_a_layer_was_switched_off_is_in_the_link(slow):
    tab = slow("/experiment")
    tab.page.get_by_role("button", name="3", exact=True).click()
    tab.page.get_by_role("radio", name="How many can go?").click()
    arrived(tab)
    assert in_link(tab)["try"] == "How many can go?"
    assert in_link(tab)["off"].startswith("3-1,3-2,")
    assert tab.page.get_by_role("radio", name="How many can go?").get_attribute("aria-checked") == "true"
