"""What a reader takes away: files that hold the numbers, are safe to open, and lead back to the view."""

import csv
import io
import json
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from mha_core import grid_of, trace
from mha_core.heads.importance import importance
from pages.parts.explore import export
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection, from_params
from pages.parts.picture import figures

TEXT = "The animal didn't cross the street because it was too tired."
VIEW = Selection((3, 1), (10,), 2)


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


def test_a_csv_row_is_a_weight_with_both_words(record):
    grid = record.grid()
    rows = list(csv.DictReader(io.StringIO(export.csv_of(grid, [(3, 1), (0, 2)]))))
    assert len(rows) == 2 * 16 * 16
    again = np.array([float(row["weight"]) for row in rows], dtype=np.float32).reshape(2, 16, 16)
    assert np.array_equal(again, np.stack([grid.weights[3, 1], grid.weights[0, 2]]))
    assert (rows[0]["layer"], rows[0]["head"], rows[-1]["layer"], rows[-1]["head"]) == ("4", "2", "1", "3")
    assert (rows[17]["query"], rows[17]["key"]) == ("The", "The")


@pytest.mark.parametrize("word", ["=1+1", "+1", "-1", "@x", "\t=1", "＝1"])
def test_a_spreadsheet_runs_nothing_of_a_csv(model, word):
    grid = trace(f"x {word}", model).grid(words=True)
    rows = list(csv.reader(io.StringIO(export.csv_of(grid, [(0, 0)]))))[1:]
    cells = {cell.strip() for row in rows for cell in (row[3], row[5])}
    assert not {cell for cell in cells if cell[:1] in "=+-@＝"}


def test_the_json_has_all_that_is_needed_to_get_it_again(record, model):
    request = Request(TEXT)
    content = json.loads(export.json_of(record, record.grid(), request, VIEW, [(3, 1)]))
    assert content["model"]["digest"] == model.digest
    assert content["text"] == TEXT
    assert content["versions"]["torch"]
    assert np.array_equal(np.array(content["weights"]["4-2"], dtype=np.float32), record.weights[3, 1])


@pytest.mark.parametrize(
    "request_",
    [
        Request(TEXT),
        Request(
            "He said \"hi\" \\ 'there'\n{x}",
            pair="## `y` \u202e",
            trained=False,
            unit="words",
            specials="hidden",
        ),
        Request(TEXT, unit="words", measure="value"),
    ],
)
def test_the_python_lines_run_and_reach_the_same_grid(request_, model, capsys):
    space: dict = {}
    exec(compile(export.python_of(request_, Selection((3, 1), (1,))), "shown", "exec"), space)  # noqa: S102
    from mha_core import load_model

    used = load_model(trained=request_.trained)
    traced = trace(request_.text, used, pair=request_.pair)
    drawn = importance(traced.tokens, used, request_.measure).weights
    wanted = grid_of(traced.tokens, drawn, request_.words, request_.specials)
    assert np.array_equal(space["grid"].weights, wanted.weights)
    assert capsys.readouterr().out.startswith(f"{wanted.labels[1]} looks at ")


def test_a_link_leads_back_to_the_view(record):
    grid = record.grid()
    request = Request(TEXT, pair="a&b=c #d", trained=False)
    address = urlsplit(export.link_of("http://localhost/compare", request, VIEW))
    query = {key: values[0] for key, values in parse_qs(address.query).items()}
    assert from_params(query, request, grid.weights.shape, grid.labels) == (VIEW, [])
    assert (query["text"], query["pair"], query["weights"]) == (TEXT, "a&b=c #d", "untrained")


def test_a_file_name_is_plain_letters_whatever_the_text():
    assert export.file_name(Request("../../etc/passwd <b>"), "csv") == "headscope-etc-passwd-b.csv"
    assert export.file_name(Request("مرحبا"), "csv") == "headscope.csv"


def test_the_heatmap_has_one_row_for_each_token_also_for_repeated_ones(record):
    figure = figures.heatmap(record.grid(), (3, 1), dark=False)
    assert figure["data"][0]["z"][10][2] == pytest.approx(float(record.weights[3, 1, 10, 2]))
    assert figure["layout"]["yaxis"]["tickvals"] == list(range(16))
    assert figure["layout"]["yaxis"]["ticktext"][1:3] == ["The", "animal"]
    assert figure["data"][0]["customdata"][10][2] == ["it", "animal"]
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"
    assert figure["data"][0]["colorscale"][0][1].endswith(",0)")
