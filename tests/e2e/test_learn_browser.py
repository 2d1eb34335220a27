"""The lesson in a real browser: the need in the reader's hands, guesses, keys, what survives, what fits a screen."""

import json
import re

import pytest
from axe import CONTRAST, complaints

from pages.parts.learn.exercises import check, exercises, steps

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LAPTOP = {"width": 1280, "height": 800}
PROJECTOR = {"width": 1024, "height": 768}
PHONE = {"width": 390, "height": 800}
MAIN = "(() => { const m = document.querySelector('[data-testid=stMain]'); return [m.scrollHeight, m.scrollWidth]; })()"
FOCUS = (
    "(() => { let e = document.activeElement; while (e.shadowRoot && e.shadowRoot.activeElement)"
    " e = e.shadowRoot.activeElement; return e.getAttribute('aria-label') || e.innerText; })()"
)


def give(tab, word: str, head: int, key: str) -> None:
    tab.page.get_by_role("slider", name=f"{word}, head {head}", exact=True).focus()
    tab.page.keyboard.press(key)


@pytest.mark.long
def test_one_head_loses_what_two_bring_and_keys_do_it(visit):
    tab = visit("/learn", viewport=LAPTOP)
    verdict = tab.page.locator(".outcome .verdict")
    give(tab, "animal", 1, "End")
    assert verdict.inner_text().startswith("Lost: tired.")
    tab.page.keyboard.press("ArrowRight")
    assert tab.page.evaluate(FOCUS) == "didn, head 1", (
        "arrow keys move over the words and do not turn the page"
    )
    for _ in range(5):
        give(tab, "animal", 1, "ArrowDown")
        give(tab, "tired", 1, "ArrowUp")
    assert verdict.inner_text().startswith("Diluted: animal and tired")
    tab.page.get_by_role("button", name="Add a second head").click()
    give(tab, "tired", 1, "Delete")
    give(tab, "animal", 1, "End")
    give(tab, "tired", 2, "End")
    assert "nothing that is needed is lost" in verdict.inner_text()
    assert tab.settled().page.evaluate(MAIN)[0] <= 800
    tab.open("/learn")
    assert "nothing that is needed is lost" in tab.page.locator(".outcome .verdict").inner_text()


def test_the_lesson_asks_first_and_shows_then_and_a_picture_is_one_tab_stop(visit):
    tab = visit("/learn?step=2", viewport=LAPTOP)
    assert not tab.page.locator("table.follow").count()
    tab.page.get_by_role("radio", name="street", exact=True).click()
    tab.page.get_by_text(re.compile("Most goes to animal")).wait_for()
    tab.page.locator("table.follow").wait_for()
    tab.settled().page.get_by_role("button", name="Follow tired", exact=True).click()
    tab.settled()
    assert "pin=13" in tab.page.url
    tab.open("/learn?step=6")
    tab.page.get_by_role("radio", name="Choose 1-1", exact=True).focus()
    for key, there in (("ArrowRight", "Choose 1-2"), ("ArrowDown", "Choose 2-2"), ("ArrowUp", "Choose 1-2")):
        tab.page.keyboard.press(key)
        assert tab.page.evaluate(FOCUS) == there
    tab.page.keyboard.press("Tab")
    assert not tab.page.evaluate(FOCUS).startswith("Choose"), "seventy-two heads are one stop"
    tab.page.get_by_role("radio", name="Choose 1-3", exact=True).click()
    tab.page.get_by_text("Yes: 1-3 puts").wait_for()
    tab.settled()
    assert "step=heads" in tab.page.url or "step=6" in tab.page.url
    tab.page.set_viewport_size(PROJECTOR)
    shown = tab.settled().page.locator("ol.route").evaluate("line => [line.clientWidth, line.scrollWidth]")
    assert shown[1] <= shown[0], "the whole map, to W_o"
    box = tab.page.get_by_label("Your sentence", exact=True).evaluate(
        "box => [box.clientWidth, box.scrollWidth]"
    )
    assert box[1] <= box[0], "the sentence, to tired."


@pytest.mark.long
def test_answers_and_marks_survive_a_reload_and_stay_in_this_browser(visit):
    tab = visit("/learn?step=split", viewport=LAPTOP)
    box = tab.page.get_by_role("textbox", name=re.compile("How wide is one head"))
    box.fill("1024/16=64")
    box.press("Enter")
    tab.page.get_by_text("Right. 1024 / 16 = 64.").wait_for()
    tab.settled().page.reload()
    tab.settled().page.get_by_text("Right. 1024 / 16 = 64.").wait_for()
    assert tab.page.locator(".steps button.done").count() == 1
    assert "done" not in tab.page.url
    tab.open("/learn?show=Quiz")
    tab.page.get_by_role("button", name="Forget my answers").click()
    tab.settled()
    assert "dk1024" not in tab.page.evaluate("localStorage.getItem('headscope-lesson')")


@pytest.mark.long
def test_heads_are_chosen_in_the_picture(visit):
    tab = visit("/learn?step=rows", viewport=LAPTOP)
    tab.page.get_by_role("button", name="Head 4-8", exact=True).press("Enter")
    tab.settled()
    assert "head=4-8" in tab.page.url
    tab.page.get_by_role("radio", name="tired", exact=True).click()
    tab.settled()
    assert "pin=13" in tab.page.url
    tab.page.go_back()
    tab.settled()
    assert "pin=10" in tab.page.url
    assert tab.page.get_by_role("radio", name="it", exact=True).get_attribute("aria-checked") == "true"


