"""Explore as a reader uses it: type, choose, point, pin, search, take away, come back by the link."""

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from mha_core import trace

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
PAYLOAD = "<img src=x onerror=top.hacked=1> <script>top.hacked=1</script> ![x](http://evil.example/i.png)"


def percent(weight: float) -> str:
    return f"{100 * weight:.1f} %"


def download(tab, click) -> Path:
    with tab.page.expect_download() as waiting:
        click()
    return Path(waiting.value.path())


def test_a_sentence_is_typed_a_head_chosen_a_word_pinned_and_the_address_follows(visit, model):
    tab = visit().drawn()
    assert "“it” looks at “animal” (67.7 %)" in tab.said()
    tab.type("The cat sat on the mat because it was tired.").drawn()
    grid = trace("The cat sat on the mat because it was tired.", model).grid()
    assert "pin=8" in tab.page.url, "a new sentence opens on its pronoun"
    tab.head("3-2").click()
    assert f"Head 3-2: “it” looks at “tired” ({percent(grid.weights[2, 1, 8, 10])})" in tab.said()
    tab.page.get_by_role("button", name="Clear").click()
    tab.word("cat").click()
    tab.settled()
    row = grid.weights[2, 1, 2]
    best = int(row.argmax())
    assert tab.said().startswith(f"Head 3-2: “cat” looks at “{grid.labels[best]}” ({percent(row[best])})")
    assert "head=3-2" in tab.page.url
    assert "pin=2" in tab.page.url
    assert "text=The+cat" in tab.page.url
    steps = tab.page.evaluate("history.length")
    tab.head("5-7").click()
    tab.page.get_by_role("button", name="Lines", exact=True).click()
    tab.settled()
    assert "tab=lines" in tab.page.url
    assert tab.page.evaluate("history.length") == steps, "another head or tab is no step of the history"
    to_compare = tab.page.get_by_role("link", name="Compare").get_attribute("href") or ""
    assert "head=5-7" in to_compare, "the part of the page that ran takes the menu's links along"
    assert "pin=2" in to_compare
    tab.page.get_by_label("What is shown").select_option("residual")
    tab.drawn()
    assert tab.said().startswith("Layer 5: “cat” looks at ")
    assert "head=5-7" in tab.page.url
    tab.page.reload()
    tab.drawn()
    assert tab.page.get_by_role("button", name="Lines", exact=True).get_attribute("aria-pressed") == "true"
    tab.page.get_by_label("What is shown").select_option("raw")
    tab.drawn()
    assert tab.said().startswith("Head 5-7: “cat” looks at ")


def test_pointing_at_a_word_shows_where_it_looks_without_asking_the_server(visit, model):
    tab = visit("/?pin=none&head=4-2").drawn()
    frames: list[str] = []
    tab.page.on("request", lambda request: frames.append(request.url))
    before = tab.page.url
    tab.word("cross").hover()
    tab.page.wait_for_timeout(200)
    row = trace(TIRED, model).weights[3, 1, 6]
    best = int(row.argmax())
    assert percent(row[best]) in tab.page.locator(".labels").first.inner_text()
    assert not frames
    assert tab.page.url == before


def test_two_words_ask_which_heads_link_them_and_the_first_one_answers(visit, model):
    tab = visit("/?pin=none&head=1-1").drawn()
    tab.word("it").click()
    tab.settled()
    tab.word("animal").click()
    tab.settled()
    weights = trace(TIRED, model).weights[:, :, 10, 2]
    assert "to=2" in tab.page.url
    assert "pin=10" in tab.page.url
    ranking = tab.page.locator(".headscope").get_by_text(percent(weights.max()), exact=False)
    assert ranking.first.is_visible()


@pytest.mark.long
def test_the_link_opens_the_same_view_as_first_request_of_a_fresh_server(visit, fresh_server):
    server = fresh_server()
    text = quote("The trophy didn't fit in the suitcase.")
    tab = visit(f"/?text={text}&head=5-3&pin=2&unit=words&specials=renormalised", server=server).drawn()
    assert (
        tab.page.get_by_label("Your sentence", exact=True).input_value()
        == "The trophy didn't fit in the suitcase."
    )
    assert tab.said().startswith("Head 5-3: “")
    assert "whole words · [CLS], [SEP] hidden, renormalised" in tab.page.locator(".hs-summary").inner_text()
    said = tab.said()
    tab.page.reload()
    assert tab.drawn().said() == said


def test_what_is_downloaded_holds_the_numbers_of_the_engine(visit, model, tmp_path, chromium):
    tab = visit().drawn()
    weight = float(trace(TIRED, model).weights[3, 1, 10, 2])
    tab.page.get_by_text("Export: numbers").click()
    tab.settled()
    rows = list(csv.DictReader(io.StringIO(download(tab, lambda: button(tab, "CSV").click()).read_text())))
    (found,) = [r for r in rows if (r["layer"], r["head"], r["query"], r["key"]) == ("4", "2", "10", "2")]
    assert (found["query_text"], found["key_text"]) == ("it", "animal")
    assert float(found["weight"]) == pytest.approx(weight, abs=1e-6)
    content = json.loads(download(tab, lambda: button(tab, "JSON").click()).read_text())
    assert content["weights"][3][1][10][2] == pytest.approx(weight, abs=1e-6)
    assert content["model_details"]["digest"] == model.digest
    file = tmp_path / "view.html"
    file.write_bytes(download(tab, lambda: button(tab, "HTML").click()).read_bytes())
    alone = chromium.new_context(offline=True).new_page()
    asked: list[str] = []
    alone.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:")) or asked.append(r.url))
    alone.goto(file.as_uri())
    alone.wait_for_selector(".headscope p.inwords")
    assert f"“animal” ({percent(weight)})" in alone.locator("p.inwords").first.get_attribute("data-said")
    alone.get_by_role("gridcell", name="Head 3-2:").click()
    assert "“tired” (71.5 %)" in alone.locator("p.inwords").first.get_attribute("data-said")
    assert not asked
    alone.context.close()


