"""The command line composes: formats by name or ending, standard input, files of sentences, completion."""

import csv
import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from mha_core import trace
from mha_core.cli import build_parser, main
from mha_core.command_io import flat, texts_of
from mha_core.completion import script
from mha_core.next_command import _table

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


def test_a_mark_at_the_beginning_of_a_file_is_no_part_of_its_first_sentence(tmp_path):
    file = tmp_path / "windows.txt"
    file.write_bytes("\ufeffIt sat.\r\nIt slept.\r\n".encode())
    options = build_parser().parse_args(["trace", "--file", str(file)])
    assert texts_of(options) == ["It sat.", "It slept."]


def test_a_mark_at_the_beginning_of_standard_input_is_no_part_of_its_first_sentence(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\ufeffIt sat.\nIt slept.\n"))
    assert texts_of(build_parser().parse_args(["trace", "-"])) == ["It sat.", "It slept."]


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0b"])
def test_a_line_is_one_sentence_whatever_other_signs_break_lines(run, tmp_path, sign):
    from decoder_folders import byte_tokenizer, random_decoder, write_decoder

    write_decoder(tmp_path, random_decoder("gpt2"), byte_tokenizer())
    lines = f"It{sign}sat.\nIt slept.\n"
    base = ("trace", "-", "--model", tmp_path, "--device", "cpu", "--words", "--layer", 1, "--head", 1)
    _, out, _ = run(*base, "--format", "jsonl", stdin=lines)
    assert [json.loads(row)["text"] for row in out.removesuffix("\n").split("\n")] == [
        f"It{sign}sat.",
        "It slept.",
    ]
    _, out, _ = run(*base, "--format", "csv", stdin=lines)
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert {row["sentence"] for row in rows} == {"1", "2"}
    assert all(None not in row.values() for row in rows)


def test_a_csv_of_many_sentences_has_its_headings_once(run):
    code, out, _ = run("trace", "-", "--format", "csv", "--layer", 4, "--head", 2, stdin="\n".join(SENTENCES))
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert {row["sentence"] for row in rows} == {"1", "2", "3"}
    assert {(row["layer"], row["head"]) for row in rows} == {("4", "2")}
    assert out.count("sentence,layer,head") == 1
    _, out, _ = run("trace", "-", "--format", "csv", "--from", "it", "--top", 1, stdin="it sat\nas it is\n")
    assert [line.split(",")[0] for line in out.splitlines()] == ["sentence", "1", "2"]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "npz", "txt"])
