"""Every piece of a figure against numbers by hand: where strokes, bars, names and scales stand, and what is refused."""

import itertools
import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from drawn import lightness, rgb, shares

from mha_core import InputError, record_of
from mha_core.figures import Design, all_heads, caption, figure, files, panels, save, svg
from mha_core.figures.colours import oklab
from mha_core.figures.colours import rgb as nearest
from mha_core.figures.lettering import FOLDER, faces_for, width
from mha_core.figures.panels import Panel
from mha_core.figures.panels import top as end_of_scale
from mha_core.record import Grid, Unit

SVG = "{http://www.w3.org/2000/svg}"
POINTS = 72 / 2.54  # a centimetre
WORDS = ["[CLS]", "aaa", "bbb", "ccc"]
WHITE = (255, 255, 255)
PAPER = json.loads((FOLDER.parent / "palette.json").read_text(encoding="utf-8"))["page"]["light"]["paper"]


def tree(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page)  # noqa: S314 - our own drawing


def nodes(page: str, name: str) -> list[ElementTree.Element]:
    return list(tree(page).iter(f"{SVG}{name}"))


def texts(page: str) -> list[str]:
    return [node.text for node in nodes(page, "text")]


def named(page: str, text: str) -> ElementTree.Element:
    (found,) = [node for node in nodes(page, "text") if node.text == text]
    return found


def x_of(node: ElementTree.Element) -> float:
    return float(node.get("x"))


def middle(node: ElementTree.Element) -> float:
    """The height of a text's middle: its line stands 0.34 of its size below."""
    return float(node.get("y")) - 0.34 * float(node.get("font-size"))


def numbers(text: str) -> list[float]:
    return [float(part) for part in re.findall(r"-?[\d.]+", text)]


def grid(weights, words=WORDS, special=(0,), visible=None) -> Grid:
    """One layer of one head, or (layer, head, query, key)."""
    weights = np.asarray(weights, dtype=np.float32)
    units = tuple(Unit(word, 0, 1, 0, i in special, (i,)) for i, word in enumerate(words))
    shape = weights if weights.ndim == 4 else weights[None, None]
    return Grid(units, shape, False, "shown", visible)


ONE = grid([[1, 0, 0, 0], [0.03, 0.07, 0.6, 0.3], [0.5, 0, 0, 0.5], [0.4, 0.005, 0.58, 0.015]])


FAR = grid(ONE.weights, ["[CLS]", *(3 * word for word in WORDS[1:])])


def strokes(page: str) -> list[ElementTree.Element]:
    """The arcs and lines from word to word, in the order in which they are drawn; not the scale beneath them."""
    return [
        node for node in nodes(page, "path") if node.get("stroke-width") and "h" not in node.get("d").lower()
    ]


def share_of(node: ElementTree.Element, size: float = 10) -> float:
    """The weight that a stroke's thickness says."""
    return (float(node.get("stroke-width")) / size - 0.06) / 0.6


# Arcs


def test_arcs_rise_from_the_word_that_looks_and_point_down_at_those_looked_at_the_strongest_on_top():
    page = figure(ONE, Design("arcs", ((0, 0),), width=17, size=10), [1])
    drawn = strokes(page)
    assert [share_of(node) for node in drawn] == pytest.approx([0.03, 0.07, 0.3, 0.6], abs=0.002)
    at = {word: x_of(named(page, word)) for word in WORDS}
    floor = float(named(page, "aaa").get("y")) - 0.34 * 10
    for node, k in zip(drawn, (0, 1, 3, 2), strict=True):
        ends = numbers(node.get("d"))
        if k == 1:  # its look at itself: out on one side, back on the other
            assert ends[0] == pytest.approx(at["aaa"] - 2.5, abs=0.02)
            assert ends[-2:] == [5, 0]
            continue
        assert [ends[0], ends[6]] == pytest.approx([at["aaa"], at[WORDS[k]]], abs=0.02)
        assert max(ends[3], ends[5]) < min(ends[1], ends[7]) <= floor, "above the words"
    tips = [numbers(node.get("d")) for node in nodes(page, "path") if "z" in node.get("d")]
    for tip, k in zip(tips, (0, 3, 2), strict=True):
        left, base, right, x, point = tip
        assert (left + right) / 2 == pytest.approx(x, abs=0.02)
        assert x == pytest.approx(at[WORDS[k]], abs=0.02)
        assert base < point <= floor


