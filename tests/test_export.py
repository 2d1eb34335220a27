"""What a reader takes away: files that hold the numbers, are safe to open, and lead back to the view."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from contexts import context_of

from mha_core import grid_of, load_model, trace
from mha_core.heads.measures import importance
from pages.parts.explore import export
from pages.parts.explore.comparison import Comparison
from pages.parts.explore.export import Figure
from pages.parts.frame.links import params_of_both
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection

TEXT = "The animal didn't cross the street because it was too tired."
VIEW = Selection((3, 1), (10,), 2)


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


def alone(record, selection=VIEW, request=None, grid=None):
    return Comparison((context_of(record, selection, request, grid),), {}, "http://h/")


def test_a_csv_row_is_a_weight_with_both_words(record):
    grid = record.grid()
    runs = alone(record)
    rows = list(csv.DictReader(io.StringIO(export.csv_of(runs, [(3, 1), (0, 2)]))))
    assert len(rows) == 2 * 16 * 16
    again = np.array([float(row["weight"]) for row in rows], dtype=np.float32).reshape(2, 16, 16)
    assert np.array_equal(again, np.stack([grid.weights[3, 1], grid.weights[0, 2]]))
    assert (rows[0]["layer"], rows[0]["head"], rows[-1]["layer"], rows[-1]["head"]) == ("4", "2", "1", "3")
    assert (rows[20]["query_text"], rows[20]["key_text"]) == ("The", grid.labels[4])
    assert (rows[20]["query"], rows[20]["key"]) == ("1", "4")
    names = ("measure", "unit", "specials", "normalisation", "model", "digest")
    wanted = ["raw", "pieces", "shown", "rows sum to 1", "MiniLM", record.model.digest[:12]]
    assert all([row[name] for name in names] == wanted for row in rows)
    assert [(rows[0][name], rows[1][name]) for name in ("text", "link")] == [(TEXT, ""), (runs.link, "")]
    assert runs.link == "http://h/?head=4-2&pin=10&to=2"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"trained": False}, "untrained"),
        ({"model": "classroom-twin"}, "twin"),
        ({"model": "/home/me/own model"}, "own-model"),
        ({"measure": "value"}, "value"),
        ({"unit": "words"}, "words"),
        ({"specials": "hidden"}, "hidden"),
        ({"attention": "cross"}, ""),
        ({"pair": "It slept."}, ""),
    ],
)
def test_a_file_says_which_view_it_is_of_and_no_other_view_has_its_name(record, change, says):
    plain, other = Request(TEXT), Request(TEXT, **change)
    names = [export.file_name(alone(record, request=request), "csv", "all") for request in (plain, other)]
    assert names[0] != names[1]
    assert says in names[1]
    assert says == "" or says not in names[0]
    a, b = (Request(TEXT, other=other), replace(other, text="Another."))
    assert params_of_both(a, b, "model")["model2"] == b.model
    assert params_of_both(a, b, "sentence")["text2"] == b.text


def test_the_json_has_all_that_is_needed_to_get_it_again(record, model):
    content = json.loads(export.json_of_runs(alone(record), [(3, 1)]))
    n_parameters = sum(parameter.numel() for parameter in model.encoder.parameters())
    details = {"digest": model.digest, "parameters": n_parameters, "layers": 6, "heads": 12, "trained": True}
    assert details.items() <= content["model_details"].items()
    facts = {"text": TEXT, "unit": "pieces", "measure": "raw", "layers": [4], "heads": [2], "head": "4-2"}
    assert facts.items() <= content.items()
    assert (content["units"][1], bool(content["versions"]["torch"])) == ("The", True)
    assert np.array_equal(np.array(content["weights"][0][0], dtype=np.float32), record.weights[3, 1])


@pytest.mark.parametrize(
    "request_",
    [
        Request("He \"hi\" \\ 'so'\n{x}", "## `y` \u202e", trained=False, unit="words", specials="hidden"),
        Request(TEXT, unit="words", measure="value"),
        Request("The cat saw the cat.", specials="renormalised"),
        Request(TEXT, specials="renormalised", measure="value"),
    ],
)
def test_the_python_lines_run_and_reach_the_same_grid(request_, model, capsys):
    space: dict = {}
    traced = trace(request_.text, load_model(trained=request_.trained), pair=request_.pair)
    drawn = importance(traced.tokens, load_model(trained=request_.trained), request_.measure).weights
    wanted = grid_of(traced, drawn, request_.words, request_.specials)
    runs = alone(traced, Selection((3, 1), (4,)), request_, wanted)  # the second "cat"
    lines = export.python_of(runs, Figure("bars", 12.0, [(3, 1)]))
    exec(compile(lines, "shown", "exec"), space)  # noqa: S102
    assert ("untrained" in lines.splitlines()[1]) == (not request_.trained)
    assert np.array_equal(space["grid"].weights, wanted.weights)
    np.testing.assert_array_equal(space["picture"].data[0].x, wanted.weights[3, 1, 4])
    assert wanted.labels[4] in capsys.readouterr().out


# ---- two runs
OTHER = "The animal quickly didn't cross the road because it was too tired."


@pytest.fixture(scope="module")
def runs(record, model):
    return Comparison((context_of(record, VIEW), context_of(trace(OTHER, model))), {}, "http://h/")


def both(runs):
    """Weights of A and of B between the words that both have: B has one more after "animal"."""
    a, b = (grid.weights[3, 1] for grid in runs.grids)
    assert runs.grids[1].labels[3] == "quickly"
    return a, np.delete(np.delete(b, 3, 0), 3, 1)


def test_the_csv_of_two_runs_has_a_row_for_every_pair_of_words_that_both_have(runs):
    rows = list(csv.DictReader(io.StringIO(export.csv_of(runs, [(3, 1)]))))
    a, b = both(runs)
    for side, weights in zip(export.SIDES, (a, b, a - b), strict=True):
        np.testing.assert_array_equal(np.float32([row[side] for row in rows]), weights.ravel())
    assert [(int(row["query"]), int(row["key"])) for row in rows] == list(np.ndindex(a.shape))
    assert {(row["layer"], row["head"]) for row in rows} == {("4", "2")}
    assert {row["query_text"] for row in rows if row["query"] == "8"} == {"street / road"}
    facts = {"text A": TEXT, "text B": OTHER, "model": "MiniLM", "link": runs.link}
    assert facts.items() <= rows[0].items()
    assert not rows[1]["text A"]


def test_what_a_side_cannot_see_has_no_number_in_the_csv(model):
    traced = trace("It said so.", model)
    plain = traced.grid()
    seen = np.tri(len(plain), dtype=bool)[None].repeat(len(plain.weights), 0)
    runs = Comparison((context_of(traced), context_of(traced, grid=replace(plain, visible=seen))), {}, "")
    rows = list(csv.DictReader(io.StringIO(export.csv_of(runs, [(3, 1)]))))
    hidden = [row for row in rows if int(row["key"]) > int(row["query"])]
    assert {(row["B"], row["A minus B"]) for row in hidden} == {("", "")}
    assert all(float(row["A"]) >= 0 for row in hidden)


@pytest.mark.parametrize("side", export.SIDES)
def test_the_lines_of_a_comparison_draw_the_figure_of_that_side(runs, side):
    space: dict = {}
    lines = export.python_of(runs, Figure("matrix", 12.0, [(3, 1)], side))
    exec(compile(lines, "shown", "exec"), space)  # noqa: S102
    a, b = both(runs)
    wanted = {"A": a, "B": runs.grids[1].weights[3, 1], "A minus B": a - b}[side]
    np.testing.assert_array_equal(space["picture"].data[0].z, wanted)
    (framed,) = {shape.y0 + 0.5 for shape in space["picture"].layout.shapes}
    assert space["picture"].data[0].customdata[int(framed), 0].startswith("it looks")
