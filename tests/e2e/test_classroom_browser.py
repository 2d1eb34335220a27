"""The classroom's model in a browser: the moments of its training, its minimal pair, a word that it does not know."""

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_slider_leads_from_the_untrained_model_to_the_trained_one(visit):
    tab = visit("/?model=classroom&moment=0")
    said = tab.page.get_by_text(re.compile(r"^After 0 steps its best head"))
    said.wait_for()
    assert "passes 0.0 % of 400 pairs" in said.inner_text()
    assert "Classroom after 0 steps" in tab.page.content()
    tab.page.get_by_role("button", name="Play", exact=True).click()
    tab.page.get_by_text(re.compile(r"^After (100|200|300) steps its best head")).wait_for(timeout=60_000)
    tab.page.get_by_role("button", name="Pause", exact=True).click()
    tab.settled()
    assert re.search(r"moment=\d+", tab.page.url)


def test_compare_opens_the_pair_in_which_it_moves_with_minilm_beside_it(visit):
    tab = visit("/compare")
    tab.page.get_by_role("button", name="tired / wide, where it moves").click()
    tab.page.get_by_role("heading", name="The same in other models").wait_for()
    tab.settled()
    rows = tab.page.locator("table", has_text="The head of each model").locator("tbody tr")
    found = {cells[0]: cells for cells in (row.inner_text().split("\t") for row in rows.all())}
    ours, minilm = found["Classroom"], found["MiniLM"]
    assert float(ours[2].split()[0]) > 60
    assert float(ours[5].split()[0]) > 60
    assert float(minilm[5].split()[0]) < 60
    assert "model=classroom" in tab.page.url


def test_a_word_that_it_does_not_know_is_said(visit):
    tab = visit("/?model=classroom&text=The+zebra+crossed+the+street.")
    tab.page.get_by_text("1 piece was not in the model's vocabulary").first.wait_for()
    tab.page.get_by_role("button", name=re.compile(r"^The \d+ words it knows")).click()
    tab.page.get_by_text(re.compile(r"animal .* street")).first.wait_for()