def test_the_numbers_under_arcs_are_means_of_the_words_that_look_and_maxima_where_none_is_chosen():
    def said(pins):
        page = figure(FAR, Design("arcs", ((0, 0),), width=17, size=10), pins)
        return {
            round(x_of(node), 1): node.text
            for node in nodes(page, "text")
            if node.text.endswith("%") and node.get("text-anchor") == "middle"
        }, page

    found, page = said([1, 2])
    at = {word: round(x_of(named(page, 3 * word)), 1) for word in WORDS[1:]}
    assert [found[at[word]] for word in ("bbb", "ccc")] == ["30.0 %", "40.0 %"]
    found, page = said([])
    assert found == {at["bbb"]: "60.0 %", at["ccc"]: "50.0 %"}


def test_a_number_at_the_edge_stays_on_the_page_and_small_ones_are_left_out():
    page = figure(grid([[0.982, 0.018], [1, 0]], ["a", "bbb"], ()), Design("arcs", ((0, 0),), size=10), [0])
    assert x_of(named(page, "a")) < 5
    assert x_of(named(page, "98.2 %")) > 0.5 * width("98.2 %", 9)
    assert "1.8 %" not in texts(page)


def test_words_too_many_for_a_line_of_arcs_are_refused_and_a_long_source_is_set_smaller():
    many = grid(np.eye(60), [f"word{i}" for i in range(60)], ())
    with pytest.raises(InputError, match="too long for arcs"):
        figure(many, Design("arcs", ((0, 0),), width=4))
    source = [f"source{i}" for i in range(12)]
    cross = record_of(np.full((1, 1, 2, 12), 1 / 12), ["a", "b"], keys=source).grid()
    found = [named(figure(cross, Design("arcs", ((0, 0),), width=8.5)), word) for word in source]
    for here, there in itertools.pairwise(found):
        wide = (width(here.text, 1) + width(there.text, 1)) / 2 * float(here.get("font-size"))
        assert x_of(there) - x_of(here) >= wide, "no word lies on the next"


# Bars


def bars_in(page: str) -> list[ElementTree.Element]:
    return [node for node in nodes(page, "rect") if node.get("fill") not in ("none", "#ffffff")]


def bars_of(page: str) -> list[tuple[float, float]]:
    """(x, length) of every bar."""
    return [(x_of(node), float(node.get("width"))) for node in bars_in(page)]


def test_bars_are_as_long_as_their_weights_on_one_scale_and_say_the_weights():
    two = grid(np.stack([ONE.weights[0, 0], ONE.weights[0, 0][:, ::-1]])[None])
    whole = figure(two, Design("bars", ((0, 0), (0, 1)), width=17), [1])
    largest = figure(two, Design("bars", ((0, 0), (0, 1)), width=17, scale="largest"), [1])
    row = np.array([0.03, 0.07, 0.6, 0.3])
    for page, top in ((whole, 1.0), (largest, 0.6)):
        assert [text for text in texts(page) if text.endswith("%")] == [
            f"{100 * w:.1f} %" for w in (*row, *row[::-1])
        ]
        lengths = np.array([long for _, long in bars_of(page)])
        assert lengths / lengths[2] == pytest.approx(np.array([*row, *row[::-1]]) / 0.6, rel=1e-2)
        full = lengths[2] / 0.6 * top
        left = {x for x, _ in bars_of(page)}
        assert len(left) == 2, "a column a head"
        assert max(left) == pytest.approx(x_of(named(page, "Head 1-2")), abs=0.02)
        assert max(left) - min(left) > full
    rows = [float(named(whole, word).get("y")) for word in WORDS]
    assert len({round(below - above, 1) for above, below in itertools.pairwise(rows)}) == 1
    middles = [float(bar.get("y")) + float(bar.get("height")) / 2 for bar in bars_in(whole)]
    assert middles == pytest.approx([*rows, *rows], abs=4), "every bar beside its word"
    assert max(middles[:4]) - min(middles[:4]) == pytest.approx(rows[-1] - rows[0], abs=0.1)
    assert bars_of(largest)[2][1] == pytest.approx(bars_of(whole)[2][1] / 0.6, rel=1e-3)
    mean = [
        bars_of(figure(ONE, Design("bars", ((0, 0),), scale=scale), [1, 2])) for scale in ("full", "largest")
    ]
    assert [long for _, long in mean[1]] == pytest.approx([long / 0.4 for _, long in mean[0]], rel=1e-2)


