"""The picture of all heads is the study's: letters, colours, places and shades, by hand and in the app."""

import re

import pixels
import pytest
from alone import component, own_page, told

pytestmark = pytest.mark.browser
# Two layers of three: what no two heads share, so that each can only stand in its own place.
HEADS = [
    {
        "id": "1-1",
        "layer": 0,
        "head": 0,
        "letter": "P",
        "colour": "#0072b2",
        "x": 0.1,
        "y": 0.2,
        "cluster": 0,
    },
    {"id": "1-2", "layer": 0, "head": 1, "letter": "", "colour": "", "x": 0.8, "y": 0.1, "cluster": 1},
    {
        "id": "1-3",
        "layer": 0,
        "head": 2,
        "letter": "S",
        "colour": "#009e73",
        "x": 0.3,
        "y": 0.9,
        "cluster": 0,
    },
    {
        "id": "2-1",
        "layer": 1,
        "head": 0,
        "letter": "C",
        "colour": "#d55e00",
        "x": 0.5,
        "y": 0.45,
        "cluster": 0,
    },
    {"id": "2-2", "layer": 1, "head": 1, "letter": "", "colour": "", "x": 0.95, "y": 0.6, "cluster": 0},
    {
        "id": "2-3",
        "layer": 1,
        "head": 2,
        "letter": "B",
        "colour": "#56b4e9",
        "x": 0.6,
        "y": 0.95,
        "cluster": 1,
    },
]
LEGEND = [
    {"letter": "P", "name": "positional", "colour": "#0072b2"},
    {"letter": "S", "name": "syntactic", "colour": "#009e73"},
]
PLACES = """all => all.map(b => {
  const r = b.getBoundingClientRect();
  const [id, mark] = [".id", ".mark"].map(q => b.querySelector(q).textContent);
  const { backgroundColor: paint, color: ink } = getComputedStyle(b);
  const [role, fill] = ["--role", "--fill"].map(name => b.style.getPropertyValue(name));
  const [x, y] = [r.left + r.width / 2, r.top + r.height / 2];
  return { id, mark, x, y, role, fill, pressed: b.ariaPressed, said: b.ariaLabel, paint, ink };
})"""  # fmt: skip


def heads(**more):
    plain = [{"fill": None, "text": "", "label": f"Head {h['id']}: role {h['letter']}", **h} for h in HEADS]
    return [head | more.get(head["id"], {}) for head in plain]


def drawn(page, layout: str, marks, chosen="2-1"):
    component(page, "head_map", layout=layout, n_heads=3, chosen=chosen, legend=LEGEND, heads=marks)
    return buttons(page)


def buttons(page) -> dict[str, dict]:
    return {b["id"]: b for b in page.locator(".heads button").evaluate_all(PLACES)}


def of_srgb(text: str) -> tuple[int, ...]:
    """The numbers of `oklab(..)`, which is what color-mix leaves: lightness first."""
    return tuple(float(part) for part in re.findall(r"-?[\d.]+(?:e-?\d+)?", text)[:3])


