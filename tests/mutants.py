"""Faults put in on purpose, one at a time: does a test notice? `make mutants`, or `python tests/mutants.py --help`.

Each file in tests/mutants lists the faults of one area. A fault is a text found exactly once in a file, what stands
there instead, and the tests that must then fail. All of it happens in a copy of the tree.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
NEEDED = 0.95  # of an area's faults
PATIENCE = (
    180.0  # seconds for tests that are new; afterwards five times what they took without a fault, and this
)
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
# A test that skips notices nothing, and a compiled file of the same second hides the next fault.
ENVIRONMENT = {
    "REQUIRE_CHROMIUM": "1",
    "REQUIRE_NODE": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
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


def run_tests(tests: str, tree: Path, patience: float = PATIENCE) -> Ending:
    """Run pytest in `tree` until the first failure."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *shlex.split(tests)]
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        process = subprocess.Popen(
            command, cwd=tree, env={**os.environ, **ENVIRONMENT}, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            status: int | None = process.wait(patience)
        except subprocess.TimeoutExpired:
            status = None
            started = psutil.Process(process.pid).children(recursive=True)
            for one in [process, *started]:
                one.kill()  # the app and the browser live in sessions of their own
            process.wait()
            psutil.wait_procs(started, timeout=10)
        out.seek(0)
        return Ending(status, time.monotonic() - start, out.read()[-3000:])


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


def try_all(faults: list[Fault], trees: "Queue[Path]", say: Callable[[str], None] = say_now) -> list[str]:
    """The verdict on each fault; its tests are run without it first, once for all faults that name the same."""
    tests = sorted({fault.tests for fault in faults})
    say(f"the tests without a fault: {len(tests)} choices")
    before = dict(zip(tests, in_copies([partial(run_tests, t) for t in tests], trees), strict=True))

    def judged(fault: Fault, tree: Path) -> str:
        answer = problem(fault, tree) or verdict(fault, tree, before[fault.tests])
        say(f"{answer.splitlines()[0]:10} {fault.area}: {fault.what} ({fault.file})")
        return answer

    return in_copies([partial(judged, fault) for fault in faults], trees)


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
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees: Queue[Path] = Queue()
        for number in range(given.jobs):
            trees.put(shutil.copytree(ROOT, Path(folder, str(number)), ignore=LEFT_OUT))
        return not report(faults, try_all(faults, trees))


if __name__ == "__main__":
    raise SystemExit(main())
