"""Tallies and blocks as bytes of a part file, and back: arrays as arrays, the rest as JSON."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import Any

import numpy as np

from mha_core.heads.corpora import PronounCase, Sentence
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.meaning import Kept
from mha_core.heads.questions.pronouns import Choice
from mha_core.heads.questions.syntax import Looks
from mha_core.heads.statistics import Block
from mha_core.heads.tally import Sums, TalliedRule, Tally
from mha_core.parts import pack, unpack

Arrays = Mapping[str, np.ndarray]
SUMS = ("documents", "steps", "whole")
# What a block holds: the class of a record, and of the text within it.
RECORDS: dict[str, tuple[type[Any], str, type[Any]]] = {
    "looks": (Looks, "sentence", Sentence),
    "related": (Kept, "sentence", Sentence),
    "choices": (Choice, "source", PronounCase),
}


def pack_tally(found: Tally) -> bytes:
    """Return a tally as bytes."""
    sums = {name: getattr(found, name) for name in SUMS}
    about = {
        "question": vars(found.question),
        "rules": [vars(rule) for rule in found.rules],
        "others": found.others,
        "has_mass": found.has_mass,
        "binary": found.binary,
        "keys": {name: (one.shift, one.most) for name, one in sums.items()},
    }
    arrays = {f"{name}/": one.keys for name, one in sums.items()}
    arrays |= {
        f"{name}/{column}": one.columns[column] for name, one in sums.items() for column in one.columns
    }
    return pack(about, arrays)


def unpack_tally(data: bytes) -> Tally:
    """Return a tally from its bytes."""
    about, arrays = unpack(data)
    sums = []
    for name in SUMS:
        columns = {
            key.partition("/")[2]: values for key, values in arrays.items() if key.startswith(f"{name}/")
        }
        sums.append(Sums(columns.pop(""), columns, *about["keys"][name]))
    rules = tuple(TalliedRule(**rule) for rule in about["rules"])
    return Tally(
        Question(**about["question"]),
        rules,
        tuple(about["others"]),
        about["has_mass"],
        about["binary"],
        *sums,
    )


def pack_block(block: Block) -> bytes:
    """Return a block as bytes."""
    about: dict[str, Any] = {"corpus": block.corpus}
    arrays: dict[str, list[np.ndarray]] = defaultdict(list)
    for name, (_, inner, _) in RECORDS.items():
        about[name] = [_record(one, inner, name, arrays) for one in getattr(block, name)]
    return pack(about, {name: np.concatenate(values) for name, values in arrays.items()})


def _record(one: Any, inner: str, name: str, arrays: dict[str, list[np.ndarray]]) -> dict[str, Any]:
    """A record's plain values, the shapes of its arrays in their places."""
    row = {field.name: getattr(one, field.name) for field in fields(one)}
    for key, value in row.items():
        if isinstance(value, np.ndarray):
            arrays[f"{name}/{key}"].append(value.ravel())
            row[key] = value.shape
    return row | {inner: vars(row[inner])}


def unpack_block(data: bytes) -> Block:
    """Return a block from its bytes."""
    about, arrays = unpack(data)
    return Block(about["corpus"], **{name: _records(about[name], name, arrays) for name in RECORDS})


def _records(rows: Sequence[dict[str, Any]], name: str, arrays: Arrays) -> list[Any]:
    kind, inner, text = RECORDS[name]
    for key in [key.partition("/")[2] for key in arrays if key.startswith(f"{name}/")]:
        shapes = [row[key] for row in rows]
        ends = np.cumsum([prod(shape) for shape in shapes])[:-1]
        for row, values, shape in zip(rows, np.split(arrays[f"{name}/{key}"], ends), shapes, strict=True):
            row[key] = values.reshape(shape)
    return [kind(**{key: _frozen(value) for key, value in row.items() if key != inner},
                 **{inner: text(**{key: _frozen(value) for key, value in row[inner].items()})})
            for row in rows]  # fmt: skip


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
