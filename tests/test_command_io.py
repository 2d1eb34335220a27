"""The command line composes: formats by name or ending, standard input, files of sentences, completion."""

import io
import json
import sys

import numpy as np
import pytest

from mha_core import trace
from mha_core.cli import main

SENTENCES = ("It rained.", "", "The cat sat because it was tired.", "The cat sat.")


@pytest.fixture
def run(capsys, monkeypatch):
    def command(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            code = main(list(map(str, arguments)))
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return command


@pytest.mark.slow
def test_a_file_of_sentences_gives_json_lines(run, model, tmp_path):
    file = tmp_path / "sentences.txt"
    file.write_text("\n".join(SENTENCES) + "\n")
    code, out, err = run("trace", "--file", file)
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [row["text"] for row in rows] == [text for text in SENTENCES if text]
    np.testing.assert_array_equal(np.float32(rows[1]["weights"]), trace(SENTENCES[2], model).weights)
    assert run("trace", "-", stdin=file.read_text()) == (0, out, "")
    assert run("trace", "--file", file, "--out", tmp_path / "x.jsonl") == (0, "", "")
    assert (tmp_path / "x.jsonl").read_text() == out
    assert run("trace", "--file", file, "--out", tmp_path / "x.json") == (0, "", "")
    assert json.loads((tmp_path / "x.json").read_text()) == rows


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".json", ".conllu", ".CSV"])
def test_a_file_that_is_no_list_of_texts_is_refused(ending, run, tmp_path):
    file = tmp_path / f"file{ending}"
    file.write_text("text,label\nThe cat sat.,1\n")
    code, out, err = run("trace", "--file", file, "--model", "classroom")
    assert (code, out) != (0, "")
    assert out == ""
    assert ".jsonl" in err


def test_a_file_of_json_lines_gives_its_texts(run, tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_text('{"text": "the cat sees the dog", "label": 1}\n\n{"text": "the dog"}\n')
    code, out, _ = run("trace", "--file", file, "--model", "classroom")
    assert code == 0
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["the cat sees the dog", "the dog"]
    file.write_text('{"words": "the cat"}\n')
    code, _, err = run("trace", "--file", file, "--model", "classroom")
    assert code != 0
    assert "Line 1" in err
