"""The command line where something is full, closed, odd or stopped: a sentence, the right exit code, whole files."""

import os
import stat
from pathlib import Path

import pytest

from mha_core.cli import output
from mha_core.errors import InputError


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
        modes = []
        for name in ("first", "second"):
            output.write_file(tmp_path / name, "new")
            (tmp_path / f"by hand {name}").touch()
            modes += [stat.S_IMODE((tmp_path / each).stat().st_mode) for each in (name, f"by hand {name}")]
            for each in (name, f"by hand {name}"):
                (tmp_path / each).unlink()
    finally:
        os.umask(before)
    assert modes == [0o640] * 4, "as the process makes its files, before and after"

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError):
        output.write_file(path, "newer")
    assert path.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "x.json"]


def test_a_device_and_a_pipe_take_bytes(tmp_path):
    output.write_file(Path("/dev/null"), "x")
    with pytest.raises(InputError):
        output.write_file(Path("/dev/full"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
