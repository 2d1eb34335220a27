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
def shows(person: Any, text: str) -> None:
    assert (box(person), link(person).get("text", TIRED)) == (text, text)
    assert units(person).all_inner_texts() == engine(text).words


@soon
def stands(person: Any, text: str, head: str | None, word: str) -> None:
    """The whole view: sentence, head (None: any) and word, in the box, the picture and what is said; the address says
    nothing else."""
    away(person)
    shows.__wrapped__(person, text)
    assert pressed(person) == [word]
    (chosen,) = person.page.get_by_role("gridcell", selected=True).evaluate_all(LABELS)
    shown = re.match(r"Head (\d+-\d+)", chosen)[1]
    assert shown == (head or shown)
    looks_right(said(person), engine(text), shown, word)
    place = str(engine(text).words.index(word))
    asked = link(person)
    assert (asked.get("head", shown), asked.get("pin", place)) == (shown, place)


@soon
def asks(person: Any, **query: str) -> None:
    assert query.items() <= link(person).items()


def test_every_percentage_on_the_screen_is_the_engines_number_for_that_head_and_these_words(reader):
    person = reader()
    enter(person, CAT)
    press(person, person.word("tired"), person.head("3-9"))
    numbers_are_right(person, engine(CAT), "3-9", "tired")
    enter(person, SHORT)
    matrix_is_right(person, engine(SHORT), "3-9")


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


def matrix_is_right(person: Any, truth: Engine, head: str) -> None:
    """What is said of a cell that is pointed at, and how dark it is: downward who looks, across at whom."""
    picture = region(person, "chosen head").get_by_role("application").first
    picture.scroll_into_view_if_needed()
    away(person)
    image = np.array(Image.open(io.BytesIO(picture.screenshot())).convert("L")).astype(float)
    at = picture.bounding_box()
    tip = region(person, "chosen head").get_by_text(CELL)

    def read(x: float, y: float) -> tuple[str, str, str] | None:
        person.page.mouse.move(at["x"] + x, at["y"] + y)
        person.page.evaluate(DRAWN)
        texts = [text for text in tip.all_inner_texts() if text.strip()]
        return CELL.search(texts[0]).groups() if texts else None

    across: dict[str, list[float]] = {}
    down: dict[str, list[float]] = {}
    for share in np.linspace(0.03, 0.99, 24):
        if found := read(share * at["width"], share * at["height"]):
            down.setdefault(found[0], []).append(share * at["height"])
            across.setdefault(found[1], []).append(share * at["width"])
    assert list(down) == list(across) == truth.words
    weights, seen = truth.matrix(head), []
    for query, key in np.argwhere(weights > np.median(weights))[::2]:
        for q, k in ((query, key), (key, query)):
            x, y = np.mean(across[truth.words[k]]), np.mean(down[truth.words[q]])
            *names, share = read(x, y)
            assert names == [truth.words[q], truth.words[k]]
            agrees(share, weights[q, k], names)
            seen.append((weights[q, k], image[int(y) - 2 : int(y) + 3, int(x) - 2 : int(x) + 3].mean()))
    clear = [(a, b) for a in seen for b in seen if a[0] - b[0] > 0.15]
    assert clear
    assert all(a[1] < b[1] for a, b in clear), "the heavier of two cells is the darker"


def test_a_clicked_word_and_a_clicked_head_are_said_and_stand_in_the_address(reader):
    person = reader(address(CAT, head="4-2"))
    truth = engine(CAT)
    press(person, person.word("cat"))
    stands(person, CAT, "4-2", "cat")
    press(person, person.head("6-10"))
    stands(person, CAT, "6-10", "cat")
    press(person, person.word("mat"))
    asks(person, pin="2", to="6", head="6-10")
    shown = re.search(rf"Head 6-10: “?cat”? → “?mat”? \(?{PERCENT}", said(person))
    agrees(shown[1], truth.weight("6-10", "cat", "mat"), said(person))
    best = max(truth.heads, key=lambda head: truth.weight(head, "cat", "mat"))
    assert RANK.match(ranked(person).first.inner_text())[1] == best
    press(person, ranked(person).first.get_by_role("button").first)
    asks(person, pin="2", to="6", head=best)


