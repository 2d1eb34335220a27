"""The project's own prompts for what a removal may break: a name that is to be given back, a verb that must agree with
a noun over another one, and ordinary passages.

Sources of the two tasks: Wang et al. 2022, section 2 (the indirect object); Linzen et al. 2016 (agreement over an
attractor). The sentences are this project's.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mha_core.errors import InputError
from mha_core.resources import asset


@dataclass(frozen=True)
class Prompt:
    """The beginning of a sentence, the word that should come next, and the one that should not."""

    text: str
    target: str
    against: str


@dataclass(frozen=True)
class Prompts:
    """`name`: the indirect object against the subject said again; `agreement`: the verb's right form against the one
    that the nearest noun would have; `ordinary`: passages of two or three sentences."""

    name: tuple[Prompt, ...]
    agreement: tuple[Prompt, ...]
    ordinary: tuple[str, ...]


@cache
def prompts(path: Path | None = None) -> Prompts:
    """All of them. Raises InputError if the file is not what this module describes."""
    path = path or asset("experiments.json")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Prompts(
            tuple(Prompt(**row) for row in raw["name"]),
            tuple(Prompt(**row) for row in raw["agreement"]),
            tuple(map(str, raw["ordinary"])),
        )
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as flaw:
        raise InputError(f"{path.name} does not hold the prompts of the experiments ({flaw}).") from None
