"""Weights as files of a size that a host can serve; float32 matrices in less than two thirds of their bytes.

In: arrays by name. Out: the bytes of each part, and where every stretch of rows lies in it and in the plain bytes, one
array after the other, that the page makes of them. A stretch of a float32 matrix is its scales (float32, a row each),
the upper 16 bits of its numbers, then their lower 4 bits, two numbers a byte: 20 bits a number. Others are their bytes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

PART = 16 << 20  # bytes
TOP = 2**19 - 1  # the largest number of 20 bits with a sign


def pack(arrays: Mapping[str, NDArray[Any]]) -> tuple[list[bytes], list[dict[str, Any]]]:
    """Pack the arrays. Returns the parts, and a list of stretches: {name, part, at, to, rows, columns} of a matrix,
    {name, part, at, to, plain} of so many plain bytes; `at` and `to` in bytes."""
    parts, stretches, to = [bytearray()], list[dict[str, Any]](), 0
    for name, array in arrays.items():
        is_packed = array.ndim == 2 and array.dtype == np.float32
        table = array if is_packed else np.frombuffer(_little(array), np.uint8)
        first = 0
        while first < len(table):
            room = (PART - len(parts[-1])) // (_row_bytes(table.shape[1]) if is_packed else 1)
            if not room:
                parts.append(bytearray())
                continue
            rows = table[first : first + room]
            shape = {"rows": rows.shape[0], "columns": rows.shape[1]} if is_packed else {"plain": rows.size}
            stretches.append({"name": name, "part": len(parts) - 1, "at": len(parts[-1]), "to": to, **shape})
            parts[-1] += _packed(array[first : first + room]) if is_packed else rows.tobytes()
            parts[-1] += bytes(-len(parts[-1]) % 4)
            to += rows.nbytes
            first += len(rows)
    return [bytes(part) for part in parts], stretches


def _little(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def _row_bytes(columns: int) -> int:
    """Return the most bytes that a packed row takes, filled up to whole words."""
    return 4 + (5 * columns + 1) // 2 + 1 + 4


def _packed(rows: NDArray[np.float32]) -> bytes:
    scale = (np.abs(rows).max(axis=1, keepdims=True) / TOP).astype("<f4")
    scale[scale == 0] = 1
    numbers = (np.clip(np.rint(rows / scale), -TOP, TOP).astype(np.int32) + TOP + 1).ravel()
    low = np.pad((numbers & 15).astype(np.uint8), (0, numbers.size % 2)).reshape(-1, 2)
    packed: bytes = (
        scale.tobytes() + (numbers >> 4).astype("<u2").tobytes() + (low[:, 0] | low[:, 1] << 4).tobytes()
    )
    return packed
