"""`make everywhere`: which Pythons are found, what is tried on them, and its checks on the Python that runs this."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from everywhere import ROOT, Tried, oldest_torch, plan, pythons, table
from packaging.specifiers import SpecifierSet


@pytest.fixture
def python(tmp_path):
    """`python(name, says, status)`: the path of a program that answers every question with `says`."""

    def make(name: str, says: str, status: int = 0) -> str:
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\necho {says}\nexit {status}\n")
        file.chmod(0o755)
        return str(file)

    return make


def test_the_newest_python_of_every_version_that_fits_is_found(python, tmp_path):
    shim, old, new = python("shim", "", 127), python("old", "3 12 9"), python("new", "3 12 10")
    third, fifteen = python("third", "3 13 0"), python("fifteen", "3 15 0")
    found = pythons([shim, old, new, third, fifteen, python("ten", "3 10 4"), str(tmp_path / "none")])
    assert found == {12: ((3, 12, 10), new), 13: ((3, 13, 0), third)}


def test_each_is_tried_with_the_pins_and_the_ends_with_the_oldest_and_the_newest_torch():
    assert plan({13, 11, 12}) == [
        *((11, "pinned"), (12, "pinned"), (13, "pinned")),
        *((13, "newest"), (11, "oldest")),
    ]
    assert plan({12, 13}, ["newest"]) == [(12, "newest"), (13, "newest")]
    assert plan({}) == []


def test_the_oldest_torch_is_the_one_that_the_readme_promises():
    assert f"torch {oldest_torch()} or later" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "2.6.1" in SpecifierSet(f"~={oldest_torch()}.0")
    assert "2.7.0" not in SpecifierSet(f"~={oldest_torch()}.0")


def test_the_table_says_what_failed_and_what_is_not_there():
    rows = [Tried("3.11.7", "pinned", "2.13.0", "8/8", "9 passed", 61.4)]
    rows += [Tried("3.12.1", "oldest", failed=["the_app_answers: no"])]
    head, good, bad, missing, _, below = table(rows, [14]).split("\n")
    assert head.split() == ["Python", "installed", "torch", "checks", "quick", "tests", "seconds"]
    assert good.split() == ["3.11.7", "pinned", "2.13.0", "8/8", "9", "passed", "61", "ok"]
    assert bad.split() == ["3.12.1", "oldest", "-", "-", "-", "0", "FAILED"]
    assert missing.split()[:4] == ["3.14", "not", "found", "here"]
    assert below == "3.12.1 oldest: the_app_answers: no"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A fresh environment with the wheel in it, as pip installs it; its packages are those of these tests."""
    folder = tmp_path_factory.mktemp("fresh")
    inside = folder / "bin" / "python"
    wheel = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    pip = [sys.executable, "-m", "pip", "--python", str(inside), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run(wheel, cwd=ROOT, check=True, capture_output=True, timeout=120)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    (found,) = folder.glob("*.whl")
    subprocess.run([*pip, str(found)], check=True, timeout=120)
    (site,) = folder.glob("lib/python3.*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return inside


def checked(inside: Path, folder: Path, *names: str) -> dict[str, str]:
    """What the checks say in that Python, started in this folder."""
    command = [str(inside), "-P", str(ROOT / "tests" / "installed.py"), *names]
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=600)
    return dict(json.loads(done.stdout)["checks"])


@pytest.mark.long
def test_every_check_holds_on_this_python(installed, tmp_path):
    said = checked(installed, tmp_path)
    assert len(said) == 6
    assert {name: wrong for name, wrong in said.items() if wrong} == {}


@pytest.mark.long
def test_a_warning_of_the_compiler_is_found(installed, tmp_path):
    (package,) = installed.parent.parent.glob("lib/python3.*/site-packages/mha_core")
    (package / "spoilt.py").write_text('PATTERN = "\\d"\n')
    (wrong,) = checked(installed, tmp_path, "every_file_compiles_without_a_warning").values()
    (package / "spoilt.py").unlink()
    assert "invalid escape sequence" in wrong
