"""What Inside draws is what it was given: every block read back in a page of its own."""

import re
from typing import Any

import numpy as np
import pixels
import pytest
from alone import component, own_page, told

pytestmark = pytest.mark.browser
TABLE = np.array([[1.5, -0.25, 0.0, 3.0], [-3.0, 0.75, np.nan, 2.0], [0.5, 1.0, -1.5, -2.25]])
MINUS = str.maketrans({"−": "-"})
ROWS, COLUMNS = ["it", "saw", "dog"], ["a", "b", "c", "d"]


def number(text: str) -> float:
    return float("nan") if text == "hidden" else float(text.translate(MINUS).removesuffix("%"))


def cells(page: Any, selector: str) -> list[list[str]]:
    return page.locator(selector).first.evaluate(
        "t => [...t.rows].map(r => [...r.cells].map(c => c.textContent))"
    )


def block(kind: str, values: np.ndarray, **options) -> dict:
    return {"type": kind, "name": "M", "shape": list(values.shape), "at": 2, "ramp": "signed", **options}


def drawn(page, numbers, *blocks, **data):
    """Blocks over a column of numbers that begins with two that belong to nobody."""
    return component(
        page, "tiles", blocks=list(blocks), numbers=np.array([9.0, -9.0, *np.ravel(numbers)]), **data
    )


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


def test_a_matrix_has_its_numbers_as_colours_and_says_them_under_the_pointer(chromium, scheme):
    names = {"rows": ROWS, "cols": COLUMNS, "high": 30, "wide": 30}
    with own_page(chromium, scheme) as page:
        drawn(page, TABLE, block("matrix", TABLE, **names))
        canvas = page.locator("canvas")
        rgb = pixels.of_canvas(canvas)
        assert rgb.shape == (3, 4, 4)
        seen = np.isfinite(TABLE)
        np.testing.assert_allclose(
            pixels.changes(rgb, pixels.THEMES[scheme])[seen] * 3, TABLE[seen], atol=0.05
        )
        assert np.flatnonzero(rgb[..., 3] == 0).tolist() == [6], "a hidden number has no colour"
        assert page.locator(".readout").inner_text().split() == ["−3.00", "+3.00"]
        ends = re.findall(r"rgb\([^)]*\)", page.locator(".scale").evaluate("e => e.style.background"))
        assert pixels.changes(pixels.colour(ends[0]), pixels.THEMES[scheme]) == pytest.approx(-1, abs=0.02)
        assert pixels.changes(pixels.colour(ends[-1]), pixels.THEMES[scheme]) == pytest.approx(1, abs=0.02)
        box = canvas.bounding_box()
        for q, row in enumerate(ROWS):
            for k, column in enumerate(COLUMNS):
                page.mouse.move(
                    box["x"] + (k + 0.5) * box["width"] / 4, box["y"] + (q + 0.5) * box["height"] / 3
                )
                who, value = page.locator(".readout").inner_text().split(": ")
                assert who == f"{row}, {column}"
                np.testing.assert_allclose(number(value), TABLE[q, k])
        page.mouse.move(1, 1)
        assert "+3.00" in page.locator(".readout").inner_text()


def test_tiles_show_every_number_where_it_belongs_and_what_is_typed_is_told_with_its_place(chromium, scheme):
    with own_page(chromium, scheme) as page:
        drawn(
            page, TABLE, block("tiles", TABLE, id="t", rows=ROWS, cols=COLUMNS),
            block("tiles", TABLE, id="e", editable=True), cells={"e": {"5": 0.75}},
        )  # fmt: skip
        grid = page.locator(".tiles[data-matrix=t] > div")
        texts = grid.all_inner_texts()
        assert texts[:5] == ["", *COLUMNS]
        for q, row in enumerate(ROWS):
            line = texts[5 * (q + 1) : 5 * (q + 2)]
            assert line[0] == row
            np.testing.assert_allclose([number(text) for text in line[1:]], TABLE[q])
        fills = grid.evaluate_all("all => all.map(e => e.style.background)")
        for q in range(3):
            for k in range(4):
                fill = fills[5 * (q + 1) + 1 + k]
                if np.isfinite(TABLE[q, k]):
                    share = pixels.changes(pixels.colour(fill), pixels.THEMES[scheme])
                    assert share * 3 * 1.6 == pytest.approx(TABLE[q, k], abs=0.12)
        edited = page.get_by_label("M, row 2, column 2", exact=True)
        assert edited.input_value() == "0.75"
        marked = page.locator("input").evaluate_all("all => all.map(e => e.classList.contains('edited'))")
        assert marked.index(True) == 5
        box = page.get_by_label("M, row 3, column 4", exact=True)
        assert box.input_value() == "−2.25"
        box.fill("−1,5")
        box.press("Enter")
        assert told(page)[-1] == ["typed", {"e": {"5": 0.75, "11": -1.5}}]
        box.fill("no number")
        box.press("Enter")
        assert "wrong" in box.get_attribute("class")
        assert len(told(page)) == 1


