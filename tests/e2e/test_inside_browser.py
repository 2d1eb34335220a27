"""Inside and Learn in a real browser: the numbers on the screen are enough to compute the output oneself."""

import re

import numpy as np
import pytest
from axe import CONTRAST, complaints

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


def at(tab, screen: str):
    """The tab on another screen of the walk."""
    tab.page.get_by_label("Screen", exact=True).select_option(screen)
    tab.page.wait_for_url(re.compile(f"at={screen}"))
    return tab.settled()


def part_of(tab) -> tuple[np.ndarray, np.ndarray]:
    """What the head adds to `it`, from X and the head's matrices on the screens alone; and its weights."""
    x = table(at(tab, "x"), "X")
    at(tab, "qkv")
    q, k, v = (x @ table(tab, f"W_{name}") + table(tab, f"b_{name}") for name in "qkv")
    for name, computed in (("Q", q), ("K", k), ("V", v)):
        np.testing.assert_allclose(table(tab, name), computed, atol=2e-3)
    scores = q[IT] @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores) / np.exp(scores).sum()
    return weights @ v @ table(at(tab, "output"), "W_o"), weights


@pytest.mark.long
def test_the_output_can_be_computed_from_the_numbers_on_the_screens(visit):
    tab = visit(f"/inside?head=4-2&pin={IT}&matrices=true&at=sentence")
    part, weights = part_of(tab)
    shown = table(at(tab, "parts"), "parts")
    np.testing.assert_allclose(shown[1], part, atol=3e-3)
    np.testing.assert_allclose(table(at(tab, "weights"), "weights")[IT], weights, atol=1e-3)
    assert weights[ANIMAL] == pytest.approx(0.677, abs=1e-3)
    *parts, bias, output = shown
    assert len(parts) == 12
    np.testing.assert_allclose(sum(parts) + bias, output, atol=1e-2)
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    np.testing.assert_allclose(output, truth.output[IT], atol=1e-5)


@pytest.mark.long
def test_a_click_on_a_token_follows_it_and_back_returns_to_the_one_before(visit):
    tab = visit("/inside?head=4-2&at=weights")
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
    tab.settled().page.go_back()
    tab.page.get_by_text(re.compile("^tired looks most at")).wait_for()


def is_refused(tab, box, typed, said):
    """Type what the box cannot take, and see it said under the box."""
    box.fill(typed)
    box.press("Tab")
    tab.page.get_by_text(said).wait_for()
    assert box.get_attribute("aria-invalid") == "true"


@pytest.mark.long
def test_a_typed_score_moves_the_weight_nonsense_is_answered_and_undo_takes_it_back(visit):
    tab = visit(f"/inside?head=4-2&pin={IT}&at=weights")
    box = tab.page.get_by_label("score of it for animal", exact=True)
    assert box.input_value() == "3.834"
    for typed, said in (
        ("abc", "“abc” is not a number; 3.834 is still used."),
        ("1e999", "1e999 is too large"),
        ("", "The box is empty; 3.834 is still used."),
    ):
        is_refused(tab, box, typed, said)
    box.fill("−9,5")
    box.press("Enter")
    tab.page.get_by_text("You changed this layer: one changed score").wait_for()
    tab.settled()
    assert box.get_attribute("aria-invalid") is None
    truth = trace(TIRED, load_model()).weights[3, 1, IT]
    expected = truth / (1 - truth[ANIMAL])
    shown = table(tab, "weights")[IT]
    np.testing.assert_allclose(np.delete(shown, ANIMAL), np.delete(expected, ANIMAL), atol=1e-3)
    assert shown[ANIMAL] < 1e-4
    assert "edits=4-2" in tab.page.url
    tab.page.get_by_role("button", name="Undo").click()
    tab.page.get_by_text("You changed this layer").wait_for(state="detached")
    assert "edits" not in tab.settled().page.url


