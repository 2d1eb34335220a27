"""Interruption of long work by its caller: the engine calls a check between two layers and between two rows.

with breaking_off(check):
    trace(text, model)  # an error that `check` raises ends the work

Partial results are dropped.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Check = Callable[[], object]


def _no_check() -> None:
    """Do nothing: the work goes on."""


_CHECK: ContextVar[Check] = ContextVar("check", default=_no_check)


def check_interrupt() -> None:
    """Call the caller's check, which raises to end the work here."""
    _CHECK.get()()


@contextmanager
def breaking_off(check: Check) -> Iterator[None]:
    """Call `check` wherever the work calls `check_interrupt`."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)
