"""What takes seconds to make is made once in a run of the tests, however many processes run them."""

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from filelock import FileLock

if TYPE_CHECKING:
    from mha_core.heads.findings import Findings

T = TypeVar("T")
folder = Path()  # shared by all processes of the run; conftest.py says which


def once(name: str, make: Callable[[], T]) -> T:
    """The value of that name: made by the process that asks first, read by the others, which wait for it."""
    file = folder / f"{name}.pickle"
    with FileLock(f"{file}.lock"):
        if not file.exists():
            file.write_bytes(pickle.dumps(make()))
    return pickle.loads(file.read_bytes())  # noqa: S301 - this run of the tests wrote it


@cache
def findings(trained: bool = True) -> "Findings":
    """What the built-in sentences tell of the embedded model's heads: nine seconds of work."""
    from mha_core import load_model
    from mha_core.heads import studies
    from mha_core.heads.builtin import read_builtin
    from mha_core.heads.findings import find

    assert studies.read_builtin is read_builtin, "a test has replaced what all others are to be given"
    return once(f"findings-{trained}", lambda: find(load_model(trained=trained)))
