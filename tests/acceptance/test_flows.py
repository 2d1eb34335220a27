"""Ways of a person through the app: what is seen, said, saved and linked is what the engine computes."""

import io
import json
import re
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from axe import complaints
from bert_folders import random_bert, write
from PIL import Image
from playwright.sync_api import expect
from running import start_app
from truth import CELL, PERCENT, Engine, agrees, both_are_right, engine, lines_of, looks_right, table_is_right

from mha_core import load_model, weight_without_head
from mha_core.display_names import percent

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TIRED = "The animal didn't cross the street because it was too tired."  # what a first visit opens with
CAT = "The cat sat on the mat because it was tired."
DOG = CAT.replace("cat", "dog")
SHORT = "Ann saw her dog."  # few words, hence large cells
RANK = re.compile(rf"\s*(\d+-\d+)\s+{PERCENT}(?:\s+(\S+))?")
LABELS = "all => all.map(e => e.ariaLabel)"
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def soon(check: Callable[..., Any]) -> Callable[..., Any]:
    """Ask again for a while: a busy machine's page stands still before all is drawn."""

    @wraps(check)
    def ask(person: Any, *given: Any, **named: Any) -> Any:
        deadline = time.monotonic() + 20
        while True:
            try:
                return check(person, *given, **named)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                person.page.wait_for_timeout(100)

    return ask


def region(person: Any, name: str) -> Any:
    return person.page.get_by_role("region", name=re.compile(name, re.IGNORECASE))


def ranked(person: Any) -> Any:
    """The lines of the ranking of heads."""
    return region(person, "ranked").get_by_role("listitem")


def button(person: Any, name: str) -> Any:
    return person.page.get_by_role("button", name=name, exact=True)


def units(person: Any, **of: Any) -> Any:
    """The words of the sentence in the picture."""
    return person.page.get_by_label("word by word").get_by_role("button", **of)


def pressed(person: Any) -> list[str]:
    return units(person, pressed=True).all_inner_texts()


def said(person: Any) -> str:
    """The sentence under the picture."""
    lines = region(person, "sentence").get_by_role("paragraph").filter(has_text=re.compile(r"^Head \d"))
    return lines.first.inner_text()


def link(person: Any) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(person.page.url).query))


def box(person: Any, label: str = "Your sentence") -> str:
    return person.page.get_by_label(label, exact=True).input_value()


def address(text: str, page: str = "/", **query: str) -> str:
    """A view in which the app chose no word by itself."""
    return f"{page}?{urlencode({'text': text, 'pin': 'none', **query})}"


def press(person: Any, *parts: Any) -> None:
    for part in parts:
        part.click()
        person.settled()
    away(person)


def away(person: Any) -> None:
    """Point at nothing."""
    person.page.mouse.move(2, 2)
    person.page.evaluate(DRAWN)


def enter(person: Any, text: str) -> None:
    """Type a sentence; the app then chooses a word, of which nothing is left."""
    person.type(text)
    shows(person, text)
    press(person, button(person, "Clear"))


@soon
def shows(person: Any, text: str, model: str = "minilm") -> None:
    assert (box(person), link(person).get("text", TIRED)) == (text, text)
    assert units(person).all_inner_texts() == engine(text, model).words


@soon
def stands(person: Any, text: str, head: str | None, word: str, model: str = "minilm") -> None:
    """The whole view: sentence, head (None: any) and word, in the box, the picture and what is said; the address says
    nothing else."""
    away(person)
    shows.__wrapped__(person, text, model)
    assert pressed(person) == [word]
    (chosen,) = person.page.get_by_role("gridcell", selected=True).evaluate_all(LABELS)
    shown = re.match(r"Head (\d+-\d+)", chosen)[1]
    assert shown == (head or shown)
    truth = engine(text, model)
    looks_right(said(person), truth, shown, word)
    place = str(truth.words.index(word))
    asked = link(person)
    assert (asked.get("head", shown), asked.get("pin", place)) == (shown, place)


