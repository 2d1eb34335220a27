"""A record on its way to the browser, in one piece of bytes; opened by assets/js/sealed.js.

Streamlit would take its numbers to Arrow, and ask of all else whether it is a table. Of weights in steps of 1/65535
the high bytes compress to two thirds, the low ones not at all: only the former are compressed, with what is no number.
"""

import json
import struct
import zlib

import numpy as np

from mha_core.draw.payload import Payload


def encode_record(payload: Payload) -> bytes:
    """Two numbers of 32 bits, the lowest byte first: how long the text is, and how much of what follows is compressed.

    Compressed (zlib) are the text, JSON of all that is no array with the arrays' names, kinds and sizes, and the high
    bytes of 16-bit numbers; then come, array by array, their low bytes, or the numbers as they are.
    """
    columns = {name: value for name, value in payload.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in payload.items() if name not in columns}
    named = [[name, value.dtype.name, value.size] for name, value in columns.items()]
    text = json.dumps({"rest": rest, "columns": named}, ensure_ascii=False, separators=(",", ":")).encode()
    high, plain = [text], list[bytes]()
    for value in columns.values():
        if value.dtype == np.uint16:
            pairs = value.astype("<u2", copy=False).view(np.uint8)
            high.append(pairs[1::2].tobytes())
            plain.append(pairs[::2].tobytes())
        else:
            plain.append(value.tobytes())
    squeeze = zlib.compressobj(1, strategy=zlib.Z_RLE)
    squeezed = squeeze.compress(b"".join(high)) + squeeze.flush()
    return struct.pack("<II", len(text), len(squeezed)) + squeezed + b"".join(plain)
