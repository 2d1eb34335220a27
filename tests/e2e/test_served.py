"""A page and its server in a real browser: a server that comes back, and then opens folders."""

import re
from urllib.parse import urlencode

import pytest
from bert_folders import random_bert, write
from playwright.sync_api import expect
from running import start_app

pytestmark = pytest.mark.browser
LINK = "/?text=The%20cat%20sat%20on%20the%20mat%20because%20it%20was%20warm."
NEXT = "The river froze because it was cold."


@pytest.fixture
def folder(tmp_path):
    """A model that guesses a [MASK]."""
    pytest.importorskip("transformers")
    write(tmp_path / "model", random_bert("BertForMaskedLM", seed=3))
    return str(tmp_path / "model")


def test_a_server_that_came_back_draws_the_next_sentence_and_a_word_for_the_second_one(
    visit, app_server, folder, tmp_path
):
    boxes = ("Table", "Save")
    tab = visit(LINK).drawn()
    assert tab.page.evaluate("window.prerenderReady") is not None, "the page's inline script has run"
    for name in boxes:
        tab.page.locator("summary").filter(has_text=name).click()
        tab.settled()
    n_asked = tab.page.evaluate("talk.asked")
    app_server.stop()
    again = start_app(tmp_path / "again.log", port=app_server.port, HEADSCOPE_ALLOW_FOLDERS="1")
    app_server.process = again.process  # the others need it
    tab.page.wait_for_function("(n) => talk.asked > n && talk.over", arg=n_asked, timeout=20_000)
    tab.page.get_by_label("Your sentence", exact=True).fill(NEXT)
    tab.page.get_by_label("Your sentence", exact=True).press("Enter")
    expect(word(tab, "river")).to_be_visible(timeout=20_000)
    for name in boxes:
        expect(tab.page.locator("details[open] summary").filter(has_text=name)).to_be_visible()
    # While the server was away, the browser said so.
    tab.errors[:] = [problem for problem in tab.errors if not problem.startswith("said")]
    check_word_of_the_second_sentence(visit, folder)


def word(tab, text):
    return tab.page.get_by_label("word by word").get_by_role("button", name=text, exact=True)


def check_word_of_the_second_sentence(visit, folder):
    """A word put into it is in its box in the menu, and stays when the first sentence changes."""
    query = urlencode({"model": folder, "text": "The cat sat.", "pair": "It was [MASK]."})
    tab = visit(f"/?{query}").drawn()
    tab.type("The dog sat.")
    tab.page.locator("[class*=st-key-next]").get_by_text(re.compile(r"%$")).first.click()
    tab.settled()
    tab.page.locator(".st-key-options button").first.click()
    box = tab.page.get_by_label("Second sentence", exact=True)
    expect(box).to_have_value(re.compile(r"^It was (?!\[MASK\]).*\.$"))
    expect(tab.page.get_by_label("Your sentence", exact=True)).to_have_value("The dog sat.")
    tab.type("The bird sat.")
    expect(box).to_have_value(re.compile(r"^It was (?!\[MASK\]).*\.$"))
