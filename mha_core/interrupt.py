"""Long work that its caller can break off: the engine asks between two layers and between two rows whether to go on.

with breaking_off(check):
    trace(text, model)  # calls `check` on its way; what that raises ends the work

Nothing is left half done: what was computed so far is dropped.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Check = Callable[[], object]


def _nobody_asks() -> None:
    """Go on."""


_CHECK: ContextVar[Check] = ContextVar("check", default=_nobody_asks)


def checkpoint() -> None:
    """A place where work may end. Raises what the caller's check raises."""
    _CHECK.get()()


@contextmanager
def breaking_off(check: Check) -> Iterator[None]:
    """Call `check` at every checkpoint on the way."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)