@soon
def asks(person: Any, **query: str) -> None:
    assert query.items() <= link(person).items()


def test_every_percentage_of_a_pressed_word_and_head_is_the_engines_and_stands_in_the_address(reader):
    person = reader(address(CAT, head="4-2"))
    truth = engine(CAT)
    press(person, person.word("cat"))
    stands(person, CAT, "4-2", "cat")
    press(person, person.head("6-10"))
    stands(person, CAT, "6-10", "cat")
    numbers_are_right(person, truth, "6-10", "cat")
    press(person, person.word("mat"))
    asks(person, pin="2", to="6", head="6-10")
    shown = re.search(rf"Head 6-10: “?cat”? → “?mat”? \(?{PERCENT}", said(person))
    agrees(shown[1], truth.weight("6-10", "cat", "mat"), said(person))
    best = max(truth.heads, key=lambda head: truth.weight(head, "cat", "mat"))
    assert RANK.match(ranked(person).first.inner_text())[1] == best
    press(person, ranked(person).first.get_by_role("button").first)
    asks(person, pin="2", to="6", head=best)
    press(person, button(person, "Clear"), person.word("it"))
    n_steps = person.page.evaluate("history.length")
    names = [f"{layer}-{head}" for head, layer in enumerate((1, 2, 3, 4, 5, 6, 5, 4, 3, 2), 1)]
    for name in names:
        person.head(name).click()
    stands(person, CAT, names[-1], "it")
    stands(person.settled(), CAT, names[-1], "it")
    assert person.page.evaluate("history.length") == n_steps, "quick clicks are no steps"


def numbers_are_right(person: Any, truth: Engine, head: str, word: str) -> None:
    """What is said of a head and a word, beside the words, of every head, and in the ranking."""
    looks_right(said(person), truth, head, word)
    labels_are_right(person, truth.row(head, word))
    cells = person.page.get_by_role("gridcell").evaluate_all(LABELS)
    for name, cell in zip(truth.heads, cells, strict=True):
        looks_right(cell, truth, name, word)
    if not region(person, "chosen head").get_by_label("Rank heads").is_checked():
        region(person, "chosen head").get_by_text("View", exact=True).click()
        region(person, "chosen head").get_by_label("Rank heads").check()
        person.page.keyboard.press("Escape")
        region(person, "ranked").get_by_role("button", name=re.compile("^All")).click()
    ranks = [RANK.match(line).groups() for line in ranked(person).all_inner_texts()]
    assert sorted(name for name, *_ in ranks) == sorted(truth.heads)
    for name, share, key in ranks:
        assert key not in ("[CLS]", "[SEP]")
        agrees(share, truth.weight(name, word, key), name)
    assert [float(share) for _, share, _ in ranks] == sorted(
        (float(share) for _, share, _ in ranks), reverse=True
    )


def labels_are_right(person: Any, row: np.ndarray) -> None:
    """The numbers that stand under the words, each by the word it stands under."""
    middle = """all => all.filter(e => e.role === "button" || !e.parentElement.closest("p")).map(e => {
      const { left, width } = e.getBoundingClientRect();
      return [left + width / 2, e.innerText];
    })"""
    stand = np.array([x for x, _ in units(person).evaluate_all(middle)])
    numbers = region(person, "sentence").get_by_text(re.compile(rf"^\s*{PERCENT}\s*$"))
    found = {int(np.abs(stand - x).argmin()): text for x, text in numbers.evaluate_all(middle)}
    assert set(np.flatnonzero(row >= 0.055).tolist()) <= set(found)
    for key, share in found.items():
        agrees(share, float(row[key]), key)