def test_only_a_word_that_looks_stands_out_beside_bars_and_none_of_another_text():
    page = figure(ONE, Design("bars", ((0, 0),)), [1])
    assert [word for word in WORDS if named(page, word).get("font-weight") == "650"] == ["aaa"]
    cross = record_of(np.full((1, 1, 2, 3), 1 / 3), ["x", "y"], keys=["p", "q", "r"]).grid()
    page = figure(cross, Design("bars", ((0, 0),)), [1])
    assert [named(page, word).get("font-weight") for word in "pqr"] == [None] * 3
    assert len({named(page, word).get("fill") for word in "pqr"}) == 1
    assert named(page, "From: y").get("fill") != named(page, "p").get("fill")


def test_bars_without_room_are_refused():
    many = grid(np.broadcast_to(ONE.weights[0, 0], (1, 24, 4, 4)))
    with pytest.raises(InputError, match="no room for bars"):
        figure(many, Design("bars", tuple((0, i) for i in range(24)), width=8.5), [1])


# Lines


def test_lines_lead_down_two_columns_of_names_the_source_on_the_right():
    source = [f"s{i}" for i in range(5)]
    weights = np.random.default_rng(3).dirichlet(np.full(5, 0.3), (1, 2, 2)).astype(np.float32)
    cross = record_of(weights, ["x", "y"], keys=source).grid()
    page = figure(cross, Design("lines", ((0, 0),), size=10), [1])
    heights = [middle(named(page, word)) for word in source]
    assert np.diff(heights) == pytest.approx(13.5, abs=0.02)
    assert [middle(named(page, word)) for word in "xy"] == pytest.approx(heights[:2], abs=0.02)
    for node in strokes(page):
        x1, y1, x2, y2 = numbers(node.get("d"))
        k = int(np.argmin(np.abs(np.array(heights) - y2)))
        assert y1 == pytest.approx(heights[1], abs=0.02)
        assert share_of(node) == pytest.approx(weights[0, 0, 1, k], abs=0.002)
        assert x_of(named(page, "x")) < x1 < x2 < x_of(named(page, "s0"))
    side_by_side = figure(cross, Design("lines", ((0, 0), (0, 1)), width=17))
    titles = [named(side_by_side, f"Head 1-{i}") for i in (1, 2)]
    assert titles[0].get("y") == titles[1].get("y")
    assert x_of(titles[0]) < x_of(titles[1])


def test_lines_without_room_are_refused():
    wide = grid(np.eye(2), ["Donaudampfschifffahrtsgesellschaft", "b"], ())
    with pytest.raises(InputError, match="no room for lines"):
        figure(wide, Design("lines", ((0, 0),), width=5))


# Matrices


def frame_of(page: str) -> list[float]:
    node = next(node for node in nodes(page, "rect") if node.get("stroke-width") == "0.5")
    return [float(node.get(name)) for name in ("x", "y", "width", "height")]


