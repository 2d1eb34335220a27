"""What Inside draws is what it was given: every block read back in a page of its own."""

import csv
import io
import re

import numpy as np
import pixels
import pytest
from alone import component, download, own_page, told
from tiles_page import cells, number

pytestmark = pytest.mark.browser
TABLE = np.array([[1.5, -0.25, 0.0, 3.0], [-3.0, 0.75, np.nan, 2.0], [0.5, 1.0, -1.5, -2.25]])
SHARES = np.array([[0.7, 0.2, 0.1, 0.0], [0.05, 0.05, 0.3, 0.6], [0.25, 0.5, 0.15, 0.1]])
ROWS, COLUMNS = ["it", "saw", "dog"], ["a", "b", "c", "d"]


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


@pytest.fixture
def page(chromium):
    with own_page(chromium) as page:
        yield page


def test_a_matrix_has_its_numbers_as_colours_and_says_them_under_the_pointer(chromium, scheme):
    names = {"rows": ROWS, "cols": COLUMNS, "high": 30, "wide": 30}
    with own_page(chromium, scheme) as page:
        drawn(page, TABLE, block("matrix", TABLE, **names))
        canvas = page.locator("canvas")
        rgb = pixels.of_canvas(canvas)
        assert rgb.shape == (3, 4, 3)
        seen = np.isfinite(TABLE)
        np.testing.assert_allclose(
            pixels.changes(rgb, pixels.THEMES[scheme])[seen] * 3, TABLE[seen], atol=0.05
        )
        alpha = canvas.evaluate(
            "c => [...c.getContext('2d').getImageData(0, 0, 4, 3).data].filter((_, i) => i % 4 === 3)"
        )
        assert [i for i, value in enumerate(alpha) if not value] == [6], "a hidden number has no colour"
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


def test_the_followed_row_and_the_head_s_columns_are_framed_where_they_are(page):
    frames = {"slice": [1, 3], "cuts": [1, 2], "follow": True}
    drawn(page, TABLE, block("matrix", TABLE, rows=ROWS, cols=COLUMNS, high=30, wide=30, **frames), query=1)
    box = page.locator("canvas").bounding_box()
    here, frame = (page.locator(s).bounding_box() for s in (".here", ".slice"))
    assert here["y"] == pytest.approx(box["y"] + box["height"] / 3 - 2, abs=1)
    assert here["height"] == pytest.approx(box["height"] / 3 + 4, abs=1.5)
    assert frame["x"] == pytest.approx(box["x"] + box["width"] / 4 - 2, abs=1)
    assert frame["width"] == pytest.approx(box["width"] / 2 + 4, abs=1)
    cuts = [cut["x"] + 1 - box["x"] for cut in (page.locator(".cut").nth(i).bounding_box() for i in (0, 1))]
    assert cuts == pytest.approx([box["width"] / 4, box["width"] / 2], abs=1)
    assert page.locator(".labels .chosen").all_inner_texts() == ["saw"]


def test_the_numbers_of_a_matrix_are_on_the_screen_and_in_its_file(page, tmp_path):
    drawn(page, TABLE, block("matrix", TABLE, id="m", rows=ROWS, cols=COLUMNS))
    page.get_by_role("button", name="Numbers of M").click()
    shown = cells(page, "table[data-matrix=m]")
    assert shown[0] == ["", *COLUMNS]
    assert [line[0] for line in shown[1:]] == ROWS
    np.testing.assert_allclose([[number(cell) for cell in line[1:]] for line in shown[1:]], TABLE)
    file = download(page, lambda: page.get_by_role("button", name="CSV", exact=True).click(), tmp_path)
    saved = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    assert (file.name, saved[0], [line[0] for line in saved[1:]]) == ("m.csv", ["", *COLUMNS], ROWS)
    np.testing.assert_allclose([[float(cell) for cell in line[1:]] for line in saved[1:]], TABLE)


def test_without_names_rows_and_columns_count_from_one(page):
    drawn(page, TABLE, block("matrix", TABLE, high=20, wide=20))
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.1)
    assert page.locator(".readout").inner_text() == "1, 4: 3.0000"
    page.mouse.move(box["x"] + box["width"] * 0.1, box["y"] + box["height"] * 0.9)
    assert page.locator(".readout").inner_text() == "3, 1: 0.5000"
    page.get_by_role("button", name="Numbers of M").click()
    shown = cells(page, "table[data-matrix=M]")
    assert (shown[0], [line[0] for line in shown]) == (["", "1", "2", "3", "4"], ["", "1", "2", "3"])


