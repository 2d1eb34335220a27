"""Faults put in on purpose, one at a time: does a test notice? `make mutants`, or `python tests/mutants.py --help`.

Each file in tests/mutants lists the faults of one area. A fault is a text found exactly once in a file, what stands
there instead, and the tests that must then fail. All of it happens in a copy of the tree.
"""

import argparse
import compileall
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from itertools import groupby
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import Queue
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
NEEDED = 0.95  # of an area's faults
PATIENCE = (
    180.0  # seconds for tests that are new; afterwards five times what they took without a fault, and this
)
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
# A test that skips notices nothing.
ENVIRONMENT = {"REQUIRE_CHROMIUM": "1", "REQUIRE_NODE": "1", "OMP_NUM_THREADS": "1"}
# Imported once, in a process of which every run of tests is a fork: nothing of ours, for there the faults are.
WARM = multiprocessing.get_context("forkserver")
WARM.set_forkserver_preload(
    [
        *("torch", "pandas", "plotly.graph_objects", "streamlit.testing.v1", "transformers", "scipy.stats"),
        *("tokenizers", "safetensors.torch", "starlette.testclient", "playwright.sync_api", "hypothesis"),
        *("pytest", "_pytest.assertion"),
    ]
)
ALREADY = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
NOTICED, SURVIVED, ENDLESS = "noticed", "SURVIVED", "noticed (did not end)"
say_now = partial(print, flush=True)


@dataclass(frozen=True)
class Fault:
    """One entry: in `file`, `new` instead of `old`; `survives` is the reason why no test can see it."""

    area: str
    file: str
    what: str
    old: str
    new: str
    tests: str
    survives: str = ""


@dataclass(frozen=True)
class Ending:
    """How pytest ended: its exit status (None: it did not end in time), seconds, and the end of what it said."""

    status: int | None
    seconds: float
    said: str

    def broken(self) -> str | None:
        """Why this says nothing about a fault; None if tests ran, or did not end."""
        if self.status not in (0, 1, None):
            return f"pytest ended with {self.status}: {self.said}"
        return f"the tests cannot be collected: {self.said}" if "ERROR collecting" in self.said else None


def read(folder: Path, areas: Iterable[str] = ()) -> list[Fault]:
    """The entries of the areas named, or of all."""
    found = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if unknown := set(areas) - set(found):
        raise SystemExit(f"no such area: {', '.join(sorted(unknown))}; there are: {', '.join(found)}")
    known = {field.name for field in fields(Fault)} - {"area"}
    faults = []
    for area in areas or found:
        for entry in tomllib.loads(found[area].read_text(encoding="utf-8")).get("fault", []):
            if wrong := (set(entry) ^ known) - {"survives"}:
                raise SystemExit(f"{area}: missing or unknown {sorted(wrong)} in {entry}")
            faults.append(Fault(area, **entry))
    return faults


def problem(fault: Fault, tree: Path) -> str | None:
    """Why the entry does not apply to this tree; None if it does."""
    if not (tree / fault.file).is_file():
        return f"there is no {fault.file}"
    times = (tree / fault.file).read_bytes().decode().count(fault.old) if fault.old else 0
    if times != 1:
        return f"the text stands {times} times in {fault.file}"
    if fault.old == fault.new:
        return "old and new are the same"
    missing = [
        a
        for a in shlex.split(fault.tests)
        if a.startswith("tests/") and not (tree / a.split("::")[0]).exists()
    ]
    return f"there is no {missing[0]}" if missing else None


def pytest_in(tree: Path, arguments: list[str], out: Path, environment: dict[str, str]) -> None:
    """Be `python -m pytest` in `tree`, in this process, with what it says in the file `out`."""
    with out.open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(tree)
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in environment
    sys.path[:] = [
        str(tree),
        *(place for place in sys.path if not Path(place or ".").is_relative_to(ROOT / "tests")),
    ]
    import pytest
    import torch

    torch.set_num_threads(1)  # a variable of the environment comes too late for it
    code = pytest.main(arguments)
    sys.stdout.flush()
    sys.exit(int(code))


def run_tests(tests: str, tree: Path, patience: float = PATIENCE, sound: bool = False) -> Ending:
    """Run pytest in `tree` until the first failure; only in a sound tree are compiled files kept."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        out = Path(folder, "said")
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-W", ALREADY, "--basetemp", f"{folder}/kept"]
        arguments += shlex.split(tests)
        kept = {} if sound else {"PYTHONDONTWRITEBYTECODE": "1"}
        given = {**os.environ, **ENVIRONMENT, **kept}
        process = WARM.Process(target=pytest_in, args=(tree, arguments, out, given))
        process.start()
        process.join(patience)
        status = process.exitcode
        if status is None:
            started = psutil.Process(process.pid).children(recursive=True)
            for one in [process, *started]:
                one.kill()  # the app and the browser live in sessions of their own
            process.join()
            psutil.wait_procs(started, timeout=10)
        said = out.read_text(errors="replace") if out.is_file() else ""
        return Ending(status, time.monotonic() - start, said[-3000:])


def verdict(fault: Fault, tree: Path, before: Ending) -> str:
    """Put the fault in, run its tests, take it out: NOTICED, SURVIVED, ENDLESS, or what is wrong with the entry."""
    if before.status != 0:
        return f"its tests fail without it: {before.said}"
    path = tree / fault.file
    sound = path.read_bytes()
    path.write_bytes(sound.decode().replace(fault.old, fault.new).encode())
    try:
        ending = run_tests(fault.tests, tree, PATIENCE + 5 * before.seconds)
    finally:
        path.write_bytes(sound)
    return ending.broken() or {0: SURVIVED, 1: NOTICED, None: ENDLESS}[ending.status]


@contextmanager
def copies(number: int) -> Iterator["Queue[Path]"]:
    """So many copies of the tree, which are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees: Queue[Path] = Queue()
        for name in range(number):
            trees.put(shutil.copytree(ROOT, Path(folder, str(name)), ignore=LEFT_OUT))
        yield trees