def one_query() -> dict[str, np.ndarray]:
    """The row of `it` in a head of two or three numbers, worked out by hand; the last key is hidden from sight."""
    rng = np.random.default_rng(5)
    q, k, v = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    scores = k @ q / np.sqrt(3)
    weights = np.exp(scores) / np.exp(scores).sum()
    return {
        "q": q, "k": k, "products": q * k, "raw": k @ q, "scores": np.where(np.arange(5) == 4, np.nan, scores),
        "weights": weights, "weighted": weights[:, None] * v, "z": weights @ v,
    }  # fmt: skip


def followed(page, parts: dict[str, np.ndarray], shown: list[int]) -> list[list[str]]:
    at, flat = {}, []
    for name, values in parts.items():
        at[name] = 2 + len(flat)
        flat += np.ravel(values).tolist()
    sizes = {"query": 3, "shown": shown, "d_k": 3, "d_v": 2, "divisor": 3**0.5}
    drawn(page, flat, {"type": "follow", "tokens": FOLLOWED, **sizes, **at})
    return cells(page, "table.follow")


FOLLOWED = ["[CLS]", "dog", "saw", "it", "[SEP]"]


def test_one_query_is_followed_through_every_key(tab):
    parts = one_query()
    weights = parts["weights"]
    shown = np.sort(np.argsort(-weights)[:4]).tolist()
    lines = followed(tab, parts, shown)
    assert lines[0] == [
        "key",
        "k",
        "q × k, number by number",
        "q · k",
        "÷ 1.73",
        "softmax: weight",
        "weight × v",
    ]
    assert lines[1][0] == "q of it"
    for line, i in zip(lines[2:], shown, strict=False):
        assert line[0] == FOLLOWED[i]
        assert number(line[3]) == pytest.approx(parts["raw"][i], abs=6e-4)
        assert number(line[4]) == pytest.approx(parts["scores"][i], abs=6e-4, nan_ok=True)
        assert number(line[5]) == pytest.approx(100 * weights[i], abs=0.051)
    rest = (set(range(5)) - set(shown)).pop()
    assert lines[-2][0] == "1 more"
    assert number(lines[-2][5]) == pytest.approx(100 * weights[rest], abs=0.051)
    assert (lines[-1][0], lines[-1][5]) == ("sum", "100.0%")
    assert tab.locator("tr.strongest .word").inner_text() == FOLLOWED[int(weights.argmax())]
    bars = tab.locator(".barline i").evaluate_all("all => all.map(e => parseFloat(e.style.width))")
    np.testing.assert_allclose(bars[:4], [62 * weights[i] / weights.max() for i in shown], atol=0.01)


def test_small_sheets_keep_to_their_own_head_and_one_scale(chromium, scheme):
    stack = np.random.default_rng(2).normal(size=(3, 2, 4))
    with own_page(chromium, scheme) as page:
        drawn(
            page,
            stack,
            {
                "type": "choosing", "select": "figure", "tells": "picked", "values": [0, 1, 2], "now": 1, "line": 1,
                "labels": ["Choose head 1", "Choose head 2", "Choose head 3"],
                "item": {
                    "type": "sheets", "name": "q", "shape": [3, 2, 4], "at": 2, "chosen": 1, "wide": 52, "high": 32,
                },
            },
        )  # fmt: skip
        for head in range(3):
            rgb = pixels.of_canvas(page.locator("canvas").nth(head))
            shown = pixels.changes(rgb, pixels.THEMES[scheme]) * np.abs(stack).max()
            np.testing.assert_allclose(shown, stack[head], atol=0.06)
        assert page.locator("figure.chosen").inner_text() == "head 2"
        page.get_by_role("button", name="Choose head 3").click()
        assert told(page) == [["picked", 2]]


def test_what_is_not_there_is_hatched_and_nothing_else_is(tab):
    whole = np.where(np.isfinite(TABLE), TABLE, 0)
    for values, hatched in ((TABLE, True), (whole, False)):
        drawn(tab, values, block("matrix", values, rows=ROWS, cols=COLUMNS, high=30, wide=30))
        style = tab.locator("canvas").last.evaluate("c => getComputedStyle(c).backgroundImage")
        assert ("repeating-linear-gradient" in style) == hatched
