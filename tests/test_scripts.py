"""Twelve scripts in records, files, pages and figures: the words that were typed, in the direction they are read."""

import csv
import io
import json

import pytest
from test_show import content_of
from test_tokens import SCRIPTS

from mha_core import show, trace
from mha_core.draw.figures import figure
from mha_core.record.export import weights_csv, weights_json

LEFTWARD = ("Arabic", "Hebrew")


@pytest.fixture(params=SCRIPTS)
def script(request):
    return request.param


@pytest.fixture
def record(script, model):
    return trace(SCRIPTS[script], model)


def test_the_words_are_what_was_typed_in_record_file_and_page(script, record):
    grid = record.grid(words=True, specials="hidden")
    typed = SCRIPTS[script]
    assert "".join(grid.labels) == "".join(typed.split())
    assert typed in repr(record)
    rows = list(csv.DictReader(io.StringIO(weights_csv(grid, [(0, 0)]))))
    assert [row["key_text"].removeprefix("'") for row in rows[: len(grid)]] == list(grid.labels)
    assert json.loads(weights_json(record, grid))["units"] == list(grid.labels)
    (kept,) = content_of(show(record, words=True).html)["records"]
    spelt = "".join(before + name for before, name in zip(kept["before"], kept["names"], strict=True))
    assert "".join(spelt.split()).removeprefix("[CLS]").removesuffix("[SEP]") == "".join(typed.split())


@pytest.mark.parametrize("kind", ["arcs", "lines"])
def test_a_figure_runs_as_the_text_does(kind, script, record):
    grid = record.grid(words=True)  # [CLS] has no say
    drawn = figure(grid, kind, heads=((0, 0),), queries=(0,), width_cm=30)
    texts = [trace for trace in drawn.data if trace.mode == "text" and len(trace.text) == len(grid)]
    if kind == "lines":  # the queries stand where the text begins
        first, last = (trace.x[0] for trace in texts)
    else:
        first, last = texts[0].x[0], texts[0].x[-1]
    assert (first > last) == (script in LEFTWARD)
