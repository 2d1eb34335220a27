"""Packed JSON files of tables: the shipped ones and those of merged parts. The same content gives the same bytes."""

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mha_core.errors import InputError

T = TypeVar("T")


def read_packed(path: str | Path, unpack: Callable[[Any], T], noun: str) -> T:
    """Return what `unpack` makes of a file's content. Raises InputError, with its name, for one that is no `noun`."""
    try:
        return unpack(json.loads(gzip.decompress(Path(path).read_bytes())))
    except OSError as problem:
        raise InputError(f"'{path}' is no {noun}: {problem.strerror or problem}.") from None
    except (EOFError, zlib.error, ValueError, KeyError, TypeError):
        raise InputError(f"'{path}' is no {noun}; `headscope merge --table` writes one.") from None


def write_packed(content: dict[str, Any], path: Path) -> None:
    """Write the content of a file."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
