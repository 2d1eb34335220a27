"""The project's own ordinary text: 214 short passages in ten registers, for whatever asks what heads do all day.

In: assets/reader/, one file a register, one passage a line. Out: passages, each with its register. Written for this
project, no two about the same thing, and none of them made to ask a head for anything.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mha_core.errors import InputError
from mha_core.resources import asset

# In the order in which passages are read.
REGISTERS = (
    "news", "story", "letter", "recipe", "dialogue", "science", "sport", "contract", "instructions", "review",
)  # fmt: skip


@dataclass(frozen=True)
class Passage:
    """One passage of about 77 words, and what kind of text it is (one of REGISTERS)."""

    register: str
    text: str


def reader_folder() -> Path:
    """Where the passages stand."""
    return asset("reader")


@cache
def read_reader() -> tuple[Passage, ...]:
    """All passages, register by register. Raises InputError where a register's file is missing."""
    return tuple(Passage(register, line) for register in REGISTERS for line in _lines(register))


@cache
def reader_digest() -> str:
    """SHA-256 of all passages in order, one a line: what numbers shipped with the text are checked against."""
    return hashlib.sha256("".join(f"{one.text}\n" for one in read_reader()).encode()).hexdigest()


def _lines(register: str) -> list[str]:
    path = reader_folder() / f"{register}.txt"
    if not path.is_file():
        raise InputError(f"The reader's file {path.name} is missing.")
    return path.read_text(encoding="utf-8").splitlines()
