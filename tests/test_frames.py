"""A frame as it leaves the program: read back, the numbers are the very numbers, and no cell starts a formula."""

import argparse
import io
import json

import numpy as np
import pandas as pd
import pytest

from mha_core import InputError, record_from_weights
from mha_core.cli.output import CommandOutput, write_output
from mha_core.record.export import csv_of

FRAME = pd.DataFrame(
    {
        "word": ["=1+1", None, "it, “so”\n"],
        "weight": np.array([0.1, np.nan, 1e-20], dtype=np.float32),
        "effect": [1 / 3, np.nan, -2.5e-300],
        "n": pd.array([3, None, 2**60], dtype="Int64"),
        "raises": [["=a", "b"], [], ["c"]],
    }
)


def written(capsys, form, answer):
    write_output(argparse.Namespace(format=form, out=None), answer)
    return capsys.readouterr().out


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_numbers_come_back_as_they_were_and_what_is_not_known_is_empty(capsys, form):
    out = written(capsys, form, CommandOutput(FRAME, {"model": "m"}))
    if form == "csv":
        again = pd.read_csv(io.StringIO(out), dtype={"n": "Int64"})
        rows = again.astype(object).where(again.notna(), None).to_dict("records")
        assert [row["word"] for row in rows] == ["'=1+1", None, "it, “so”\n"]
        assert [row["raises"] for row in rows] == ["'=a b", None, "c"]
    else:
        whole = json.loads(out) if form == "json" else {}
        rows = whole["rows"] if form == "json" else [json.loads(line) for line in out.splitlines()]
        assert form == "jsonl" or whole["model"] == "m"
        assert [row["word"] for row in rows] == ["=1+1", None, "it, “so”\n"]
        assert [row["raises"] for row in rows] == [["=a", "b"], [], ["c"]]
    assert [row["effect"] for row in rows] == [1 / 3, None, -2.5e-300]
    assert [row["n"] for row in rows] == [3, None, 2**60]
    weights = [row["weight"] for row in rows]
    assert weights[1] is None
    assert np.array_equal(np.float32([weights[0], weights[2]]), FRAME["weight"].to_numpy()[[0, 2]])


def test_no_cell_of_a_csv_starts_a_formula():
    record = record_from_weights(
        np.full((1, 1, 6, 6), 1 / 6, np.float32), ["=1", "+1", "-1", "@x", "\t=1", "＝1"]
    )
    cells = pd.read_csv(io.StringIO(csv_of(record.to_frame())), dtype=str)[["query_text", "key_text"]]
    assert not cells.stack().str.strip().str.match("[=+@＝-]").any()


def test_a_person_is_shown_the_columns_and_words_in_full(capsys):
    long = "x" * 200
    shown = pd.DataFrame({"word": [long, "it"], "weight": [0.67684, np.nan]})
    lines = written(capsys, "table", CommandOutput(FRAME, {}, "Found.\n", shown)).splitlines()
    assert lines[0] == "Found."
    assert [line.split() for line in lines[1:]] == [["word", "weight"], [long, "0.677"], ["it"]]


def test_a_table_has_two_columns_of_one_name(capsys):
    """As the matrix of a text in which a word occurs twice."""
    shown = pd.DataFrame([[0.25, 0.75]], columns=["it", "it"])
    lines = written(capsys, "table", CommandOutput(FRAME, {}, table=shown)).splitlines()
    assert [line.split() for line in lines] == [["it", "it"], ["0.250", "0.750"]]


def test_the_frames_of_a_record_agree_with_its_weights():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3, 4)).astype(np.float32)
    record = record_from_weights(weights, ["a", "b", "a", "c"])
    frame = record.to_frame()
    assert np.array_equal(frame["weight"].to_numpy().reshape(weights.shape), weights)
    again = pd.read_csv(io.StringIO(csv_of(frame)))
    assert np.array_equal(again["weight"].to_numpy(np.float32).reshape(weights.shape), weights)
    ranked = record.rank("b", "a#2")
    assert list(ranked["rank"]) == [1, 2, 3, 4, 5, 6]
    assert ranked["weight"].is_monotonic_decreasing
    for row in ranked.itertuples():
        assert row.weight == weights[row.layer - 1, row.head_in_layer - 1, 1, 2]
        assert (row.head, row.key, row.key_text) == (f"{row.layer}-{row.head_in_layer}", 2, "a")
    free = record.rank("b")
    assert all(
        row.weight == weights[row.layer - 1, row.head_in_layer - 1, 1].max() for row in free.itertuples()
    )
    with pytest.raises(InputError):
        record.rank("b", "z")
