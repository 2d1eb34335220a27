"""Figures of attention: what is drawn is the grid's numbers, trace by trace, and files open again."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.io
import pytest
import streamlit as st
from causal_runs import causal_record as decoder_run

from mha_core import InputError, grid_of, record_from_weights, trace
from mha_core.draw.figures import charts, figure
from pages.parts.frame.charts import selected_heads

TEXT = "The animal didn't cross the street because it was too tired."
KINDS = ("matrix", "heads", "arcs", "lines", "bars")
CM = 96 / 2.54


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


@pytest.fixture(scope="module")
def decoder():
    return decoder_run().grid()


@pytest.fixture(scope="module")
def cross():
    weights = np.random.default_rng(3).dirichlet(np.full(6, 0.4), size=(2, 3, 4)).astype(np.float32)
    keys = ["[CLS]", "The", "cat", "slept", ".", "[SEP]"]
    return record_from_weights(weights, ["Die", "Katze", "schlief", "."], keys=keys)


def links(drawn):
    """The links of a figure: (layer, head, query, key) and the weight, of every trace that is one."""
    return {tuple(trace.meta[:4]): trace.meta[4] for trace in drawn.data if trace.meta is not None}


def place_of(drawn, name, which=0):
    """Return the place at which a word is written."""
    texts = [each for each in drawn.data if each.mode == "text"]
    words = [word for each in texts for word in zip(each.text, each.x, each.y, strict=True)]
    return [(x, y) for text, x, y in words if re.sub("<[^>]*>", "", text) == name][which]


def head_in(trace, layer, head, shape):
    """One head's cells in the heatmap of all heads, by where its axes put them."""
    z = np.asarray(trace.z)
    columns, rows = (
        np.flatnonzero(abs(start + step * np.arange(n) - place - 1) < step * count / 2)
        for start, step, n, place, count in (
            (trace.x0, trace.dx, z.shape[1], head, shape[1]),
            (trace.y0, trace.dy, z.shape[0], layer, shape[0]),
        )
    )
    return z[np.ix_(rows, columns)]


def test_a_matrix_has_every_weight_of_its_heads_on_one_scale(record):
    drawn = record.plot("matrix", ["4-2", (5, 11)], "it")
    grid = record.grid()
    for trace_, head in zip(drawn.data, ((3, 1), (5, 11)), strict=True):
        np.testing.assert_array_equal(trace_.z, grid.weights[head])
        assert trace_.coloraxis == "coloraxis"
    largest = max(grid.weights[3, 1].max(), grid.weights[5, 11].max())
    assert drawn.layout.coloraxis.cmax == pytest.approx(largest)
    (it,) = grid.find("it")
    assert [(box.y0, box.y1) for box in drawn.layout.shapes] == [(it - 0.5, it + 0.5)] * 2
    alone = record.plot("matrix", "4-2").layout
    assert list(alone.xaxis.ticktext) == list(alone.yaxis.ticktext) == list(grid.labels)
    assert drawn.data[0].customdata[it][grid.find("animal")[0]] == "it looks at animal"


def test_all_heads_are_one_trace_with_every_weight_where_its_axes_say(record):
    grid = record.grid(words=True)
    (trace_,) = record.plot("heads", unit="words").data
    for head in ((0, 0), (3, 1), (5, 11)):
        np.testing.assert_array_equal(head_in(trace_, *head, grid.weights.shape[2:]), grid.weights[head])
    assert np.nansum(np.isfinite(trace_.z)) == grid.weights.size


def test_small_pictures_of_a_long_text_keep_the_largest_weight_and_a_line_of_arcs_is_refused(model):
    long = trace("again and " * 60, model)
    (trace_,) = long.plot("heads").data
    cells = head_in(trace_, 3, 1, (32, 32))
    assert cells.max() == long.weights[3, 1].max()
    assert cells[0, 0] == long.weights[3, 1, :4, :4].max()
    with pytest.raises(InputError, match="too long"):
        long.plot("arcs", width_cm=8.5)


