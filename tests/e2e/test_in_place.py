"""The sentence is changed where it stands: head and pin stay, the old arcs leave a trace, and Compare takes both."""

import json
import re

import pytest

from mha_core import trace
from mha_core.heads.measures import importance

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")
BOTTOM = "e => e.getBoundingClientRect().bottom"

# How wide a band is at its two ends.
ENDS = """(e) => {
  const all = e.getAttribute("d").slice(1, -1).split("L").map((p) => p.split(" ").map(Number));
  const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
  return [apart(all[0], all.at(-1)), apart(all[all.length / 2 - 1], all[all.length / 2])];
}"""


def percent(weight: float) -> str:
    return f"{100 * weight:.1f} %"


def test_a_word_is_changed_in_place_and_leaves_a_trace_that_opens_as_a_comparison(visit, model):
    tab = visit("/?head=4-2&pin=10").drawn()
    page = tab.page
    tab.word("tired").dblclick()
    page.keyboard.type("wide")
    page.keyboard.press("Escape")
    assert tab.word("tired").is_visible(), "Escape leaves the word as it was"
    assert page.get_by_label("Your sentence", exact=True).input_value() == TIRED
    tab.word("tired").dblclick()
    page.keyboard.type("wide")
    page.keyboard.press("Enter")
    tab.settled()
    assert page.get_by_label("Your sentence", exact=True).input_value() == WIDE
    before, after = (trace(text, model).grid().weights[3, 1, 10] for text in (TIRED, WIDE))
    assert "head=4-2" in page.url
    assert "pin=10" in page.url
    animal = page.locator(".labels .share").filter(has_text=percent(after[2]))
    assert animal.locator(".was").inner_text() == percent(before[2])
    assert page.locator("path.trace").count() == sum(w >= 0.01 for w in before)
    assert f"before, with “tired”: “animal” ({percent(before[2])})" in page.locator("p.trace").inner_text()
    tab.head("5-7").click()
    tab.settled()
    other = trace(TIRED, model).grid().weights[4, 6, 10]
    assert f"({percent(other.max())})" in page.locator("p.trace").inner_text(), (
        "the trace is of the same head"
    )
    page.get_by_role("link", name="Keep as comparison").click()
    page.wait_for_url("**/compare?**")
    tab.drawn()
    assert page.get_by_label("Sentence A", exact=True).input_value() == TIRED
    assert page.get_by_label("Sentence B", exact=True).input_value() == WIDE
    assert "head=5-7" in page.url
    assert "pin=10" in page.url


@pytest.mark.long
def test_the_keyboard_changes_a_word_and_the_box_keeps_what_is_chosen(visit):
    tab = visit("/?head=4-2&pin=10").drawn()
    page = tab.page
    tab.word("animal").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("small dog")
    page.keyboard.press("Enter")
    tab.settled()
    assert page.get_by_label("Your sentence", exact=True).input_value() == TIRED.replace(
        "animal", "small dog"
    )
    assert "pin=11" in page.url, "the pinned word moved along"
    tab.type(TIRED.replace("animal", "dog")).drawn()
    assert "pin=10" in page.url
    assert "with “small”" in page.locator("p.trace").inner_text()
    page.get_by_role("button", name="Hide what was before").click()
    assert page.locator("path.trace").count() == 0
    page.get_by_role("button", name="cat", exact=True).click()
    tab.settled()
    assert page.locator("path.trace").count() == 0


@pytest.mark.long
def test_compare_begins_with_one_word_ready_to_be_changed(visit):
    tab = visit("/compare?text=Birds sing in trees.").drawn()
    page = tab.page
    assert "B is the same sentence still" in page.locator(".titles").inner_text()
    page.locator(".unit.ready").click()
    page.keyboard.type("cages")
    page.keyboard.press("Enter")
    tab.settled()
    assert page.get_by_label("Sentence A", exact=True).input_value() == "Birds sing in trees."
    assert page.get_by_label("Sentence B", exact=True).input_value() == "Birds sing in cages."
    assert "text2=Birds+sing+in+cages." in page.url
    assert page.locator(".unit.ready").count() == 0
    page.locator(".column .unit").filter(has_text=re.compile("^Birds$")).first.dblclick()
    page.keyboard.type("Poets")
    page.keyboard.press("Enter")
    tab.settled()
    assert page.get_by_label("Sentence A", exact=True).input_value() == "Poets sing in trees."
    assert page.get_by_label("Sentence B", exact=True).input_value() == "Birds sing in cages."


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "seen"),
    [
        ((1280, 720), [".words", ".heads"]),
        ((390, 844), [".words"]),
        ((1024, 768), [".words", ".matrix canvas"]),
    ],
)
def test_the_first_screen_shows_the_sentence_its_arcs_and_what_is_chosen(visit, size, seen):
    query = "?present=1" if size[0] == 1024 else ""
    tab = visit(f"/{query}", viewport={"width": size[0], "height": size[1]}).drawn()
    for part in seen:
        assert tab.page.locator(f".headscope {part}").first.evaluate(BOTTOM) <= size[1], part
    assert tab.page.locator(".headscope .arcs path").count() > 3