def test_a_changed_word_opens_as_a_comparison_whose_numbers_are_those_of_both_sentences(reader):
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


def test_back_and_forward_restore_the_view_and_the_address(reader):
    person = reader(address(CAT, head="3-2"))
    page = person.page
    press(person, person.word("cat"), person.head("6-12"))
    stands(person, CAT, "6-12", "cat")
    enter(person, DOG)
    press(person, person.word("sat"), person.head("5-9"))
    stands(person, DOG, "5-9", "sat")
    press(person, page.get_by_role("link", name="Compare", exact=True))
    compares(person, DOG)
    asks(person, head="5-9", pin="3")
    page.go_back()
    stands(person, DOG, "5-9", "sat")
    page.go_back()
    shows(person, CAT)
    looks_right(said(person), engine(CAT), link(person)["head"], engine(CAT).words[int(link(person)["pin"])])
    page.go_forward()
    shows(person, DOG)
    page.go_forward()
    compares(person, DOG)


def test_ten_quick_clicks_end_on_the_last_and_are_no_steps(reader):
    person = reader(address(CAT, head="4-2", pin="8"))
    steps = person.page.evaluate("history.length")
    names = [
        f"{layer}-{head}" for layer, head in zip((1, 2, 3, 4, 5, 6, 5, 4, 3, 2), range(1, 11), strict=True)
    ]
    for name in names:
        person.head(name).click()
    stands(person, CAT, names[-1], "it")
    person.settled()
    stands(person, CAT, names[-1], "it")
    assert (link(person)["head"], person.page.evaluate("history.length")) == (names[-1], steps)


def test_back_leads_from_every_kind_of_step_to_the_one_before(reader):
    person = reader(address(CAT, head="4-2", pin="8"))
    page = person.page
    views = []

    def step(do: Callable[[], Any]) -> None:
        before = (urlsplit(page.url).path, link(person))
        do()
        person.settled()
        views.append(before)
        assert (urlsplit(page.url).path, link(person)) != before

    step(page.get_by_role("link", name="long-distance verb", exact=True).click)
    step(lambda: person.type(DOG))
    step(page.get_by_role("link", name="Present", exact=True).click)
    step(page.get_by_role("link", name="Leave presenter mode").click)
    step(page.get_by_role("link", name="Inside", exact=True).click)
    step(page.get_by_role("link", name="Variants", exact=True).click)
    step(page.get_by_role("link", name="Roles", exact=True).click)
    step(page.get_by_role("link", name="Compare", exact=True).click)
    step(lambda: person.type(CAT, "Sentence B"))
    step(button(person, "weights").or_(page.get_by_role("radio", name="weights")).first.click)
    for path, asked in reversed(views):
        page.go_back()
        page.wait_for_timeout(300)  # until the page has begun to run
        is_at(person.settled(), path, asked)
    stands(person, CAT, "4-2", "it")


@soon
def is_at(person: Any, path: str, asked: dict[str, str]) -> None:
    assert (urlsplit(person.page.url).path, link(person)) == (path, asked)


def test_two_tabs_of_one_person_each_keep_their_own_view(reader):
    one, other = reader(address(CAT, head="4-2", pin="8")), reader(address(SHORT, head="3-2", pin="2"))
    one.head("5-4").click()
    other.type(DOG)
    stands(one, CAT, "5-4", "it")
    stands(other, DOG, "3-2", "it")
    one.page.reload()
    stands(one.settled(), CAT, "5-4", "it")


def test_the_same_view_is_there_again_after_a_reload_and_in_another_browser(reader):
    person = reader(address(SHORT))
    enter(person, CAT)
    press(person, person.word("because"), person.head("5-4"))
    stands(person, CAT, "5-4", "because")
    before = (link(person), said(person))
    copied = person.page.url.removeprefix(person.base)
    person.page.reload()
    for one in (person.settled(), reader(copied, fresh=True)):
        stands(one, CAT, "5-4", "because")
        assert before == (link(one), said(one))


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