def test_the_ending_of_the_file_is_the_format_unless_one_is_named(run, tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    assert run("trace", "It rained.", "--out", path) == (0, "", "")
    if ending in ("json", "jsonl"):
        assert json.loads(path.read_text())["n_heads"] == 12
    elif ending == "csv":
        assert path.read_text().startswith("layer,head,query,key,query_text,key_text,weight\n")
    elif ending == "npz":
        assert np.load(path)["weights"].shape == (6, 12, 5, 5)
    else:
        assert path.read_text().startswith("MiniLM: 6 layers")
    run("trace", "It rained.", "--out", path, "--format", "table")
    assert path.read_text().startswith("MiniLM: 6 layers")


def test_heads_are_named_by_their_layer_whatever_is_left_out(run):
    _, out, _ = run("trace", "It rained.", "--layer", 4)
    names = [line.split()[0] for line in out.splitlines()[2:]]
    assert names == [f"4-{head}" for head in range(1, 13)]


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
def test_the_models_come_in_every_format(run, form):
    code, out, _ = run("models", "--format", form)
    assert code == 0
    if form == "json":
        assert json.loads(out)["models"][0]["name"] == "minilm"
    elif form == "jsonl":
        assert json.loads(out.splitlines()[0])["embedded"] is True
    else:
        assert out.startswith("name,title,embedded,description\n" if form == "csv" else "minilm ")


def test_next_words_of_many_texts(run, tmp_path):
    from decoder_folders import byte_tokenizer, random_decoder, write_decoder

    write_decoder(tmp_path, random_decoder("gpt2"), byte_tokenizer())
    base = ("next", "--model", tmp_path, "--top", 2, "--device", "cpu")
    code, out, _ = run(*base, "-", stdin="the\nit was\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, [row["text"] for row in rows], len(rows[0]["next"])) == (0, ["the", "it was"], 2)
    _, out, _ = run(*base, "the", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(out)))
    assert [row["rank"] for row in table] == ["1", "2"]
    assert float(table[0]["probability"]) == rows[0]["next"][0]["probability"]
    _, out, _ = run(*base, "the", "--format", "json")
    assert json.loads(out) == rows[0]
    assert rows[0]["model"]["trained"] is True
    assert "model.safetensors" in rows[0]["model"]["files"]
    _, out, _ = run(*base, "the", "--format", "json", "--untrained")
    assert json.loads(out)["model"]["trained"] is False
    _, out, _ = run(*base, "-", "--format", "table", stdin="the\nit was\n")
    lines = out.splitlines()
    assert (len(lines), lines[0], lines[3]) == (6, "the", "it was")
    assert lines[4].endswith(f"%  {rows[1]['next'][0]['token']!r}")


def test_a_text_that_is_cut_before_its_next_word_says_so(run, tmp_path):
    from decoder_folders import byte_tokenizer, random_decoder, write_decoder

    write_decoder(tmp_path, random_decoder("gpt2"), byte_tokenizer())
    for n, said in ((40, "3 tokens were"), (38, "1 token was")):
        code, _, err = run("next", "x" * n, "--model", tmp_path, "--device", "cpu")
        assert code == 0
        assert "longer than the 37 tokens" in err
        assert f"; {said} left out." in err


def test_effects_of_every_head_come_as_rows(run, tmp_path):
    from decoder_folders import byte_tokenizer, random_decoder, write_decoder

    write_decoder(tmp_path, random_decoder("gpt2"), byte_tokenizer())
    base = ("ablate", "-", "--model", tmp_path, "--device", "cpu")
    _, out, _ = run(*base, "--every", "--out", tmp_path / "x.json", stdin="the cat\n")
    effects = json.loads((tmp_path / "x.json").read_text())["effects"]
    _, out, _ = run(*base, "--every", "--format", "csv", stdin="the cat")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 15
    last = rows[-1]
    assert (last["layer"], last["head"], float(last["effect"])) == ("3", "5", pytest.approx(effects[2][4]))
    _, out, _ = run(*base, "--heads", "1-2", "--format", "jsonl", stdin="the cat")
    kinds = {json.loads(line)["run"] for line in out.splitlines()}
    assert kinds == {"before", "after"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trace",), "Give a text, or - for standard input, or --file FILE."),
        (("trace", "a", "--file", "x.txt"), "Give a text, or -"),
        (("trace", "--file", "no-such-file.txt"), "'no-such-file.txt' cannot be read: No such file"),
        (("trace", "-", "--out", "x.npz"), "NPZ holds one text; 2 are written as json, jsonl, csv or table"),
        (("trace", "-", "--pair", "x"), "a file of sentences takes none"),
        (("trace", "-", "--from", "cat"), "Text 1: 'cat' is not in the sentence"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_a_sentence(run, arguments, message):
    code, out, err = run(*arguments, stdin="it\nas it is\n")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_an_empty_standard_input_is_refused(run):
    assert run("trace", "-", stdin="\n \n") == (2, "", "There is no text in standard input.\n")


def test_progress_is_told_where_somebody_sits_at_a_terminal(run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    _, _, err = run("trace", "-", "--layer", 1, "--head", 1, stdin="it\nas it is\n")
    assert "1 of 2 texts" in err
    assert err.endswith("2 of 2 texts\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("headscope tr", ["trace"]),
        ("headscope trace it --fo", ["--format"]),
        ("headscope trace it --format j", ["json", "jsonl"]),
        ("headscope models --format c", ["csv"]),
        ("headscope heads relations --a", ["--all"]),
        ("headscope trace --model mini", ["minilm"]),
        ("headscope completion z", ["zsh"]),
    ],
)
def test_bash_completes_commands_options_and_their_choices(line, expected):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    words = line.split(" ")
    ask = f"""
COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _headscope; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        [bash, "-c", script(build_parser()) + ask], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == expected
    assert done.stderr == ""


def test_both_shells_have_a_script(run):
    code, bash, _ = run("completion", "bash")
    assert code == 0
    assert run("completion", "zsh")[1].endswith(bash)


def test_a_row_inside_a_row_has_both_names():
    assert flat({"head": "1-2", "mass": {"-1": 0.5, "at": {"0": 1}}}) == {
        "head": "1-2",
        "mass -1": 0.5,
        "mass at 0": 1,
    }


def test_a_table_of_next_tokens_has_percents_and_of_several_texts_each_text():
    one = {
        "text": "It",
        "next": [{"token": " is", "probability": 0.5}, {"token": " was", "probability": 0.0625}],
    }
    assert _table([one]) == " 50.0 %  ' is'\n  6.2 %  ' was'\n"
    assert _table([one, {"text": "We", "next": []}]) == "It\n 50.0 %  ' is'\n  6.2 %  ' was'\nWe\n"


def test_tables_of_several_sentences_stand_under_them(run, tmp_path):
    file = tmp_path / "two.txt"
    file.write_text("It rained.\nThe cat sat.\n")
    code, out, _ = run("trace", "--file", file, "--format", "table", "--layer", "1", "--head", "2")
    assert code == 0
    assert out.startswith("It rained.\nMiniLM")
    assert "\n\nThe cat sat.\nMiniLM" in out
