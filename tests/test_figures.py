"""Figures drawn without a browser: their numbers are the engine's, their sizes as asked for, their links whole."""

import re
import sys
from xml.etree import ElementTree

import causal_runs
import numpy as np
import pytest
from drawn import rgb, shares
from PIL import Image

from mha_core import InputError, Unavailable, load_model, record_of, trace
from mha_core.figures import Design, all_heads, caption, figure, files, panels, save
from mha_core.figures.every_head import SIDE
from mha_core.figures.matrix import SMALLEST
from mha_core.thumbnails import pooled

TIRED = "The animal didn't cross the street because it was too tired."
SVG = "{http://www.w3.org/2000/svg}"
RUN = re.compile(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z")
IT = 10


@pytest.fixture(scope="module")
def record(model):
    return trace(TIRED, model)


def tree(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own drawing


def texts(svg: str) -> list[str]:
    return [node.text for node in tree(svg).iter(f"{SVG}text")]


def matrix_of(svg: str, n: int, which: int = 0, rows: int | None = None) -> np.ndarray:
    """The weights that the shades of a figure's panel say: (query, key)."""
    frames = [
        {name: float(node.get(name)) for name in ("x", "y", "width", "height")}
        for node in tree(svg).iter(f"{SVG}rect")
        if node.get("fill") == "none" and node.get("stroke-width") == "0.5"
    ]
    high = rows or n
    frame, found = frames[which], np.zeros((high, n))
    for path in tree(svg).iter(f"{SVG}path"):
        for x, y, wide, _ in (map(float, run) for run in RUN.findall(path.get("d"))):
            first = (x - frame["x"]) / frame["width"] * n
            row = round((y - frame["y"]) / frame["height"] * high)
            if -0.1 < first < n and 0 <= row < high:
                stop = first + wide / frame["width"] * n
                found[row, round(first) : round(stop)] = shares(rgb(path.get("fill")), (255, 255, 255))
    return found


def test_a_matrix_is_the_engines(record):
    grid = record.grid()
    svg = figure(grid, Design(heads=((3, 1), (0, 2)), width=17))
    for which, head in enumerate([(3, 1), (0, 2)]):
        assert np.abs(matrix_of(svg, len(grid), which) - grid.weights[head]).max() < 0.006


def test_the_mean_the_maximum_and_a_scale_to_the_largest(record):
    grid, heads = record.grid(words=True), ((3, 1), (4, 6), (0, 0))
    each = np.stack([grid.weights[head] for head in heads]).astype(float)
    for mix, expected in (("mean", each.mean(axis=0)), ("maximum", each.max(axis=0))):
        (panel,) = panels(grid, Design(heads=heads, mix=mix))
        assert np.allclose(panel.weights, expected)
        svg = figure(grid, Design(heads=heads, mix=mix, scale="largest"))
        assert np.abs(matrix_of(svg, len(grid)) * expected.max() - expected).max() < 0.006
        assert f"{100 * expected.max():.1f} %" in texts(svg)


def test_bars_and_arcs_say_the_engines_numbers(record):
    grid = record.grid()
    row = grid.weights[3, 1, IT]
    bars = texts(figure(grid, Design("bars", heads=((3, 1),)), [IT]))
    assert bars[-len(grid) :] == [f"{100 * w:.1f} %" for w in row]
    arcs = texts(figure(grid, Design("arcs", heads=((3, 1),), width=17), [IT]))
    said = [text for text in arcs if text.endswith(" %")][:-3]  # without what the strokes mean
    assert said[0] == f"{100 * row.max():.1f} %"
    assert set(said) <= {f"{100 * w:.1f} %" for w in row if w >= 0.02}
    with pytest.raises(InputError, match="choose a word"):
        figure(grid, Design("bars", heads=((3, 1),)))


def test_under_a_word_stands_the_mean_of_all_chosen_words_also_of_links_too_weak_to_draw(record):
    grid, animal = record.grid(), 2
    each = grid.weights[3, 1, [animal, IT]].astype(float)
    arcs = texts(figure(grid, Design("arcs", heads=((3, 1),), width=40, size=5), [animal, IT]))
    under = [text for text in arcs if text.endswith(" %")][:-3]
    looked = (each >= 0.01).any(axis=0) & (each.mean(axis=0) >= 0.02)
    assert ((each < 0.01) & (each.mean(axis=0) * 100 % 0.1 > 0) & looked).any(), (
        "one of them hardly looks there"
    )
    assert sorted(under) == sorted(f"{100 * w:.1f} %" for w in each.mean(axis=0)[looked])


def test_lines_lead_from_the_query_to_its_keys(record):
    grid = record.grid()
    svg = figure(grid, Design("lines", heads=((3, 1),)), [IT])
    drawn = [
        re.fullmatch(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", path.get("d"))
        for path in tree(svg).iter(f"{SVG}path")
    ]
    strokes = [path for path in drawn if path]
    assert len(strokes) == min(12, int((grid.weights[3, 1, IT] >= 0.01).sum()))
    thick = max(
        (node for node in tree(svg).iter(f"{SVG}path") if "L" in node.get("d")),
        key=lambda node: float(node.get("stroke-width")),
    )
    ends = [float(part) for part in re.findall(r"[\d.]+", thick.get("d"))]
    step = 1.35 * 8
    assert round((ends[3] - ends[1]) / step) == int(grid.weights[3, 1, IT].argmax()) - IT


@pytest.mark.parametrize("kind", ["matrix", "arcs", "lines", "bars"])
@pytest.mark.parametrize("width", [8.5, 17.0])
def test_a_figure_is_as_wide_as_asked_and_nothing_stands_outside_of_it(record, kind, width):
    svg = figure(record.grid(words=True), Design(kind, heads=((3, 1), (4, 6)), width=width), [8])
    root = tree(svg)
    assert root.get("width") == f"{width:.3f}cm"
    _, _, wide, high = map(float, root.get("viewBox").split())
    assert float(root.get("height")[:-2]) == pytest.approx(high / 72 * 2.54, abs=0.001)
    for node in root.iter(f"{SVG}rect"):
        if node.get("x"):
            assert float(node.get("x")) + float(node.get("width")) <= wide + 0.01
            assert float(node.get("y")) + float(node.get("height")) <= high + 0.01
    assert "data:font/woff2;base64," in svg


def test_a_ground_may_be_white_or_none(record):
    design = Design(heads=((0, 0),))
    grounds = [node.get("fill") for node in tree(figure(record.grid(), design)).iter(f"{SVG}rect")]
    assert grounds[0] == "#ffffff"
    clear = tree(figure(record.grid(), Design(heads=((0, 0),), ground="transparent")))
    assert all(node.get("width") != "100%" for node in clear.iter(f"{SVG}rect"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 3.0},
        {"size": 99.0},
        {"kind": "pie"},
        {"heads": ()},
        {"heads": tuple((0, i) for i in range(25))},
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(wrong):
    with pytest.raises(InputError):
        Design(**{"heads": ((0, 0),), **wrong})


def test_what_a_text_says_is_never_markup_and_a_missing_head_is_said(model):
    grid = trace("a </text><script>x & y", model).grid()
    svg = figure(grid, Design("lines", heads=((0, 0),), width=17))
    assert "<script" not in svg
    assert "<" in texts(svg)
    with pytest.raises(InputError, match="no head 9-1"):
        figure(grid, Design(heads=((8, 0),)))
    for beyond in ((-1, 0), (0, -1)):  # NumPy would take the last one
        with pytest.raises(InputError, match="There is no head"):
            figure(grid, Design(heads=(beyond,)))


def test_too_little_room_is_said(model):
    grid = trace("Donaudampfschifffahrtsgesellschaftskapitän schläft.", model).grid(words=True)
    with pytest.raises(InputError, match="no room for a matrix"):
        figure(grid, Design(heads=((0, 0),), width=4, size=SMALLEST * 0.4))


@pytest.mark.slow
def test_a_caption_names_the_seed_of_random_weights_and_says_what_sums_to_one():
    random = trace("It rained.", load_model(trained=False))
    both = Design(heads=((0, 0), (1, 1)), mix="maximum")
    said = caption(random, random.grid(), both)
    assert "of MiniLM, untrained (untrained, seed 0), for" in said
    assert "; word pieces, in every head rows sum to 1. Drawn" in said, "those of the maximum do not"
    rows = panels(random.grid(), both)[0].weights.sum(axis=1)
    assert (rows > 1.01).any()
    for design in (Design(heads=((0, 0),), mix="maximum"), Design(heads=((0, 0), (1, 1)), mix="mean")):
        assert "; word pieces, rows sum to 1. Drawn" in caption(random, random.grid(), design)


def test_a_caption_says_model_text_scale_and_link(record):
    said = caption(
        record, record.grid(), Design("arcs", heads=((3, 1), (4, 6)), mix="mean"), [IT], link="http://x/"
    )
    for part in (
        "mean of heads 4-2 and 5-7",
        record.model.digest[:12],
        TIRED,
        "0 to 100 %",
        "from “it”",
        "http://x/",
        "rows sum to 1",
    ):
        assert part in said


def test_what_a_decoder_cannot_see_is_hatched():
    grid = causal_runs.record_of().grid(words=True)
    svg = figure(grid, Design(heads=((0, 0),)))
    dashed = [node for node in tree(svg).iter(f"{SVG}path") if node.get("stroke-dasharray")]
    assert len(re.findall("M", dashed[0].get("d"))) == len(grid) - 1


def test_a_word_that_a_decoder_cannot_see_has_no_bar_and_no_number():
    grid = causal_runs.record_of().grid(words=True)
    svg = figure(grid, Design("bars", heads=((1, 3),), width=17), [1, 3])
    rows = grid.weights[1, 3, [1, 3]].astype(float)
    said = [text for text in texts(svg) if text.endswith(" %")]
    assert said == [f"{100 * w:.1f} %" for w in rows.mean(axis=0)[:4]], "the later of the two sees four words"
    bars = [node for node in tree(svg).iter(f"{SVG}rect") if node.get("fill") != "#ffffff"]
    assert len(bars) == 4


# Cross-attention

TARGET, SOURCE = ["<pad>", "Die", "Katze", "schlief"], ["The", "cat", "was", "fast", "asleep", "."]


@pytest.fixture(scope="module")
def cross():
    weights = np.random.default_rng(5).dirichlet(np.full(6, 0.3), (2, 3, 4)).astype(np.float32)
    return record_of(weights, TARGET, keys=SOURCE, title="small")


def test_a_matrix_between_two_texts_has_a_row_a_target_word_and_a_column_a_source_word(cross):
    svg = figure(cross.grid(), Design(heads=((1, 2), (0, 1)), width=17))
    for which, head in enumerate([(1, 2), (0, 1)]):
        assert np.abs(matrix_of(svg, 6, which, rows=4) - cross.weights[head]).max() < 0.006
    frame = next(n for n in tree(svg).iter(f"{SVG}rect") if n.get("stroke-width") == "0.5")
    assert float(frame.get("height")) == pytest.approx(float(frame.get("width")) * 4 / 6, abs=0.02)
    assert [text for text in texts(svg) if text in TARGET] == TARGET
    assert texts(svg).count("cat") == 2, "above every matrix"


def standing(svg: str) -> dict[str, tuple[float, float]]:
    """Where the middle of every word stands."""
    return {node.text: (float(node.get("x")), float(node.get("y"))) for node in tree(svg).iter(f"{SVG}text")}


@pytest.mark.parametrize("pins", [[3], [1, 3], []])
def test_arcs_between_two_texts_lead_up_from_the_target_to_the_source(cross, pins):
    weights = cross.weights[1, 2]
    svg = figure(cross.grid(), Design("arcs", heads=((1, 2),), width=17, size=10), pins)
    place = standing(svg)
    assert len({place[name][1] for name in SOURCE}) == len({place[name][1] for name in TARGET}) == 1
    assert place["cat"][1] < place["Katze"][1]
    drawn = []
    for path in tree(svg).iter(f"{SVG}path"):
        ends = [float(part) for part in re.findall(r"-?[\d.]+", path.get("d"))]
        if path.get("fill") == "none" and len(ends) == 8:
            q = next(i for i, name in enumerate(TARGET) if abs(place[name][0] - ends[0]) < 0.02)
            k = next(i for i, name in enumerate(SOURCE) if abs(place[name][0] - ends[6]) < 0.02)
            assert place["cat"][1] < ends[7] < ends[1] < place["Katze"][1]
            drawn.append((q, k, (float(path.get("stroke-width")) / 10 - 0.06) / 0.6))
    groups = [node for node in tree(svg).iter(f"{SVG}g") if len(node) == 2 and node[1].tag == f"{SVG}path"]
    assert len(groups) == len(drawn)
    assert all(point.get("fill") == stroke.get("stroke") for stroke, point in groups), (
        "each point has its arc's colour"
    )
    if pins:
        expected = {(q, k): weights[q, k] for q in pins for k in range(6) if weights[q, k] >= 0.01}
    else:
        expected = {(q, int(weights[q].argmax())): weights[q].max() for q in (1, 2, 3)}
    assert {(q, k) for q, k, _ in drawn} == set(expected)
    for q, k, share in drawn:
        assert share == pytest.approx(expected[q, k], abs=0.002)


def test_lines_and_bars_name_the_words_of_both_texts(cross):
    grid = cross.grid()
    lines = texts(figure(grid, Design("lines", heads=((1, 2),)), [2]))
    assert [text for text in lines if text in (*TARGET, *SOURCE)] == [*TARGET, *SOURCE]
    bars = texts(figure(grid, Design("bars", heads=((1, 2),)), [2]))
    assert [text for text in bars if text in SOURCE] == SOURCE
    assert bars[-6:] == [f"{100 * w:.1f} %" for w in cross.weights[1, 2, 2]]
    said = caption(cross, grid, Design("arcs", heads=((1, 2),)))
    assert "“The cat was fast asleep .” (source) and “Die Katze schlief”" in said
    assert "computed by the caller" in said


# All heads, and files


def small_of(svg: str, rows: int, columns: int) -> list[np.ndarray]:
    """The weights that the shades of every small picture say, in the order in which they are framed."""
    frames = [
        [float(node.get(name)) for name in ("x", "y", "width", "height")]
        for node in tree(svg).iter(f"{SVG}rect")
        if node.get("fill") == "none" and node.get("stroke-width") in ("0.5", "1.5")
    ]
    runs = [
        (shares(rgb(path.get("fill")), (255, 255, 255)), *map(float, run))
        for path in tree(svg).iter(f"{SVG}path")
        for run in RUN.findall(path.get("d"))
    ]
    found = []
    for left, top, wide, high in frames:
        cells = np.zeros((rows, columns))
        for share, x, y, long, _ in runs:
            q, k = round((y - top) / high * rows), round((x - left) / wide * columns)
            if 0 <= q < rows and 0 <= k < columns and abs((y - top) / high * rows - q) < 0.2:
                cells[q, k : k + round(long / wide * columns)] = share
        found.append(cells)
    return found


def test_all_heads_are_drawn_layers_downward_heads_across(cross):
    svg = all_heads(cross.grid(), width_cm=12, marked=(1, 2))
    assert tree(svg).findtext(f"{SVG}title") == "All heads, 2 layers of 3"
    found = small_of(svg, 4, 6)
    assert len(found) == 6
    for at, cells in enumerate(found):
        assert np.abs(cells - cross.weights[divmod(at, 3)]).max() < 0.006
    boxes = [node for node in tree(svg).iter(f"{SVG}rect") if node.get("stroke-width") in ("0.5", "1.5")]
    assert [node.get("stroke-width") for node in boxes] == ["0.5"] * 5 + ["1.5"]
    assert texts(svg)[:5] == ["1", "2", "3", "1", "2"]
    wide = float(tree(svg).get("viewBox").split()[2])
    assert all(float(node.get("x")) + float(node.get("width")) <= wide for node in boxes)
    for wrong in ({"width_cm": 2}, {"size": 99}):
        with pytest.raises(InputError):
            all_heads(cross.grid(), **wrong)


def test_a_long_text_keeps_the_largest_weight_under_a_cell():
    weights = np.random.default_rng(0).random((70, 45))
    small = pooled(weights, SIDE)
    assert small.shape == (SIDE, SIDE)
    rows, columns = ([-(-i * n // SIDE) for i in range(SIDE + 1)] for n in weights.shape)
    for i in range(SIDE):
        for j in range(SIDE):
            assert small[i, j] == weights[rows[i] : rows[i + 1], columns[j] : columns[j + 1]].max()


def test_a_figure_is_saved_as_svg_without_anything_else_and_another_ending_is_refused(
    cross, tmp_path, monkeypatch
):
    svg = figure(cross.grid(), Design(heads=((0, 0),)))
    assert save(svg, tmp_path / "figure.svg").read_text(encoding="utf-8") == svg
    with pytest.raises(InputError, match=r"as \.svg, \.pdf or \.png; the file is called 'figure\.gif'"):
        save(svg, tmp_path / "figure.gif")
    with pytest.raises(InputError, match="36 to 1200 dots an inch, not 5"):
        save(svg, tmp_path / "figure.png", dots=5)
    files._converter.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(Unavailable, match=r"pip install 'headscope\[figures\]'"):
        save(svg, tmp_path / "figure.pdf")
    files._converter.cache_clear()


@pytest.mark.parametrize("kind", ["matrix", "arcs", "all"])
def test_a_figure_is_saved_as_pdf_with_its_text_and_as_png_of_its_size(cross, tmp_path, kind):
    pytest.importorskip("vl_convert", reason="needs vl-convert-python, which makes PDF and PNG of a figure")
    grid = cross.grid()
    svg = (
        all_heads(grid, width_cm=10)
        if kind == "all"
        else figure(grid, Design(kind, heads=((1, 2),), width=10))
    )
    pdf = save(svg, tmp_path / "figure.pdf").read_bytes()
    (box,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    _, _, wide, high = map(float, tree(svg).get("viewBox").split())
    assert [float(part) for part in box] == pytest.approx([wide, high], abs=0.02)
    assert b"HeadScope-Regular" in pdf
    assert (b"HeadScope-Semibold" in pdf) == (kind != "all"), "titles are semibold"
    with Image.open(save(svg, tmp_path / "figure.png", dots=200)) as opened:
        assert opened.info["dpi"] == pytest.approx((200, 200), abs=0.1)
        image = opened.convert("RGB")
    assert image.width == pytest.approx(10 / 2.54 * 200, abs=1.5)
    if kind == "matrix":
        frame = next(n for n in tree(svg).iter(f"{SVG}rect") if n.get("stroke-width") == "0.5")
        left, top, side, tall = (float(frame.get(name)) for name in ("x", "y", "width", "height"))
        dots = 200 / 72
        rows = ((top + (np.arange(4) + 0.5) * tall / 4) * dots).astype(int)
        columns = ((left + (np.arange(6) + 0.5) * side / 6) * dots).astype(int)
        pixels = np.array(image)[np.ix_(rows, columns)]
        assert np.abs(shares(pixels, (255, 255, 255)) - cross.weights[1, 2]).max() < 0.008