def test_the_keyboard_alone_reaches_the_picture_chooses_and_changes_a_word(reader):
    person = reader(address(CAT, head="4-2"))
    page, keys = person.page, person.page.keyboard
    keys.press("Tab")
    skip = page.get_by_role("link", name=re.compile("^Skip to")).first
    focus_is_seen(page, skip)
    keys.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    tab_to(page, units(person))
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
    tab_to(page, page.get_by_role("gridcell"))
    expect(person.head("4-2")).to_be_focused()
    keys.press("ArrowRight")
    keys.press("ArrowDown")
    focus_is_seen(page, person.head("5-3"))
    keys.press("Enter")
    asks(person, head="5-3")
    expect(person.head("5-3")).to_have_attribute("aria-selected", "true")


def tab_to(page: Any, parts: Any) -> None:
    """Press Tab until the focus is on one of these."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if parts.and_(page.locator(":focus")).count():
            return
    pytest.fail("Tab does not lead there")


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
    found = re.findall(rf"tired looks at (\S+): {PERCENT}", printed.getvalue())
    assert found[0][0] == truth.strongest("3-9", "tired")
    for key, share in found:
        agrees(share, truth.weight("3-9", "tired", key))


def test_every_file_that_compare_saves_holds_the_numbers_of_both_sentences(reader, tmp_path):
    person = reader(address(CAT, "/compare", text2=DOG, head="4-2", pin="8"))
    opened(person, "Save")
    a, b = engine(CAT), engine(DOG)
    pictures_are_whole(person, tmp_path, {"cat / dog", "it", "4-2."})
    both = (a.matrix("4-2"), b.matrix("4-2"))
    lines = lines_of(saved(person, exported(person, "CSV"), tmp_path))
    for line, (q, k) in zip(lines, np.ndindex(both[0].shape), strict=True):
        assert (line["layer"], line["head"], line["query"], line["key"]) == ("4", "2", str(q), str(k))
        assert line["query_text"].split(" / ")[0] == a.words[q]
        assert line["key_text"].split(" / ")[-1] == b.words[k]
        x, y = (weights[q, k] for weights in both)
        shown = [float(line[name]) for name in ("A", "B", "A minus B")]
        np.testing.assert_allclose(shown, [x, y, x - y], atol=2e-6)
    content = json.loads(saved(person, exported(person, "JSON"), tmp_path).read_text())
    for name, truth in (("A", a), ("B", b)):
        assert content[name]["units"] == truth.words
        np.testing.assert_allclose(content[name]["weights"], truth.matrix("4-2"), atol=1e-6)


def test_the_saved_page_answers_without_a_network(reader, tmp_path):
    person = reader(address(CAT, head="4-2", pin="8"))
    opened(person, "Save")
    file = saved(person, exported(person, "HTML, works offline"), tmp_path)
    alone = reader(None, offline=True)
    asked: list[str] = []
    alone.page.on("request", lambda request: asked.append(request.url))
    alone.page.goto(file.as_uri())
    alone.word("it").wait_for()
    assert units(alone).all_inner_texts() == engine(CAT).words
    looks_right(said(alone), engine(CAT), "4-2", "it")
    for part in (alone.head("6-10"), button(alone, "Clear"), alone.word("mat")):
        part.click()
    away(alone)
    assert pressed(alone) == ["mat"]
    numbers_are_right(alone, engine(CAT), "6-10", "mat")
    cells_are_read_out(alone, engine(CAT), "6-10", "mat")
    back = alone.page.get_by_role("link", name="Open in HeadScope").get_attribute("href")
    assert dict(parse_qsl(urlsplit(back).query))["text"] == CAT
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [file.as_uri()]


def cells_are_read_out(person: Any, truth: Engine, head: str, word: str) -> None:
    """Every weight of a word, in the order in which the arrow keys lead through its row."""
    matrix = region(person, "chosen head").get_by_role("application").first
    aloud = region(person, "sentence").locator("[aria-live=polite]")
    for key in truth.words:
        matrix.press("ArrowRight")
        query, told, share = CELL.search(aloud.text_content()).groups()
        assert (query, told) == (word, key)
        agrees(share, truth.weight(head, word, key), key)


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
    person.page.wait_for_timeout(1200)
    stands(person, DOG, None, "it")
    person.page.reload()
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