def test_names_frames_and_hatching_of_a_matrix_stand_at_their_rows():
    lower = np.tril(np.ones((4, 4), bool))
    weights = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    page = figure(grid(weights, visible=lower), Design(heads=((0, 0),), size=10), [2])
    x, y, side, _ = frame_of(page)
    cell = side / 4
    beside = [node for node in nodes(page, "text") if node.get("text-anchor") == "end"]
    assert [node.text for node in beside] == WORDS
    assert [middle(node) for node in beside] == pytest.approx(
        [y + (q + 0.5) * cell for q in range(4)], abs=0.02
    )
    (framed,) = [node for node in nodes(page, "rect") if node.get("stroke-width") == "1"]
    assert float(framed.get("y")) == pytest.approx(y + 2 * cell, abs=0.02)
    assert float(framed.get("height")) == pytest.approx(cell, abs=0.02)
    (hatched,) = [node.get("d") for node in nodes(page, "path") if node.get("stroke-dasharray")]
    found = [numbers(part) for part in re.findall(r"M[^M]*", hatched)]
    expected = [[x + (q + 1) * cell, y + (q + 0.5) * cell, x + side] for q in range(3)]
    assert np.array(found) == pytest.approx(np.array(expected), abs=0.02)


def test_names_that_have_no_room_are_left_out_and_few_words_make_a_small_matrix():
    many = grid(np.eye(70), [f"w{i}" for i in range(70)], ())
    page = figure(many, Design(heads=((0, 0),), size=8))
    beside = [middle(node) for node in nodes(page, "text") if node.get("text-anchor") == "end"]
    assert 1 < len(beside) < 70
    assert min(np.diff(beside)) >= 8
    few = frame_of(figure(grid(np.eye(2), ["a", "b"], ()), Design(heads=((0, 0),), width=17, size=8)))
    assert few[2] <= 1.6 * 2 * 8 + 0.01


def test_the_bar_of_colours_has_the_largest_weight_on_top_with_its_number():
    half = grid(ONE.weights * 0.5)
    page = figure(half, Design(heads=((0, 0),), scale="largest", size=10))
    ends = [named(page, text) for text in ("50.0 %", "25.0 %", "0.0 %")]
    heights = [middle(node) for node in ends]
    assert heights == sorted(heights)
    bar = [node for node in nodes(page, "rect") if node.get("fill", "none") not in ("none", "#ffffff")]
    dark = shares([rgb(node.get("fill")) for node in bar], WHITE)
    assert [float(node.get("y")) for node in bar] == sorted(
        (float(node.get("y")) for node in bar), reverse=True
    )
    assert (np.diff(dark) > -0.001).all()
    assert dark[-1] == pytest.approx(1, abs=0.02)
    for height, part in zip(heights, (1, 0.5, 0), strict=True):
        nearest = min(bar, key=lambda node: abs(float(node.get("y")) - height))
        assert shares(rgb(nearest.get("fill")), WHITE) == pytest.approx(part, abs=0.03)


# What is drawn of which heads


@pytest.mark.parametrize("kind", ["matrix", "bars", "lines"])
def test_the_one_scale_of_several_panels_ends_at_the_largest_weight_of_all(kind):
    strong = ONE.weights[0, 0]
    for each in ([strong, strong / 2], [strong / 2, strong]):
        found = [Panel("", weights) for weights in each]
        design = Design(kind, ((0, 0), (0, 1)), scale="largest")
        assert end_of_scale(found, design, [1]) == pytest.approx(
            strong.max() if kind == "matrix" else strong[1].max()
        )


def test_a_head_that_is_not_there_is_refused_by_its_layer_and_by_its_number():
    for head in ((1, 0), (0, 1)):
        with pytest.raises(InputError, match=f"no head {head[0] + 1}-{head[1] + 1} in 1 layer of 1"):
            panels(ONE, Design(heads=(head,)))


