"""What a decoder cannot see is drawn as not there: read back from pixels, arcs, tables, files and words."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest
from alone import new_tab
from causal_runs import record_of
from drawn import SHADE, Picture, centres, page_of, shares
from PIL import Image

from mha_core import Record
from mha_core.first_change import first_change
from pages.parts.explore.causal_finding import offers
from pages.parts.frame.selection import Selection
from pages.parts.picture.attention_view import compare_payload, standalone_html

pytestmark = pytest.mark.browser
HEAD = (1, 4)
IT, LATE = 3, 7  # pieces
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def record() -> Record:
    return record_of()


@pytest.fixture
def draw(chromium, tmp_path) -> Iterator[Callable[..., Picture]]:
    """`draw(html)`: a picture in a tab of its own, without motion and without a network."""
    tabs, files, wrong = ExitStack(), count(), []

    def start(page: str, scheme: str = "light", width: int = 1280) -> Picture:
        file = tmp_path / f"{next(files)}.html"
        file.write_text(page, encoding="utf-8")
        picture = Picture(tabs.enter_context(new_tab(chromium, scheme, width)))
        picture.page.on("pageerror", lambda problem: wrong.append(str(problem)))
        picture.page.goto(file.as_uri())
        picture.root.wait_for()
        picture.page.evaluate("document.fonts.ready")
        return picture.settle()

    with tabs:
        yield start
    assert not wrong


def cell_pixels(picture: Picture, n: int) -> dict[tuple[int, int], np.ndarray]:
    """All pixels of every cell of the matrix, a pixel within its edges: (query, key) to (pixels, 4)."""
    image = picture.image(picture.matrix)
    left, top, side = picture.frame(image)
    edge = [round(i * side / n) for i in range(n + 1)]
    return {
        (q, k): image[
            top + edge[q] + 3 : top + edge[q + 1] - 3, left + edge[k] + 3 : left + edge[k + 1] - 3
        ].reshape(-1, 4)
        for q in range(n)
        for k in range(n)
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("words", [False, True])
def test_above_the_diagonal_the_matrix_has_no_cells_but_a_fine_hatch(draw, record, scheme, words):
    grid = record.grid(words=words)
    picture = draw(page_of(grid, record.tokens, HEAD), scheme)
    cells = cell_pixels(picture, len(grid))
    for (q, k), pixels in cells.items():
        opaque = pixels[:, 3] == 255
        if k <= q:
            assert opaque.all(), (q, k)
        else:
            assert (pixels[:, 3] == 0).mean() > 0.4, "the page's paper"
            assert 0.05 < (pixels[:, 3] > 60).mean() < 0.5, "thin lines on it"
    image = picture.image(picture.matrix)
    left, top, side = picture.frame(image)
    n = len(grid)
    drawn = shares(image[np.ix_(centres(top, side, n), centres(left, side, n))][..., :3], picture.paper)
    seen = np.tril(np.ones((n, n), bool))
    assert np.abs(drawn - grid.weights[HEAD])[seen].max() < SHADE


def test_a_zero_of_an_encoder_is_a_cell_of_paper(draw, record):
    encoder = Record(
        replace(record.model, is_causal=False, n_kv_heads=None), record.tokens, record.weights.copy()
    )
    grid = encoder.grid()
    picture = draw(page_of(grid, record.tokens, HEAD, (IT,), LATE))
    assert np.abs(picture.weights(len(grid)) - grid.weights[HEAD]).max() < SHADE
    assert picture.labels()[LATE] == "0.0 %"
    assert len(picture.ranking()) == 12
    picture.point(IT, LATE, len(grid))
    assert picture.tip() == "it looks at late: 0.0 %"
    assert not picture.root.locator(".bracket").count()


def test_every_small_picture_is_a_triangle(draw, record):
    grid = record.grid()
    n = len(grid)
    picture = draw(page_of(grid, record.tokens, HEAD))
    canvas = picture.part("All heads").locator("canvas")
    image = picture.image(canvas)
    boxes = picture.root.get_by_role("gridcell").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().toJSON())"
    )
    origin = canvas.bounding_box()
    small = picture.small()
    assert len(small) == 12
    for (name, shades), box in zip(small.items(), boxes, strict=True):
        head = tuple(int(part) - 1 for part in name.split("-"))
        side = shades.shape[0]
        middle = centres(0, side, n)
        left, top = round(box["left"] - origin["x"]), round(box["top"] - origin["y"])
        alpha = image[top : top + side, left : left + side, 3][np.ix_(middle, middle)]
        assert (alpha == np.where(np.tril(np.ones((n, n))) > 0, 255, 0)).all()
        seen = np.tril(np.ones((n, n), bool))
        assert np.abs(shades[np.ix_(middle, middle)] - grid.weights[head])[seen].max() < SHADE


def test_small_pictures_of_a_long_text_are_triangles_too(draw):
    words = [f"w{i}" for i in range(200)]
    record = record_of(words, split=None)
    grid = record.grid()
    page = page_of(grid, record.tokens, HEAD)
    assert '"packing": "small"' in page
    picture = draw(page)
    image = picture.image(picture.part("All heads").locator("canvas"))
    box = picture.root.get_by_role("gridcell").first.bounding_box()
    origin = picture.part("All heads").locator("canvas").bounding_box()
    side = round(box["width"])
    left, top = round(box["x"] - origin["x"]), round(box["y"] - origin["y"])
    alpha = image[top : top + side, left : left + side, 3]
    above = np.triu(np.ones((side, side), bool), 6)
    assert (alpha[above] == 0).all()
    assert (alpha[np.tril(np.ones((side, side), bool), -3)] == 255).all()
    cells = cell_pixels(picture, 20)  # ten by ten words each
    assert (cells[2, 9][:, 3] == 255).mean() < 0.5
    assert (cells[9, 2][:, 3] == 255).all()


def test_groups_of_heads_stand_apart_under_the_number_of_their_keys(draw, record):
    for width in (1280, 420):
        picture = draw(page_of(record.grid(), record.tokens, HEAD), width=width)
        boxes = picture.root.get_by_role("gridcell").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().toJSON())"
        )
        gaps = np.array([round(b["left"] - a["right"], 1) for a, b in pairwise(boxes[:6])])
        assert gaps[2] > gaps[[0, 1, 3, 4]].max() + 4
        assert np.ptp(gaps[[0, 1, 3, 4]]) < 0.5
        brackets = picture.root.locator(".bracket")
        assert brackets.all_inner_texts() == ["keys 1", "keys 2"]
        first, second = (
            box["x"]
            for box in brackets.evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())")
        )
        assert (first, second) == pytest.approx((boxes[0]["left"], boxes[3]["left"]), abs=1)
        assert picture.page.evaluate("document.documentElement.scrollWidth") <= width
    said = picture.root.get_by_role("gridcell", name="Head 2-5:").get_attribute("aria-label")
    assert said.endswith(", keys 2 with 2-4 and 2-6")
    assert "2-5 shares its keys and values with 2-4 and 2-6." in picture.part("The chosen head").inner_text()


def test_asking_for_a_later_word_gets_a_sentence_and_no_zeros(draw, record):
    grid = record.grid()
    picture = draw(page_of(grid, record.tokens, HEAD, (IT,), LATE))
    assert picture.ranking() == []
    ranked = picture.part("Heads ranked").inner_text()
    assert "No head: “it” cannot see “late”, which comes later." in ranked
    assert LATE not in picture.labels()
    assert not any(k == LATE for _, k, *_ in picture.arcs())
    assert "“it” cannot see “late”: it comes later." in picture.part("The sentence").inner_text()
    assert picture.aloud().endswith("it cannot see late: it comes later.")
    assert LATE in picture.pressed()
    later = picture.part("Your sentence, word by word").locator(".blind")
    assert later.all_inner_texts() == ["and", "then", "slept", "late"]
    hatched = later.first.evaluate("e => getComputedStyle(e).backgroundImage")
    assert "repeating-linear-gradient" in hatched


def test_arcs_run_backwards_and_none_goes_ahead(draw, record):
    weights = record.weights[HEAD]
    picture = draw(page_of(record.grid(), record.tokens, HEAD, (2, LATE)))
    drawn = {(q, k): share for q, k, share, _ in picture.arcs()}
    expected = {(q, k): float(weights[q, k]) for q in (2, LATE) for k in range(8) if weights[q, k] >= 0.01}
    assert drawn.keys() == expected.keys()
    assert all(k <= q for q, k in drawn)
    picture.show("Lines")
    assert {(q, k) for q, k, _ in picture.lines()} == expected.keys()


def test_the_pointer_and_the_keys_say_that_a_cell_is_not_there(draw, record):
    picture = draw(page_of(record.grid(), record.tokens, HEAD, (IT,)))
    picture.point(IT, LATE, 8)
    assert picture.tip() == "“it” cannot see “late”: it comes later."
    picture.page.mouse.move(2, 2)
    picture.settle().point(LATE, IT, 8)
    assert picture.tip().startswith("late looks at it: ")
    picture.page.mouse.move(2, 2)
    picture.matrix.focus()
    for _ in range(IT + 2):
        picture.page.keyboard.press("ArrowRight")
    picture.settle()
    assert picture.aloud() == "“it” cannot see “and”: it comes later."


def test_the_table_has_numbers_only_for_what_can_be_seen(draw, record):
    picture = draw(page_of(record.grid(), record.tokens, HEAD, (1, 5)))
    picture.show("Table")
    rows = picture.table()[1:]
    weights = record.weights[HEAD]
    for k, (_, one, five, total) in enumerate(rows):
        assert (one == "cannot see") == (k > 1)
        assert (five == "cannot see") == (k > 5)
        if k <= 5:
            sum_ = weights[5, k] + (weights[1, k] if k <= 1 else 0)
            assert float(total.removesuffix(" %")) == pytest.approx(50 * float(sum_), abs=0.06)  # their mean
        else:
            assert total == "cannot see"
    picture.root.get_by_role("button", name="Clear").click()
    assert picture.settle().table()[1][1:] == ["nothing stands before it", "cannot see"]
    assert "“Zoe” looks at “Zoe”" not in picture.said()


def test_the_saved_files_leave_out_what_is_not_there(draw, record):
    weights = record.weights[HEAD]
    picture = draw(page_of(record.grid(), record.tokens, HEAD, (IT,)))
    rows = list(csv.DictReader(io.StringIO(picture.save("CSV").read_text(encoding="utf-8-sig"))))
    places = [(int(row["query"]), int(row["key"])) for row in rows]
    assert places == [(q, k) for q in range(8) for k in range(q + 1)]
    assert [float(row["weight"]) for row in rows] == pytest.approx(
        weights[np.tril_indices(8)].tolist(), abs=2e-5
    )
    content = json.loads(picture.save("JSON").read_text())
    assert content["causal"] is True
    assert np.abs(np.array(content["weights"]) - weights).max() < 2e-5
    tree = ET.parse(picture.save("SVG")).getroot()  # noqa: S314 - our own file
    hatch = [path for path in tree.iter(f"{SVG}path") if path.get("class") == "absent"]
    assert len(hatch) == 1 + 4, "the matrix, and a strip under each later word"
    assert "hatched: comes later, cannot be seen" in "".join(tree.itertext())
    (frame,) = [r for r in tree.iter(f"{SVG}rect") if r.get("stroke") and r.get("width") == r.get("height")][
        :1
    ]
    x0, y0, size = (float(frame.get(name)) for name in ("x", "y", "width"))
    cell = size / 8
    ends = [float(part) for part in re.findall(r"[\d.]+", max((p.get("d") for p in hatch), key=len))]
    for x, y in zip(ends[::2], ends[1::2], strict=True):
        assert y0 - 0.1 <= y <= y0 + size + 0.1
        assert x >= x0 + cell * np.floor((y - y0 - 0.05) / cell) + cell - 0.1, "never below the diagonal"


@pytest.mark.long
def test_the_saved_png_shows_the_same_triangle(draw, record):
    picture = draw(page_of(record.grid(), record.tokens, HEAD))
    image = np.array(Image.open(picture.save("PNG")).convert("RGB")).astype(int)
    tree = ET.parse(picture.save("SVG")).getroot()  # noqa: S314 - our own file
    (frame,) = [r for r in tree.iter(f"{SVG}rect") if r.get("stroke") and r.get("width") == r.get("height")][
        :1
    ]
    x0, y0, size = (
        2 * (float(frame.get(name)) + (40 if name != "width" else 0)) for name in ("x", "y", "width")
    )
    cell = size / 8

    def spot(q: int, k: int) -> np.ndarray:
        y, x = round(y0 + q * cell), round(x0 + k * cell)
        return image[y + 6 : y + round(cell) - 6, x + 6 : x + round(cell) - 6].reshape(-1, 3)

    above, below = spot(1, 6), spot(6, 1)
    paper = np.array(picture.paper)
    assert (np.abs(above - paper).max(axis=1) < 3).mean() > 0.5
    assert (np.abs(above - paper).max(axis=1) > 12).mean() > 0.1
    assert np.ptp(below, axis=0).max() <= 2, "one shade"


# ---- Compare

A = ["Zoe", "unlocked", "it", "and", "then", "slept", "late"]
B = ["Zoe", "unlocked", "it", "and", "then", "woke", "late"]
SAME = 6  # pieces before "slept"


@pytest.fixture(scope="module")
def runs():
    return record_of(A, seed=1, same_up_to=SAME), record_of(B, seed=2, same_up_to=SAME)


def compared(runs, **chosen) -> str:
    a, b = (run.grid() for run in runs)
    found = first_change(a, runs[0].tokens, b, runs[1].tokens)
    made = compare_payload(
        a, runs[0].tokens, b, runs[1].tokens, titles=("d", "d"), selection=Selection(HEAD, **chosen),
        offers=offers(found, a, b),
    )  # fmt: skip
    return standalone_html(made, title="two")


def test_a_word_before_the_change_has_no_ranking_of_zeros_but_later_words_to_look_from(draw, runs):
    picture = draw(compared(runs, pins=(IT,)))
    ranked = picture.part("Heads ranked")
    assert (
        "The row of “it” is the same in A and B in all 12 heads: in a decoder a word sees only"
        in ranked.inner_text()
    )
    moved = np.abs(runs[0].weights - runs[1].weights).sum(-1).mean((0, 1)) / 2
    order = sorted((6, 7), key=lambda place: -moved[place])
    names = {6: "slept / woke", 7: "late"}
    buttons = ranked.locator("li button")
    assert buttons.all_inner_texts() == [
        f"{names[place]} · {100 * moved[place]:.1f} % moved" for place in order
    ]
    buttons.first.click()
    picture.settle()
    assert len(picture.ranking()) == 12
    pressed = picture.root.locator("[data-column][aria-pressed=true]").evaluate_all(
        "all => all.map(e => e.dataset.column)"
    )
    assert pressed == [str(order[0])]


def test_the_three_matrices_and_the_differences_have_no_cells_ahead(draw, runs):
    picture = draw(compared(runs, pins=(6,)))
    for label in ("A", "B", "A minus B"):
        canvas = picture.part(label)
        image = picture.image(canvas)
        left, top, side = picture.frame(image)
        edge = [round(i * side / 8) for i in range(9)]
        for q, k in ((1, 6), (3, 4), (6, 7), (0, 7)):
            there, ahead = (
                image[
                    top + edge[y] + 4 : top + edge[y + 1] - 4, left + edge[x] + 4 : left + edge[x + 1] - 4, 3
                ]
                for y, x in ((k, q), (q, k))
            )
            assert (there == 255).all()
            assert (ahead == 0).mean() > 0.4
    picture.part("How to show the head").get_by_role("button", name="Table").click()
    rows = picture.table()[1:]
    assert [row[1:] for row in rows if row[0] == "late"] == [["cannot see"] * 3]
    rows = list(csv.DictReader(io.StringIO(picture.save("CSV").read_text(encoding="utf-8-sig"))))
    assert len(rows) == 36
    assert sum(float(row["A"]) for row in rows) == pytest.approx(8, abs=1e-3)
    assert json.loads(Path(picture.save("JSON")).read_text())["causal"] == [True, True]
