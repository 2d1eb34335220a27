"""A GGUF file by memory map: its metadata, and each weight as float32 when it is asked for.

Every place and size is checked against the file's length when the file is opened, so a weight that can be asked
for can be read. Nothing that was dequantised is kept.
"""

from collections.abc import Mapping
from itertools import pairwise
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Self

from mha_core.errors import ModelError
from mha_core.gguf.header import Announced, read_head, shown
from mha_core.gguf.quantised import FORMATS, OTHERS, Floats, Format

ALIGNMENT = "general.alignment"
USUAL_ALIGNMENT = 32


class Placed(NamedTuple):
    """A tensor whose bytes lie in the file: from `start` up to `end`."""

    start: int
    end: int
    name: str
    shape: tuple[int, ...]
    format: Format


class GgufFile:
    """An open GGUF file; close it, or use it in a with statement. Reading is safe from several threads."""

    def __init__(self, data: mmap, file: str) -> None:
        head = read_head(data, file)
        self.metadata: Mapping[str, object] = MappingProxyType(head.metadata)
        first = _aligned(head.end, _alignment(self.metadata, file))
        placed = [_place(tensor, first, len(data), file) for tensor in head.tensors]
        _check_layout(placed, first, _alignment(self.metadata, file), file)
        self._data, self._file = data, file
        self._placed = {tensor.name: tensor for tensor in placed}

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(self._placed)

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Row-major, as torch has it: (rows, columns). Raises ModelError if there is no such tensor."""
        return self._find(name).shape

    def tensor(self, name: str) -> Floats:
        """The weights as a new float32 array of `shape_of(name)`. Raises ModelError if there is no such tensor."""
        tensor = self._find(name)
        return tensor.format.read(self._data, tensor.start, tensor.shape)

    def close(self) -> None:
        """Give the file back, when no thread is reading a tensor; its metadata stay, its tensors do not."""
        self._data.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _find(self, name: str) -> Placed:
        try:
            return self._placed[name]
        except KeyError:
            raise ModelError(f"'{self._file}' has no tensor {shown(name)}.") from None


def read_gguf(path: Path) -> GgufFile:
    """Open a GGUF file of version 2 or 3.

    Raises ModelError if it is missing, no GGUF, cut, damaged, or holds a number format that is not read here.
    """
    data = _mapped(path)
    try:
        return GgufFile(data, path.name)
    except ModelError:
        data.close()
        raise


def _mapped(path: Path) -> mmap:
    try:
        if not path.is_file():
            raise ModelError(f"There is no file '{path.name}'.")
        if path.stat().st_size == 0:  # which mmap cannot map
            raise ModelError(f"'{path.name}' is empty.")
        with path.open("rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)
    except OSError as problem:
        raise ModelError(f"'{path.name}' cannot be read: {problem.strerror}.") from None


def _alignment(metadata: Mapping[str, object], file: str) -> int:
    alignment = metadata.get(ALIGNMENT, USUAL_ALIGNMENT)
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise ModelError(f"'{file}' aligns its tensors to {shown(str(alignment))}, which is no power of two.")
    return alignment


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


def _place(tensor: Announced, first: int, length: int, file: str) -> Placed:
    which = f"The tensor {shown(tensor.name)} in '{file}'"
    if tensor.format not in FORMATS:
        name = OTHERS.get(tensor.format, f"number {tensor.format}, which is not known")
        read = ", ".join(known.name for known in FORMATS.values())
        raise ModelError(f"{which} is of type {name}; the types {read} are read.")
    kept = FORMATS[tensor.format]
    if prod(tensor.shape) == 0:
        raise ModelError(f"{which} has a dimension of 0, so it holds nothing.")
    if tensor.shape[-1] % kept.weights:
        raise ModelError(
            f"{which} has rows of {tensor.shape[-1]} weights, which {kept.name} cannot cut into blocks of "
            f"{kept.weights}."
        )
    start = first + tensor.offset
    end = start + kept.size(tensor.shape)
    if end > length:
        raise ModelError(
            f"{which} should end at byte {end}, but the file has {length}: it is cut or damaged."
        )
    return Placed(start, end, tensor.name, tensor.shape, kept)


def _check_layout(placed: list[Placed], first: int, alignment: int, file: str) -> None:
    names: set[str] = set()
    for tensor in placed:
        if tensor.name in names:
            raise ModelError(f"'{file}' holds two tensors named {shown(tensor.name)}.")
        names.add(tensor.name)
        if (tensor.start - first) % alignment:
            raise ModelError(
                f"The tensor {shown(tensor.name)} in '{file}' does not begin at a multiple of "
                f"{alignment} bytes."
            )
    for one, other in pairwise(sorted(placed)):
        if other.start < one.end:
            raise ModelError(
                f"The tensors {shown(one.name)} and {shown(other.name)} in '{file}' lie on one another."
            )