def test_a_matrix_of_weights_is_shaded_up_to_its_largest_and_read_in_percent(chromium, scheme):
    with own_page(chromium, scheme) as page:
        drawn(page, SHARES, block("matrix", SHARES, ramp="weight", rows=ROWS, cols=COLUMNS, high=30, wide=30))
        rgb = pixels.of_canvas(page.locator("canvas"))
        np.testing.assert_allclose(pixels.weights(rgb, pixels.THEMES[scheme]) * 0.7, SHARES, atol=0.02)
        assert page.locator(".readout").inner_text().split("\n") == ["0 %", "70.0 %"]
        box = page.locator("canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.5)
        assert page.locator(".readout").inner_text() == "saw, d: 60.0 %"


def test_one_outlier_among_many_numbers_does_not_make_the_rest_pale(page):
    values = np.full((20, 20), 0.5)
    values[3, 5], values[0, 0] = 40, -1
    drawn(page, values, block("matrix", values))
    share = pixels.changes(pixels.of_canvas(page.locator("canvas")), pixels.THEMES["light"])
    assert share[7, 7] == pytest.approx(0.5, abs=0.02)
    assert share[3, 5] == pytest.approx(1, abs=0.02)
    assert page.locator(".readout").inner_text().split() == ["−1.00", "+1.00"]


def test_tiles_show_every_number_where_it_belongs_and_what_is_typed_is_told_with_its_place(chromium, scheme):
    with own_page(chromium, scheme) as page:
        drawn(
            page, TABLE, block("tiles", TABLE, id="t", rows=ROWS, cols=COLUMNS),
            block("tiles", TABLE, id="e", editable=True, first=8), cells={"e": {"13": 0.75}},
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
        assert told(page)[-1] == ["cells", {"e": {"13": 0.75, "19": -1.5}}]
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


def test_one_query_is_followed_through_every_key(page):
    parts = one_query()
    weights = parts["weights"]
    shown = np.sort(np.argsort(-weights)[:4]).tolist()
    lines = followed(page, parts, shown)
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
    assert (lines[-1][0], lines[-1][5]) == ("sum", "100.0 %")
    assert page.locator("tr.strongest .word").inner_text() == FOLLOWED[int(weights.argmax())]
    bars = page.locator(".barline i").evaluate_all("all => all.map(e => parseFloat(e.style.width))")
    np.testing.assert_allclose(bars[:4], [62 * weights[i] / weights.max() for i in shown], atol=0.01)


def test_beside_each_key_stand_its_own_colours_followed_through(page):
    parts = one_query()
    followed(page, parts, list(range(5)))
    strips = page.locator("table.follow canvas")
    colours = [pixels.of_canvas(strips.nth(i))[0] for i in range(strips.count())]
    of_q, *keys, of_z = [pixels.changes(one, pixels.THEMES["light"]) for one in colours]
    largest, product, value = (
        max(np.abs(parts[one]).max(), np.abs(parts[other]).max())
        for one, other in (("q", "k"), ("products", "products"), ("weighted", "z"))
    )
    np.testing.assert_allclose(of_q * largest, parts["q"], atol=0.05)
    np.testing.assert_allclose(of_z * value, parts["z"], atol=0.05)
    for i in range(5):
        of_k, of_product, of_value = keys[3 * i : 3 * i + 3]
        np.testing.assert_allclose(of_k * largest, parts["k"][i], atol=0.05)
        np.testing.assert_allclose(of_product * product, parts["products"][i], atol=0.05)
        np.testing.assert_allclose(of_value * value, parts["weighted"][i], atol=0.05)


def test_the_heads_parts_and_their_bars_stand_with_their_own_numbers(page):
    rows = [
        {"label": "4-1", "norm": 2.0, "share": 0.9, "cosine": 0.5, "chosen": False},
        {"label": "4-2", "norm": 0.5, "share": -0.15, "cosine": -0.25, "chosen": True},
        {"label": "b_o", "norm": 1.0, "share": 0.25, "cosine": None},
    ]
    bars = {"type": "bars", "id": "b", "series": ["before", "now"], "rows": [
        {"label": "dog", "values": [0.6, 0.15], "chosen": True},
        {"label": "cat", "values": [0.1, 0.3], "chosen": False},
    ]}  # fmt: skip
    drawn(page, [], {"type": "heads", "rows": rows, "total": 2.5}, bars)
    assert cells(page, "table[data-matrix=heads]") == [
        ["head", "length", "share", "cosine"], ["4-1", "2.000", "90.0 %", "0.50"], ["4-2", "0.500", "−15.0 %", "−0.25"],
        ["bo", "1.000", "25.0 %", ""], ["sum", "2.500 = length of the output", "100.0 %", ""],
    ]  # fmt: skip
    assert page.locator("tr.chosen td:first-child").all_inner_texts() == ["4-2", "dog"]
    assert cells(page, "table[data-matrix=b]") == [
        ["", "before", "now"], ["dog", "60.0 %", "15.0 %"], ["cat", "10.0 %", "30.0 %"],
    ]  # fmt: skip
    wide = page.locator(".barline i").evaluate_all("all => all.map(e => parseFloat(e.style.width))")
    np.testing.assert_allclose(wide, [62, 15.5, 31, 62, 15.5, 62 / 6, 31], atol=0.01)


def test_small_sheets_keep_to_their_own_head_and_one_scale(chromium, scheme):
    stack = np.random.default_rng(2).normal(size=(3, 2, 4))
    with own_page(chromium, scheme) as page:
        drawn(
            page,
            stack,
            {"type": "sheets", "name": "q", "shape": [3, 2, 4], "at": 2, "chosen": 1, "pick": "Choose"},
        )
        for head in range(3):
            rgb = pixels.of_canvas(page.locator("canvas").nth(head))
            shown = pixels.changes(rgb, pixels.THEMES[scheme]) * np.abs(stack).max()
            np.testing.assert_allclose(shown, stack[head], atol=0.06)
        assert page.locator("figure.chosen").inner_text() == "head 2"
        page.get_by_role("radio", name="Choose head 3").click()
        assert told(page) == [["picked", 2]]


def attributes(page, picture: str, tag: str, *names: str) -> list[list[float]]:
    """Numbers that shapes of a picture carry."""
    shapes = page.get_by_role("img", name=picture).locator(tag)
    return shapes.evaluate_all(
        "(all, names) => all.map(e => names.map(n => +e.getAttribute(n)))", list(names)
    )


def test_a_plane_puts_values_where_they_are_and_sizes_them_by_weight(page):
    plane = {
        "type": "plane", "points": [[0, 0], [4, 0], [0, 2]], "hull": [[0, 0], [4, 0], [0, 2]], "marks": [[4, 2]],
        "labels": ["low", "right", "up"], "markLabels": ["z"], "weights": [0.09, 0.81, 0.1], "describe": "plane",
    }  # fmt: skip
    drawn(page, [], plane)
    dots = attributes(page, "plane", "circle", "cx", "cy", "r")
    low, right, up = dots
    assert right[0] - low[0] == pytest.approx(2 * (low[1] - up[1])), "one scale for both axes"
    assert (right[0] > low[0], right[1] == low[1], up[1] < low[1], up[0] == low[0]) == (True,) * 4
    assert [dot[2] for dot in dots] == pytest.approx([3 + 9 * 0.3, 3 + 9 * 0.9, 3 + 9 * 0.1**0.5])
    assert page.get_by_role("img", name="plane").locator("text").all_text_contents() == [
        "low",
        "right",
        "up",
        "z",
    ]
    cross = re.findall(r"[\d.]+", page.get_by_role("img", name="plane").locator("path").get_attribute("d"))
    assert (float(cross[0]) + 7, float(cross[1])) == pytest.approx((right[0], up[1]))


def test_groups_a_curve_and_a_ruler_put_their_marks_where_they_are(page):
    groups = {"type": "groups", "owner": [0, 0, 1, 1], "keys": 2, "chosen": 2, "describe": "groups"}
    curve = {"type": "curve", "axis": "n", "describe": "curve", "lines": [
        {"label": "steep", "at": 2, "count": 3}, {"label": "flat", "at": 5, "count": 5},
    ]}  # fmt: skip
    ruler = {"type": "ruler", "count": 5, "from": 1, "to": 3, "text": "W_q, columns"}
    drawn(page, [4.0, 2.0, 0.0, 5.0, 5.0, 2.5, 2.5, 0.0], groups, curve, ruler)
    lines = attributes(page, "groups", "line", "x1", "x2")
    blocks = [x + 9 for (x,) in attributes(page, "groups", "rect", "x")]
    assert [int(np.argmin([abs(x - b) for b in blocks])) for _, x in lines] == [0, 0, 1, 1]
    assert [x for x, _ in lines] == sorted(x for x, _ in lines)
    fills = (
        page.get_by_role("img", name="groups")
        .locator("circle")
        .evaluate_all("all => all.map(e => e.getAttribute('fill'))")
    )
    assert [i for i, fill in enumerate(fills) if "accent" in fill] == [2]
    curves = [
        np.array([[float(v) for v in point.split(",")] for point in text.split()])
        for text in page.locator("polyline").evaluate_all("all => all.map(e => e.getAttribute('points'))")
    ]
    for line in curves:
        assert line[0, 1] < line[-1, 1], "the largest stands highest"
        assert (np.diff(line[:, 0]) > 0).all()
    steep, flat = ((line[-1, 1] - line[:, 1]) / (line[-1, 1] - line[0, 1]) for line in curves)
    np.testing.assert_allclose(steep, [1, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(flat, [1, 1, 0.5, 0.5, 0], atol=1e-6)
    assert curves[0][2, 0] == pytest.approx(curves[1][2, 0])
    places = page.locator(".ruler span").evaluate_all("all => all.map(e => e.className)")
    assert places == ["", "chosen", "chosen", "", ""]


@pytest.mark.parametrize("angle", [0.7, 4.0, 7.5])
def test_an_arrow_is_turned_by_its_angle_against_the_clock(page, angle):
    before = np.array([0.6, 0.8])
    cos, sin = np.cos(angle), np.sin(angle)
    after = np.array([[cos, -sin], [sin, cos]]) @ before
    turn = {"type": "turn", "before": list(before), "after": list(after), "angle": angle, "describe": "turn"}
    drawn(page, [0.0], turn)
    lines = np.array(attributes(page, "turn", "line", "x1", "y1", "x2", "y2"))
    arrows = (lines[:, 2:] - lines[:, :2]) * [1, -1]  # y grows downwards on a screen
    np.testing.assert_allclose(
        arrows / np.linalg.norm(arrows, axis=1, keepdims=True), [before, after], atol=1e-6
    )
    path = page.get_by_role("img", name="turn").locator("path.arc").get_attribute("d")
    x1, y1, radius, _, _, large, sweep, x2, y2 = (float(n) for n in re.findall(r"-?[\d.]+", path))
    start, end = (np.array([x, y]) - lines[0, :2] for x, y in ((x1, y1), (x2, y2)))
    np.testing.assert_allclose([start * [1, -1], end * [1, -1]], [before * radius, after * radius], atol=0.02)
    assert (large == 1, sweep) == (angle % (2 * np.pi) > np.pi, 0)
    names = (
        page.get_by_role("img", name="turn")
        .locator("text")
        .evaluate_all("all => all.map(e => e.textContent)")
    )
    assert names == ["before", "after"]


def test_what_is_not_there_is_hatched_and_nothing_else_is(page):
    whole = np.where(np.isfinite(TABLE), TABLE, 0)
    for values, hatched in ((TABLE, True), (whole, False)):
        drawn(page, values, block("matrix", values, rows=ROWS, cols=COLUMNS, high=30, wide=30))
        style = page.locator("canvas").last.evaluate("c => getComputedStyle(c).backgroundImage")
        assert ("repeating-linear-gradient" in style) == hatched


def test_a_chosen_token_is_marked_in_every_row_and_told(page):
    row = {
        "type": "tokens",
        "labels": ["[CLS]", "dog", "it"],
        "special": [True, False, False],
        "label": "Token",
    }
    apart = {**row, "label": "Guess", "apart": True, "chosen": None}
    drawn(page, [], row, {**row, "label": "Again"}, apart, query=1)
    checked = "all => all.map(e => e.getAttribute('aria-checked'))"
    assert page.get_by_role("radio").evaluate_all(checked) == ["false", "true", "false"] * 2 + ["false"] * 3
    page.get_by_label("Token", exact=True).get_by_role("radio", name="it").click()
    assert page.get_by_role("radio").evaluate_all(checked) == ["false", "false", "true"] * 2 + ["false"] * 3
    page.get_by_label("Guess", exact=True).get_by_role("radio", name="dog").click()
    assert page.get_by_role("radio").evaluate_all(checked)[6:] == ["false", "true", "false"]
    assert page.get_by_role("radio").evaluate_all(checked)[:3] == ["false", "false", "true"]
    assert told(page) == [["query", 2], ["query", 1]]


@pytest.mark.long
def test_a_matrix_of_five_hundred_words_is_drawn(page):
    values = np.zeros((500, 500))
    values[499, 3] = 0.5
    drawn(page, values, block("matrix", values, ramp="weight", numbers=False))
    assert page.locator(".readout").inner_text().split("\n") == ["0 %", "50.0 %"]
    share = pixels.weights(pixels.of_canvas(page.locator("canvas")), pixels.THEMES["light"])
    assert share[499, 3] == pytest.approx(1, abs=0.01)
    assert share.sum() == pytest.approx(1, abs=0.5)


def test_no_line_ends_between_a_number_and_its_percent_sign(page):
    spans = ["it puts ", ["strong", "67.7 %"], " on animal and −0.4 % on ", ["token", "5 %"], "; x_i % 2"]
    drawn(page, [0.0], {"type": "paragraph", "spans": spans, "style": ""})
    assert page.locator("p").inner_text() == "it puts 67.7 % on animal and −0.4 % on 5 %; xi % 2"
    kept = page.locator(".whole")
    assert kept.all_inner_texts() == ["67.7 %", "−0.4 %"]
    assert set(kept.evaluate_all("all => all.map(e => getComputedStyle(e).whiteSpace)")) == {"nowrap"}
