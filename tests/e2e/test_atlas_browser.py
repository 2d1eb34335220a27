"""Atlas in a real browser: from a point to a head, from a moment to Explore, an example, a text of one's own."""

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


@pytest.mark.long
def test_an_example_finds_heads_and_own_text_is_shown_in_the_same_pictures(visit):
    tab = open_page(visit)
    page = tab.page
    page.get_by_text("Ask by example").click()
    page.locator(".st-key-ask-box table, table.measures").first.wait_for(timeout=PATIENCE)
    assert page.locator("table.measures tbody tr").count() >= 10
    tab.settled()
    text = "The old dog slept beside the stove. Nobody had seen the old dog run. " * 30
    box = page.locator(".st-key-atlas-text textarea")
    box.fill(text)
    box.press("Control+Enter")
    page.get_by_role("button", name="Show it in the pictures above").click(timeout=PATIENCE)
    page.get_by_text("MiniLM read your text").wait_for(timeout=PATIENCE)
    tab.settled()
    page.evaluate("window.same = true")
    does = page.locator(".does a").first
    described, count = does.inner_text(), int(page.locator(".does b").first.inner_text())
    does.click()
    page.get_by_role("link", name="Show all heads").wait_for(timeout=PATIENCE)
    assert page.locator(".does .this a").inner_text() == described
    assert page.locator(".atlas .dot").count() == count
    page.get_by_role("link", name="Show all heads").click()
    page.locator(".does .this").wait_for(state="detached", timeout=PATIENCE)
    tab.settled()
    assert "does=" not in page.url
    linked = page.locator("table.measures a[data-head]").nth(3)
    linked.scroll_into_view_if_needed()
    name = linked.inner_text()
    linked.click()
    heading = page.get_by_role("heading", name=f"Head {name}:")
    heading.wait_for(timeout=PATIENCE)
    assert 0 <= heading.bounding_box()["y"] < 500, "it is in sight"
    with page.context.expect_page() as opened:
        page.locator(".moments a").first.click()
    opened.value.close()
    assert page.evaluate("window.same"), "the reader's text would be gone"
    assert page.get_by_text("MiniLM read your text").is_visible()
    page.get_by_role("button", name="Back to the project's reader").click()
    page.get_by_text("MiniLM read the project's own reader").wait_for(timeout=PATIENCE)
