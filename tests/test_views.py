"""What a record gives in one line, what it prints, and that a copy of it is as frozen as it is."""

import base64
import copy
import io
import json
import pickle
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from mha_core import InputError, Unavailable, export, load_model, record_of, trace
from mha_core.experiments import Factor, MeanOutput, PatchHeads, PatchStates, Rows
from mha_core.figures import Design, caption

TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


def test_one_head_is_a_labelled_frame(record):
    frame = record["4-2"].to_frame()
    grid = record.grid()
    assert (frame.index.name, frame.columns.name) == ("query", "key")
    assert tuple(frame.index) == tuple(frame.columns) == grid.labels
    np.testing.assert_array_equal(frame.to_numpy(), grid.weights[3, 1])
    assert frame.loc["it", "animal"] == pytest.approx(0.677, abs=5e-4)
    assert frame.loc["animal", "it"] < 0.1


def test_all_heads_are_a_tidy_frame(record):
    frame, grid = record.to_frame(words=True), record.grid(words=True)
    assert list(frame.columns) == ["layer", "head", "query", "key", "query_text", "key_text", "weight"]
    assert len(frame) == grid.weights.size
    row = frame[
        (frame.layer == 4) & (frame["head"] == 2) & (frame.query_text == "it") & (frame.key_text == "animal")
    ]
    assert row.weight.item() == grid.weights[3, 1, row["query"].item(), row.key.item()]
    assert row.weight.item() == pytest.approx(0.677, abs=5e-4)


def test_what_a_decoder_cannot_see_has_no_weight_in_a_frame():
    weights = np.tril(np.ones((1, 2, 3, 3), dtype=np.float32))
    record = record_of(weights / weights.sum(-1, keepdims=True), ["a", "b", "c"])
    assert len(record.to_frame()) == 2 * 6
    assert np.isnan(record["1-2"].to_frame().loc["a", "b"])
    assert record["1-2"].to_frame().loc["c", "b"] == pytest.approx(1 / 3)


def test_heads_are_ranked_for_a_link_by_its_words(record):
    best = record.rank("it", "animal")
    assert best[0].name == "4-2"
    assert [one.weight for one in best] == sorted((one.weight for one in best), reverse=True)
    assert len(best) == 72
    assert record.rank("didn't")[0].weight == record.grid(words=True).weights[:, :, 3].max()


@pytest.mark.parametrize("name", ["7-1", "4-13", "0-1", "4", (3, 1), b"4-2", None])
def test_a_head_that_is_none_is_refused_in_a_sentence(record, name):
    with pytest.raises(InputError, match="no head"):
        record[name]


def test_words_that_are_not_there_are_refused_in_a_sentence(record):
    with pytest.raises(InputError, match="'dog' is not in the sentence"):
        record.rank("it", "dog")
    with pytest.raises(InputError, match="how it is spelt; int was given"):
        record.rank(3)


def test_without_pandas_one_sentence_says_what_to_install(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for call in (record.to_frame, record["4-2"].to_frame):
        with pytest.raises(Unavailable, match="A frame needs pandas: pip install pandas"):
            call()


def test_a_record_prints_five_lines_whatever_its_text(record, model):
    said = repr(record).splitlines()
    assert len(said) == 5
    assert "MiniLM: 6 layers x 12 heads, trained, digest 53aa51172d14" in said[1]
    assert said[2] == "computed by: mha_core"
    random = repr(trace("Hi", load_model(trained=False))).splitlines()
    assert random[1].endswith("MiniLM, untrained: 6 layers x 12 heads, untrained, seed 0")
    assert "4-2 it → animal" in repr(trace("The animal slept because it was tired", model)) or "→" in said[3]
    long = repr(trace("very " * 300 + "\nlong", model))
    assert len(long.splitlines()) == 5
    assert len(long) < 600
    assert len(repr(record.grid())) < 100
    assert len(repr(record["4-2"])) < 100


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Factor(((3, 1), (5, 5))), "4-2, 6-6 times 0"),
        (Factor(((3, 1),), 2.5), "4-2 times 2.5"),
        (MeanOutput(((3, 1),)), "4-2 replaced by the mean output"),
        (Rows(((3, 1),), 0, 2), "4-2 with other weights of token 3"),
        (PatchHeads(((3, 1),), "It rained."), "4-2 taken over from 'It rained.'"),
        (PatchHeads(((3, 1),), "It rained.", None, (2,)), "4-2 taken over from 'It rained.' at token 3"),
        (
            PatchHeads(((3, 1),), "It rained.", None, (1, 3)),
            "4-2 taken over from 'It rained.' at tokens 2, 4",
        ),
        (PatchStates(((0, 1),), "It rained."), "1 state taken over from 'It rained.'"),
    ],
)
def test_a_record_of_changed_heads_says_so_wherever_it_goes(record, change, said):
    changed = replace(record, interventions=(change,))
    lines = repr(changed).splitlines()
    assert (len(lines), lines[1].split("; ")[1]) == (5, f"changed: {said}")
    assert json.loads(export.weights_json(changed, changed.grid()))["changed"] == [said]
    design = Design(heads=((0, 0),))
    assert f"(changed: {said}), for" in caption(changed, changed.grid(), design)
    assert "changed" not in repr(record) + caption(record, record.grid(), design)
    assert "changed" not in json.loads(export.weights_json(record, record.grid()))


