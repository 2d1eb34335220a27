"""What a reader takes away: files that hold the numbers, are safe to open, and lead back to the view."""

import csv
import io
import json

import numpy as np
import pytest

from mha_core import grid_of, load_model, trace
from mha_core.heads.measures import importance
from pages.parts.explore import export
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection

TEXT = "The animal didn't cross the street because it was too tired."
VIEW = Selection((3, 1), (10,), 2)


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


def test_a_csv_row_is_a_weight_with_both_words(record):
    grid = record.grid()
    rows = list(
        csv.DictReader(
            io.StringIO(export.csv_of(record, grid, Request(TEXT), [(3, 1), (0, 2)], "http://h/?x"))
        )
    )
    assert len(rows) == 2 * 16 * 16
    again = np.array([float(row["weight"]) for row in rows], dtype=np.float32).reshape(2, 16, 16)
    assert np.array_equal(again, np.stack([grid.weights[3, 1], grid.weights[0, 2]]))
    assert (rows[0]["layer"], rows[0]["head"], rows[-1]["layer"], rows[-1]["head"]) == ("4", "2", "1", "3")
    assert (rows[20]["query_text"], rows[20]["key_text"]) == ("The", grid.labels[4])
    assert (rows[20]["query"], rows[20]["key"]) == ("1", "4")
    said = ("measure", "unit", "specials", "normalisation", "model", "digest")
    wanted = ["raw", "pieces", "shown", "rows sum to 1", "MiniLM", record.model.digest[:12]]
    assert all([row[name] for name in said] == wanted for row in rows)
    assert [(rows[0][name], rows[1][name]) for name in ("text", "link")] == [(TEXT, ""), ("http://h/?x", "")]


@pytest.mark.parametrize("word", ["=1+1", "+1", "-1", "@x", "\t=1", "＝1"])
def test_a_spreadsheet_runs_nothing_of_a_csv(model, word):
    traced = trace(f"x {word}", model)
    rows = list(
        csv.reader(io.StringIO(export.csv_of(traced, traced.grid(words=True), Request("x"), [(0, 0)], "")))
    )[1:]
    cells = {cell.strip() for row in rows for cell in (row[3], row[5])}
    assert not {cell for cell in cells if cell[:1] in "=+-@＝"}


def test_the_json_has_all_that_is_needed_to_get_it_again(record, model):
    request = Request(TEXT)
    content = json.loads(export.json_of(record, record.grid(), request, VIEW, [(3, 1)]))
    assert content["model_details"]["digest"] == model.digest
    assert (content["unit"], content["units"][1], content["measure"]) == ("pieces", "The", "raw")
    assert content["text"] == TEXT
    assert content["versions"]["torch"]
    assert (content["layers"], content["heads"], content["head"]) == ([4], [2], "4-2")
    assert np.array_equal(np.array(content["weights"][0][0], dtype=np.float32), record.weights[3, 1])


@pytest.mark.parametrize(
    "request_",
    [
        Request(
            "He said \"hi\" \\ 'there'\n{x}",
            pair="## `y` \u202e",
            trained=False,
            unit="words",
            specials="hidden",
        ),
        Request(TEXT, unit="words", measure="value"),
        Request(TEXT, specials="renormalised"),
        Request(TEXT, specials="renormalised", measure="value"),
    ],
)
def test_the_python_lines_run_and_reach_the_same_grid(request_, model, capsys):
    space: dict = {}
    exec(compile(export.python_of(request_, Selection((3, 1), (1,))), "shown", "exec"), space)  # noqa: S102
    used = load_model(trained=request_.trained)
    traced = trace(request_.text, used, pair=request_.pair)
    drawn = importance(traced.tokens, used, request_.measure).weights
    wanted = grid_of(traced, drawn, request_.words, request_.specials)
    assert np.array_equal(space["grid"].weights, wanted.weights)
    assert wanted.labels[1] in capsys.readouterr().out
