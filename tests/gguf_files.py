"""Small GGUF files for the tests, byte by byte."""

import struct

KINDS = {"u32": 4, "i32": 5, "bool": 7}
CODES = {"u32": "I", "i32": "i", "bool": "B"}
STRING, ARRAY = 8, 9
F32, Q4_1 = 0, 3


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(raw)) + raw


def number(kind, value):
    return struct.pack("<I" + CODES[kind], KINDS[kind], value)


def text(value):
    return struct.pack("<I", STRING) + string(value)


def strings(values):
    return struct.pack("<IIQ", ARRAY, STRING, len(values)) + b"".join(map(string, values))


def numbers(kind, values):
    packed = struct.pack(f"<{len(values)}{CODES[kind]}", *values)
    return struct.pack("<IIQ", ARRAY, KINDS[kind], len(values)) + packed


def entries(**metadata):
    """Metadata by name, each already packed; two underscores stand for a dot."""
    return [(name.replace("__", "."), value) for name, value in metadata.items()]


def tensor(name, dimensions, format=F32, offset=0, announced=None):
    """A row of the table: dimensions in the file's order, columns first."""
    count = len(dimensions) if announced is None else announced
    sizes = struct.pack(f"<{len(dimensions)}Q", *dimensions)
    return string(name) + struct.pack("<I", count) + sizes + struct.pack("<IQ", format, offset)


def gguf(metadata=(), tensors=(), data=b"", *, version=3, alignment=32, counts=None):
    """The bytes of a file. `counts` announces (tensors, entries) other than are there."""
    head = b"GGUF" + struct.pack("<IQQ", version, *(counts or (len(tensors), len(metadata))))
    head += b"".join(string(name) + value for name, value in metadata) + b"".join(tensors)
    return head + bytes(-len(head) % alignment) + data
