"""The browser's history: one step a sentence, so that Back leads to the sentence before."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.visit import TIRED, WIDE

pytestmark = pytest.mark.browser
CAT = "The cat sat on the mat because it was tired."
BLANK = 1  # the empty tab in which the page was opened


def steps(tab):
    return tab.page.evaluate("history.length") - BLANK


def asked(tab):
    return {key: values[0] for key, values in parse_qs(urlsplit(tab.page.url).query).items()}


def completed(tab):
    tab.page.wait_for_url("**text=*")
    return asked(tab)


@pytest.mark.long
def test_a_new_sentence_is_one_step_and_everything_else_none(visit):
    tab = visit().drawn()
    assert completed(tab) == {"text": TIRED, "head": "4-2", "pin": "10"}
    tab.head("5-7").click()
    tab.settled().page.get_by_label("What is shown").select_option("value")
    tab.settled().page.get_by_role("button", name="Lines", exact=True).click()
    tab.settled()
    assert asked(tab) == {"text": TIRED, "head": "5-7", "pin": "10", "measure": "value", "tab": "lines"}
    assert steps(tab) == 1, "a head, a measure, a tab"
    tab.type(CAT)
    assert asked(tab)["text"] == CAT
    assert steps(tab) == 2
    tab.page.go_back()
    tab.settled()
    assert asked(tab)["text"] == TIRED
    assert asked(tab)["head"] == "5-7"
    assert "animal" in tab.page.locator("input[aria-label='Your sentence']").input_value()
    tab.page.go_forward()
    tab.settled()
    assert asked(tab)["text"] == CAT
    assert "sat" in tab.page.locator("input[aria-label='Your sentence']").input_value()
    tab.page.get_by_role("link", name="Compare").click()
    tab.drawn()
    assert "text2" in asked(tab)
    assert steps(tab) == 3, "another page"


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "whole"),
    [
        ("/?text=The+cat+sat.&head=9-9", {"text": "The cat sat."}),  # a head that there is not is taken away
        ("/compare", {"text": TIRED, "text2": WIDE, "head": "4-2"}),
        ("/inside", {"text": TIRED, "head": "4-2"}),
        ("/learn", {"text": TIRED}),
    ],
)
def test_a_link_is_completed_without_a_step_of_its_own(visit, path, whole):
    tab = visit(path)
    found = completed(tab)
    assert steps(tab) == 1
    assert whole.items() <= found.items()
    tab.page.wait_for_url(lambda url: "9-9" not in url)


WALK = """async (grid, names) => {
  const before = talk.asked;
  for (const name of names) {
    grid.querySelector(`[aria-label^="Head ${name}:"]`).click();
    await new Promise((done) => setTimeout(done, 70));
  }
  return [talk.asked - before, new URLSearchParams(location.search).get("head"), headscope.untold];
}"""
GO_ON = """(grid) => {
  grid.querySelector("[aria-selected=false]").click();
  const untold = headscope.untold;
  document.querySelector("h1").dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  return [untold, headscope.untold];
}"""

REST = """async (grid) => {
  grid.querySelector('[aria-label^="Head 3-4:"]').click();
  await new Promise((done) => setTimeout(done, 900));
  const rested = headscope.untold;
  document.querySelector(".st-key-below").scrollIntoView();
  const until = performance.now() + 5000;
  while (headscope.untold && performance.now() < until) await new Promise((done) => setTimeout(done, 25));
  return [rested, headscope.untold];
}"""

DRAWN_ANEW = """(grid, text) => {
  const [entry] = headscope.mounted.values();
  grid.querySelector("[aria-label^='Head 3-3:']").click();
  const [id] = entry.records.split(",");
  const other = { ...headscope.records.get(id), id: "other", ...text };
  headscope.records.set("other", other);
  const selection = { head: [0, 1], pins: [], to: null };
  headscope.show(entry, { mode: "explore", records: ["other"], n: entry.n + 1, selection });
  return grid.querySelector("[aria-selected=true]").ariaLabel.slice(0, 9);
}"""


def test_the_address_follows_every_head_at_once_and_the_page_below_the_last_one(visit):
    tab = visit(f"/?text={CAT}").drawn()
    heads = tab.page.locator(".headscope .heads")
    asked_runs, head, untold = heads.evaluate(WALK, ["1-1", "1-2", "2-3", "3-4", "5-7", "6-2"])
    assert head == "6-2", "before anybody was asked"
    assert untold
    assert asked_runs < 4, "a fresh server's page asks by itself, once a second"
    tab.settled()
    assert asked(tab)["head"] == "6-2"
    assert steps(tab) == 1
    compare = tab.page.get_by_role("link", name="Compare").get_attribute("href")
    assert parse_qs(urlsplit(compare).query)["head"] == ["6-2"], "Python has heard of it"
    assert heads.evaluate(GO_ON) == [True, False], "who goes on elsewhere finds it told"
    tab.settled()
    assert asked(tab)["head"] == "1-1"
    assert heads.evaluate(REST) == [True, False], "nobody is asked until what is below the picture is seen"
    tab.head("1-1").click()
    tab.settled().page.reload()
    tab.drawn()
    assert tab.head("1-1").get_attribute("aria-selected") == "true"
    heads = tab.page.locator(".headscope .heads")
    assert heads.evaluate(DRAWN_ANEW, {}) == "Head 3-3:", (
        "the same text, drawn anew while nobody has been told"
    )
    assert heads.evaluate(DRAWN_ANEW, {"title": "Another one."}) == "Head 1-2:", "another text"


def test_who_goes_on_at_once_takes_along_the_head_that_was_chosen(visit):
    tab = visit(f"/?text={CAT}&head=1-1").drawn()
    there = tab.page.get_by_role("link", name="Inside", exact=True)
    tab.head("3-2").click()
    there.click()  # at once, as a finger does
    tab.page.wait_for_url("**/inside?**")
    tab.settled()
    assert asked(tab)["head"] == "3-2"
    tab.page.go_back()
    tab.drawn()
    assert asked(tab)["head"] == "3-2"
    assert tab.head("3-2").get_attribute("aria-selected") == "true"


def test_parts_of_a_page_come_and_go_with_what_their_controls_say_and_that_is_no_step(visit):
    """Streamlit takes what a control said out of the link once it is gone, and tells of a first seed as changed."""
    tab = visit("/training?guess=nearly+all").settled()
    there, before = completed(tab), steps(tab)
    assert there == {"text": TIRED, "guess": "nearly all"}
    tab.page.get_by_role("radio", name="Where does it look?").click()
    tab.page.wait_for_url(lambda url: "guess" not in url)
    assert asked(tab.settled()) == {"text": TIRED, "train": "Where does it look?"}
    assert tab.page.get_by_label("Seed").input_value() == "1", "this part's own"
    tab.page.get_by_role("radio", name="One head or four?").click()
    tab.page.wait_for_url("**guess=*")
    assert asked(tab.settled()) == there
    assert steps(tab) == before