@pytest.mark.parametrize("kind", ["arcs", "lines"])
def test_links_lead_from_the_word_to_those_it_looks_at(kind, record):
    drawn = record.plot(kind, "4-2", "it", unit="words")
    grid = record.grid(words=True)
    (it,), (animal,) = grid.find("it"), grid.find("animal")
    drawn_links = links(drawn)
    assert drawn_links[3, 1, it, animal] == pytest.approx(0.677, abs=0.001)
    assert drawn_links == pytest.approx({key: grid.weights[key] for key in drawn_links})
    assert len(drawn_links) == (grid.weights[3, 1, it] >= 0.01).sum()
    (thickest,) = [each for each in drawn.data if each.meta is not None and each.meta[3] == animal]
    assert thickest.line.width == max(each.line.width for each in drawn.data if each.meta is not None)
    assert thickest.text == "Head 4-2: it looks at animal, 67.7%"
    if kind == "arcs":
        assert thickest.x[-1] == pytest.approx(place_of(drawn, "animal")[0])
        assert place_of(drawn, "68%")[0] == place_of(drawn, "animal")[0]
    else:
        assert (thickest.x[-1], thickest.y[-1]) == pytest.approx(place_of(drawn, "animal", 1))


def test_without_words_arcs_are_the_strongest_links_between_words(record):
    grid = record.grid(words=True, specials="hidden")
    drawn_links = links(record.plot("arcs", "4-2", unit="words"))
    between = grid.weights[3, 1] * (1 - np.eye(len(grid)))
    shown = record.grid(words=True)
    assert (3, 1, shown.find("it")[0], shown.find("animal")[0]) in drawn_links
    assert max(drawn_links.values()) == pytest.approx(between.max())
    assert not {0, len(shown) - 1} & {place for _, _, query, key in drawn_links for place in (query, key)}


def test_bars_are_where_the_words_look_on_average(record):
    grid = record.grid(words=True)
    drawn = record.plot("bars", ["4-2", "6-12"], ["it", "too"], unit="words")
    rows = [grid.find("it")[0], grid.find("too")[0]]
    for bar, head in zip(drawn.data, ((3, 1), (5, 11)), strict=True):
        np.testing.assert_allclose(bar.x, grid.weights[head][rows].mean(axis=0), rtol=1e-6)
        assert list(bar.customdata) == list(grid.labels)
    assert drawn.data[0].marker.pattern.shape != drawn.data[1].marker.pattern.shape


def test_what_a_decoder_cannot_see_is_a_gap(decoder):
    unseen = ~decoder.visible[0]
    (cells,) = figure(decoder, heads=((0, 0),)).data
    np.testing.assert_array_equal(np.isnan(np.asarray(cells.z, float)), unseen)
    (tiles,) = figure(decoder, "heads").data
    np.testing.assert_array_equal(np.isnan(head_in(tiles, 1, 5, unseen.shape)), unseen)
    (bar,) = figure(decoder, "bars", heads=((0, 0),), queries=(2,)).data
    np.testing.assert_array_equal(np.isnan(bar.x), unseen[2])
    assert all(key <= query for _, _, query, key in links(figure(decoder, "arcs", heads=((0, 0), (1, 3)))))