def test_a_figure_of_nothing_is_white_and_layers_are_called_so():
    nothing = grid(np.zeros((2, 2, 4, 4)))
    page = figure(nothing, Design(heads=((0, 0),), scale="largest"))
    assert "100.0 %" in texts(page)
    assert not [node for node in nodes(page, "path") if node.get("d")]
    two = Design(heads=((0, 0), (1, 0)))
    assert [panel.title for panel in panels(nothing, two, "layer")] == ["Layer 1", "Layer 2"]
    assert "Layer 2" in texts(figure(nothing, Design(heads=((1, 0),)), per="layer"))
    for per, said in (("head", "Mean of 2 heads"), ("layer", "Mean of 2 layers")):
        (panel,) = panels(nothing, Design(heads=two.heads, mix="mean"), per)
        assert panel.title == said


def test_twenty_four_panels_are_drawn_and_of_more_heads_the_mean():
    heads = tuple((0, i) for i in range(25))
    assert Design(heads=heads[:24]).heads == heads[:24]
    assert Design(heads=heads, mix="mean").heads == heads
    with pytest.raises(InputError, match="24 panels at most and 25 heads"):
        Design(heads=heads)
    every = grid(np.broadcast_to(ONE.weights[0, 0], (1, 24, 4, 4)))
    page = figure(every, Design("matrix", heads[:24], width=17))
    titles = [(text, node) for node in nodes(page, "text") if (text := node.text or "").startswith("Head")]
    assert [text for text, _ in titles] == [f"Head 1-{i + 1}" for i in range(24)], "each once, row by row"
    assert len({(x_of(node), node.get("y")) for _, node in titles}) == 24


def test_a_figure_says_the_readers_spelling_its_title_and_what_it_is_told():
    page = figure(ONE, Design(heads=((0, 0),)), names=["", "Ä", 'b"\x07<', "c"], told='It says "so" & <so>')
    assert {"Ä", 'b"\ufffd<', "c"} <= set(texts(page))
    assert "bbb" not in texts(page)
    assert [nodes(page, name)[0].text for name in ("title", "desc")] == ["Head 1-1", 'It says "so" & <so>']
    root = tree(page)
    size = [float(root.get(name)[:-2]) * POINTS for name in ("width", "height")]
    assert numbers(root.get("viewBox"))[2:] == pytest.approx(size, abs=0.05)
    assert svg.tag("g", id='"x" & <y>') == '<g id="&quot;x&quot; &amp; &lt;y&gt;"/>'


# Which links are drawn


def ends_of(page: str) -> list[tuple[str, str, float]]:
    """(from, to, weight) of every line, by the names at its two ends."""
    found = [
        node for node in nodes(page, "text") if not node.text.endswith("%") and node.get("font-size") == "10"
    ]
    side = [
        {round(middle(n), 1): n.text for n in found if (n.get("text-anchor") == "end") == here}
        for here in (1, 0)
    ]
    said = []
    for node in strokes(page):
        _, y1, _, y2 = numbers(node.get("d"))
        said.append((side[0][round(y1, 1)], side[1][round(y2, 1)], round(share_of(node), 2)))
    return said


def lines_of(which: Grid, pins=()) -> list[tuple[str, str, float]]:
    return ends_of(figure(which, Design("lines", ((0, 0),), width=17, size=10), pins))


def test_of_a_chosen_word_twelve_links_of_one_percent_or_more_are_drawn():
    assert {to for _, to, _ in lines_of(ONE, [3])} == {"ccc", "[CLS]", "bbb"}, "0.5 % is no line"
    row = np.linspace(2, 1, 16)
    many = grid(np.tile(row / row.sum(), (16, 1)), [f"w{i}" for i in range(16)], ())
    assert sorted(to for _, to, _ in lines_of(many, [0])) == sorted(f"w{i}" for i in range(12))


