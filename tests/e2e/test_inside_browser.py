"""Inside and Learn in a real browser: the numbers on the screen are enough to compute the output oneself."""

import re

import numpy as np
import pytest
from axe_core_python.sync_playwright import Axe

from mha_core import layer_details, load_model, trace

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
IT, ANIMAL = 10, 2


def table(tab, name: str) -> np.ndarray:
    """Open the numbers of a matrix and read them off the screen."""
    button = tab.page.locator(f"button.numbers[data-matrix='{name}']").first
    button.wait_for(timeout=30_000)
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    place = tab.page.locator(f".scroll table[data-matrix='{name}']").first
    place.wait_for()
    rows = place.evaluate(
        "t => [...t.tBodies[0].rows].map(r => [...r.cells].slice(1).map(c => c.textContent))"
    )
    return np.array([[float(cell.replace("−", "-")) for cell in row] for row in rows])


def part_of(tab, head: int) -> tuple[np.ndarray, np.ndarray]:
    """What one head adds to `it`, from X and the head's matrices on the screen alone; and its weights."""
    x = table(tab, "X")
    q, k, v = (x @ table(tab, f"W_{name}") + table(tab, f"b_{name}") for name in "qkv")
    if head == 1:
        for name, computed in (("Q", q), ("K", k), ("V", v)):
            np.testing.assert_allclose(table(tab, name), computed, atol=2e-3)
    scores = q[IT] @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores) / np.exp(scores).sum()
    return weights @ v @ table(tab, "W_o"), weights


def test_the_output_can_be_computed_from_the_numbers_on_the_screen(visit):
    for head in (1, 10):  # 4-2 and 4-11
        tab = visit(f"/inside?head=4-{head + 1}&pin={IT}")
        part, weights = part_of(tab, head)
        shown = table(tab, "parts")
        np.testing.assert_allclose(shown[head], part, atol=3e-3)
        np.testing.assert_allclose(table(tab, "weights")[IT], weights, atol=1e-3)
        if head == 1:
            assert weights[ANIMAL] == pytest.approx(0.677, abs=1e-3)
    *parts, bias, output = shown
    assert len(parts) == 12
    np.testing.assert_allclose(sum(parts) + bias, output, atol=1e-2)
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    np.testing.assert_allclose(output, truth.output[IT], atol=1e-5)


def test_a_click_on_a_token_follows_it_through_all_steps(visit):
    tab = visit("/inside?head=4-2")
    row = tab.page.get_by_role("radiogroup", name="Token to follow")
    assert row.get_by_role("radio", name="it", exact=True).get_attribute("aria-checked") == "true"
    row.get_by_role("radio", name="tired", exact=True).click()
    tab.page.get_by_text(re.compile("^tired looks most at")).wait_for()
    tab.settled()
    assert "pin=13" in tab.page.url
    row.get_by_role("radio", name="tired", exact=True).press("ArrowLeft")
    tab.page.get_by_text(re.compile("^too looks most at")).wait_for()
    focused = "document.activeElement.shadowRoot ?? document"
    assert tab.page.evaluate(f"({focused}).activeElement.textContent") == "too"


def test_a_typed_score_moves_the_weight_and_can_be_taken_back(visit):
    tab = visit(f"/inside?head=4-2&pin={IT}")
    box = tab.page.get_by_label("scores, row 1, column 3", exact=True).first
    assert box.input_value() == "3.834"
    box.fill("−9,5")
    box.press("Enter")
    tab.page.get_by_text("You changed this layer: one changed score").wait_for()
    tab.settled()
    truth = trace(TIRED, load_model()).weights[3, 1, IT]
    expected = truth / (1 - truth[ANIMAL])
    shown = table(tab, "weights")[IT]
    np.testing.assert_allclose(np.delete(shown, ANIMAL), np.delete(expected, ANIMAL), atol=1e-3)
    assert shown[ANIMAL] < 1e-4
    tab.page.get_by_role("button", name="Undo changed scores").click()
    tab.page.get_by_text("Nothing is changed yet").wait_for()


def test_the_worked_example_follows_what_is_typed(visit):
    tab = visit("/inside?part=By+hand")
    x = tab.page.get_by_label("X, row 1, column 1", exact=True)
    x.fill("2")
    x.press("Enter")
    output = tab.page.locator(".tiles[data-matrix=output]")
    tab.settled()
    tiles = [float(t.replace("−", "-")) for t in output.locator("div:not(.label)").all_inner_texts()]
    first = np.exp(9 / 2**0.5) / (np.exp(9 / 2**0.5) + 1)
    np.testing.assert_allclose(tiles[:4], [3 * first, 4 * (1 - first), 4 * (1 - first), 3 * first], atol=1e-3)


def test_a_term_opens_its_sentence_where_it_stands(visit):
    tab = visit("/inside")
    tab.page.get_by_role("button", name="query", exact=True).first.click()
    assert "What a token looks for" in tab.page.locator(".definition").inner_text()
    tab.page.keyboard.press("Escape")
    tab.page.locator(".definition").wait_for(state="detached")


def test_a_class_link_hides_what_it_names(visit):
    tab = visit("/inside?hide=menu,sentence&text=Birds+sing.&head=2-3")
    assert not tab.page.get_by_label("Your sentence").is_visible()
    assert not tab.page.get_by_text("HeadScope", exact=True).is_visible()
    tab.page.get_by_role("radio", name="Birds", exact=True).wait_for()


@pytest.mark.parametrize(
    "path", ["/inside", "/inside?part=By+hand", "/inside?part=Variants", "/learn?step=split"]
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_overflows_on_a_phone(visit, path, scheme):
    tab = visit(path, viewport={"width": 420, "height": 900}, color_scheme=scheme)
    tab.page.get_by_role("heading", level=1).wait_for()
    tab.page.evaluate("document.fonts.ready")
    tab.settled()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 420
    found = Axe().run(tab.page)["violations"]
    assert not [(v["id"], [n["target"] for n in v["nodes"]][:3]) for v in found]
