"""The lines of a file or of uploaded bytes, decoded one by one; a line that is no text is a `Flaw`, never the end.

A file is a path or an address of fsspec ("s3://...", "https://..."); what ends in .gz is unpacked as it is read.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO

from mha_core.errors import InputError

# A bound for hostile files: no sentence, row or object of a real corpus comes near it.
MAX_LINE = 1_000_000


@dataclass(frozen=True)
class Flaw:
    """Why a line (counted from 1) cannot be used."""

    line: int
    what: str


class Lines:
    """The lines of a file or of uploaded bytes, decoded one by one; knows how much is behind it.

    `size` and `read` are bytes as they are stored; of an address the size is not asked for, and 0.
    """

    def __init__(self, source: Path | str | bytes) -> None:
        if isinstance(source, bytes):
            self.source: Path | str | bytes = source
            self.size = len(source)
        else:
            self.source = str(source) if _is_remote(source) else Path(source)
            self.size = _size(self.source)
        self.read = 0

    @property
    def fraction(self) -> float:
        """Share of the file's bytes that has been read, 0 to 1."""
        return self.read / self.size if self.size else 1.0

    def __iter__(self) -> Iterator[str]:
        """All lines. Raises InputError for the first that is no text."""
        for line in self.checked():
            if isinstance(line, Flaw):
                raise InputError(f"Line {line.line:,}: {line.what}")
            yield line

    def checked(self) -> Iterator[str | Flaw]:
        """All lines, with a Flaw in the place of one that cannot be used."""
        self.read = 0
        for number, raw in enumerate(self._raw(), start=1):
            yield _decoded(raw, number)

    def _raw(self) -> Iterator[bytes]:
        """Every line, of a longer one its beginning: one byte more than a line may have."""
        if isinstance(self.source, bytes):
            start = 0
            while start < self.size:
                stop = self.source.find(b"\n", start) + 1 or self.size
                self.read = stop
                yield self.source[start : min(stop, start + MAX_LINE + 1)]
                start = stop
            return
        with _opened(self.source) as (file, stored):
            while raw := file.readline(MAX_LINE + 1):
                rest = raw
                while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
                    rest = file.readline(MAX_LINE + 1)
                self.read = stored.tell()
                yield raw

    def digest(self) -> str:
        """Return the SHA-256 of all that is in it, unpacked."""
        if isinstance(self.source, bytes):
            return hashlib.sha256(self.source).hexdigest()
        with _opened(self.source) as (file, _):
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def name_of(address: object) -> str:
    """Return the last part of a path or address."""
    return PurePath(str(address)).name


def addresses(given: Sequence[str | Path]) -> list[str | Path]:
    """Return files as they are given, and in the place of a pattern ("*.txt") all that match, by name.

    Raises InputError for a pattern without a match.
    """
    results: dict[str | Path, None] = {}
    for each in given:
        text = str(each)
        if not any(sign in text for sign in "*?[") or (not _is_remote(each) and Path(text).exists()):
            results[each] = None
            continue
        with _readable(each):
            import fsspec

            files, path = fsspec.core.url_to_fs(text)
            matches = sorted(files.glob(path))
        if not matches:
            raise InputError(f"No file matches '{text}'.")
        results |= dict.fromkeys(
            files.unstrip_protocol(each) if _is_remote(text) else each for each in matches
        )
    return list(results)


def _is_remote(source: object) -> bool:
    return "://" in str(source)


@contextmanager
def _readable(source: object) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"File not found: {source}.") from None
    except (OSError, EOFError, zlib.error) as flaw:
        why = getattr(flaw, "strerror", None) or str(flaw) or type(flaw).__name__
        raise InputError(f"{source} cannot be read: {why}.") from None
    except (
        ImportError,
        ValueError,
    ) as flaw:  # fsspec: a protocol that is unknown, or whose package is missing
        raise InputError(f"{source} cannot be read: {flaw}.") from None


@contextmanager
def _opened(source: Path | str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A file to read, and the same as it is stored."""
    with _readable(source):
        if isinstance(source, Path):
            stored: IO[bytes] = source.open("rb")
        else:
            import fsspec

            stored = fsspec.open(source, "rb").open()
        with stored:
            packed = str(source).endswith(".gz")
            yield (gzip.GzipFile(fileobj=stored) if packed else stored), stored  # type: ignore[misc]


def numbered(lines: Iterable[str]) -> Iterator[tuple[int, str | Flaw]]:
    """Lines with their numbers; those of a file with their flaws."""
    return enumerate(lines.checked() if isinstance(lines, Lines) else lines, start=1)


def _decoded(raw: bytes, number: int) -> str | Flaw:
    if len(raw) > MAX_LINE:
        return Flaw(number, f"it is longer than {MAX_LINE:,} bytes, the most a line may have.")
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        return Flaw(number, "it is not UTF-8 text.")
    if "\0" in text:
        return Flaw(number, "it holds a NUL byte, which no text does.")
    if "\r" in text:
        return Flaw(
            number, "it holds the line ends of old Macs (carriage returns alone); save it with today's."
        )
    return text


def _size(path: Path | str) -> int:
    if isinstance(path, str):
        return 0
    try:
        if not path.is_file():
            raise InputError(f"File not found: {path}.")
        with path.open("rb"):
            return path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