def test_without_one_the_strongest_links_between_two_words_are_drawn():
    assert lines_of(ONE) == [("bbb", "ccc", 0.5), ("ccc", "bbb", 0.58), ("aaa", "bbb", 0.6)]
    itself = grid([[0.9, 0.1, 0], [0.3, 0.7, 0], [0, 0.2, 0.8]], ["a", "b", "c"], ())
    assert lines_of(itself) == [("a", "b", 0.1), ("c", "b", 0.2), ("b", "a", 0.3)]
    many = np.zeros((9, 9))
    for q, weight in zip((4, 7, 1, 8, 2, 6, 3, 5), np.arange(0.9, 0.5, -0.05), strict=True):
        many[q, 0], many[q, q] = weight, 1 - weight
    found = lines_of(grid(many, [f"w{i}" for i in range(9)], ()))
    assert [q for q, _, _ in found] == ["w2", "w8", "w1", "w7", "w4"], (
        "five, the strongest, wherever they are"
    )
    alone = grid(
        [[0, 0, 0], [0.4, 0.6, 0], [0.1, 0.2, 0.7]], ["a", "b", "c"], (), np.tril(np.ones((3, 3), bool))
    )
    assert lines_of(alone) == [("c", "b", 0.2), ("b", "a", 0.4)]
    seen = np.ones((2, 2), bool)
    seen[0, 0] = False  # "a" sees "b" alone: no choice
    assert lines_of(grid([[0, 1], [0.4, 0.6]], ["a", "b"], (), seen)) == [("b", "a", 0.4)]


def test_special_tokens_of_a_source_are_no_words_either():
    cross = record_of([[[[0.7, 0.2, 0.1], [0.6, 0.1, 0.3]]]], ["x", "y"], keys=["[CLS]", "p", "q"]).grid()
    assert lines_of(cross) == [("x", "p", 0.2), ("y", "q", 0.3)]


def test_a_thicker_stroke_is_darker_and_the_scale_beneath_says_so():
    half = grid(ONE.weights * 0.5)
    page = figure(half, Design("lines", ((0, 0),), width=17, size=10, scale="largest"), [1])
    drawn = strokes(page)
    assert [share_of(node) * 0.3 for node in drawn] == pytest.approx([0.015, 0.035, 0.15, 0.3], abs=0.002)
    dark = [float(shares(rgb(node.get("stroke")), WHITE)) for node in drawn]
    assert dark == pytest.approx([0.3 + 0.7 * share_of(node) for node in drawn], abs=0.02)
    said = [node.text for node in nodes(page, "text") if node.text.endswith("%")]
    assert said == ["3.0 %", "15.0 %", "30.0 %"], "to the largest weight of the word that looks"
    beneath = [node for node in nodes(page, "path") if "h" in node.get("d").lower()]
    assert [share_of(node) * 0.3 for node in beneath] == pytest.approx([0.03, 0.15, 0.3], abs=0.002)
    assert [node.get("stroke") for node in beneath][-1] == drawn[-1].get("stroke")
    assert [
        word for word in WORDS if any(n.text == word and n.get("font-weight") for n in nodes(page, "text"))
    ] == ["aaa"]


def test_a_matrix_has_one_scale_whatever_word_is_chosen():
    half = grid(ONE.weights * 0.5)
    pages = [figure(half, Design(heads=((0, 0),), scale="largest"), pins) for pins in ((), (1,))]
    ends = [[text for text in texts(page) if text.endswith("%")][-1] for page in pages]
    assert ends == ["50.0 %", "50.0 %"], "all rows are drawn"


@pytest.mark.parametrize("kind", ["lines", "arcs"])
def test_without_a_chosen_word_the_scale_ends_at_the_largest_weight_that_is_drawn(kind):
    page = figure(FAR, Design(kind, ((0, 0),), width=17, size=10, scale="largest"))
    said = [node.text for node in nodes(page, "text") if node.text.endswith("%")]
    assert said[-3:] == ["6.0 %", "30.0 %", "60.0 %"], "not at what a special token gives itself"
    assert max(share_of(node) for node in strokes(page)) == pytest.approx(1, abs=0.01)