@pytest.mark.long
def test_the_worked_example_follows_what_is_typed(visit):
    tab = visit("/inside?part=By+hand&at=x")
    x = tab.page.get_by_label("X, first, column 1", exact=True)
    x.fill("2")
    x.press("Enter")
    tab.page.get_by_role("button", name="Put all numbers back").wait_for()
    tab.settled().page.get_by_role("button", name=re.compile("^output")).first.click()
    tiles = tab.page.locator(".tiles[data-matrix=output] div:not(.label)")
    tiles.first.wait_for()
    tab.settled()
    shown = [float(text.replace("−", "-")) for text in tiles.all_inner_texts()]
    first = np.exp(9 / 2**0.5) / (np.exp(9 / 2**0.5) + 1)
    second = np.exp(5 / 2**0.5) / (np.exp(5 / 2**0.5) + np.exp(6 / 2**0.5))
    expected = [3 * first, 4 * (1 - first), 2 * second + 2 * (1 - second), second + 2 * (1 - second)]
    np.testing.assert_allclose(shown[:4], expected, atol=1e-3)
    tab.page.get_by_role("button", name="The same step in the real layer").click()
    tab.page.locator("button.numbers[data-matrix=output]").wait_for()


FOCUSED = """() => { let at = document.activeElement;
  while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  return at ? (at.getAttribute("aria-label") || at.textContent || "").trim() : ""; }"""


def tabbed_to(tab, name: str) -> None:
    """Press Tab until what has the focus is called so."""
    for _ in range(60):
        if tab.page.evaluate(FOCUSED).startswith(name):
            return
        tab.page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {name}: the focus is at {tab.page.evaluate(FOCUSED)!r}")


@pytest.mark.long
def test_the_machine_is_walked_by_keyboard_alone(visit):
    tab = visit(f"/inside?head=4-2&pin={IT}", viewport={"width": 1280, "height": 800})
    tabbed_to(tab, "Next:")
    screens = int(re.search(r"of (\d+)", tab.page.locator(".place-of").inner_text())[1])
    for place in range(2, screens + 1):
        tab.page.keyboard.press("ArrowRight")
        tab.page.get_by_role("heading", name=re.compile(f"^{place} · ")).wait_for()
        tab.settled()
        assert "at=" in tab.page.url
        room = tab.page.evaluate(
            "(m => m.scrollHeight - m.clientHeight)(document.querySelector('[data-testid=stMain]'))"
        )
        assert room <= 0, f"screen {place} is {room} px too high for this window"
    tab.page.get_by_text("Is this what torch computes?").first.wait_for(state="attached")
    tab.page.go_back()
    tab.page.get_by_role("heading", name=re.compile(f"^{screens - 1} · ")).wait_for()
    tab = visit(f"/inside?head=4-2&pin={IT}&at=scores")
    tabbed_to(tab, "Q K ᵀ")
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("q of was · k of didn").first.wait_for()
    tab.settled()
    assert "cell=raw%3A12%3A4" in tab.page.url or "cell=raw:12:4" in tab.page.url
    assert tab.page.evaluate(FOCUSED).startswith("Q K ᵀ"), "the focus stays in the picture"


@pytest.mark.long
def test_tokens_and_heads_are_chosen_in_the_pictures_by_mouse_and_keys(visit):
    tab = visit(f"/inside?head=4-2&pin={IT}&at=z")
    tab.page.get_by_role("button", name="Follow tired").first.click()
    tab.page.get_by_text("z of tired, number").wait_for()
    assert "pin=13" in tab.settled().page.url
    followed = tab.page.get_by_role("button", name="Follow tired").first
    assert followed.get_attribute("aria-current") == "true"
    followed.press("ArrowUp")
    assert tab.page.evaluate(FOCUSED) == "Follow too"
    assert "at=z" in tab.page.url, "the arrow keys stay in the picture"
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("z of too, number").wait_for()
    tab = visit(f"/inside?head=4-2&pin={IT}&at=parts")
    tab.page.get_by_role("button", name="Head 4-8").first.click()
    tab.page.wait_for_url(re.compile("head=4-8"))
    assert tab.settled().page.get_by_role("combobox", name="Head").first.input_value() == "head 8"