def test_a_changed_word_opens_as_a_comparison_whose_numbers_and_files_are_those_of_both_sentences(
    reader, tmp_path
):
    person = reader(address(CAT, head="4-2", pin="8"))
    person.word("cat").dblclick()
    person.page.keyboard.type("dog")
    person.page.keyboard.press("Enter")
    person.settled()
    stands(person, DOG, "4-2", "it")
    looks_right(said(person), engine(DOG), "4-2", "it", before=engine(CAT))
    press(person, region(person, "sentence").get_by_role("link", name=re.compile("compar", re.IGNORECASE)))
    compares(person, CAT, DOG)
    asks(person, head="4-2", pin="8")
    a, b = engine(CAT), engine(DOG)
    both_are_right(said(person), a, b, "4-2", "it")
    for head, cell in zip(a.heads, person.page.get_by_role("gridcell").evaluate_all(LABELS), strict=True):
        moved = (a.matrix(head) - b.matrix(head)).ravel()
        name, shown = re.match(r"Head (\S+): .*? ([+−]?[\d.]+) points", cell).groups()
        assert name == head
        agrees(shown, float(moved[np.abs(moved).argmax()]), cell)
    press(person, person.head("6-12"))
    asks(person, head="6-12")
    both_are_right(said(person), a, b, "6-12", "it")
    opened(person, "Save")
    moved = a.matrix("6-12") - b.matrix("6-12")
    lines = lines_of(saved(person, exported(person, "CSV"), tmp_path))
    places = [tuple(map(int, (line["layer"], line["head"], line["query"], line["key"]))) for line in lines]
    assert places == [(6, 12, q, k) for q, k in np.ndindex(moved.shape)]
    shown = np.array([[float(line[name]) for name in ("A", "B", "A minus B")] for line in lines])
    expected = np.stack([a.matrix("6-12"), b.matrix("6-12"), moved], axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(shown, expected, atol=2e-6)
    content = json.loads(saved(person, exported(person, "JSON"), tmp_path).read_text())
    for name, truth in (("A", a), ("B", b)):
        assert content[name]["units"] == truth.words
        np.testing.assert_allclose(content[name]["weights"], truth.matrix("6-12"), atol=1e-6)


@soon
def compares(person: Any, a: str, b: str | None = None) -> None:
    """The page Compare, with these two sentences."""
    assert urlsplit(person.page.url).path == "/compare"
    assert (box(person, "Sentence A"), box(person, "Sentence B")) == (a, b or box(person, "Sentence B"))
    asked = link(person)
    assert (asked.get("text", TIRED), asked.get("text2", box(person, "Sentence B"))) == (
        a,
        box(person, "Sentence B"),
    )
    if box(person, "Sentence A") == box(person, "Sentence B"):
        assert person.page.get_by_text("Change one word").first.is_visible()
    else:
        assert said(person)


def test_back_and_forward_lead_through_every_kind_of_step_to_the_view_that_was_left(reader):
    person = reader(address(CAT, head="4-2", pin="8"))
    page, views = person.page, []

    def step(act: Callable[[], Any]) -> None:
        views.append(view(person))
        act()
        assert view(person.settled()) != views[-1]

    step(page.get_by_role("link", name="long-distance verb", exact=True).click)
    step(lambda: enter(person, DOG))
    press(person, person.word("sat"), person.head("5-9"))  # no step: it changes the one that is there
    for name in ("Present", "Leave presenter mode", "Inside", "Variants", "Roles", "Compare"):
        step(page.get_by_role("link", name=re.compile(f"^{name}")).first.click)
    step(lambda: person.type(CAT, "Sentence B"))
    step(button(person, "weights").or_(page.get_by_role("radio", name="weights")).first.click)
    views.append(view(person))
    for left in reversed(views[:-1]):
        goes(person, page.go_back, left)
        if left == views[2]:
            stands(person, DOG, "5-9", "sat")
    stands(person, CAT, "4-2", "it")
    for left in views[1:4]:
        goes(person, page.go_forward, left)


def view(person: Any) -> tuple[str, dict[str, str]]:
    return urlsplit(person.page.url).path, link(person)


def goes(person: Any, move: Callable[[], Any], to: tuple[str, dict[str, str]]) -> None:
    """Back or forward to a view, which the page that runs then leaves as it is."""
    n_runs = person.n_runs
    move()
    is_at(person, to, n_runs)
    is_at(person.settled(), to, n_runs)


@soon
def is_at(person: Any, to: tuple[str, dict[str, str]], n_runs: int) -> None:
    assert view(person) == to
    assert person.n_runs > n_runs


# The animals are said nowhere else.
PEOPLE = {"badger": "minilm", "otter": "minilm", "okapi": "classroom", "quokka": "classroom"}
# All that a page holds, also what only a shadow root, a tooltip or a box holds.
EVERYTHING = """() => {
  const of = (root) => [root.innerHTML ?? "", ...Array.from(root.querySelectorAll("*")).flatMap((e) =>
    [e.value ?? "", ...(e.shadowRoot ? of(e.shadowRoot) : [])])];
  return of(document.documentElement).join(" ") + location.href + document.title;
}"""


def test_people_at_once_see_their_own_words_and_numbers_alone_also_after_a_reload(reader):
    people = {animal: reader(None) for animal in PEOPLE}
    for animal, person in people.items():
        person.page.goto(f"{person.base}/?model={PEOPLE[animal]}", wait_until="commit")
    for person in people.values():
        person.settled()
    views = {
        animal: (f"Peter saw the old {animal}, and then it ran away from him.", "2-3", "it", model)
        for animal, model in PEOPLE.items()
    }
    for animal, person in people.items():
        sentence = person.page.get_by_label("Your sentence", exact=True)
        sentence.fill(views[animal][0])
        sentence.press("Enter")
    for animal, person in people.items():
        shows(person, views[animal][0], PEOPLE[animal])
        person.head("2-3").click()
        stands(person.settled(), *views[animal])
        everything = person.page.evaluate(EVERYTHING).lower()
        assert {other for other in PEOPLE if other in everything} == {animal}
    before = link(person), said(person)
    person.page.reload()
    for each in (person.settled(), reader(person.page.url.removeprefix(person.base), fresh=True)):
        stands(each, *views[animal])
        assert before == (link(each), said(each))


READABLE = """all => all.every(e => {
  const { left, right } = e.getBoundingClientRect();
  const parts = [...e.querySelectorAll("*")].filter(part => part.innerText);
  const cut = part => part.clientWidth && part.scrollWidth > part.clientWidth + 1;
  const small = part => parseFloat(getComputedStyle(part).fontSize) < 12;
  return left >= 0 && right <= innerWidth && parts.length && !parts.some(part => cut(part) || small(part));
})"""


def test_on_a_phone_a_word_and_a_head_are_tapped_and_the_ranking_can_be_read(reader):
    person = reader("/", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = person.page
    person.type(CAT)
    shows(person, CAT)
    for part in (button(person, "Clear"), person.word("cat"), person.head("3-2")):
        part.tap()
        person.settled()
    stands(person, CAT, "3-2", "cat")
    person.word("mat").tap()
    person.settled()
    ranked(person).first.scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth && scrollX === 0")
    assert ranked(person).evaluate_all(READABLE)
    head, share, _ = RANK.match(ranked(person).first.inner_text()).groups()
    agrees(share, engine(CAT).weight(head, "cat", "mat"), head)
    button(person, "Why?").tap()
    expect(region(person, "^why")).to_contain_text("3-2 looks at mat", timeout=30_000)


def test_the_keyboard_alone_reaches_the_picture_chooses_and_changes_a_word(reader):
    person = reader(address(CAT, head="4-2"))
    page, keys = person.page, person.page.keyboard
    keys.press("Tab")
    skip = page.get_by_role("link", name=re.compile("^Skip to")).first
    focus_is_seen(page, skip)
    keys.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    person.reaches(units(person))
    for key, word in (("Right", "The"), ("Right", "cat"), ("Right", "sat"), ("Left", "cat")):
        keys.press(f"Arrow{key}")
        expect(person.word(word)).to_be_focused()
    keys.press("Space")
    person.settled()
    stands(person, CAT, "4-2", "cat")
    focus_is_seen(page, person.word("cat"))
    keys.press("ArrowRight")
    expect(person.word("sat")).to_be_focused()
    keys.press("Enter")
    asks(person, pin="2", to="3")
    for key in ("F2", "Control+a", *"slept", "Enter"):
        keys.press(key)
    shows(person, CAT.replace("sat", "slept"))
    person.settled()
    person.reaches(page.get_by_role("gridcell"))
    expect(person.head("4-2")).to_be_focused()
    keys.press("ArrowRight")
    keys.press("ArrowDown")
    focus_is_seen(page, person.head("5-3"))
    keys.press("Enter")
    asks(person, head="5-3")
    expect(person.head("5-3")).to_have_attribute("aria-selected", "true")


def focus_is_seen(page: Any, part: Any) -> None:
    """Where the focus is, the page looks otherwise than without it."""
    expect(part).to_be_focused()
    at = part.bounding_box()
    around = {**at, "x": at["x"] - 8, "width": at["width"] + 16}
    there = page.screenshot(clip=around)
    part.evaluate("e => e.blur()")
    assert page.screenshot(clip=around) != there
    part.evaluate("e => e.focus()")


def saved(person: Any, press: Callable[[], Any], folder: Path) -> Path:
    """The file that a press saves."""
    with person.page.expect_download() as waiting:
        press()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


def exported(person: Any, name: str) -> Callable[[], None]:
    return person.page.get_by_role("button", name=re.compile(f"^{name}")).click


def opened(person: Any, label: str) -> None:
    """Open a box under the picture."""
    person.page.get_by_role("group").filter(has_text=re.compile(label)).locator("summary").first.click()
    person.settled()


def pictures_are_whole(person: Any, folder: Path, spoken: set[str]) -> None:
    """The figure by its camera as SVG and as PNG, 16 cm wide, with these words where it has letters."""
    person.page.locator(".js-plotly-plot").hover()
    camera = person.page.locator("[data-title^=Download]").click
    file = saved(person, camera, folder)
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.get("width")) == pytest.approx(16 / 2.54 * 96, abs=1)
    assert spoken <= {word for text in root.itertext() for word in (text, *text.split())}
    press(person, person.page.get_by_text("PNG", exact=True))
    expect(person.page.locator("[data-title='Download plot as a PNG']")).to_be_attached(timeout=30_000)
    person.page.locator(".js-plotly-plot").hover()
    with Image.open(saved(person, camera, folder)) as image:
        assert image.width == pytest.approx(2 * 16 / 2.54 * 96, abs=2)
        assert len(image.convert("RGB").getcolors(1 << 24)) > 50, "something is drawn"


def test_every_file_that_explore_saves_holds_the_numbers_of_the_engine(reader, tmp_path):
    person = reader(address(CAT, head="3-9", pin="10"))
    loaded: list[str] = []
    person.page.on("request", lambda request: loaded.append(request.url))
    opened(person, "Table")
    assert not [url for url in loaded if "Plotly" in url], "a table needs no charts"
    opened(person, "Save")
    person.page.locator(".js-plotly-plot").wait_for()
    assert [url for url in loaded if "Plotly" in url]
    assert not complaints(person.page)
    truth = engine(CAT)
    pictures_are_whole(person, tmp_path, {*truth.words, "3-9"})
    table_is_right(lines_of(saved(person, exported(person, "CSV"), tmp_path)), truth, truth.heads)
    content = json.loads(saved(person, exported(person, "JSON"), tmp_path).read_text())
    assert (content["text"], content["units"], content["pinned"]) == (CAT, truth.words, [10])
    np.testing.assert_allclose(content["weights"], truth.weights, atol=1e-6)
    shown, python = person.page.get_by_role("code").all_inner_texts()
    assert {"text": CAT, "head": "3-9", "pin": "10"}.items() <= dict(parse_qsl(urlsplit(shown).query)).items()
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(python, "shown", "exec"), {})  # noqa: S102 - the app's own lines are what is tested
    lines = re.findall(rf"tired looks at (\S+): {PERCENT}", printed.getvalue())
    assert lines[0][0] == truth.strongest("3-9", "tired")
    for key, share in lines:
        agrees(share, truth.weight("3-9", "tired", key))
    saved_page_answers(reader, saved(person, exported(person, "HTML, works offline"), tmp_path))


