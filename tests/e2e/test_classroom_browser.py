"""The classroom's model in a browser: its training, the slider over its moments, a word that it does not know."""

import re
from urllib.parse import quote

import pytest

from mha_core import load_model, trace
from mha_core.learning.classroom.moments import MOMENTS
from mha_core.learning.classroom.pairs import FAMOUS
from mha_core.learning.classroom.shipped import report
from mha_core.wording import percent

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TIRED, WIDE = FAMOUS["street"].texts
SLIDER = "Steps of its training, from untrained to trained"


def arcs(tab, i):
    return tab.page.locator("figure.arcs svg").nth(i).get_attribute("aria-label")


@pytest.mark.long
def test_the_training_draws_arcs_and_its_pairs_open_on_compare(visit):
    tab = visit(f"/training?train={quote('Where does it look?')}&seed=4")
    tab.page.get_by_role("button", name="Start", exact=True).click()
    tab.page.wait_for_selector("figure.arcs", timeout=60_000)
    before = arcs(tab, 0)
    assert re.match(r"[12]-\d: where “it” looks when the animal is too tired: it looks at ", before)
    for _ in range(300):
        if arcs(tab, 0) != before:
            break
        tab.page.wait_for_timeout(100)
    else:
        pytest.fail("the arcs never changed")
    assert tab.page.locator("figure.arcs").count() == 2
    assert tab.page.locator(".sheets canvas").count() == 2 * 2 * 4
    tab.page.get_by_role("button", name="Stop", exact=True).click()
    tab.page.get_by_role("button", name="Go on", exact=True).wait_for()
    tab.page.get_by_text("See every pair, failures too").click()
    pairs = tab.page.get_by_role("region", name="What head")
    pairs.wait_for()
    assert pairs.get_by_role("row").count() == 1 + len(FAMOUS) + 200
    pairs.get_by_role("link").nth(1).click()
    tab.page.wait_for_url(re.compile("/compare"))
    tab.drawn()
    assert tab.page.get_by_label("Sentence A", exact=True).input_value() == FAMOUS["suitcase"].texts[0]


@pytest.mark.long
def test_the_slider_goes_to_the_untrained_model_on_explore_and_on_compare(visit):
    tab = visit(f"/?model=classroom&text={quote(TIRED)}&head=2-1").drawn()
    slider = tab.page.get_by_role("slider", name=SLIDER)
    trained = tab.said()
    slider.focus()
    for _ in MOMENTS[1:]:
        slider.press("ArrowLeft")
    tab.page.wait_for_url(re.compile(r"moment=0\b"))  # Streamlit's slider tells of its last key a while later
    tab.settled()
    untrained = trace(TIRED, load_model("classroom", trained=False, seed=1, device="cpu"))
    words = [piece.text for piece in untrained.tokens.pieces]
    row = untrained.weights[1, 0, words.index("it")]
    assert percent(float(row.max())) in tab.said() != trained
    assert f"After 0 steps its best head, {report()['moments'][0]['head']}," in tab.page.inner_text("body")
    tab.page.get_by_text("How every task and every head got there").click()
    tab.page.wait_for_selector("[data-matrix=moment-jobs]")
    assert tab.page.locator("[data-matrix=moment-jobs] tbody tr").count() == 8
    assert tab.page.locator("[data-matrix=moment-tasks] polyline").count() == 5

    both = visit(f"/compare?model=classroom&text={quote(TIRED)}&text2={quote(WIDE)}&moment=0").drawn()
    both.page.get_by_role("slider", name=SLIDER).wait_for()
    assert "After 0 steps" in both.page.inner_text("body")


@pytest.mark.long
def test_a_word_that_it_does_not_know_is_marked_and_its_words_are_offered(visit):
    tab = visit("/?model=classroom").drawn()
    tab.type("The zebra didn't cross the street because it was too tired.").drawn()
    assert "the model sees only" in tab.page.inner_text("body")
    tab.page.get_by_role("button", name=re.compile(r"The \d+ words it knows")).click()
    tab.page.get_by_text(re.compile(r"\banimal\b.*\bstreet\b.*\bwide\b")).first.wait_for()
