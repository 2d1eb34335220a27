"""Experiment in a real browser: switches, undo and the link, and the map with progress and Stop."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
MINILM = f"/experiment?model=minilm&text={quote(TIRED)}"


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
