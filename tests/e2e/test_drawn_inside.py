"""What Inside draws is what it was given: blocks of numbers, read back in a page of its own."""

import re

import numpy as np
import pytest
from drawn import component, own_page
from pixels import THEMES, changes, colour, of_canvas

pytestmark = pytest.mark.browser
TABLE = np.array([[1.5, -0.25, 0.0, 3.0], [-3.0, 0.75, np.nan, 2.0], [0.5, 1.0, -1.5, -2.25]])
STACK = np.random.default_rng(2).normal(size=(3, 2, 4))
ROWS, COLUMNS = ["it", "saw", "dog"], ["a", "b", "c", "d"]
MINUS = str.maketrans({"−": "-"})


def numbers(texts: list[str]) -> np.ndarray:
    """The numbers of a row of texts; NaN where one is hidden."""
    return np.array([float(text.translate(MINUS).replace("hidden", "nan")) for text in texts])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_matrices_tiles_and_small_sheets_show_their_own_numbers_and_tell_what_is_typed(chromium, scheme):
    theme = THEMES[scheme]
    table = {"name": "M", "shape": [3, 4], "at": 2, "ramp": "signed"}
    named = table | {"rows": ROWS, "cols": COLUMNS, "high": 30, "wide": 30}
    sheets = {
        "type": "sheets",
        "name": "q",
        "shape": [3, 2, 4],
        "at": 26,
        "chosen": 1,
        "wide": 52,
        "high": 32,
    }
    choosing = {
        "select": "figure",
        "tells": "picked",
        "values": [0, 1, 2],
        "now": 1,
        "line": 1,
        "item": sheets,
    }
    blocks = [
        named | {"type": "matrix"},
        named | {"type": "matrix", "at": 14},
        named | {"type": "tiles", "id": "t"},
        table | {"type": "tiles", "id": "e", "editable": True},
        choosing | {"type": "choosing", "labels": ["Choose head 1", "Choose head 2", "Choose head 3"]},
    ]
    column = np.concatenate([[9, -9], TABLE.ravel(), np.nan_to_num(TABLE).ravel(), STACK.ravel()])
    seen = np.isfinite(TABLE)
    with own_page(chromium, scheme) as page:
        component(page, "tiles", blocks=blocks, numbers=column, cells={"e": {"5": 0.75}})
        canvas, readout = page.locator("canvas").first, page.locator(".readout").first
        rgb = of_canvas(canvas)
        assert rgb.shape == (3, 4, 4)
        np.testing.assert_allclose(changes(rgb, theme)[seen] * 3, TABLE[seen], atol=0.05)
        assert ((rgb[..., 3] == 0) == ~seen).all(), "a hidden number has no colour"
        ground = "all => all.slice(0, 2).map(c => getComputedStyle(c).backgroundImage.includes('repeating'))"
        assert page.locator("canvas").evaluate_all(ground) == [True, False], "hatched where one is hidden"
        assert readout.inner_text().split() == ["−3.00", "+3.00"]
        scale = page.locator(".scale").first.evaluate("e => e.style.background")
        ends = [colour(end) for end in re.findall(r"rgb\([^)]*\)", scale)]
        np.testing.assert_allclose(changes([ends[0], ends[-1]], theme), [-1, 1], atol=0.02)
        box = canvas.bounding_box()
        for (q, k), value in np.ndenumerate(TABLE):
            page.mouse.move(box["x"] + (k + 0.5) * box["width"] / 4, box["y"] + (q + 0.5) * box["height"] / 3)
            who, text = readout.inner_text().split(": ")
            assert who == f"{ROWS[q]}, {COLUMNS[k]}"
            np.testing.assert_allclose(numbers([text]), value)
        page.mouse.move(1, 1)
        assert "+3.00" in readout.inner_text()

        tiles = page.locator(".tiles[data-matrix=t] > div")
        texts = np.reshape(tiles.all_inner_texts(), (4, 5))
        assert (texts[0].tolist(), texts[1:, 0].tolist()) == (["", *COLUMNS], ROWS)
        np.testing.assert_allclose(numbers(texts[1:, 1:].ravel()).reshape(3, 4), TABLE)
        fills = np.reshape(tiles.evaluate_all("all => all.map(e => e.style.background)"), (4, 5))[1:, 1:]
        drawn = changes([colour(fill) for fill in fills[seen]], theme)
        np.testing.assert_allclose(
            drawn * 3 * 1.6, TABLE[seen], atol=0.12
        )  # paler, so that both signs can be read
        assert page.get_by_label("M, row 2, column 2", exact=True).input_value() == "0.75"
        marked = page.locator("input").evaluate_all("all => all.map(e => e.classList.contains('edited'))")
        assert np.flatnonzero(marked).tolist() == [5]
        cell = page.get_by_label("M, row 3, column 4", exact=True)
        assert cell.input_value() == "−2.25"
        for typed in ("−1,5", "no number"):
            cell.fill(typed)
            cell.press("Enter")
        assert "wrong" in cell.get_attribute("class")

        for head, values in enumerate(STACK):
            rgb = of_canvas(page.locator("canvas").nth(2 + head))
            np.testing.assert_allclose(changes(rgb, theme) * np.abs(STACK).max(), values, atol=0.06)
        assert page.locator("figure.chosen").inner_text() == "head 2"
        page.get_by_role("button", name="Choose head 3").click()
        typed = ["typed", {"e": {"5": 0.75, "11": -1.5}}]
        assert page.evaluate("globalThis.told") == [typed, ["picked", 2]]
