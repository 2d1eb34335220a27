"""What a choice in a picture asks of the server: nothing where the browser has the numbers, until they stand below."""

import csv
import io
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from compare_page import choose, column, said

from mha_core import load_model, trace
from mha_core.compare import most_changed
from mha_core.heads.measures import importance
from mha_core.heads.notices import disagreement
from mha_core.wording import percent

pytestmark = pytest.mark.browser
A = "Angry dogs chase small cats up the old tree."
B = "Angry dogs chase small cats up the new tree."  # the same places, for one word alone is another
HEAD = (4, 6)
REST = 900  # milliseconds in which Python would have been told
SHOW = "document.querySelector('.st-key-below').scrollIntoView()"


def asked_runs(tab):
    return tab.page.evaluate("talk.asked")


def link(tab):
    return {key: values[0] for key, values in parse_qs(urlsplit(tab.page.url).query).items()}


def rested(tab):
    """After a while: what is yet to be told, and how many runs were asked for so far."""
    tab.page.wait_for_timeout(REST)
    return tab.page.evaluate("[headscope.untold, talk.asked]")


@pytest.mark.long
def test_a_head_of_two_texts_is_drawn_and_linked_at_once_and_told_once_it_is_seen_below(visit, tmp_path):
    model = load_model()
    runs = [trace(text, model) for text in (A, B)]
    a, b = (run.grid() for run in runs)
    word, key = most_changed(a, b, HEAD)
    tab = visit(f"/compare?{urlencode({'text': A, 'text2': B, 'head': '2-4', 'pin': 'none'})}").drawn()
    before = asked_runs(tab)
    choose(tab.page, HEAD)
    column(tab.page, word).click()
    tab.page.get_by_role("button", name="Table", exact=True).click()
    assert rested(tab) == [True, before], "nobody is asked for a head, a word and a tab"
    assert said(tab.page).startswith(f"Head 5-7: “{a.labels[word]}”")
    chosen = {"head": "5-7", "pin": str(word), "tab": "table"}
    assert chosen.items() <= link(tab).items()
    below = tab.page.locator(".st-key-below")
    assert "Choose a word of sentence A" in below.inner_text(), "out of sight, as it was"

    tab.page.evaluate(SHOW)
    tab.page.get_by_role("heading", name=f"What “{a.labels[word]}” looks at").wait_for()
    tab.settled()
    assert rested(tab) == [False, before + 1], "one run for all three"
    names = f"the link from {a.labels[word]} to {a.labels[key]}"
    assert f"{names} changes most of all links between two words in head 5-7." in below.inner_text()
    rows = [grid.weights[:, :, word].astype(float) for grid in (a, b)]
    moved = np.abs(rows[0] - rows[1]).sum(-1) / 2
    first = below.locator("tbody tr").first.locator("td, th").all_inner_texts()
    place = np.unravel_index(moved.argmax(), moved.shape)
    assert first[:2] == [f"{place[0] + 1}-{place[1] + 1}", percent(moved.max())]
    assert chosen.items() <= link(tab).items()

    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.wait_for_timeout(100)
    choose(tab.page, (0, 2))
    tab.page.get_by_role("button", name="Save", exact=True).click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("menuitem", name="Numbers, CSV").click()
    download.value.save_as(file := tmp_path / "numbers.csv")
    weights_are_exact(file, (0, 2), a, b)

    tab.page.evaluate("scrollTo(0, 0)")
    tab.head("3-2").click()
    tab.page.get_by_role("link", name="Inside", exact=True).click()  # at once, as a finger does
    tab.page.wait_for_url("**/inside?**")
    tab.settled()
    assert link(tab)["head"] == "3-2"
    tab.page.go_back()
    tab.drawn()
    assert {"text2": B, "head": "3-2", "pin": str(word)}.items() <= link(tab).items()
    assert tab.head("3-2").get_attribute("aria-selected") == "true"


@pytest.mark.long
def test_a_head_of_another_measure_is_drawn_and_told_in_the_same_way(visit):
    model = load_model()
    record = trace(A, model)
    tab = visit(f"/?{urlencode({'text': A, 'measure': 'value', 'head': '1-1', 'pin': '2'})}").drawn()
    differing = disagreement(record.weights, importance(record.tokens, model, "value").weights)
    for head in ((4, 6), (2, 8)):
        tab.head(f"{head[0] + 1}-{head[1] + 1}").click()
        number = round(float(differing[head]) * len(record.tokens))
        tab.page.get_by_text(
            f"In {number} of {len(record.tokens)} rows the top word differs"
        ).first.wait_for()
    untold, _ = rested(tab)
    assert untold
    assert link(tab)["head"] == "3-9"
    tab.page.evaluate(SHOW)
    tab.page.locator(".st-key-below").get_by_text(f"In {number} of").wait_for()
    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.get_by_label("What is shown").select_option("residual")
    tab.settled()
    before = asked_runs(tab)
    tab.page.get_by_role("gridcell", name="Layer 5:").click()
    assert rested(tab) == [True, before], "nor for a layer, whose picture mixes its heads"
    assert link(tab)["head"] == "5-9", "the head of the link is kept"
    tab.settled()
    assert link(tab)["head"] == "5-9", "as Python does"


def weights_are_exact(file: Path, head, a, b) -> None:
    """Every number of a file is the engine's, not a step of the picture. The last digits of a tiny weight depend on the
    order in which another process sums a score of some forty."""
    lines = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    assert len(lines) == len(a) ** 2
    for side, grid in (("A", a), ("B", b)):
        shown = [float(line[side]) for line in lines]
        np.testing.assert_allclose(shown, grid.weights[head].ravel(), rtol=5e-5)
