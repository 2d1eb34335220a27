"""The processor's seconds that each test takes: what takes long and is not marked so is named after a run.

A note and never a failure: how long a test takes says how busy the machine is, too. After it stands how many of the
tests marked `long` were left out.
"""

import os
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import pytest

SECONDS = 1.5  # of the processor, its own and that of what it started and waited for: `slow` from here on
LONG_SECONDS = 8.0  # and `long` from here on
LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", sum(os.times()[:4]) - before))


def too_long(reports: Iterable[Any], seconds: float, *marks: str) -> list[str]:
    """The tests that took more than so many seconds and have none of these marks, the longest first."""
    unmarked = [one for one in reports if one.when == "call" and not {*marks} & set(one.keywords)]
    took = {one.nodeid: dict(one.user_properties).get("cpu", 0.0) for one in unmarked}
    return [
        f"{took[n]:.1f} s {n}" for n in sorted(took, key=took.__getitem__, reverse=True) if took[n] > seconds
    ]


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long"):
            item.config.stash[LEFT_OUT] = item.config.stash.get(LEFT_OUT, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every process leaves out the same."""
    if hasattr(node, "workeroutput"):
        node.config.stash[LEFT_OUT] = node.workeroutput["left_out"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = terminalreporter.getreports("passed")
    for mark, seconds, others in (("slow", SECONDS, ["browser"]), ("long", LONG_SECONDS, [])):
        if named := too_long(reports, seconds, mark, *others):
            terminalreporter.section(f"not marked {mark}, and more than {seconds} s of the processor")
            terminalreporter.write_line("\n".join(named))
    if left := terminalreporter.config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{left} long tests left out: `make test ALL=1` runs them too")
