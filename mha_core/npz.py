"""Dataclasses of arrays as bytes, and back: one .npz archive, no pickle.

In: a dataclass of plain values, arrays, tuples, mappings by text and other dataclasses. Out: an archive with all
arrays one after the other in one member, and in another, PLAIN, all else as JSON. Reading goes by the annotations of
the class.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from io import BytesIO
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

PLAIN, ARRAYS, ARRAY = "plain", "arrays", "array of the archive"
ALIGNED = 8  # bytes at a multiple of which an array begins
T = TypeVar("T")


def to_bytes(value: Any) -> bytes:
    """Return a dataclass as the bytes of an .npz archive."""
    data, file = bytearray(), BytesIO()
    text = json.dumps(_plain(value, data, {})).encode()
    plain, arrays = np.frombuffer(text, np.uint8), np.frombuffer(data, np.uint8)
    np.savez(file, allow_pickle=False, **{PLAIN: plain, ARRAYS: arrays})
    return file.getvalue()


def from_bytes(kind: type[T], data: bytes) -> T:
    """Return the dataclass that `to_bytes` was given. Raises ValueError for bytes that are no such archive."""
    with np.load(BytesIO(data), allow_pickle=False) as archive:
        value: T = _built(kind, json.loads(archive[PLAIN].tobytes()), archive[ARRAYS])
    return value


def _plain(value: Any, data: bytearray, written: dict[int, Any]) -> Any:
    """Return a value for JSON; its arrays go into `data`, each once, their dtype, shape and place in their places."""
    if isinstance(value, np.ndarray):
        if id(value) not in written:
            data.extend(bytes(-len(data) % ALIGNED))
            written[id(value)] = [value.dtype.str, value.shape, len(data)]
            data.extend(value.tobytes())
        return {ARRAY: written[id(value)]}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), data, written) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(each, data, written) for name, each in value.items()}
    return [_plain(each, data, written) for each in value] if isinstance(value, tuple) else value


def _built(hint: Any, value: Any, data: np.ndarray) -> Any:
    """Return a value of JSON as its annotation's type."""
    if isinstance(value, dict):
        if ARRAY in value:
            dtype, shape, start = value[ARRAY]
            return np.ndarray(shape, dtype, data, start)
        classes, _, inner = _inside(hint)
        for kind, hints in classes:
            if hints.keys() == value.keys():
                return kind(**{name: _built(hints[name], each, data) for name, each in value.items()})
        return {name: _built(inner, each, data) for name, each in value.items()}
    if isinstance(value, list):
        _, inner, _ = _inside(hint)
        return tuple(value) if inner in (int, str) else tuple(_built(inner, each, data) for each in value)
    return value


@cache
def _inside(hint: Any) -> tuple[list[tuple[Any, dict[str, Any]]], Any, Any]:
    """Return the dataclasses of an annotation with those of their fields, and of a tuple's and a mapping's values."""
    of_hint = get_args(hint)
    kinds = of_hint if get_origin(hint) in (Union, types.UnionType) else (hint,)
    classes: list[Any] = [kind for kind in kinds if is_dataclass(kind)]
    named = [(kind, get_type_hints(kind)) for kind in classes]
    every = [(kind, {field.name: hints[field.name] for field in fields(kind)}) for kind, hints in named]
    return every, (of_hint or (Any,))[0], of_hint[1] if len(of_hint) > 1 else Any
