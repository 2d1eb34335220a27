"""The command line as a process, and where it cannot go on: one sentence, exit code 2, or 130 where it was stopped."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mha_core.cli import main
from mha_core.record.export import safe_cell

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


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " =", "\n@"])
def test_a_cell_that_would_start_a_formula_is_text(start):
    assert safe_cell(start + "1+1") == "'" + start + "1+1"
    assert safe_cell("a=1") == "a=1"


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
        ("atlas", "--head", "9-9"),
        ("trace", "x", "--model", "classroom", "--sha256", "0" * 64),
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


# Ways out


@pytest.fixture
def text(tmp_path):
    """Work for a minute, twice."""
    lines = [f"The dog{' ran' * (i % 9)} home {i} times.\n" for i in range(30_000)]
    for name, content in (("text.txt", lines), ("other.txt", lines[::-1])):
        (tmp_path / name).write_text("".join(content))
    return tmp_path / "text.txt"


def test_a_file_of_texts_that_is_too_large_is_refused_before_it_is_read(run, tmp_path):
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(10_000_001)
    code, _, err = run("trace", "--file", str(tmp_path / "large.txt"))
    assert (code, err) == (2, f"'{tmp_path / 'large.txt'}' has more than 10,000,000 bytes.\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("learn", "jobs"),
        ("trace", "--file", "TEXT", "--model", "classroom", "--out", "OUT"),
        ("roles", "TEXT", "--model", "classroom"),
        ("roles", "TEXT", "OTHER", "--model", "classroom", "--part", "2/2", "--out", "OUT"),
        ("similarity", "TEXT", "--model", "classroom"),
        ("atlas", "TEXT", "--model", "classroom"),
        ("atlas", "TEXT", "--model", "classroom", "--part", "1/1", "--out", "OUT"),
    ],
)
def test_what_is_interrupted_ends_with_130_and_leaves_no_file(run, text, tmp_path, arguments):
    # What was started in the background, such as a whole run of the tests, may ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    places = {"TEXT": str(text), "OTHER": str(text.with_name("other.txt")), "OUT": str(tmp_path / "out")}
    stop = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    stop.start()
    try:
        code, _, err = run(*(places.get(word, word) for word in arguments))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        stop.cancel()
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "Traceback" not in err
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"text.txt", "other.txt"}


@pytest.mark.parametrize(
    ("problem", "code", "lines"), [(BrokenPipeError(), 0, 0), (OSError(28, "No space left on device"), 2, 1)]
)
def test_output_that_nobody_reads_any_more_is_no_mistake_and_a_full_disk_is(
    run, monkeypatch, problem, code, lines
):
    class Output(io.StringIO):
        def write(self, _):
            raise problem

    monkeypatch.setattr(sys, "stdout", Output())
    exit_code, _, err = run("models")
    assert (exit_code, err.count("\n")) == (code, lines)


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


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".json", ".conllu", ".CSV"])
def test_a_file_that_is_no_list_of_texts_is_refused(ending, run, tmp_path):
    file = tmp_path / f"file{ending}"
    file.write_text("text,label\nThe cat sat.,1\n")
    for command in (("trace", "--file", str(file)), ("atlas", str(file))):
        code, out, err = run(*command, "--model", "classroom")
        assert (code, out) == (2, "")
        assert ".jsonl" in err


def test_a_file_of_json_lines_gives_its_texts(run, tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_text('{"text": "the cat sees the dog", "label": 1}\n\n{"text": "the dog"}\n')
    code, out, _ = run("trace", "--file", str(file), "--model", "classroom")
    assert code == 0
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["the cat sees the dog", "the dog"]
    file.write_text('{"words": "the cat"}\n')
    code, _, err = run("trace", "--file", str(file), "--model", "classroom")
    assert code != 0
    assert "Line 1" in err
