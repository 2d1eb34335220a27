"""The lines of a file or of uploaded bytes, decoded one by one; a line that is no text is a `Flaw`, never the end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mha_core.errors import InputError

# A bound for hostile files: no sentence, row or object of a real corpus comes near it.
MAX_LINE = 1_000_000


@dataclass(frozen=True)
class Flaw:
    """Why a line (counted from 1) cannot be used."""

    line: int
    what: str


class Lines:
    """The lines of a file or of uploaded bytes, decoded one by one; knows how much is behind it."""

    def __init__(self, source: Path | bytes) -> None:
        self.source = source
        self.size = len(source) if isinstance(source, bytes) else _size(source)
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
        with self.source.open("rb") as file:
            while raw := file.readline(MAX_LINE + 1):
                self.read += len(raw)
                rest = raw
                while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
                    rest = file.readline(MAX_LINE + 1)
                    self.read += len(rest)
                yield raw


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


def _size(path: Path) -> int:
    try:
        if not path.is_file():
            raise InputError(f"File not found: {path}.")
        with path.open("rb"):
            return path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
