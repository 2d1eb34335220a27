"""The command line: what it writes, in every format, and one sentence with exit code 2 for what it cannot do."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bert_folders import write

from mha_core import trace
from mha_core.cli import main
from mha_core.export import safe_cell

CLASSIC = "The animal didn't cross the street because it was too tired."
ROOT = Path(__file__).parent.parent


@pytest.fixture
def run(capsys):
    """Run a command in this process: (exit code, what it wrote, what it said on stderr)."""

    def command(*arguments):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return command


def process(*arguments, stdin=None, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "mha_core", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
    )


# Formats


def test_the_json_has_the_weights_by_layer_head_query_and_key(run, model):
    code, out, err = run("trace", CLASSIC, "--format", "json")
    content = json.loads(out)
    assert (code, err) == (0, "")
    assert {"model", "tokens", "words", "n_layers", "n_heads", "weights"} <= set(content)
    assert (content["model"], content["n_layers"], content["n_heads"]) == ("minilm", 6, 12)
    assert content["tokens"][:7] == ["[CLS]", "the", "animal", "didn", "'", "t", "cross"]
    assert content["words"][:3] == ["The", "animal", "didn't"]
    weights = np.array(content["weights"], dtype=np.float32)
    np.testing.assert_array_equal(weights, trace(CLASSIC, model).weights)
    assert content["weights"][3][1][content["tokens"].index("it")][2] == pytest.approx(0.677, abs=5e-4)


def test_the_csv_has_a_line_for_every_link(run, model):
    _, out, _ = run("trace", "It rained.", "--layer", "2", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    weights = trace("It rained.", model).weights[1]
    assert len(rows) == 12 * 25
    row = rows[(7 * 5 + 1) * 5 + 2]
    assert (row["layer"], row["head"], row["query"], row["key"]) == ("2", "8", "1", "2")
    assert (row["query_text"], row["key_text"]) == ("It", "rained")
    assert float(row["weight"]) == pytest.approx(weights[7, 1, 2], rel=1e-4)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " =", "\n@"])
def test_a_cell_that_would_start_a_formula_is_text(start):
    assert safe_cell(start + "1+1") == "'" + start + "1+1"
    assert safe_cell("a=1") == "a=1"


# Ranking


def test_from_and_to_list_the_heads_by_their_weight_strongest_first(run, model):
    _, out, _ = run("trace", CLASSIC, "--from", "it", "--to", "animal", "--format", "json", "--top", "0")
    content = json.loads(out)
    assert (content["text"], content["model"], content["to"]) == (CLASSIC, "minilm", "animal")
    ranking = content["rows"]
    assert (ranking[0]["head"], ranking[0]["layer"], ranking[0]["head_in_layer"]) == ("4-2", 4, 2)
    assert ranking[0]["weight"] == pytest.approx(0.677, abs=5e-4)
    assert len(ranking) == 72
    assert [r["weight"] for r in ranking] == sorted((r["weight"] for r in ranking), reverse=True)
    weights = trace(CLASSIC, model).weights
    assert all(r["weight"] == weights[r["layer"] - 1, r["head_in_layer"] - 1, 10, 2] for r in ranking)


# Refusals


@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", ""),
        ("trace", "x", "--layer", "7"),
        ("trace", "x", "--layer", "0"),
        ("trace", "x", "--layer", "1", "--head", "13"),
        ("trace", "x", "--head", "2"),
        ("trace", "x", "--from", "cat"),
        ("trace", "x x", "--from", "x#3"),
        ("trace", "hi there", "--from", "hi#" + "9" * 5000),
        ("trace", "x", "--to", "x"),
        ("trace", "x", "--from", "x", "--top", "-1"),
        ("trace", "x", "--format", "json", "--out", "/nowhere/at/all"),
        ("trace", "x", "--model", "no such model"),
        ("trace", "x", "--model", "/etc"),
        ("trace", "x", "--device", "tpu"),
        ("trace", "x", "--precision", "int8"),
        ("trace", "x", "--format", "xml"),
        ("trace", "x", "--layer", "four"),
        ("trace",),
        (),
        ("sing",),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(arguments, run, model):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert 0 < len(err) < 600
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_folder_and_the_untrained_twin_are_models_too(run, tmp_path):
    write(tmp_path / "bert")
    for more, trained in (((), True), (("--untrained",), False)):
        code, out, _ = run("trace", "x y", "--model", str(tmp_path / "bert"), "--format", "json", *more)
        content = json.loads(out)
        assert (code, content["n_layers"], content["n_heads"], content["trained"]) == (0, 3, 5, trained)


@pytest.mark.slow
def test_as_a_process_it_writes_the_ranking_and_nothing_else():
    done = process("trace", CLASSIC, "--from", "it", "--to", "animal")
    out, err = done.communicate(timeout=120)
    assert (done.returncode, err) == (0, b"")
    heading, first, *_ = (line.split() for line in out.decode().splitlines())
    assert dict(zip(heading, first, strict=True)) | {"weight": float(first[4])} == {
        "rank": "1", "head": "4-2", "layer": "4", "head_in_layer": "2", "weight": pytest.approx(0.677), "key": "2",
        "key_text": "animal",
    }  # fmt: skip
