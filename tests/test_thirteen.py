"""The thirteen trials of `make faults`: as many rows on the operating page, and a criterion that is not met fails."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "tests" / "thirteen"


@pytest.fixture(scope="module")
def thirteen():
    """The program, as `python tests/thirteen` finds it."""
    sys.path.insert(0, str(PLACE))
    try:
        from thirteen import __main__

        yield __main__
    finally:
        sys.path.remove(str(PLACE))
        for name in ("house", "models", "readers", "strain", "hub_stub"):
            sys.modules.pop(name, None)


def test_the_operating_page_has_a_row_for_each_with_its_criterion(thirteen):
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    found = {int(number): (name, criterion) for number, name, criterion, _ in rows}
    assert found == {number: (fault.name, fault.criterion) for number, fault in thirteen.FAULTS.items()}
    assert sorted(found) == list(range(1, 14))


def test_a_row_says_what_was_measured_and_one_that_fails_fails_the_whole(thirteen, monkeypatch, capsys):
    def lost():
        raise TimeoutError("nothing after 5 s")

    outcomes = {
        1: lambda: thirteen.house.Outcome(True, "30/30"),
        2: lambda: thirteen.house.Outcome(False, "29/30"),
        3: lost,
    }
    monkeypatch.setattr(
        thirteen, "FAULTS", {n: thirteen.Fault(f"fault {n}", "all", trial) for n, trial in outcomes.items()}
    )
    assert thirteen.main(["1"]) == 0
    assert thirteen.main([]) == 1
    said = capsys.readouterr().out
    assert re.search(r"^ 1  pass  fault 1 \(all\): 30/30 \[0 s\]$", said, re.MULTILINE)
    assert re.search(r"^ 2  FAIL  fault 2 \(all\): 29/30 \[0 s\]$", said, re.MULTILINE)
    assert re.search(r"^ 3  FAIL .* the trial ended with TimeoutError", said, re.MULTILINE)
    assert said.endswith("1 of 3\n")
