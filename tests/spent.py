"""The processor's seconds that each test takes: what is not marked `slow` and takes long is named after a run.

A note and never a failure: how long a test takes says how busy the machine is, too.
"""

import os
from collections.abc import Generator, Iterable
from typing import Any

import pytest

SECONDS = 1.5  # of the processor, its own and that of what it started and waited for


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", sum(os.times()[:4]) - before))


def too_long(reports: Iterable[Any]) -> list[str]:
    """The tests that took long and are not marked so, the longest first."""
    unmarked = [one for one in reports if one.when == "call" and not {"slow", "browser"} & set(one.keywords)]
    took = {one.nodeid: dict(one.user_properties).get("cpu", 0.0) for one in unmarked}
    return [
        f"{took[n]:.1f} s {n}" for n in sorted(took, key=took.__getitem__, reverse=True) if took[n] > SECONDS
    ]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    named = too_long(terminalreporter.getreports("passed"))
    if named:
        terminalreporter.section(f"not marked slow, and more than {SECONDS} s of the processor")
        terminalreporter.write_line("\n".join(named))
