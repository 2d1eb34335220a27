"""What a decoder cannot see is drawn as not there: read back from pixels, arcs, tables, files and words."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from alone import new_tab
from causal_runs import record_of
from drawn import SHADE, Picture, centres, page_of, shares

from mha_core import AttentionRecord
from mha_core.first_change import first_change
from mha_core.picture.payload import compare_payload
from mha_core.picture.standalone import standalone_html
from pages.parts.explore.causal_finding import offers
from pages.parts.frame.selection import Selection

pytestmark = pytest.mark.browser
HEAD = (1, 4)
IT, LATE = 3, 7  # pieces
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def record() -> AttentionRecord:
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
    encoder = AttentionRecord(
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


def test_arcs_run_backwards_and_none_goes_ahead(draw, record):
    weights = record.weights[HEAD]
    picture = draw(page_of(record.grid(), record.tokens, HEAD, (2, LATE)))
    drawn = {(q, k): share for q, k, share, _ in picture.arcs()}
    expected = {(q, k): float(weights[q, k]) for q in (2, LATE) for k in range(8) if weights[q, k] >= 0.01}
    assert drawn.keys() == expected.keys()
    assert all(k <= q for q, k in drawn)
    picture.show("Lines")
    assert {(q, k) for q, k, _ in picture.lines()} == expected.keys()


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