@pytest.mark.long
def test_what_is_no_whole_number_is_answered_beneath_its_box(visit):
    tab = visit("/inside?part=Sizes+and+costs")
    box = tab.page.get_by_label("Heads", exact=True)
    yours = tab.page.locator("table[data-matrix=sizes] tr.chosen")
    for typed, said in (
        ("abc", "Heads: “abc” is not a number; 8 is still used."),
        ("", "Heads: The box is empty"),
        ("1e999", "Heads: 1e999 is too large"),
        ("0", "Heads: a whole number from 1 to 1,024"),
    ):
        is_refused(tab, box, typed, said)
        assert "512 / 8" in yours.inner_text()
    box.fill("16")
    box.press("Enter")
    tab.page.get_by_text("512 / 16").wait_for()
    assert "h=16" in tab.settled().page.url
    assert tab.page.get_by_label("Heads", exact=True).get_attribute("aria-invalid") is None
    tab.page.get_by_label("With biases").click()
    tab.page.get_by_text(f"{4 * 512**2:,}").wait_for()
    assert "biases=false" in tab.settled().page.url


PRESENTED = {"viewport": {"width": 1024, "height": 768}}
LAPTOP = {"viewport": {"width": 1280, "height": 800}}
OVER = """() => { const m = document.querySelector('[data-testid=stMain]');
  const wide = [...document.querySelectorAll('[data-testid=stBidiComponent]')].filter((e) => {
    const r = e.getBoundingClientRect(); return r.right > innerWidth + 1; }).length;
  return [m.scrollHeight - m.clientHeight, wide]; }"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "query"),
    [
        (LAPTOP, "&temperature=2&causal=true"),
        (PRESENTED, "&present=1"),
        (PRESENTED, "&present=1&temperature=2"),
    ],
)
def test_words_and_picture_are_seen_together_on_a_laptop_when_changed_and_on_a_projector(visit, size, query):
    tab = visit(f"/inside?head=4-2&pin={IT}&at=sentence{query}", **size)
    names = tab.page.get_by_label("Screen", exact=True).locator("option")
    names.first.wait_for(state="attached")
    over = {}
    for key in names.evaluate_all("all => all.map(e => e.value)"):
        over[key] = at(tab, key).page.evaluate(OVER)
    assert len(over) == 14
    assert {key: found for key, found in over.items() if found[0] > 0 or found[1]} == {}


@pytest.mark.long
def test_a_term_opens_its_sentence_where_it_stands(visit):
    tab = visit("/inside?at=qkv")
    tab.page.get_by_role("button", name="query", exact=True).first.click()
    assert "What a token looks for" in tab.page.locator(".definition").inner_text()
    tab.page.keyboard.press("Escape")
    tab.page.locator(".definition").wait_for(state="detached")


@pytest.mark.long
def test_a_class_link_hides_what_it_names(visit):
    tab = visit("/inside?hide=menu,sentence&text=Birds+sing.&head=2-3")
    assert not tab.page.get_by_label("Your sentence").is_visible()
    assert not tab.page.get_by_text("HeadScope", exact=True).is_visible()
    tab.page.get_by_role("radio", name="Birds", exact=True).wait_for()


@pytest.mark.long
@pytest.mark.parametrize(
    "path",
    [
        "/inside?at=scores",
        "/inside?at=weights",
        "/inside?part=By+hand&at=qkv",
        "/inside?part=Variants",
        "/inside?part=One+head+or+many&at=hulls",
        "/inside?part=Sizes+and+costs",
        "/learn?step=split",
    ],
)
def test_axe_finds_nothing_and_nothing_overflows_on_a_phone(visit, path):
    tab = visit(path, viewport={"width": 420, "height": 900})
    tab.page.get_by_role("heading", level=1).wait_for()
    tab.page.evaluate("document.fonts.ready")
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        tab.settled()
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 420
        found = complaints(tab.page, CONTRAST if scheme == "dark" else None)
        assert not found, f"{scheme}\n" + "\n".join(found)