@pytest.mark.long
def test_a_press_in_a_matrix_chooses_its_head_and_its_token(visit):
    tab = visit("/learn?step=mix&head=4-2&pin=10", viewport=LAPTOP)
    z = tab.page.locator("canvas").first
    box = z.bounding_box()
    z.click(position={"x": box["width"] * 8.5 / 12, "y": box["height"] * 2.5 / 16})
    tab.settled()
    assert "head=4-9" in tab.page.url
    assert "pin=2" in tab.page.url
    tab.open("/learn?step=rows&head=4-2&pin=10")
    grid = tab.page.locator("canvas").first
    box = grid.bounding_box()
    grid.click(position={"x": box["width"] * 8.5 / 16, "y": box["height"] * 0.5 / 13})
    tab.settled()
    assert "head=4-2" in tab.page.url, "the wide row is no head"
    assert "pin=8" in tab.page.url


@pytest.mark.long
def test_a_presenter_turns_the_steps_and_sees_sentence_and_picture_at_once(visit):
    tab = visit("/learn?step=1&present=1", viewport=PROJECTOR)
    tab.page.get_by_role("heading", name=re.compile("^2 ·")).wait_for()
    tab.settled().page.get_by_role("radiogroup", name="Token to follow").wait_for()  # the sentence is there
    tab.page.wait_for_timeout(500)  # the board that hears the keys comes after the text
    tab.page.keyboard.press("ArrowRight")
    tab.page.get_by_role("heading", name=re.compile("^3 ·")).wait_for()
    tab.page.keyboard.press("ArrowLeft")
    tab.page.get_by_role("heading", name=re.compile("^2 ·")).wait_for()
    tab.open("/learn?step=budget&present=1")
    found = []
    for step in steps():
        guess(tab, step.key)
        if (size := tab.page.evaluate(MAIN)) != [768, 1024]:
            found.append(f"{step.key}: {size}")
        tab.page.evaluate("document.activeElement.blur()")
        tab.page.keyboard.press("ArrowRight")
        tab.settled()
    assert not found, "\n".join(found)


def longest_replies() -> dict[str, str]:
    """For every question that is typed or chosen, the answer that is answered at greatest length."""
    found = {"strongest": "3-1", "relations": "any"}
    for exercise in exercises().values():
        if exercise.kind in ("token", "head") or exercise.key in found:
            continue
        given = [option["text"] for option in exercise.options]
        given += [re.sub(r"[^\d.]+", " ", str(one["answer"])) for one in exercise.wrong] + [
            "any 7 and 7 and 7"
        ]
        found[exercise.key] = max(given, key=lambda typed: len(check(exercise, typed).say))
    return found


def answer_all(tab) -> None:
    kept = json.dumps({"answers": longest_replies(), "done": []})
    tab.page.evaluate("(kept) => localStorage.setItem('headscope-lesson', kept)", kept)


def guess(tab, key: str) -> None:
    """What hides the picture of a step until something is guessed."""
    name = {"asking": "street", "heads": "Choose 1-1"}.get(key)
    if name:
        tab.page.get_by_role("radio", name=name, exact=True).click()
        tab.settled()


# Where a part of a page can be scrolled by itself; text areas are for as long a text as the reader writes.
SCROLLED = """(() => {
  const found = [], walk = (root) => root.querySelectorAll("*").forEach((e) => {
    if (e.shadowRoot) walk(e.shadowRoot);
    const { overflowX, overflowY } = getComputedStyle(e);
    const long = /auto|scroll/.test(overflowY) && e.scrollHeight > e.clientHeight + 1 && e.clientHeight;
    const wide = /auto|scroll/.test(overflowX) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth;
    if ((long || wide) && e.tagName !== "TEXTAREA") found.push(`${e.tagName}.${e.className} scrolls`);
  });
  walk(document);
  return found;
})()"""


@pytest.mark.long
def test_every_step_fits_a_laptop_and_a_phone_with_every_answer_open_and_axe_finds_nothing(visit):
    """By keyboard from the first step to the last, answered at length: light, dark, and dark on a phone. Of a laptop in
    the dark only the contrast is another than in the light."""
    tab = visit("/learn", viewport=LAPTOP)
    answer_all(tab)
    tab.open("/learn?step=budget")
    found = []
    for number, step in enumerate(steps(), 1):
        tab.page.get_by_role("heading", name=re.compile(rf"^{number} ·")).wait_for()
        guess(tab, step.key)
        if (size := tab.page.evaluate(MAIN)) != [800, 1280]:
            found.append(f"{step.key}: {size}")
        found += [f"{step.key}: {part}" for part in tab.page.evaluate(SCROLLED)]
        found += [f"{step.key}: {part}" for part in complaints(tab.page)]
        tab.page.emulate_media(color_scheme="dark")
        found += [f"{step.key}, dark: {part}" for part in complaints(tab.settled().page, CONTRAST)]
        tab.page.set_viewport_size(PHONE)
        if (width := tab.settled().page.evaluate(MAIN)[1]) != 390:
            found.append(f"{step.key}, phone: {width}")
        found += [f"{step.key}, phone: {part}" for part in complaints(tab.page)]
        tab.page.set_viewport_size(LAPTOP)
        tab.page.emulate_media(color_scheme="light")
        following = tab.settled().page.get_by_role("button", name=re.compile("^Next: "))
        following.focus()
        following.press("Enter")
        tab.settled()
    assert not found, "\n".join(found)
    tab.page.get_by_role("heading", name="Five questions").wait_for()
