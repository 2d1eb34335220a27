"""What takes seconds to make is made once for all processes of a run of the tests."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

T = TypeVar("T")
folder = Path()  # shared by all processes of the run; conftest.py says which


def once(name: str, make: Callable[[], T]) -> T:
    """The value of that name: made by the process that asks first, read by the others, which wait for it."""
    file = folder / f"{name}.pickle"
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            file.write_bytes(pickle.dumps(make()))
    return pickle.loads(file.read_bytes())  # noqa: S301 - a run of the tests in this folder wrote it
