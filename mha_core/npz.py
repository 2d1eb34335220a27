"""Dataclasses of arrays as bytes, and back: one .npz archive, no pickle.

In: a dataclass of plain values, arrays, tuples, mappings by text and other dataclasses. Out: an archive with a member
for every array, and one, PLAIN, for all else as JSON. Reading goes by the annotations of the class.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from io import BytesIO
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

PLAIN, ARRAY = "plain", "array of the archive"
T = TypeVar("T")


def to_bytes(value: Any) -> bytes:
    """Return a dataclass as the bytes of an .npz archive."""
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(_plain(value, arrays)).encode()
    file = BytesIO()
    np.savez(file, allow_pickle=False, **{PLAIN: np.frombuffer(text, dtype=np.uint8)}, **arrays)
    return file.getvalue()


def from_bytes(kind: type[T], data: bytes) -> T:
    """Return the dataclass that `to_bytes` was given. Raises ValueError for bytes that are no such archive."""
    with np.load(BytesIO(data), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    value: T = _built(kind, json.loads(arrays[PLAIN].tobytes()), arrays)
    return value


def _plain(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value for JSON; its arrays go into `arrays`, their names in their places."""
    if isinstance(value, np.ndarray):
        name = f"array-{len(arrays)}"
        arrays[name] = value
        return {ARRAY: name}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), arrays) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(each, arrays) for name, each in value.items()}
    return [_plain(each, arrays) for each in value] if isinstance(value, tuple) else value


def _built(hint: Any, value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return a value of JSON as its annotation's type."""
    if isinstance(value, dict):
        if ARRAY in value:
            return arrays[value[ARRAY]]
        if kind := _class_of(hint, frozenset(value)):
            hints = _hints(kind)
            return kind(**{name: _built(hints[name], each, arrays) for name, each in value.items()})
        inner = (get_args(hint) or (str, Any))[1]
        return {name: _built(inner, each, arrays) for name, each in value.items()}
    if isinstance(value, list):
        inner = get_args(hint)[0] if get_args(hint) else Any
        return tuple(_built(inner, each, arrays) for each in value)
    return value


@cache
def _class_of(hint: Any, names: frozenset[str]) -> Any:
    """Return the dataclass of an annotation, of several the one with these fields."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return next((k for k in kinds if is_dataclass(k) and {field.name for field in fields(k)} == names), None)


_hints = cache(get_type_hints)
