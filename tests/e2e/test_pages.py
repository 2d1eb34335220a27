"""All pages: the frame, the links between them, narrow and dark, comparing, and what axe finds."""

import os
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe import CONTRAST, complaints

from mha_core import load_model, trace

pytestmark = pytest.mark.browser
PAGES = ["/", "/compare"]
TIRED = "The animal didn't cross the street because it was too tired."
# Where the pictures go that a person looks at; a folder of the test's own otherwise.
SHOTS = os.environ.get("HEADSCOPE_SCREENSHOTS")


@pytest.mark.long
def test_a_deep_link_is_the_first_request_of_a_cold_server(visit, fresh_server):
    tab = visit("/compare?against=weights&head=2-9&pin=3", server=fresh_server()).drawn()
    assert tab.page.title() == "Compare · HeadScope"
    assert tab.page.get_by_role("heading", level=1).inner_text() == "What changes when one word does?"
    assert tab.said().startswith("Head 2-9: “didn”")
    assert "Page not found" not in tab.page.locator("body").inner_text()


@pytest.mark.long
def test_compare_opens_on_tired_and_wide_with_both_numbers(visit):
    tab = visit("/compare").drawn()
    model = load_model()
    weights = [
        float(trace(TIRED.replace("tired", word), model).weights[3, 1, 10, 2]) for word in ("tired", "wide")
    ]
    a, b = (f"{100 * weight:.1f} %" for weight in weights)
    assert f"“animal” ({a} in A, {b} in B" in tab.said()
    assert f"{a} → {b}" in tab.page.locator("table").last.inner_text()
    tab.head("5-12").click()
    tab.settled()
    assert "head=5-12" in tab.page.url
    assert tab.said().startswith("Head 5-12: “it”")


@pytest.mark.long
def test_one_link_hands_the_view_to_the_next_page(visit):
    tab = visit("/?text=Ann+saw+her+dog.&head=2-3&pin=1").drawn()
    tab.page.get_by_role("link", name="Compare").click()
    tab.drawn()
    assert tab.page.get_by_label("Sentence A").input_value() == "Ann saw her dog."
    assert "head=2-3" in tab.page.url
    assert "pin=1" in tab.page.url
    assert tab.said() == "Head 2-3: nothing changes for “Ann”."
    assert "text=Ann" in tab.page.url
    tab.type("Ann saw her cat.", "Sentence B")
    tab.page.get_by_role("link", name="Explore").click()
    tab.drawn()
    assert tab.said().startswith("Head 2-3: “Ann”")
    tab.page.get_by_role("link", name="Compare").click()
    tab.drawn()
    assert tab.page.get_by_label("Sentence B").input_value() == "Ann saw her cat."


def test_back_and_forward_go_through_what_was_seen(visit):
    tab = visit().drawn()
    tab.type("Ann saw her dog.").drawn()
    tab.page.go_back()
    tab.drawn()
    for _ in range(4):  # a sentence and the word it opens on are steps of their own
        if "Ann" not in tab.page.get_by_label("Your sentence", exact=True).input_value():
            break
        tab.page.go_back()
        tab.drawn()
    assert tab.page.get_by_label("Your sentence", exact=True).input_value() == TIRED
    assert "“it” looks at “animal”" in tab.said()


@pytest.mark.long
def test_untrained_is_one_switch_away(visit):
    tab = visit().drawn()
    trained = tab.said()
    tab.page.get_by_role("button", name="Options").click()
    tab.page.get_by_role("radio", name="untrained").or_(
        tab.page.get_by_text("untrained", exact=True)
    ).first.click()
    tab.settled()
    assert "weights=untrained" in tab.page.url
    assert tab.said() != trained
    assert "weights are random" in tab.page.locator("body").inner_text()


