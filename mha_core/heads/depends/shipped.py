"""The numbers that come with the program: which earlier heads the named heads of the embedded encoder depend on.

In: `assets/depends.json`, made by `make depends`. Out: a `Shipped` for every head and question, or none where the
weights are others than those it was made with.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mha_core.heads.depends.questions import Choice, Question, Relation
from mha_core.heads.depends.table import Depends, Way
from mha_core.heads.tables import number
from mha_core.resources import asset
from mha_core.wording import Head, head_name

FILE = asset("depends.json")


@dataclass(frozen=True)
class Source:
    """What a measurement was made on: the corpus as people call it, its file, and the digest of what was read."""

    corpus: str
    file: str
    sha256: str


@dataclass(frozen=True)
class Shipped:
    """One measurement: `job` completes "right when ...", `command` makes it again, `model` is the weights' digest."""

    job: str
    found: Depends
    source: Source
    model: str
    command: str
    date: str


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def shipped(digest: str) -> tuple[Shipped, ...]:
    """All measurements that come with the program for the model whose files have this digest; none for another."""
    if not FILE.is_file():
        return ()
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(one for one in map(_from_row, rows) if one.model == digest)


def of_head(digest: str, head: Head) -> tuple[Shipped, ...]:
    """Those of one head, layer and head from 0."""
    return tuple(one for one in shipped(digest) if one.found.head == head)


def write(all_of: Iterable[Shipped], path: Path = FILE) -> None:
    """Write the file that `shipped` reads: one measurement a line."""
    lines = ",\n".join(json.dumps(row_of(one), ensure_ascii=False) for one in all_of)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def row_of(one: Shipped) -> dict[str, object]:
    """One measurement as JSON; heads from 1, [layer][head] of the layers before it, shares from 0 to 1."""
    found = one.found
    numbers = {"fall": found.fall, "error": found.error}
    return {
        "head": head_name(found.head),
        "job": one.job,
        "question": question_row(found.question),
        "n": found.n,
        "n_texts": found.n_texts,
        "score": round(found.score, 6),
        **{
            f"{name} ({way})": [[number(one) for one in row] for row in np.round(values[at], 6)]
            for at, way in enumerate(found.ways)
            for name, values in numbers.items()
        },
        "ways": list(found.ways),
        "corpus": one.source.corpus,
        "file": one.source.file,
        "sha256": one.source.sha256,
        "model": one.model,
        "command": one.command,
        "date": one.date,
    }


def question_row(question: Question) -> dict[str, object]:
    """A question as JSON."""
    name = question.name if isinstance(question, Relation) else None
    return {"relation": name, "reverse": question.reverse}


def _from_row(row: dict[str, Any]) -> Shipped:
    layer, head = (int(number) - 1 for number in row["head"].split("-"))
    ways: tuple[Way, ...] = tuple(row["ways"])
    fall, error = (np.array([row[f"{name} ({way})"] for way in ways]) for name in ("fall", "error"))
    name, reverse = row["question"]["relation"], row["question"]["reverse"]
    question = Choice(reverse) if name is None else Relation(name, reverse)
    found = Depends((layer, head), question, row["n"], row["n_texts"], row["score"], ways, fall, error)
    source = Source(row["corpus"], row["file"], row["sha256"])
    return Shipped(row["job"], found, source, row["model"], row["command"], row["date"])
