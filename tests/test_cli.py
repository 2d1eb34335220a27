"""The command line where something is wrong, full, closed, odd or stopped: one sentence, exit code, whole files."""

import io
import json
import os
import shlex
import signal
import stat
import sys
import threading
import time
import traceback
from pathlib import Path

import pytest

from mha_core.cli import main, output
from mha_core.errors import InputError
from mha_core.record.export import safe_cell


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


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " =", "\n@"])
def test_a_cell_that_would_start_a_formula_is_text(start):
    assert safe_cell(start + "1+1") == "'" + start + "1+1"
    assert safe_cell("a=1") == "a=1"


@pytest.mark.parametrize("line", [
    "trace ''", "trace x --layer 7", "trace x --layer 0", "trace x --layer 1 --head 13", "trace x --head 2",
    "trace x --from cat", "trace 'x x' --from x#3", f"trace 'hi there' --from hi#{'9' * 5000}", "trace x --to x",
    "trace x --from x --top -1", "trace x --format json --out /nowhere/at/all", "trace x --model 'no such model'",
    "trace x --model /etc", "trace x --device tpu", "atlas --head 9-9",
    f"trace x --model classroom --sha256 {'0' * 64}", "trace x --precision int8", "trace x --format xml",
    "trace x --layer four", "trace", "", "sing",
], ids=lambda line: line[:40])  # fmt: skip
def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(line, run, model):
    code, out, err = run(*shlex.split(line))
    assert (code, out) == (2, "")
    assert 0 < len(err) < 600
    assert err.count("\n") == 1


def test_a_file_of_texts_that_is_too_large_is_refused_before_it_is_read(run, tmp_path):
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(10_000_001)
    code, _, err = run("trace", "--file", str(tmp_path / "large.txt"))
    assert (code, err) == (2, f"'{tmp_path / 'large.txt'}' has more than 10,000,000 bytes.\n")


def interrupt_once_a_model_runs():
    """Press Ctrl-C as soon as the main thread is in the engine."""
    main_thread, end = threading.main_thread().ident, time.monotonic() + 30
    while time.monotonic() < end:
        stack = traceback.extract_stack(sys._current_frames()[main_thread])
        if any("mha_core/engine/multihead.py" in frame.filename for frame in stack):
            break
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("learn", "jobs"),
        ("trace", "--file", "text.txt", "--model", "classroom", "--out", "out"),
        ("roles", "text.txt", "--model", "classroom"),
        ("roles", "text.txt", "other.txt", "--model", "classroom", "--part", "2/2", "--out", "out"),
        ("similarity", "text.txt", "--model", "classroom"),
        ("atlas", "text.txt", "--model", "classroom"),
        ("atlas", "text.txt", "--model", "classroom", "--part", "1/1", "--out", "out"),
    ],
)
def test_what_is_interrupted_ends_with_130_and_leaves_no_file(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    lines = [f"The dog{' ran' * (i % 9)} home {i} times.\n" for i in range(5_000)]  # work for seconds
    Path("text.txt").write_text("".join(lines))
    Path("other.txt").write_text("".join(lines[::-1]))
    # What was started in the background, such as a whole run of the tests, may ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    stop = threading.Thread(target=interrupt_once_a_model_runs)
    stop.start()
    try:
        code, _, err = run(*arguments)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        stop.join()
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


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    output.write_file(link, "new")
    assert (path.read_text(), link.is_symlink(), stat.S_IMODE(path.stat().st_mode)) == ("new", True, 0o640)
    before = os.umask(0o027)
    try:
        for name in ("first", "second"):
            output.write_file(tmp_path / name, "new")
        (tmp_path / "by hand").touch()
    finally:
        os.umask(before)
    names = ["by hand", "first", "second"]
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names]
    assert modes == [0o640] * 3, "as the process makes its files, before and after"

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError):
        output.write_file(path, "newer")
    assert path.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*names, "link.json", "x.json"])


def test_a_device_and_a_pipe_take_bytes(tmp_path):
    output.write_file(Path("/dev/null"), "x")
    with pytest.raises(InputError):
        output.write_file(Path("/dev/full"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
