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
    tab.page.wait_for_selector(".evidence .chips", timeout=PATIENCE)
    tab.page.get_by_text("Every job on the built-in sentences").wait_for(timeout=PATIENCE)
    return tab.settled()


def focused(tab) -> str:
    return tab.page.evaluate("document.activeElement.shadowRoot?.activeElement?.textContent ?? ''")


@pytest.mark.long
def test_a_job_pressed_colours_the_heads_and_an_example_opens_in_explore_and_shows_what_it_says(visit):
    tab = open_page(visit)
    chip = tab.page.get_by_role("button", name="S subject → its verb", exact=True)
    chip.click()
    conclusion = tab.page.locator(".st-key-conclusion")
    conclusion.get_by_role("heading", name="subject → ").wait_for(timeout=PATIENCE)
    tab.settled()
    assert "by=real%3Ansubj" in tab.page.url
    assert chip.get_attribute("aria-pressed") == "true"
    assert focused(tab) == chip.text_content(), "the focus stays on the button that was pressed"
    tab.page.keyboard.press("ArrowRight")
    assert focused(tab) != chip.text_content()
    heads = tab.page.locator(".heads button")
    assert heads.evaluate_all("all => all.every(b => b.classList.contains('hued'))")
    example = tab.page.locator(".examples li.works").first
    word = example.locator("u").inner_text()
    weight = re.search(r"looks at .+? ([\d.]+ %)", example.locator("small").inner_text())[1]
    example.locator("a").click()
    tab.drawn()
    assert f"{word} → " in tab.said().replace("“", "").replace("”", "")
    assert weight in tab.said()


@pytest.mark.long
def test_a_head_pressed_opens_its_card_without_leaving_the_place_and_is_in_the_link(visit):
    tab = open_page(visit)
    tab.page.locator(".heads button[data-id='2-9']").click()
    tab.page.get_by_role("heading", name="Head 2-9: next token").wait_for(timeout=PATIENCE)
    tab.settled()
    assert "head=2-9" in tab.page.url
    tab.page.keyboard.press("ArrowLeft")
    assert tab.page.evaluate("document.activeElement.shadowRoot.activeElement.dataset.id") == "2-8"
    near = tab.page.locator(".links .go").first
    near.scroll_into_view_if_needed()
    place = "document.querySelector('[data-testid=stMain]').scrollTop"
    before, name = tab.page.evaluate(place), near.inner_text()
    near.click()
    tab.page.get_by_role("heading", name=f"Head {name}:").wait_for(timeout=PATIENCE)
    tab.settled()
    assert abs(tab.page.evaluate(place) - before) < 400


@pytest.mark.long
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