@pytest.mark.long
def test_presenter_mode_shows_the_picture_alone_and_can_be_left(visit):
    tab = visit().drawn()
    tab.page.get_by_role("button", name="Present").click()
    tab.drawn()
    assert "present=1" in tab.page.url
    assert not tab.page.get_by_label("Your sentence", exact=True).is_visible()
    assert not tab.page.get_by_role("link", name="Explore").is_visible()
    assert tab.page.locator(".headscope .sentence").is_visible()
    tab.page.set_viewport_size({"width": 1024, "height": 768})
    tab.settled()
    shown = tab.page.locator(".headscope[data-record]")
    leave = tab.page.get_by_role("button", name="Leave presenter mode").bounding_box()
    tabs = shown.get_by_label("How to show the head").bounding_box()
    sentence, matrix = (shown.locator(part).bounding_box() for part in (".sentence", ".matrix canvas"))
    assert sentence["y"] >= 0
    assert matrix["y"] + matrix["height"] <= 768, "sentence, arcs and matrix are on one screen"
    assert matrix["height"] > 200
    assert leave["y"] + leave["height"] <= min(sentence["y"], tabs["y"]), "the way out covers nothing"
    tab.page.set_viewport_size({"width": 1024, "height": 700})
    tab.settled()
    lower = tab.page.locator(".matrix canvas").first
    shown = lower.evaluate(
        "e => [e.getBoundingClientRect().width / e.width, e.getBoundingClientRect().height / e.height]"
    )
    assert shown[0] == pytest.approx(shown[1], rel=0.02), "letters are not stretched"
    tab.page.get_by_role("button", name="Leave presenter mode").click()
    tab.drawn()
    assert tab.page.get_by_label("Your sentence", exact=True).is_visible()


SCREENS = (
    ("phone-dark", 420, 900, "dark"),
    ("laptop-light", 1280, 900, "light"),
    ("projector-dark", 1920, 1080, "dark"),
)


@pytest.mark.parametrize("path", ["/", pytest.param("/compare", marks=pytest.mark.long)])
def test_a_page_fits_its_screen_in_both_themes(visit, tmp_path, path):
    tab = visit(path, viewport={"width": 420, "height": 900}, color_scheme="dark").drawn()
    for name, width, height, scheme in SCREENS:
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.page.emulate_media(color_scheme=scheme)
        tab.settled()
        wide = tab.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= width, f"{wide} pixels on a screen of {width}"
        dark = tab.page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
        assert dark == ("rgb(21, 21, 19)" if scheme == "dark" else "rgb(251, 250, 247)")
        assert tab.page.evaluate("document.fonts.check('16px HeadScope')")
        for stock in ("stHeader", "stToolbar", "stDecoration", "stSidebar"):
            assert not tab.page.locator(f"[data-testid={stock}]").is_visible()
        folder = Path(SHOTS) if SHOTS else tmp_path
        tab.page.screenshot(path=folder / f"{path.strip('/') or 'explore'}-{name}.png")


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(visit, path):
    tab = visit(path).drawn()
    for width, scheme in product((1280, 390), ("light", "dark")):
        tab.page.emulate_media(color_scheme=scheme)
        tab.page.set_viewport_size({"width": width, "height": 844})
        found = complaints(tab.settled().page, CONTRAST if scheme == "dark" else None)
        assert not found, f"{scheme}, {width} px wide\n" + "\n".join(found)


@pytest.mark.long
def test_the_menu_leads_from_every_page_to_the_first_and_back_in_this_tab_and_in_another(visit):
    tab = visit("/?text=The+animal+slept.").drawn()
    top = tab.page.locator(".st-key-top")

    def press(name, path):
        top.get_by_role("link", name=name, exact=True).click()
        tab.page.wait_for_url(lambda url: urlsplit(url).path == path, timeout=30_000)
        tab.settled()

    for name, path in (
        ("Compare", "/compare"),
        ("Heads", "/specialization"),
        ("Experiment", "/experiment"),
        ("Inside", "/inside"),
        ("Learn", "/learn"),
    ):
        press(name, path)
        press("Explore", "/")
        assert tab.drawn().page.get_by_label("Your sentence", exact=True).input_value() == "The animal slept."
    press("Inside", "/inside")
    with tab.page.context.expect_page() as opened:
        top.get_by_role("link", name="Explore", exact=True).click(modifiers=["ControlOrMeta"])
    other = opened.value
    other.wait_for_url(lambda url: urlsplit(url).path == "/")
    other.wait_for_selector(".headscope[data-record]", timeout=30_000)
    other.close()
    assert urlsplit(tab.page.url).path == "/inside"