def test_the_longest_name_of_either_text_has_room():
    source = ["a", "Donaudampfschifffahrt"]
    cross = record_of(np.full((1, 1, 2, 2), 0.5), ["x", "y"], keys=source).grid()
    page = figure(cross, Design("lines", ((0, 0),), width=17, size=10))
    name = named(page, source[1])
    assert x_of(name) + width(name.text, 10) <= 17 * POINTS


# All heads


def test_a_sheet_of_all_heads_has_room_for_each_and_fills_no_page_with_few():
    many = grid(np.broadcast_to(ONE.weights[0, 0], (1, 20, 4, 4)))
    with pytest.raises(InputError, match="20 heads in a row have no room at this width"):
        all_heads(many, width_cm=4)
    assert frame_of(all_heads(ONE, width_cm=17))[2] <= 72
    for wrong, said in (
        ({"width_cm": 41}, "4 to 40 cm wide, not 41"),
        ({"size": 4}, "5 to 24 pt in type, not 4"),
    ):
        with pytest.raises(InputError, match=said):
            all_heads(ONE, **wrong)


# Captions


def said_of(design: Design, pins=(), words: bool = False, **options) -> str:
    record = record_of(np.full((2, 2, 3, 3), 1 / 3), ["tired", "##ness", "now"])
    return caption(record, record.grid(words), design, pins, **options)


def test_a_caption_says_what_is_drawn_and_nothing_else():
    one = Design(heads=((1, 0),))
    assert "Raw attention in head 2-1 (layer-head) of" in said_of(one)
    assert "the mean of" not in said_of(Design(heads=((1, 0),), mix="mean"))
    assert "in the mean of heads 2-1 and 1-2 (layer-head) of" in said_of(
        Design(heads=((1, 0), (0, 1)), mix="mean")
    )
    three = Design(heads=((1, 0), (0, 1), (1, 1)), mix="mean")
    assert "in the mean of heads 2-1, 1-2 and 2-2 (layer-head) of" in said_of(three)
    assert ", from" not in said_of(one, [2])
    assert ", from “now”, for" in said_of(Design("arcs", ((1, 0),)), [2])
    assert ", from “ness”, for" in said_of(Design("arcs", ((1, 0),)), [1])
    bars = Design("bars", ((1, 0),))
    assert "Bars show where the chosen token looks;" in said_of(bars, [2])
    assert "Bars show where the chosen tokens look on average;" in said_of(bars, [1, 2])
    assert "Bars show where the chosen words look on average;" in said_of(bars, [0, 1], words=True)
    pieces, words = said_of(one), said_of(one, words=True)
    assert "shows where one token looks" in pieces
    assert "; word pieces, " in pieces
    assert "shows where one word looks" in words
    assert "; words, " in words
    assert "in layer 2 of" in said_of(one, per="layer")
    assert "(layer-head)" not in said_of(one, per="layer")


@pytest.mark.parametrize(
    ("per", "place", "rows"),
    [
        ("head", "heads 1-1 and 2-1 (layer-head)", "in every head rows sum to 1"),
        ("layer", "layer 1 and layer 2", "in every layer rows sum to 1"),
    ],
)
def test_a_whole_caption_of_a_maximum_says_whose_rows_sum_to_one(per, place, rows):
    said = said_of(Design(heads=((0, 0), (1, 0)), mix="maximum"), per=per)
    assert said == (
        f"Raw attention in the maximum of {place} of Weights of one's own, computed by the caller (arrays of one's "
        "own), for “tiredness now”. Each row shows where one token looks (query), each column where it is looked at "
        f"(key); scale 0 to 100 %; word pieces, {rows}. Drawn with HeadScope."
    )


