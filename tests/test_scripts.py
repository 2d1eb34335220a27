"""Twelve scripts in records, files, pages and figures: the words that were typed, in the direction they are read."""

import csv
import io
import json
import re

import pytest
from test_show import content_of
from test_tokens import SCRIPTS

from mha_core import show, trace
from mha_core.export import weights_csv, weights_json
from mha_core.figures import Design, figure

LEFTWARD = ("Arabic", "Hebrew")


@pytest.fixture(params=SCRIPTS)
def script(request):
    return request.param


@pytest.fixture
def record(script, model):
    return trace(SCRIPTS[script], model)


def places(svg, word):
    """Where a word is drawn, its x in points."""
    return [float(x) for x in re.findall(rf'<text x="([-\d.]+)"[^>]*>{re.escape(word)}</text>', svg)]


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
    grid = record.grid(words=True, specials="hidden")
    svg = figure(grid, Design(kind, heads=((0, 0),), width=25), pins=(0,))
    if kind == "lines":  # the queries stand where the text begins, the one that looks in bold
        word = re.escape(grid.labels[0])
        (looks,) = re.findall(rf'<text x="([-\d.]+)"[^>]*font-weight="650"[^>]*>{word}</text>', svg)
        (seen,) = {x for x in places(svg, grid.labels[0]) if x != float(looks)}
        first, last = float(looks), seen
    else:
        first, last = (places(svg, grid.labels[i])[0] for i in (0, -1))
    assert (first > last) == (script in LEFTWARD)