def saved_page_answers(reader: Any, file: Path) -> None:
    """Without a network."""
    alone = reader(None, offline=True)
    requests: list[str] = []
    alone.page.on("request", lambda request: requests.append(request.url))
    alone.page.goto(file.as_uri())
    alone.word("tired").wait_for()
    assert units(alone).all_inner_texts() == engine(CAT).words
    looks_right(said(alone), engine(CAT), "3-9", "tired")
    for part in (alone.head("6-10"), button(alone, "Clear"), alone.word("mat")):
        part.click()
    away(alone)
    assert pressed(alone) == ["mat"]
    numbers_are_right(alone, engine(CAT), "6-10", "mat")
    cells_are_read_out(alone, engine(CAT), "6-10", "mat")
    back = alone.page.get_by_role("link", name="Open in HeadScope").get_attribute("href")
    assert dict(parse_qsl(urlsplit(back).query))["text"] == CAT
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [file.as_uri()]


def cells_are_read_out(person: Any, truth: Engine, head: str, word: str) -> None:
    """Every weight of a word, in the order in which the arrow keys lead through its row."""
    matrix = region(person, "chosen head").get_by_role("application").first
    aloud = region(person, "sentence").locator("[aria-live=polite]")
    for key in truth.words:
        matrix.press("ArrowRight")
        *names, share = CELL.search(aloud.text_content()).groups()
        assert names == [word, key]
        agrees(share, truth.weight(head, word, key), key)