def test_a_head_that_is_gated_is_changed_and_a_gate_of_one_changes_nothing(record):
    gates = np.ones((6, 12), dtype=np.float32)
    assert replace(record, gates=gates.copy()).changed == ()
    gates[3, 1], gates[5, 11] = 0.5, 0
    gated = replace(record, gates=gates, interventions=(MeanOutput(((0, 3),)),))
    said = ["1-4 replaced by the mean output", "4-2 times 0.5", "6-12 times 0"]
    assert gated.changed == tuple(said)
    assert json.loads(export.weights_json(gated, gated.grid()))["changed"] == said
    assert f"(changed: {'; '.join(said)}), for" in caption(gated, gated.grid(), Design(heads=((0, 0),)))


def test_one_of_a_thing_is_not_said_as_several():
    one = record_of(np.ones((1, 1, 1, 1)), ["it"])
    assert "'it', 1 token, 1 word\n" in repr(one)
    assert ": 1 layer x 1 head, weights of unknown training" in repr(one)
    assert "All heads: 1 layer from top to bottom, 1 head from left to right" in one._repr_html_()
    assert repr(one.grid()).startswith("Grid of 1 layer x 1 head, 1 x 1 pieces")
    several = record_of(np.full((2, 3, 2, 2), 0.5), ["it", "##s"])
    assert "'its', 2 tokens, 1 word\n" in repr(several)
    assert ": 2 layers x 3 heads, " in repr(several)


def test_the_strongest_links_are_those_between_two_words(record):
    grid, special = record.grid(), {0, len(record.tokens) - 1}
    best = max(
        (grid.weights[la, h, q, k], f"{la + 1}-{h + 1} {grid.labels[q]} → {grid.labels[k]}")
        for la, h, q, k in np.ndindex(*grid.weights.shape)
        if q != k and not special & {q, k}
    )
    assert f"strongest links: {best[1]} {100 * best[0]:.1f} %" in repr(record)


def test_a_notebook_gets_a_table_and_a_picture_that_load_nothing(record):
    html = record._repr_html_()
    assert len(html) < 12_000
    assert not re.search(r"""<script|@import|(?:href|src)="(?!data:)|url\((?!#)""", html)
    svg = ElementTree.fromstring(html[html.index("<svg") :])  # noqa: S314 - our own
    assert "6 layers" in svg.attrib["aria-label"]
    assert html.count("<tr>") == 4


def shades_of(html):
    """The pixels of the picture, which are what is seen of the text's colour."""
    with Image.open(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]))) as image:
        assert image.mode == "L"
        return np.array(image)


def test_the_picture_has_its_darkest_cells_where_the_weight_is():
    weights = np.full((1, 2, 4, 4), 0.0, dtype=np.float32)
    weights[..., 0] = 1
    weights[0, 1, 2] = (0, 0.4, 0, 0.6)
    shades = shades_of(record_of(weights, list("abcd"))._repr_html_())
    expected = np.zeros((5, 10), np.uint8)  # a pixel between the heads
    expected[:4, 0] = expected[:4, 5] = 255
    expected[2, 5:9] = (0, 102, 0, 153)
    np.testing.assert_array_equal(shades, expected)


@pytest.mark.parametrize("shape", [(12, 16, 200, 200), (30, 9, 64, 64), (6, 8, 90, 40)])
def test_the_picture_of_a_large_model_and_a_long_text_stays_small(shape):
    weights = np.random.default_rng(0).dirichlet(np.full(shape[3], 0.1), shape[:3]).astype(np.float32)
    rows, columns = ([f"w{i}" for i in range(n)] for n in shape[2:])
    record = record_of(weights, rows, keys=None if shape[2] == shape[3] else columns)
    html = record._repr_html_()
    assert len(html) < 22_000
    side = min(12, *shape[2:])
    assert shades_of(html).shape == (shape[0] * (side + 1), shape[1] * (side + 1))


def test_markup_in_a_text_stays_text(model):
    assert "<b>" not in trace("<b>bold</b>", model)._repr_html_()


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "copy"])
def test_copies_of_records_grids_and_heads_are_equal_and_frozen(record, model, way):
    gated = trace(TEXT, model, gates=np.ones((6, 12)))
    copied = {
        "pickle": lambda x: pickle.loads(pickle.dumps(x)),  # noqa: S301
        "deepcopy": copy.deepcopy,
        "copy": copy.copy,
    }[way]
    for one in (record, gated, record.grid(words=True), record["4-2"]):
        other = copied(one)
        np.testing.assert_array_equal(other.weights, one.weights)
        with pytest.raises(ValueError, match="read-only"):
            other.weights[...] = 0
    other = copied(gated)
    assert other.model == gated.model
    assert other.tokens == gated.tokens
    assert dict(other.versions) == dict(gated.versions)
    with pytest.raises(TypeError):
        other.versions["torch"] = "0"
    with pytest.raises(ValueError, match="read-only"):
        other.gates[0] = 0
