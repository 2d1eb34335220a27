"""`-` where a corpus is asked for: standard input, kept in a file for as long as it is read.

A corpus is read twice and named by its digest, which a pipe cannot be. What it is, is told by how it begins.
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mha_core.command_io import STDIN
from mha_core.errors import InputError

NAME = "standard-input"
COLUMNS = 10  # of a line of CoNLL-U
BEGINNING = 100_000  # bytes that are looked at


@contextmanager
def read_from(args: argparse.Namespace, name: str, endings: Sequence[str]) -> Iterator[None]:
    """Put a file in the place of `-` in the argument `name`, a path or a list of paths, with the one of `endings` that
    fits what was read. Raises InputError where standard input is closed or is named twice."""
    given = getattr(args, name)
    paths = given if isinstance(given, list) else [given]
    if Path(STDIN) not in paths:
        yield
        return
    if paths.count(Path(STDIN)) > 1:
        raise InputError("Standard input can be read once.")
    with tempfile.TemporaryDirectory() as folder:
        file = _kept(Path(folder), endings)
        found = [file if path == Path(STDIN) else path for path in paths]
        setattr(args, name, found if isinstance(given, list) else found[0])
        yield


def said_of(path: Path | None) -> str:
    """What to call the file that was read; empty without one."""
    return "" if path is None else "standard input" if path.stem == NAME else path.name


def _kept(folder: Path, endings: Sequence[str]) -> Path:
    if sys.stdin is None:
        raise InputError("Standard input is closed.")
    whole = folder / NAME
    with whole.open("wb") as file:
        source: BinaryIO | None = getattr(sys.stdin, "buffer", None)
        if source is None:  # no file of the system's: text put in its place
            file.write(sys.stdin.read().encode())
        else:
            shutil.copyfileobj(source, file)
    with whole.open("rb") as file:
        ending = ending_of(file.read(BEGINNING).decode("utf-8-sig", "replace"), endings)
    return whole.rename(whole.with_suffix(f".{ending}"))


def ending_of(beginning: str, endings: Sequence[str]) -> str:
    """Which of the endings a text has that begins so."""
    if len(endings) > 1:
        first = re.search(r"^(?!#)(?=.*\S).*$", beginning, re.MULTILINE)
        line = first.group() if first else ""
        if "json" in endings and line.lstrip().startswith(("[", "{")):
            return "json"
        if "conllu" in endings and line.count("\t") == COLUMNS - 1:
            return "conllu"
    return next(one for one in endings if one not in ("json", "conllu") or len(endings) == 1)
