"""The head of a GGUF file → its metadata and the table of its tensors, as they are announced.

Only what can be told from the head itself is checked here; whether the tensors lie in the file is the container's
question. Numbers are little-endian; a string is its length in 8 bytes, then UTF-8.
Source: the GGUF specification of ggml, versions 2 and 3, which differ in byte order alone.
"""

from dataclasses import dataclass
from mmap import mmap
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from mha_core.errors import ModelError

# The largest vocabularies in use need 20 MB; what a damaged file can make us hold is bounded by this.
LARGEST_HEAD = 32_000_000
MOST_ENTRIES = 65_536
MOST_DIMENSIONS = 4
SHOWN = 60
INTEGERS = {"I": Struct("<I"), "Q": Struct("<Q")}
NUMBERS = {
    kind: np.dtype(name)
    for kind, name in enumerate(
        ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<f4", "u1", "", "", "<u8", "<i8", "<f8")
    )
    if name
}
BOOL, STRING, ARRAY = 7, 8, 9


@dataclass(frozen=True)
class Announced:
    """A tensor as the head announces it: shape row-major, the number of its format, its place in the data."""

    name: str
    shape: tuple[int, ...]
    format: int
    offset: int


@dataclass(frozen=True)
class Head:
    """All that stands before the weights; `end` is the byte after it."""

    metadata: dict[str, object]
    tensors: tuple[Announced, ...]
    end: int


def read_head(data: mmap, file: str) -> Head:
    """The head of the mapped file. Raises ModelError where it is no GGUF, cut, or contradicts itself."""
    return _Cursor(data, file).head()


def shown(name: str) -> str:
    """A name out of a file as a sentence can quote it: short, and without control characters."""
    return repr(name if len(name) <= SHOWN else name[:SHOWN] + "…")


class _Cursor:
    """A place in the head; every step asks first whether so many bytes are left."""

    def __init__(self, data: mmap, file: str) -> None:
        self.data, self.file = data, file
        self.place, self.end = 0, min(len(data), LARGEST_HEAD)

    def head(self) -> Head:
        if self.data[:4] != b"GGUF":
            raise ModelError(f"'{self.file}' is not a GGUF file.")
        self.place = 4
        version = self.number("I")
        if version not in (2, 3):
            raise ModelError(f"'{self.file}' is GGUF version {version}; versions 2 and 3 are read.")
        tensors, entries = self.number("Q"), self.number("Q")
        for count, what in ((tensors, "tensors"), (entries, "entries of metadata")):
            if count > MOST_ENTRIES:
                raise ModelError(f"'{self.file}' announces {count} {what}; at most {MOST_ENTRIES} are read.")
        metadata: dict[str, object] = {}
        for _ in range(entries):
            self.entry(metadata)
        return Head(metadata, tuple(self.tensor() for _ in range(tensors)), self.place)

    def entry(self, metadata: dict[str, object]) -> None:
        name = self.string()
        if name in metadata:
            raise ModelError(f"'{self.file}' gives its metadata {shown(name)} twice.")
        metadata[name] = self.value(self.number("I"))

    def value(self, kind: int) -> object:
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            return self.array(self.number("I"), self.number("Q"))
        number: object = self.numbers(kind, 1)[0].item()
        return number

    def array(self, kind: int, count: int) -> object:
        if kind == ARRAY:
            raise ModelError(f"'{self.file}' holds an array of arrays in its metadata; such are not read.")
        if kind != STRING:
            return self.numbers(kind, count)
        self.room(8 * count)
        return [self.string() for _ in range(count)]

    def numbers(self, kind: int, count: int) -> npt.NDArray[Any]:
        if kind not in NUMBERS:
            raise ModelError(f"'{self.file}' holds metadata of type {kind}, which GGUF does not know.")
        kept = NUMBERS[kind]
        found = np.frombuffer(self.take(count * kept.itemsize), kept)
        if kind != BOOL:
            return found
        if (found > 1).any():
            raise ModelError(f"'{self.file}' is damaged: a yes or no in its metadata is neither.")
        return found.view(np.bool_)

    def tensor(self) -> Announced:
        name, dimensions = self.string(), self.number("I")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise ModelError(
                f"The tensor {shown(name)} in '{self.file}' has {dimensions} dimensions; "
                f"1 to {MOST_DIMENSIONS} are read."
            )
        shape = tuple(self.number("Q") for _ in range(dimensions))[::-1]
        return Announced(name, shape, self.number("I"), self.number("Q"))

    def string(self) -> str:
        try:
            return self.take(self.number("Q")).decode()
        except UnicodeDecodeError:
            raise ModelError(f"'{self.file}' is damaged: a text in its head is not UTF-8.") from None

    def number(self, kind: str) -> int:
        read = INTEGERS[kind]
        number: int = read.unpack(self.take(read.size))[0]
        return number

    def take(self, size: int) -> bytes:
        self.room(size)
        start, self.place = self.place, self.place + size
        return self.data[start : self.place]

    def room(self, size: int) -> None:
        if size <= self.end - self.place:
            return
        if self.end == LARGEST_HEAD:
            raise ModelError(f"The head of '{self.file}' goes on past {LARGEST_HEAD} bytes; no more is read.")
        raise ModelError(f"'{self.file}' is cut or damaged: its head runs over the end of the file.")