@pytest.mark.parametrize(
    ("specials", "said"),
    [
        ("shown", "; word pieces, rows sum to 1. Drawn"),
        ("hidden", "; word pieces, special tokens left out, rows sum to less than 1. Drawn"),
        ("renormalised", "; word pieces, special tokens left out, every row divided by its sum. Drawn"),
    ],
)
def test_a_caption_says_what_became_of_special_tokens(specials, said):
    record = record_of(np.full((1, 1, 3, 3), 1 / 3), ["[CLS]", "it", "[SEP]"])
    assert said in caption(record, record.grid(specials=specials), Design(heads=((0, 0),)))


def test_a_caption_has_both_texts():
    record = record_of(np.full((1, 1, 2, 2), 0.5), ["She", "ran"])
    both = replace(record, tokens=replace(record.tokens, pair="He saw it."))
    assert "for “She ran He saw it.” Each row" in caption(both, both.grid(), Design(heads=((0, 0),)))


# Files


def test_the_converter_is_asked_for_the_dots_and_weights_that_a_file_has(tmp_path, monkeypatch):
    asked = {}

    def written(page, ppi=None):
        asked.update(page=page, dots=ppi)
        return b"content"

    fake = SimpleNamespace(svg_to_pdf=written, svg_to_png=written, register_font_directory=lambda _: None)
    monkeypatch.setitem(sys.modules, "vl_convert", fake)
    files._converter.cache_clear()
    page = figure(ONE, Design(heads=((0, 0),), width=12.7))
    assert 'font-weight="650"' in page
    for ending, dots in ((".PNG", 150), (".pdf", None)):
        assert save(page, tmp_path / f"figure{ending}", dots=150).read_bytes() == b"content"
        assert asked["dots"] == dots
        assert 'width="360.000" height="' in asked["page"], "5 inches in points"
        assert 'font-weight="650"' not in asked["page"]
        assert 'font-weight="600"' in asked["page"]
    files._converter.cache_clear()


# Letters


def test_marks_on_a_letter_take_no_room_and_wide_letters_a_whole_one():
    assert width("e\u0301", 10) == width("e", 10) > 0
    assert width("中", 10) == pytest.approx(10.3)
    assert width("中", 10) > 1.5 * width("א", 10)
    assert [len(faces_for(text)) for text in ("cafe", "café", "żal", "ſ", "Ā")] == [1, 1, 2, 2, 2]


# Colours


def test_dark_colours_are_as_light_as_published():
    for grey in (2, 8, 12, 40, 200):
        colour = f"#{grey:02x}{grey:02x}{grey:02x}"
        assert oklab(colour) == pytest.approx([lightness((grey,) * 3), 0, 0], abs=1e-6)


def test_a_colour_is_the_nearest_that_a_screen_has():
    every = [(at, 255 - at, at // 2) for at in range(256)]
    assert [nearest(oklab(f"#{red:02x}{green:02x}{blue:02x}")) for red, green, blue in every] == every


def test_the_longest_bar_and_its_number_fill_the_page_and_every_chosen_word_is_named():
    units = tuple(Unit(name, 0, 0, 0, name.startswith("["), (i,)) for i, name in enumerate(WORDS))
    page = figure(
        Grid(units, np.eye(4, dtype=np.float32)[None, None], False, "shown"),
        Design("bars", ((0, 0),)),
        [1, 2],
    )
    assert "From: aaa, bbb" in texts(page)
    page = figure(
        Grid(units, np.eye(4, dtype=np.float32)[None, None], False, "shown"), Design("bars", ((0, 0),)), [1]
    )
    whole = float(tree(page).get("viewBox").split()[2])
    end = max(x + long for x, long in bars_of(page))
    said = width("100.0 %", 8.0)
    assert 0.9 * whole < end + said < whole


def test_lines_set_off_the_word_that_looks_on_its_side_alone():
    page = figure(ONE, Design("lines", ((0, 0),), width=17), [1])
    left, right = sorted((node for node in nodes(page, "text") if node.text == "aaa"), key=x_of)
    assert (left.get("font-weight"), right.get("font-weight")) == ("650", None)
    assert left.get("fill") != right.get("fill")
