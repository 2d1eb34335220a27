"""Weights in GGUF's number formats → float32, exactly as llama.cpp's reference defines each block.

A quantised row is cut into blocks of 32 weights: one scale d in half precision, sometimes a minimum m, and a few
bits q for each weight. Byte i of the packed four bits holds weight i below and weight i + 16 above.
Source: ggml-quants.c, dequantize_row_*.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from mmap import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Blocks = npt.NDArray[Any]
D, M = ("d", "<f2"), ("m", "<f2")
HIGH, FOUR = ("high", "u1", (4,)), ("four", "u1", (16,))


def _halves(blocks: Blocks, out: Floats) -> None:
    np.bitwise_and(blocks["four"], 15, out=out[:, :16])
    np.right_shift(blocks["four"], 4, out=out[:, 16:])


def _q4_0(blocks: Blocks, out: Floats) -> None:
    _halves(blocks, out)
    out -= 8
    out *= _column(blocks["d"])


def _q4_1(blocks: Blocks, out: Floats) -> None:
    _halves(blocks, out)
    out *= _column(blocks["d"])
    out += _column(blocks["m"])


def _five(blocks: Blocks, out: Floats) -> None:
    _halves(blocks, out)
    # The fifth bit of weight i is bit i of a little-endian 32-bit number.
    out += np.unpackbits(blocks["high"], axis=1, bitorder="little") << 4


def _q5_0(blocks: Blocks, out: Floats) -> None:
    _five(blocks, out)
    out -= 16
    out *= _column(blocks["d"])


def _q5_1(blocks: Blocks, out: Floats) -> None:
    _five(blocks, out)
    out *= _column(blocks["d"])
    out += _column(blocks["m"])


def _q8_0(blocks: Blocks, out: Floats) -> None:
    np.multiply(blocks["eight"], _column(blocks["d"]), out=out)


def _plain(blocks: Blocks, out: Floats) -> None:
    out[:, 0] = blocks


def _bf16(blocks: Blocks, out: Floats) -> None:
    np.left_shift(blocks, 16, out=out.view(np.uint32)[:, 0], dtype=np.uint32)


def _column(halves: npt.NDArray[np.float16]) -> Floats:
    return halves.astype(np.float32)[:, None]


@dataclass(frozen=True)
class Format:
    """A number format: its name, how many weights a block holds, the block's layout, and what makes it float32."""

    name: str
    weights: int
    block: np.dtype[Any]
    write: Callable[[Blocks, Floats], None]

    def size(self, shape: tuple[int, ...]) -> int:
        """How many bytes weights of that shape take."""
        return prod(shape) // self.weights * self.block.itemsize

    def read(self, data: mmap | bytes, start: int, shape: tuple[int, ...]) -> Floats:
        """The weights that begin at byte `start` of `data`, as a new float32 array of that shape (row-major)."""
        count = prod(shape) // self.weights
        blocks = np.frombuffer(data, self.block, count, start)
        out = np.empty((count, self.weights), np.float32)
        with np.errstate(all="ignore"):  # scales that overflow or are no number are the file's own
            self.write(blocks, out)
        return out.reshape(shape)


FORMATS = {
    0: Format("F32", 1, np.dtype("<f4"), _plain),
    1: Format("F16", 1, np.dtype("<f2"), _plain),
    2: Format("Q4_0", 32, np.dtype([D, FOUR]), _q4_0),
    3: Format("Q4_1", 32, np.dtype([D, M, FOUR]), _q4_1),
    6: Format("Q5_0", 32, np.dtype([D, HIGH, FOUR]), _q5_0),
    7: Format("Q5_1", 32, np.dtype([D, M, HIGH, FOUR]), _q5_1),
    8: Format("Q8_0", 32, np.dtype([D, ("eight", "i1", (32,))]), _q8_0),
    30: Format("BF16", 1, np.dtype("<u2"), _bf16),
}

# Formats that exist and are not read here: ggml.h, enum ggml_type.
OTHERS = {
    9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K",
    16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S",
    23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 34: "TQ1_0",
    35: "TQ2_0", 39: "MXFP4", 40: "NVFP4", 41: "Q1_0",
}  # fmt: skip
