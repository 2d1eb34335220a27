"""Atlas in a real browser: from a point to a head, from a moment to Explore, an example."""

import time

import pytest

pytestmark = pytest.mark.browser
PATIENCE = 120_000


def open_page(visit, query=""):
    tab = visit(f"/atlas{query}")
    tab.page.wait_for_selector(".atlas .dot", timeout=PATIENCE)
    return tab.settled()


@pytest.mark.long
def test_a_point_opens_its_head_and_a_moment_opens_in_explore(visit):
    tab = open_page(visit, "?head=3-9")
    page = tab.page
    page.locator(".dot[data-id='2-9']").hover()
    assert page.locator(".atlas .note").inner_text().startswith("Head 2-9:")
    page.locator(".dot[data-id='2-9']").focus()
    started = time.monotonic()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Head 2-9:").wait_for(timeout=PATIENCE)
    took = time.monotonic() - started
    assert took < 5, took  # 0.3 s where nothing else runs
    tab.settled()
    assert "head=2-9" in page.url
    page.locator(".dot[data-id='2-9']").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.dataset.id") != "2-9"
    page.get_by_role("button", name="Random").or_(page.get_by_role("radio", name="Random")).first.click()
    tab.settled()
    assert "which=Random" in page.url
    first = page.locator(".moments a").first
    looks = first.locator("mark.looks").inner_text()
    assert first.locator("mark.seen").count() <= 1
    first.click()
    tab.drawn()
    assert tab.said().startswith(f"Head 2-9: “{looks}")
