"""Every file saved from Explore, opened and read: the engine's weights in the right rows, columns and places."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from alone import new_tab
from drawn import SHADE, Picture, page_of, rgb, shares, strokes
from PIL import Image

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


def test_the_saved_numbers_say_what_they_are_and_change_with_the_head(alone, record):
    grid = record.grid(words=True, specials="renormalised")
    it, animal = grid.find("it")[0], grid.find("animal")[0]
    picture = alone(page_of(grid, record.tokens, (3, 1), (it,), animal))
    content = json.loads(picture.save("JSON").read_text())
    assert np.array_equal(np.array(content["weights"], dtype=np.float32), grid.weights[3, 1][None, None])
    best = grid.labels[int(grid.weights[3, 1, it].argmax())]
    assert best != "animal" or content["said"].startswith("Head 4-2: “it” → “animal” ")
    assert re.search(r"(rank \d+|the strongest) of 72 heads", content.pop("said"))
    del content["weights"]
    assert content == {
        "head": "4-2",
        "layers": [4],
        "heads": [2],
        "units": list(grid.labels),
        "causal": False,
        "pinned": [it],
        "to": animal,
        "link": "",
    }
    picture.root.get_by_role("gridcell", name="Head 2-5:").click()
    picture.settle()
    content = json.loads(picture.save("JSON").read_text())
    assert content["head"] == "2-5"
    assert np.array_equal(np.array(content["weights"], dtype=np.float32), grid.weights[1, 4][None, None])


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


def test_the_pointed_cell_is_marked_in_the_picture_that_the_key_saves(alone, record):
    grid = record.grid()
    picture = alone(page_of(grid, record.tokens, (3, 1), (IT,)))
    picture.point(ANIMAL, IT, 16)
    with picture.page.expect_download() as waiting:
        picture.page.keyboard.press("s")
    svg = ET.fromstring(Path(waiting.value.path()).read_text())  # noqa: S314 - our own file
    _, (left, top, side) = cells_of(svg, 16)
    (mark,) = (r for r in svg.iter(f"{SVG}rect") if r.get("stroke-width") == "3")
    place = [float(mark.get(name)) - start for name, start in (("y", top), ("x", left))]
    assert [round(at / side * 16) for at in place] == [ANIMAL, IT]
    best = grid.labels[int(grid.weights[3, 1, ANIMAL].argmax())]
    assert svg.find(f"{SVG}title").text.startswith(f"Head 4-2: “animal” looks at “{best}”")


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


def test_the_pixel_picture_is_twice_as_large_and_has_every_cell(alone, record):
    grid = record.grid()
    picture = alone(page_of(grid, record.tokens, (3, 1), (IT,)))
    svg = ET.fromstring(picture.save("SVG").read_text())  # noqa: S314 - our own file
    image = np.array(Image.open(picture.save("PNG")).convert("RGB"))
    assert image.shape == (2 * int(svg.get("height")), 2 * int(svg.get("width")), 3)
    _, (left, top, side) = cells_of(svg, 16)
    shift = 40  # the margin around everything
    rows, columns = (
        np.floor(2 * (shift + start + (np.arange(16) + 0.5) * side / 16)).astype(int) for start in (top, left)
    )
    drawn = shares(image[np.ix_(rows, columns)], PAPER)
    assert np.abs(drawn - grid.weights[3, 1]).max() < LEVEL


def take(tab, name: str) -> Path:
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name=re.compile(f"^{name}, ")).click()
    return Path(waiting.value.path())


def check_table(file: Path, grid) -> None:
    """The page's CSV: every weight of every head, in the order of layers, heads, queries and keys."""
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == grid.weights.size
    for row, (layer, head, q, k) in zip(rows, np.ndindex(grid.weights.shape), strict=True):
        place = [int(row[name]) for name in ("layer", "head", "query", "key")]
        assert place == [layer + 1, head + 1, q, k]
        assert (row["query_text"], row["key_text"]) == (grid.labels[q], grid.labels[k])
        assert float(row["weight"]) == pytest.approx(float(grid.weights[layer, head, q, k]), abs=1e-6)


def check_numbers(file: Path, grid, model) -> None:
    """The page's JSON: the same weights, and what they are of."""
    content = json.loads(file.read_text())
    assert np.abs(np.array(content["weights"]) - grid.weights).max() < 1e-7
    said = {name: content[name] for name in ("text", "pair", "measure", "unit", "head", "pinned", "units")}
    assert said == {
        "text": "The animal didn't cross.",
        "pair": "It was too tired.",
        "measure": "raw",
        "unit": "words",
        "head": "4-2",
        "pinned": [2, 4, 9],
        "units": list(grid.labels),
    }
    assert (content["layers"], content["heads"]) == ([*range(1, 7)], [*range(1, 13)])
    assert (content["trained"], content["model_details"]["digest"]) == (True, model.digest)


@pytest.mark.long
def test_the_page_offers_files_a_link_and_lines_that_all_hold_the_view_on_the_screen(
    visit, model, alone, capsys
):
    asked = "/?text=The+animal+didn%27t+cross.&pair=It+was+too+tired.&head=4-2&pin=2,4,9&to=6&unit=words"
    tab = visit(asked, reduced_motion="reduce").drawn()
    grid = trace("The animal didn't cross.", model, pair="It was too tired.").grid(words=True)
    weights = grid.weights[3, 1]
    shown = Picture(tab.page)
    assert np.abs(shown.weights(len(grid)) - weights).max() < SHADE
    assert {q for q, *_ in shown.arcs()} == {2, 4, 9}
    tab.page.get_by_text("Export: numbers").click()
    tab.settled()
    check_table(take(tab, "CSV"), grid)
    check_numbers(take(tab, "JSON"), grid, model)
    saved = alone(take(tab, "HTML"))
    assert np.abs(saved.weights(len(grid)) - weights).max() < SHADE
    assert (saved.said(), saved.ranking()) == (shown.said(), shown.ranking())
    assert saved.labels()[6] == shown.labels()[6]
    link, code = tab.page.locator("[data-testid=stCode] code").all_inner_texts()
    exec(compile(code, "shown", "exec"), {})  # noqa: S102 - the app's own lines are what is tested
    strongest = [(q, k) for q in (2, 4, 9) for k in np.argsort(-weights[q], kind="stable")[:5]]
    assert capsys.readouterr().out.splitlines() == [
        f"{grid.labels[q]} looks at {grid.labels[k]}: {weights[q, k]:.1%}" for q, k in strongest
    ]
    again = Picture(visit(f"/?{urlsplit(link).query}", reduced_motion="reduce").drawn().page)
    assert (again.said(), again.ranking()) == (shown.said(), shown.ranking())