def test_in_the_grid_layers_go_down_and_heads_across_each_with_its_letter_and_colour(chromium):
    with own_page(chromium) as page:
        shown = drawn(page, "grid", heads())
        for head in HEADS:
            one = shown[head["id"]]
            assert (one["mark"], one["said"]) == (head["letter"], f"Head {head['id']}: role {head['letter']}")
            assert one["role"] == (head["colour"] or "transparent")
            assert one["pressed"] == str(head["id"] == "2-1").lower()
        xs = [[shown[f"{layer}-{head}"]["x"] for head in (1, 2, 3)] for layer in (1, 2)]
        ys = [[shown[f"{layer}-{head}"]["y"] for head in (1, 2, 3)] for layer in (1, 2)]
        assert xs[0] == xs[1] == sorted(xs[0])
        assert ys[0] == [min(ys[0])] * 3
        assert min(ys[1]) > max(ys[0])
        axes = page.locator(".axis")
        assert axes.all_inner_texts() == ["1", "2", "3", "1", "2"]
        at = [box["x"] + box["width"] / 2 for box in (axes.nth(i).bounding_box() for i in range(5))]
        assert at[:3] == pytest.approx(xs[0], abs=1)
        assert max(at[3:]) < min(xs[0]), "the layers' numbers stand before their heads"
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert shown["1-2"]["paint"] == paper, "a head without a role has no colour"
        assert len({shown[name]["paint"] for name in ("1-1", "1-3", "2-1", "2-3")}) == 4
        keys = page.locator(".legend .key")
        assert keys.all_text_contents() == ["Ppositional", "Ssyntactic"]
        swatch = "all => all.map(e => e.firstChild.style.getPropertyValue('--role'))"
        assert keys.evaluate_all(swatch) == ["#0072b2", "#009e73"]
        assert page.locator(".note").inner_text() == "Head 2-1: role C"
        page.get_by_role("button", name="Head 1-3").hover()
        assert page.locator(".note").inner_text() == "Head 1-3: role S"
        page.get_by_role("button", name="Head 1-3").click()
        assert told(page) == [["head", "1-3"]]
        steps = {"ArrowDown": "2-3", "ArrowLeft": "2-2", "ArrowUp": "1-2", "End": "2-3", "Home": "1-1"}
        for key, there in steps.items():
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.dataset.id") == there


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_measure_is_shaded_from_paper_to_ink_and_its_number_can_be_read(chromium, scheme):
    fills = [0.0, 0.5, 0.51, 0.25, 1.0, 0.75]
    given = dict(zip((head["id"] for head in HEADS), fills, strict=True))
    marks = heads(**{name: {"fill": fill, "text": f"{100 * fill:.0f}"} for name, fill in given.items()})
    with own_page(chromium, scheme) as page:
        shown = drawn(page, "grid", marks)
        order = sorted(zip(fills, HEADS, strict=True), key=lambda pair: pair[0])
        light = [of_srgb(shown[head["id"]]["paint"])[0] for _, head in order]
        assert light == sorted(light, reverse=scheme == "light")
        assert len(set(light)) == len(light)
        for fill, head in order:
            one = shown[head["id"]]
            assert one["mark"] == f"{100 * fill:.0f}"
            assert one["fill"] == f"{round(88 * fill + (12 if fill > 0.5 else 0))}%"
            ink = pixels.oklab(pixels.colour(one["ink"]))[0]
            assert abs(ink - of_srgb(one["paint"])[0]) > 0.35, "the number stands off its shade"


def test_on_the_map_a_head_stands_at_its_own_point_and_its_cluster_is_outlined(chromium):
    with own_page(chromium) as page:
        shown = drawn(page, "map", heads())
        box = page.locator(".plane").bounding_box()
        for head in HEADS:
            one = shown[head["id"]]
            assert (one["x"] - box["x"]) / box["width"] == pytest.approx(head["x"], abs=2e-3)
            assert (one["y"] - box["y"]) / box["height"] == pytest.approx(head["y"], abs=2e-3)
        corners = {
            tuple(map(float, p.split(","))) for p in page.locator("polygon").get_attribute("points").split()
        }
        assert corners == {(0.1, 0.2), (0.3, 0.9), (0.95, 0.6)}, (
            "2-1 lies inside; 1-2 and 2-3 are of another cluster"
        )
        drawn(page, "map", heads(), chosen="1-2")
        assert page.locator("polygon").count() == 0, "two heads have no outline"
        page.get_by_role("button", name="Head 2-1").focus()
        for key, there in (("ArrowRight", "2-2"), ("ArrowDown", "2-3"), ("ArrowUp", "2-1")):
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.dataset.id") == there


# Where heads stand, the jobs and the table of evidence, by hand
