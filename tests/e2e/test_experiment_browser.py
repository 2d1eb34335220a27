"""Experiment in a real browser: switches, undo and the link, and the map with progress and Stop."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
MINILM = f"/experiment?model=minilm&text={quote(TIRED)}"


def head(tab, name):
    return tab.page.get_by_role("button", name=re.compile(rf"^Head {name}[,:.]"))


def off(tab):
    return parse_qs(urlsplit(tab.page.url).query).get("off", [""])[0]


def finding(tab):
    return tab.page.locator(".hs-finding").first.inner_text()


def wait_for_link(tab, heads):
    for _ in range(300):
        if off(tab) == heads:
            return tab.settled()
        tab.page.wait_for_timeout(100)
    pytest.fail(f"the link says {off(tab)!r}, not {heads!r}")
    return tab


def test_heads_are_switched_by_pointer_and_key_undone_and_kept_in_the_link(reader):
    tab = reader(MINILM)
    head(tab, "6-6").click()
    wait_for_link(tab, "6-6")
    assert finding(tab).startswith("Without 6-6, the embedding keeps cosine similarity 0.99")
    assert head(tab, "6-6").get_attribute("aria-pressed") == "true"
    start, end = (head(tab, name).bounding_box() for name in ("2-3", "2-5"))
    tab.page.mouse.move(start["x"] + 5, start["y"] + 5)
    tab.page.mouse.down()
    tab.page.mouse.move(end["x"] + 5, end["y"] + 5, steps=12)
    tab.page.mouse.up()
    wait_for_link(tab, "2-3,2-4,2-5,6-6")
    assert finding(tab).startswith("Without these 4 heads")
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Space")
    focused = tab.page.evaluate("document.activeElement.shadowRoot.activeElement.ariaLabel")
    assert focused.startswith("Head 3-3")
    wait_for_link(tab, "2-3,2-4,2-5,3-3,6-6")
    tab.page.get_by_role("button", name="Undo", exact=True).click()
    wait_for_link(tab, "2-3,2-4,2-5,6-6")
    tab.page.get_by_title("Layer 1: all its heads").click()
    wait_for_link(tab, ",".join(f"1-{i}" for i in range(1, 13)) + ",2-3,2-4,2-5,6-6")
    tab.page.get_by_role("button", name="Pick 16 at random").click()
    while "6-6" in off(tab):
        tab.page.wait_for_timeout(100)
    tab.settled()
    assert len(off(tab).split(",")) == 16
    assert not set(off(tab).split(",")) & {"2-3", "2-4", "2-5", "6-6", "1-1"}
    tab.page.get_by_role("button", name="Reset", exact=True).click()
    wait_for_link(tab, "")
    assert tab.page.locator(".switch.off").count() == 0


def cell(tab, key, name, shape=(6, 12)):
    """The middle of a head's cell on a map of so many layers and heads, the longer side across."""
    plot = tab.page.locator(f".st-key-{key} .js-plotly-plot .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    place, size = tuple(map(int, name.split("-"))), shape
    if shape[0] < shape[1]:
        place, size = place[::-1], shape[::-1]
    return tuple(
        box[start] + (at - 0.5) * box[side] / n
        for start, side, at, n in zip("xy", ("width", "height"), place, size, strict=True)
    )


def press(tab, key, name, shape=(6, 12), label=None, shows=None):
    """Click a head's cell once its label is shown, and again until what it shows is there where the map was just being
    redrawn: Plotly takes a click for what it last knew under the pointer, and none while it draws."""
    labels, n_runs = [], tab.n_runs
    for _ in range(20):
        x, y = cell(tab, key, name, shape)
        tab.page.mouse.move(x - 2, y)
        tab.page.mouse.move(x, y)
        tab.page.wait_for_timeout(100)
        labels = tab.page.locator(f".st-key-{key} .hovertext").all_text_contents()
        if any(re.search(rf"\b{label or name}\b", text) for text in labels):
            tab.page.mouse.click(x, y)
            for _ in range(10):
                tab.page.wait_for_timeout(100)
                if tab.n_runs > n_runs and tab.settled() and (shows is None or shows.is_visible()):
                    return
            n_runs = tab.n_runs
    pytest.fail(f"the map {key} says {labels}, and nothing of {label or name} was requested")


@pytest.mark.slow
def test_heads_that_are_selected_on_a_map_can_be_ablated_and_an_mlp_cannot(reader):
    text = quote("When Mary and John went to the store, John gave a drink to")
    address = f"/experiment?try=Ablation+sweep&model=smollm2&text={text}&word=Mary&rival=John"
    tab = reader(address, viewport={"width": 1280, "height": 1500})  # all of a map is on the screen
    tab.page.get_by_text("Click a head on the map").wait_for(timeout=120_000)
    tab.page.locator(".st-key-attribution .nsewdrag").first.wait_for(state="attached", timeout=60_000)
    tab.settled()
    link = tab.page.get_by_role("link", name=re.compile("^Ablate th(is head|ese heads)$"))
    shape = (30, 11)  # nine heads, nothing, MLPs
    press(tab, "attribution", "30-11", shape, label="MLP 30")
    assert not link.count()
    press(tab, "attribution", "24-4", shape, shows=link)
    press(tab, "effects", "4-2", (30, 9), shows=link.filter(has_text="these"))
    tab.page.keyboard.down("Shift")
    press(tab, "effects", "24-6", (30, 9))
    tab.page.keyboard.up("Shift")
    tab.page.get_by_role("link", name="Ablate these heads").click()
    wait_for_link(tab, "4-2,24-4,24-6")
    assert finding(tab).startswith("Without 4-2, 24-4 and 24-6, Mary falls")
    assert head(tab, "4-2").get_attribute("aria-pressed") == "true"
    place = head(tab, "24-6").bounding_box()
    tab.page.get_by_role("button", name="Reset", exact=True).click()
    wait_for_link(tab, "")
    assert head(tab, "24-6").bounding_box() == place, "heads stay where they are while some are switched"


def test_a_head_of_roles_is_chosen_on_the_map_or_by_key_and_a_box_filters_the_rows(reader):
    tab = reader("/roles?role=agreement")
    tab.page.locator(".st-key-role-map .nsewdrag").first.wait_for(state="attached", timeout=60_000)
    tab.settled()
    press(tab, "role-map", "4-9")
    tab.page.get_by_role("heading", name="Head 4-9").wait_for()
    tab.settled()
    assert parse_qs(urlsplit(tab.page.url).query) == {"role": ["agreement"], "head": ["4-9"]}
    tab.page.get_by_role("combobox", name="Head").focus()
    tab.page.keyboard.type("6-1")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("heading", name="Head 6-1").wait_for()
    tab.settled()
    tab.page.mouse.move(*cell(tab, "role-map", "1-1"))
    tab.page.locator(".st-key-role-map [data-title='Box Select']").click()
    (x, y), (to_x, to_y) = cell(tab, "role-map", "1-1"), cell(tab, "role-map", "2-3")
    tab.page.mouse.move(x - 8, y - 8)
    tab.page.mouse.down()
    tab.page.mouse.move(to_x + 8, to_y + 8, steps=8)
    tab.page.mouse.up()
    tab.page.get_by_text("All rows of the 6 selected heads").wait_for()
