"""The command line where something is full, closed, odd or stopped: a sentence, the right exit code, whole files."""

import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import once
import pytest

from mha_core import cli, console
from mha_core.errors import InputError
from mha_core.heads import studies

ROOT = Path(__file__).parent.parent
MODELS = [sys.executable, "-m", "mha_core", "models"]


def process(command, **more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **more.pop("env", {})}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
        **more,
    )


def one_sentence(done, code, said):
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.long
def test_a_full_device_is_a_sentence():
    with Path("/dev/full").open("w") as full:
        one_sentence(
            process(MODELS, stdout=full), 2, "The result cannot be written: No space left on device."
        )


@pytest.mark.long
def test_a_closed_output_is_a_sentence():
    done = process(["sh", "-c", 'exec "$@" >&-', "sh", *MODELS])
    one_sentence(done, 2, "Standard output is closed; name a file with --out.")


@pytest.mark.long
def test_a_closed_output_does_not_matter_to_a_file(tmp_path):
    out = tmp_path / "a.json"
    trace = [sys.executable, "-m", "mha_core", "trace", "Hi", "--format", "json", "--out", str(out)]
    assert process(["sh", "-c", 'exec "$@" >&-', "sh", *trace]).returncode == 0
    assert out.read_text().startswith("{")


@pytest.mark.long
def test_bytes_that_are_no_text_here_are_refused():
    command = [sys.executable, "-m", "mha_core", "trace", b"Caf\xff sat"]
    done = process(command, env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    one_sentence(done, 2, r"The argument 'Caf\udcff sat' holds bytes that are no text")


@pytest.mark.long
def test_an_interrupt_is_one_word_and_130():
    # A shell lets what it runs in the background ignore interrupts, and so does all that begins there.
    command = [sys.executable, "-c", "import mha_core.cli as c, mha_core.trace_command as t, signal, time;"
               "signal.signal(signal.SIGINT, signal.default_int_handler);"
               "t.trace = lambda *a, **k: (print('ready', flush=True), time.sleep(60));"
               "raise SystemExit(c.main(['trace', 'Hi']))"]  # fmt: skip
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stdout.readline() == "ready\n"
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=30)
        finally:
            running.kill()
    assert (running.returncode, said) == (130, "Stopped.\n")


def run(capsys, *arguments):
    try:
        code = cli.main(list(arguments))
    except SystemExit as stop:
        code = stop.code
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trace", "hi there", "--from", "hi#" + "9" * 5000], "'hi#999"),
        (["trace", "hi there", "--from", "hi#²"], "'hi#²' is not in the sentence"),
        (["trace", "hi there", "--layer", "9" * 5000], "invalid int value: '999"),
        (["trace", "hi there", "--from", ""], "--from is empty"),
        (["trace", "hi there", "--from", "hi", "--to", " "], "--to is empty"),
        (["trace", "hi there", "--pair", ""], "--pair is empty"),
        (["trace", "hi there", "--out", ""], "cannot be written"),
        (["trace", "hi there", "--out", "a\0b"], "cannot be written"),
        (["trace", "hi there", "--model", ""], "There is no model ''"),
    ],
)
def test_odd_arguments_are_one_short_sentence(arguments, said, capsys):
    code, printed, complaint = run(capsys, *arguments)
    assert (code, printed) == (2, "")
    assert said in complaint
    assert complaint.count("\n") == 1
    assert len(complaint) < 600


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    console.write_file(link, "new")
    assert (path.read_text(), link.is_symlink(), stat.S_IMODE(path.stat().st_mode)) == ("new", True, 0o640)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"x.json' cannot be written: No space left on device"):
        console.write_file(path, "newer")
    assert path.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "x.json"]


def test_a_new_file_may_be_read_by_whom_the_umask_lets(tmp_path):
    before = os.umask(0o022)
    try:
        console.write_file(tmp_path / "a", b"\0")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_a_device_and_a_pipe_take_bytes(tmp_path):
    console.write_file(Path("/dev/null"), "x")
    with pytest.raises(InputError, match="/dev/full' cannot be written: No space left"):
        console.write_file(Path("/dev/full"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.slow
def test_a_heads_table_is_written_where_only_ascii_is_known(tmp_path, monkeypatch, capsys):
    known = once.findings().study
    monkeypatch.setattr(studies, "study_builtin", lambda *_, **__: known)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    (tmp_path / "a.txt").write_text("Rain falls.\nSnow falls.\n")
    out = ["--out", str(tmp_path / "x.json")]
    assert cli.main(["heads", "profile", str(tmp_path / "a.txt"), *out, "--limit", "2"]) == 0
    sys.stdout.flush()
    assert "texts" in written.getvalue().decode("ascii")
    assert capsys.readouterr().err == ""