def button(tab, name: str):
    return tab.page.get_by_role("button", name=re.compile(f"^{name}, "))


@pytest.mark.long
def test_the_saved_vector_picture_says_the_same_number(visit, chromium, tmp_path):
    tab = visit().drawn()
    tab.page.get_by_role("button", name="Save", exact=True).click()
    file = download(tab, lambda: tab.page.get_by_role("menuitem", name="Picture, SVG").click())
    text = file.read_text()
    assert "67.7 %" in text
    picture = tmp_path / "picture.svg"
    picture.write_text(text)
    alone = chromium.new_page()
    alone.goto(picture.as_uri())
    assert alone.evaluate("document.documentElement.getBBox().width") > 300
    loaded = "document.fonts.ready.then(() => [...document.fonts].map(f => `${f.family} ${f.status}`))"
    assert "HeadScope loaded" in alone.evaluate(loaded), "the typeface is inside"
    alone.close()


@pytest.mark.long
def test_the_printed_python_gives_the_number_on_the_screen(visit, capsys):
    tab = visit().drawn()
    tab.page.get_by_text("Export: numbers").click()
    tab.settled()
    code = tab.page.locator("[data-testid=stCode] code").last.inner_text()
    exec(compile(code, "shown", "exec"), {})  # noqa: S102 - the app's own lines are what is tested
    assert "it looks at animal: 67.7%" in capsys.readouterr().out


@pytest.mark.long
def test_the_heatmap_is_drawn_only_when_opened_and_has_every_token(visit, model):
    tab = visit().drawn()
    assert tab.page.locator(".js-plotly-plot").count() == 0
    tab.page.get_by_text("as a heatmap to zoom into").click()
    tab.page.wait_for_selector(
        ".js-plotly-plot .heatmaplayer image, .js-plotly-plot .heatmaplayer path", timeout=30_000
    )
    shown = tab.page.locator(".js-plotly-plot .ytick text").evaluate_all("all => all.map(e => e.textContent)")
    assert shown == list(trace(TIRED, model).grid().labels)
    camera = tab.page.get_by_role("button", name="Download plot")
    picture = download(tab, camera.click).read_text()
    assert picture.startswith("<svg")
    assert "Head 4-2" in picture
    tab.head("5-3").click()
    tab.settled()
    assert "head=5-3" in tab.page.url
    tab.page.wait_for_selector(".js-plotly-plot .gtitle:has-text('Head 5-3')", timeout=30_000)


def test_everything_can_be_reached_with_the_keyboard_alone(visit):
    tab = visit().drawn()
    page = tab.page
    page.keyboard.press("Tab")
    assert "Skip" in page.evaluate("document.activeElement.textContent")
    page.get_by_label("Your sentence", exact=True).focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("Ann saw her.")
    page.keyboard.press("Enter")
    tab.drawn()
    tab.head("4-2").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    tab.settled()
    assert "head=4-3" in page.url
    tab.word("Ann").focus()
    page.keyboard.press("Escape")  # its strongest link was chosen
    tab.settled()
    page.keyboard.press("Enter")
    tab.settled()
    assert tab.word("Ann").get_attribute("aria-pressed") == "true"
    assert "pin=1" in page.url


@pytest.mark.long
@pytest.mark.parametrize("unit", ["pieces", "words"])
def test_a_script_typed_as_text_stays_text(visit, unit):
    tab = visit(f"/?text={quote(PAYLOAD)}&unit={unit}&head={quote(PAYLOAD)}&model={quote(PAYLOAD)}").drawn()
    page = tab.page
    page.get_by_text("as a heatmap to zoom into").click()
    tab.settled()
    page.get_by_text("Export: numbers").click()
    tab.settled()
    page.locator('[data-unit="2"]').first.hover()
    page.wait_for_timeout(300)
    assert page.evaluate("window.top.hacked") is None
    assert (
        page.locator(
            "[data-testid=stMain] img, [data-testid=stMain] iframe, [data-testid=stMain] script"
        ).count()
        == 0
    )
    assert page.get_by_label("Your sentence", exact=True).input_value() == PAYLOAD


@pytest.mark.long
def test_a_hundred_thousand_characters_get_one_sentence_and_stay(visit):
    tab = visit().drawn()
    tab.type("z" * 100_000)
    problem = tab.page.locator(".hs-problem")
    problem.wait_for(timeout=15_000)
    assert problem.all_inner_texts() == [
        "The text has 100,000 characters and HeadScope takes 4,000 at most; shorten it."
    ]
    assert len(tab.page.get_by_label("Your sentence", exact=True).input_value()) == 100_000
    tab.type("Short again.").drawn()
    assert tab.page.locator(".hs-problem").count() == 0


@pytest.mark.long
def test_an_example_keeps_the_head_that_was_chosen(visit):
    tab = visit().drawn()
    tab.head("1-1").click()
    tab.settled()
    tab.page.get_by_role("button", name="suitcase", exact=True).click()
    tab.drawn()
    assert "small" in tab.page.get_by_label("Your sentence", exact=True).input_value()
    assert tab.said().startswith("Head 1-1: “it”")
    tab.head("4-2").click()
    tab.settled()
    tab.page.get_by_role("button", name="tired", exact=True).click()
    tab.drawn()
    assert "“animal” (67.7 %)" in tab.said()