@pytest.mark.long
def test_an_arc_carries_its_weight_and_what_it_brings(visit, model):
    tab = visit("/?head=5-7&pin=10").drawn()
    page = tab.page
    page.get_by_label("and what it brings").check()
    tab.settled()
    assert "brings=1" in page.url
    tokens = trace(TIRED, model).tokens
    brought = importance(tokens, model, "value").weights[4, 6, 10]
    weights = trace(TIRED, model).weights[4, 6, 10]
    label = page.locator(".labels .share").filter(has_text=percent(weights[0])).first
    assert label.locator(".was").inner_text() == f"brings {percent(brought[0])}"
    bands = page.locator(".arcs path.band")
    assert bands.count() >= 5
    first, last = bands.last.evaluate(ENDS)  # the heaviest is drawn last: the one to [CLS]
    assert first < last / 3, "what [CLS] brings collapses on the way to the word that looks"
    tab.head("4-2").click()
    tab.settled()
    other = importance(tokens, model, "value").weights[3, 1, 10, 2]
    assert page.locator(".labels .was").filter(has_text=f"brings {percent(other)}").count() == 1
    page.get_by_label("scale to the largest").check()
    tab.settled()
    assert "scale=largest" in page.url
    largest = trace(TIRED, model).weights[3, 1].max()
    assert f"darkest = {percent(largest)}" in page.locator(".onehead > .caption").first.inner_text()
    steps = page.evaluate("history.length")
    page.get_by_label("What is shown").select_option("value")
    tab.drawn()
    assert "measure=value" in page.url
    assert page.evaluate("history.length") == steps, "another measure is no step of the history"
    assert page.get_by_label("and what it brings").is_hidden()
    assert page.locator(".arcs path.band").count() == 0


STANDING = """(root) => {
  const all = (selector, of) => [...root.querySelectorAll(selector)].map(of);
  const place = (el) => [el.textContent, el.className, el.style.left, el.style.top, el.style.cssText];
  return JSON.stringify({
    words: all(".unit", (el) => [el.textContent, el.className]),
    arcs: all(".arcs > *", (el) => el.outerHTML),
    room: [root.querySelector(".arcs").getAttribute("viewBox"), root.querySelector(".sentence").className],
    shares: all(".labels > *", place),
    heads: all("[role=gridcell]", (el) => [el.getAttribute("aria-label"), el.ariaSelected, el.tabIndex]),
    pictures: all("canvas", (el) => el.toDataURL()),
    ranks: all(".ranks button", (el) => [[...el.children].map(place), el.dataset.head, el.ariaCurrent, el.tabIndex]),
    choices: all("select", (el) => [el.value, ...[...el.options].map((one) => [one.value, one.textContent])]),
  });
}"""
TALES = (
    "Ann gave her brother a red book.",
    "When the old clock in the tower struck nine, the baker closed his shop, put out the lamps, and walked home "
    "along the river with a basket of warm bread on his arm, because his daughter wanted to feed the ducks.",
    "It rained.",
    "My neighbour sold the car that she had bought from my uncle.",
    "Our neighbour took the cat which he has found near your house.",  # as long: only what is drawn changes
)


def test_what_is_drawn_over_another_sentence_is_what_a_fresh_page_draws(visit):
    tab = visit("/").drawn()
    tab.page.wait_for_selector(".headscope .role", timeout=90_000)  # a fresh server finds them out first
    for tale in TALES:
        tab.type(tale)
        tab.head("5-7").click()
        tab.settled()
        tab.page.wait_for_timeout(300)  # the arcs' way
        over = tab.page.locator(".headscope").evaluate(STANDING)
        tab.page.reload()
        tab.drawn()
        fresh = tab.page.locator(".headscope").evaluate(STANDING)
        assert json.loads(over) == json.loads(fresh), tale