def test_why_leads_back_step_by_step_by_pointer_and_key_and_opens_from_its_address(reader):
    person = reader("/?head=4-2&pin=10&to=2")
    answer = region(person, "^why")

    def follow(name: str) -> Any:
        return answer.get_by_role("button", name=re.compile(rf"^{name}\b")).first

    expect(answer).to_be_hidden()
    button(person, "Why does head 4-2 look there?").press("Enter")
    expect(answer).to_contain_text(
        re.compile(r"4-2 looks at animal\b.*made of MLP 3.*\+1\.94", re.DOTALL), timeout=30_000
    )
    expect(answer).to_be_focused()
    press(person, follow("MLP 3"))
    expect(answer).to_contain_text(re.compile(r"MLP 3 needs .*3-2.*tired.*71%", re.DOTALL))
    expect(person.page.locator("text.reason")).to_contain_text("3-2")
    assert not complaints(person.page)
    after = weight_without_head(
        TIRED, load_model("minilm"), head="4-2", query="it", key="animal", without="3-2", means=False
    )
    cause = f"Without 3-2: {percent(after.before[0])} → {percent(after.after[0])}"
    follow("Without 3-2").press("Enter")
    expect(answer).to_contain_text(cause, timeout=60_000)
    follow("3-2").press("Enter")
    asks(person, head="3-2", pin="10", to="13", why="4-2.10.2,mlp3.query,3-2.10.13")
    other = reader("/?why=4-2.10.2,mlp3.query,3-2.10.13")
    asks(other, head="3-2", pin="10", to="13")
    for each in (person, other):
        steps = region(each, "^why").get_by_role("list", name="The way back")
        expect(steps).to_have_text(re.compile("4-2.*MLP 3.*3-2"))
        expect(region(each, "^why")).to_contain_text("3-2 looks at tired")
    person.page.go_back()
    expect(answer).to_contain_text("MLP 3 needs")
    press(person, follow("4-2"))
    expect(answer).to_contain_text("+1.94")
    press(person, person.head("5-5"))
    expect(answer).to_be_hidden()
    assert "why" not in link(person)


