"""Specialization in a real browser: from a job to its sentence, from the map to a card, and a corpus to its end."""

import re

import pytest

pytestmark = pytest.mark.browser
PATIENCE = 120_000
SENTENCE = (
    "1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n"
    "2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    "3\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
)


def open_page(visit, query=""):
    tab = visit(f"/specialization{query}")
    tab.page.wait_for_selector(".jobs", timeout=PATIENCE)
    return tab.settled()


def test_an_example_opens_in_explore_with_its_word_pinned(visit):
    tab = open_page(visit)
    row = tab.page.locator("details.job", has_text="pronoun → antecedent by gender or number")
    row.locator("summary").click()
    link = row.locator(".examples a").first
    word = link.locator("u").inner_text()
    link.click()
    tab.drawn()
    assert tab.said().startswith(f"Head 2-4: “{word}” → ")


def test_a_head_pressed_on_the_map_opens_its_card_and_is_in_the_link(visit):
    tab = open_page(visit)
    tab.page.get_by_role("button", name="Head 2-9:").click()
    tab.page.get_by_role("heading", name="Head 2-9: next token").wait_for(timeout=PATIENCE)
    tab.settled()
    assert "head=2-9" in tab.page.url
    tab.page.keyboard.press("ArrowLeft")
    assert tab.page.evaluate("document.activeElement.shadowRoot.activeElement.dataset.id") == "2-8"


def test_a_corpus_shows_its_progress_stops_goes_on_and_ends(visit):
    tab = open_page(visit)
    content = "".join(SENTENCE.replace("dog", f"dog{i}") for i in range(4000))
    file = {"name": "x.conllu", "mimeType": "text/plain", "buffer": content.encode()}
    tab.page.set_input_files("input[type=file]", files=[file])
    tab.page.get_by_role("button", name="Stop").click(timeout=PATIENCE)
    progress = tab.page.locator(".st-key-corpus-progress")
    tab.page.get_by_role("button", name="Go on").wait_for(timeout=PATIENCE)
    stopped = int(re.search(r"Stopped after ([\d,]+) sentences", progress.inner_text())[1].replace(",", ""))
    assert 0 < stopped < 4000
    tab.page.wait_for_selector("table.corpus", timeout=PATIENCE)
    tab.page.get_by_role("button", name="Go on").click()
    progress.get_by_text("Done: 4,000 sentences").wait_for(timeout=PATIENCE)
    det = tab.page.locator("table.corpus tr", has_text="det").first
    det.get_by_text("4,000").wait_for(timeout=PATIENCE)
    assert "no better than its offset" in det.inner_text()
