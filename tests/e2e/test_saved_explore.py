"""Every file saved from Explore, opened and read: the engine's weights in the right rows, columns and places."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from alone import new_tab
from drawn import SHADE, Picture, page_of, rgb, shares, strokes

from mha_core import trace

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
IT, ANIMAL = 10, 2
PINS = (ANIMAL, 6, IT)
LEVEL = 0.5 / 48 + SHADE  # the vector picture has 48 shades
PAPER = (251, 250, 247)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def record(model):
    return trace(TIRED, model)


@pytest.fixture
def alone(chromium, tmp_path) -> Iterator[Callable[..., Picture]]:
    """`alone(page)`: a page from a file, with no server and no network; nothing outside the file is asked for."""
    tabs, files, asked = ExitStack(), count(), []

    def start(page: str | Path) -> Picture:
        file = tmp_path / f"{next(files)}.html"
        file.write_text(page if isinstance(page, str) else page.read_text(encoding="utf-8"), encoding="utf-8")
        tab = tabs.enter_context(new_tab(chromium, height=900))
        tab.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:")) or asked.append(r.url))
        tab.on("pageerror", lambda problem: asked.append(str(problem)))
        tab.goto(file.as_uri())
        picture = Picture(tab)
        picture.root.wait_for()
        tab.evaluate("document.fonts.ready")
        return picture.settle()

    with tabs:
        yield start
    assert not asked


def cells_of(svg: ET.Element, n: int) -> tuple[np.ndarray, tuple[float, float, float]]:
    """The weights of the matrix in a saved picture, and where it stands: left, top, side in pixels of its group."""
    frame = next(
        r for r in svg.iter(f"{SVG}rect") if r.get("fill") == "none" and r.get("stroke-width") is None
    )
    left, top, side = (float(frame.get(name)) for name in ("x", "y", "width"))
    assert float(frame.get("height")) == pytest.approx(side)
    cell = side / n
    weights = np.zeros((n, n))
    for path in svg.iter(f"{SVG}path"):
        if path.get("fill") in (None, "none"):
            continue
        share = float(shares(rgb(path.get("fill")), PAPER))
        for x, y, wide, high in re.findall(r"M(\S+) (\S+)h(\S+?)v(\S+?)h-", path.get("d")):
            assert float(high) == pytest.approx(cell, abs=0.02)
            q, k = round((float(y) - top) / cell), round((float(x) - left) / cell)
            assert float(y) == pytest.approx(top + q * cell, abs=0.02)
            weights[q, k : k + round(float(wide) / cell)] = share
    return weights, (left, top, side)


def test_the_saved_table_has_a_row_for_every_query_and_key(alone, record):
    grid = record.grid()
    picture = alone(page_of(grid, record.tokens, (3, 1), PINS))
    text = picture.save("CSV").read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert ",".join(rows[0]) == "layer,head,query,key,query_text,key_text,weight,link"
    assert [(int(r["query"]), int(r["key"])) for r in rows] == list(np.ndindex(16, 16))
    for row in rows:
        q, k = int(row["query"]), int(row["key"])
        assert (row["layer"], row["head"]) == ("4", "2")
        assert (row["query_text"], row["key_text"]) == (grid.labels[q], grid.labels[k])
        assert np.float32(row["weight"]) == grid.weights[3, 1, q, k], "to the last digit"


def test_the_vector_picture_has_every_cell_its_labels_and_what_is_marked(alone, record):
    grid = record.grid()
    weights = grid.weights[3, 1]
    picture = alone(page_of(grid, record.tokens, (3, 1), PINS))
    svg = ET.fromstring(picture.save("SVG").read_text())  # noqa: S314 - our own file
    drawn, (left, top, side) = cells_of(svg, 16)
    cell = side / 16
    assert np.abs(drawn - weights).max() < LEVEL
    labels = [t for t in svg.iter(f"{SVG}text") if t.get("font-size") == "13"]
    rows = {
        round((float(t.get("y")) - top) / cell - 0.5): t.text for t in labels if t.get("text-anchor") == "end"
    }
    turned = [(re.findall(r"[\d.]+", t.get("transform")), t.text) for t in labels if t.get("transform")]
    columns = {round((float(at[0]) - left) / cell - 0.5): text for at, text in turned}
    assert rows == columns == dict(enumerate(grid.labels))
    frames = [
        r for r in svg.iter(f"{SVG}rect") if r.get("stroke-width") == "2" and float(r.get("width")) == side
    ]
    assert [round((float(r.get("y")) - top) / cell) for r in frames] == list(PINS)
    assert svg.find(f"{SVG}title").text == picture.said()
    written = [t.text for t in svg.iter(f"{SVG}text")]
    assert "all-MiniLM-L6-v2 · head 4-2 · Raw attention · pieces" in written
    assert "row = query, looks at column = key · HeadScope" in written
    assert f"Text: {TIRED}" in written
    assert "@font-face{font-family:HeadScope" in next(svg.iter(f"{SVG}style")).text
    on_screen = {(q, k): share for q, k, share, _ in picture.arcs()}
    tips = list(svg.iter(f"{SVG}polygon"))
    assert len(tips) == sum(q != k for q, k in on_screen), "every arc has its point"
    for _, text in picture.labels().items():
        assert text in written
    arcs = strokes([p.attrib for p in svg.iter(f"{SVG}path") if p.get("fill") == "none"])
    assert sorted(round(picture.strength(arc), 3) for arc in arcs) == sorted(
        round(share, 3) for share in on_screen.values()
    )
    stand = picture.words()
    middles = [t for t in svg.iter(f"{SVG}text") if t.get("text-anchor") == "middle"]
    at = [(float(t.get("x")), float(t.get("y")), t.text) for t in middles]
    words, given = at[:16], at[16:]
    assert [text for *_, text in words] == list(grid.labels)
    for (x, y, _), word in zip(words, stand, strict=True):
        assert x == pytest.approx(word["x"], abs=1)
        assert y == pytest.approx(word["y"], abs=8), "one line, whatever the size of its first word"
    marks = [r for r in svg.iter(f"{SVG}rect") if r.get("rx") == "4" and r.get("fill") != "none"]
    for mark, unit in zip(marks, PINS, strict=True):
        middle = float(mark.get("x")) + float(mark.get("width")) / 2
        assert middle == pytest.approx(stand[unit]["x"], abs=1), "a pinned word stands on its ground"
        assert float(mark.get("width")) == pytest.approx(stand[unit]["width"], abs=1)
    below = {min(range(16), key=lambda i, x=x: abs(stand[i]["x"] - x)): text for x, _, text in given}
    assert below == picture.labels()
    assert all(y > stand[0]["y"] + 10 for _, y, _ in given)
    for arc in arcs:
        q, k = (min(range(16), key=lambda i, x=x: abs(stand[i]["x"] - x)) for x in (arc.x1, arc.x2))
        assert picture.strength(arc) == pytest.approx(float(weights[q, k]), abs=0.015)


def test_filters_and_lines_are_saved_as_they_are_shown(alone, model):
    record = trace("The animal was too tired to cross.", model, pair="It slept beside the street until noon.")
    grid = record.grid()
    weights = grid.weights[3, 1]
    segments = np.array([unit.segment for unit in grid.units])
    picture = alone(page_of(grid, record.tokens, (3, 1), (2,)))
    picture.part("Which sentence looks at which").select_option(label="A → B")
    picture.hide_below(3)
    kept = np.where((segments == 0)[:, None] & (segments == 1)[None, :] & (weights >= 0.03), weights, 0)
    assert (kept > 0).sum() > 5
    svg = ET.fromstring(picture.save("SVG").read_text())  # noqa: S314 - our own file
    assert np.abs(cells_of(svg, len(grid))[0] - kept).max() < LEVEL
    shown = picture.show("Lines").lines()
    svg = ET.fromstring(picture.save("SVG").read_text())  # noqa: S314 - our own file
    (inside,) = (g for g in svg.iter(f"{SVG}g") if str(g.get("transform")).startswith("translate(0 "))
    saved = strokes([path.attrib for path in inside.iter(f"{SVG}path")])
    assert [(round(s.x1), round(s.y1), round(s.y2), s.colour) for s in saved] == [
        (round(s.x1), round(s.y1), round(s.y2), s.colour) for _, _, s in shown
    ]