SLOW = """window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", (event) => {
      if (event.late) return;
      event.stopImmediatePropagation();
      const again = Object.assign(new MessageEvent("message", { data: event.data }), { late: true });
      setTimeout(() => this.dispatchEvent(again), 400);
    });
  }
  send(data) { setTimeout(() => super.send(data), 400); }
};"""


def test_on_a_slow_line_nothing_that_was_typed_is_lost(reader):
    person = reader(None)
    person.page.add_init_script(SLOW)
    person.open(address(SHORT, head="4-2"))
    shows(person, SHORT)
    sentence = person.page.get_by_label("Your sentence", exact=True)
    sentence.fill(CAT)
    sentence.press("Enter")
    sentence.press("Control+a")
    sentence.press_sequentially(DOG, delay=40)  # the answer to the first comes in the middle of it
    assert sentence.input_value() == DOG
    sentence.press("Enter")
    person.head("5-9").click()  # at once, in the picture of the sentence before
    stands(person, DOG, None, "it")
    person.page.wait_for_timeout(1200)  # until no answer to the first can come any more
    stands(person, DOG, None, "it")


def test_while_the_server_is_away_the_picture_goes_on_and_the_page_comes_back(reader, app, tmp_path):
    person = reader()
    page = person.page
    person.type(CAT)
    stands(person, CAT, "4-2", "it")
    for name in ("Table", "Save"):
        opened(person, name)
    app.stop()
    # Streamlit says in a dialog over the page that the connection is lost.
    page.add_locator_handler(page.get_by_role("dialog"), lambda _: page.keyboard.press("Escape"))
    try:
        person.head("3-9").click()
        stands(person, CAT, "3-9", "it")
        region(person, "chosen head").get_by_role("application").first.hover()
        tip = region(person, "chosen head").get_by_text(CELL).first.inner_text()
        query, key, share = CELL.search(tip).groups()
        agrees(share, engine(CAT).weight("3-9", query, key), tip)
        person.head("4-2").click()
        stands(person, CAT, "4-2", "it")
    finally:  # the others need it
        with page.expect_websocket(timeout=180_000):  # it asks ever more rarely
            again = start_app(tmp_path / "again.log", port=app.port, HEADSCOPE_ALLOW_FOLDERS="1")
            app.process = again.process
    expect(page.get_by_role("dialog")).to_have_count(0, timeout=30_000)
    person.settled()
    stands(person, CAT, "4-2", "it")
    person.type(DOG)
    stands(person, DOG, "4-2", "it")
    for name in ("Table", "Save"):
        expect(page.locator("details[open] summary").filter(has_text=name)).to_be_visible()
    person.errors[:] = [problem for problem in person.errors if not problem.startswith("said")]
    a_word_put_into_the_second_sentence_stays(reader, tmp_path / "model")


def a_word_put_into_the_second_sentence_stays(reader, folder):
    """In its box in the menu, when the first sentence changes; of a folder, which the server that came back opens."""
    write(folder, random_bert("BertForMaskedLM", seed=3))
    query = urlencode({"model": str(folder), "text": "The cat sat.", "pair": "It was [MASK]."})
    person = reader(f"/?{query}").type("The dog sat.")
    press(person, person.page.locator("[class*=st-key-next]").get_by_text(re.compile(r"%$")).first)
    press(person, person.page.locator(".st-key-options button").first)
    for text in ("The dog sat.", "The bird sat."):
        assert box(person) == text
        assert re.fullmatch(r"It was (?!\[MASK\]).*\.", box(person, "Second sentence"))
        person.type("The bird sat.")