def in_copies(work: list[Callable[[Path], Any]], trees: "Queue[Path]") -> list[Any]:
    """Do each piece of work in a tree that nobody else uses meanwhile, or two faults would meet."""

    def one(piece: Callable[[Path], Any]) -> Any:
        tree = trees.get()
        try:
            return piece(tree)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(trees.qsize()) as pool:
        return list(pool.map(one, work))


def files_of(tests: str) -> str:
    """What is given to pytest, without the -k at its end."""
    return tests.partition(" -k ")[0]


def without_a_fault(choices: list[str], tree: Path) -> dict[str, Ending]:
    """How the tests of choices of the same files end in a sound tree: all in one run; if it fails, each alone."""
    words = [tests.partition(" -k ")[2] for tests in choices]
    if len(choices) > 1 and all(words):
        chosen = " or ".join(f"({' '.join(shlex.split(each))})" for each in words)
        together = run_tests(
            f"{files_of(choices[0])} -k {shlex.quote(chosen)}", tree, len(words) * PATIENCE, sound=True
        )
        if together.status == 0:
            return dict.fromkeys(choices, together)
    return {tests: run_tests(tests, tree, sound=True) for tests in choices}


def try_all(faults: list[Fault], trees: "Queue[Path]", say: Callable[[str], None] = say_now) -> list[str]:
    """The verdict on each fault; what looks at it is run without it first, once for all that name the same tests."""
    for tree in list(
        trees.queue
    ):  # compiled files known by what they were made of, not by when: faults take no time
        compileall.compile_dir(tree, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    answers: dict[Fault, str] = {}

    def judged(some: list[Fault], tree: Path) -> None:
        before = without_a_fault(list(dict.fromkeys(fault.tests for fault in some)), tree)
        for fault in some:
            answers[fault] = problem(fault, tree) or verdict(fault, tree, before[fault.tests])
            say(f"{answers[fault].splitlines()[0]:10} {fault.area}: {fault.what} ({fault.file})")

    def together(fault: Fault) -> tuple[str, str]:
        return fault.area, files_of(fault.tests)

    order = {area: place for place, area in enumerate(dict.fromkeys(fault.area for fault in faults))}
    ordered = sorted(faults, key=lambda fault: (order[fault.area], files_of(fault.tests)))
    in_copies([partial(judged, list(some)) for _, some in groupby(ordered, together)], trees)
    return [answers[fault] for fault in faults]


def report(faults: list[Fault], verdicts: list[str], say: Callable[[str], None] = say_now) -> bool:
    """Say per area how many were noticed and which were not; False if an area has too few, or an entry is broken."""
    good = True
    for area in dict.fromkeys(fault.area for fault in faults):
        told = [(fault, said) for fault, said in zip(faults, verdicts, strict=True) if fault.area == area]
        real = [(fault, said) for fault, said in told if not fault.survives]
        noticed = sum(said in (NOTICED, ENDLESS) for _, said in real)
        say(f"\n{area}: {noticed}/{len(real)} noticed, {len(told) - len(real)} that no test can see")
        for fault, said in told:
            excused = fault.survives and said == SURVIVED
            if fault.survives and not excused:
                say(f"  {fault.file}: {fault.what}: the entry says that no test can see it\n    {said}")
            elif not excused and said not in (NOTICED, ENDLESS):
                say(f"  {fault.file}: {fault.what} [{fault.tests}]\n    {said}")
            good &= bool(excused) if fault.survives else said in (NOTICED, ENDLESS, SURVIVED)
        good &= noticed >= NEEDED * len(real)
    return good


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "areas", nargs="*", help="names of files in tests/mutants, without .toml; all if left out"
    )
    parser.add_argument(
        "-k", metavar="WORDS", default="", help="only faults whose file or description has these"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="faults tried at the same time, a copy of the tree each"
    )
    parser.add_argument("--check", action="store_true", help="only see that every entry applies")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    faults = [f for f in read(ROOT / "tests/mutants", given.areas) if given.k in f"{f.file} {f.what}"]
    stale = [f"{fault.area}: {fault.what}: {why}" for fault in faults if (why := problem(fault, ROOT))]
    print(*stale, f"{len(faults)} faults, {len(stale)} of them do not apply", sep="\n")
    if given.check or not faults:
        return bool(stale)
    with copies(given.jobs) as trees:
        return not report(faults, try_all(faults, trees))


if __name__ == "__main__":
    raise SystemExit(main())