@pytest.mark.parametrize("kind", KINDS)
def test_another_text_s_words_are_the_keys(kind, cross):
    grid = cross.grid()
    drawn = cross.plot(kind, "2-3", "Katze")
    if kind == "matrix":
        np.testing.assert_array_equal(drawn.data[0].z, grid.weights[1, 2])
        assert list(drawn.layout.xaxis.ticktext) == list(grid.key_labels)
    elif kind == "heads":
        np.testing.assert_array_equal(head_in(drawn.data[0], 1, 2, (4, 6)), grid.weights[1, 2])
    elif kind == "bars":
        np.testing.assert_allclose(drawn.data[0].x, grid.weights[1, 2, 1], rtol=1e-6)
    else:
        row = enumerate(grid.weights[1, 2, 1])
        assert links(drawn) == pytest.approx({(1, 2, 1, k): w for k, w in row if w >= 0.01})
        cat, katze = place_of(drawn, "cat"), place_of(drawn, "Katze")
        assert cat[1] > katze[1] if kind == "arcs" else cat[0] > katze[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_learned_sink_is_a_column(kind, decoder):
    sink = np.full((2, 6, len(decoder)), 0.25, np.float32)
    limited = replace(decoder, weights=decoder.weights * 0.75, sink=sink)
    drawn = figure(limited, kind, heads=((0, 0),), queries=(3,))
    if kind in ("arcs", "lines"):
        assert links(drawn)[0, 0, 3, len(decoder)] == 0.25
        assert place_of(drawn, "(sink)")
    elif kind == "bars":
        assert (drawn.data[0].customdata[-1], drawn.data[0].x[-1]) == ("(sink)", 0.25)
    else:
        n = len(decoder)
        cells = head_in(drawn.data[0], 0, 0, (n, n + 1)) if kind == "heads" else np.asarray(drawn.data[0].z)
        assert (cells[:, -1] == 0.25).all()


def test_a_difference_has_one_colour_for_more_and_one_for_less(record, model):
    wide = trace(TEXT.replace("tired", "wide"), model)
    grid = grid_of(record, wide.weights - record.weights)
    (it,), (animal,), (cls,) = (grid.find(word) for word in ("it", "animal", "[CLS]"))
    drawn = figure(grid, "arcs", queries=(it,), signed=True)
    by_key = {each.meta[3]: each for each in drawn.data if each.meta is not None}
    assert by_key[animal].meta[4] == grid.weights[3, 1, it, animal] < 0 < by_key[cls].meta[4]
    less, more = ([int(n) for n in re.findall(r"\d+", by_key[key].line.color)] for key in (animal, cls))
    assert less[0] > less[2]  # orange
    assert more[0] < more[2]  # blue
    scale = figure(grid, signed=True).layout.coloraxis
    assert scale.cmin == -scale.cmax == pytest.approx(-np.abs(grid.weights[3, 1]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_is_as_wide_as_it_is_asked_to_be_and_opens_again(kind, record, tmp_path):
    drawn = record.plot(kind, "4-2", "it", width_cm=12)
    assert drawn.layout.width == pytest.approx(12 * CM)
    drawn.write_html(tmp_path / "figure.html", include_plotlyjs=True)
    page = (tmp_path / "figure.html").read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", page)
    again = plotly.io.from_json(drawn.to_json())
    assert json.loads(again.to_json()) == json.loads(drawn.to_json())


def test_what_looks_like_markup_is_drawn_as_it_stands():
    weights = np.full((1, 1, 3, 3), 1 / 3, np.float32)
    given = record_from_weights(weights, ["<s>", "a<b>", "&amp;"], causal=False, title="<i>T</i>")
    drawn = given.plot("matrix", "1-1")
    assert list(drawn.layout.xaxis.ticktext) == ["&lt;s&gt;", "a&lt;b&gt;", "&amp;amp;"]
    assert "&lt;i&gt;T&lt;/i&gt;" in drawn.layout.title.text


def test_a_head_that_is_selected_on_a_map_is_the_one_that_is_drawn_there_and_an_mlp_is_none(monkeypatch):
    heads = pd.array([1, 2, 3, None, 1, 2, 3, None], "Int64")
    frame = pd.DataFrame({"layer": [1] * 4 + [2] * 4, "head": heads, "score": np.arange(1.0, 9)})
    figure = charts.head_map(frame, "score", title="t", name="score")
    cells, points = figure.data
    np.testing.assert_array_equal(cells.z, [[1, 2, 3, np.nan, 4], [5, 6, 7, np.nan, 8]])
    drawn = [cells.z[y - 1][x - 1] for x, y in zip(points.x, points.y, strict=True)]
    assert sorted(drawn) == frame["score"].tolist()
    ticks = dict(zip(figure.layout.xaxis.ticktext, figure.layout.xaxis.tickvals, strict=True))
    assert ticks == {"1": 1, "2": 2, "3": 3, "MLP": 5}
    assert "NaN" not in json.dumps(json.loads(figure.to_json())["data"][1])
    data = [points.customdata[drawn.index(score)] for score in (8, 7)]  # the second layer's MLP and last head
    picked = [{"customdata": list(data[0])}, {"customdata": {"0": data[1][0], "1": data[1][1]}}]
    monkeypatch.setattr(st, "session_state", {"map": {"selection": {"points": picked}}})
    assert selected_heads("map") == [(1, 2)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kind": "pie"}, "matrix, heads, arcs, lines, bars"),
        ({"heads": "7-1"}, "7-1"),
        ({"heads": [(6, 0)]}, "7-1"),
        ({"heads": []}, "1 to 24 heads"),
        ({"kind": "bars"}, "choose a word"),
        ({"words": "dog"}, "'dog' is not in the sentence"),
        ({"width_cm": 60}, "4 to 40 cm"),
        ({"unit": "letters"}, "letters"),
        ({"kind": "lines", "width_cm": 4}, "wider"),
    ],
)
def test_what_cannot_be_drawn_is_said(options, sentence, record):
    with pytest.raises(InputError, match=sentence):
        record.plot(**options)
