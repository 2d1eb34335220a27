"""Plain text: one sentence a line."""

from collections.abc import Iterable, Iterator

from mha_core.heads.corpora.lines import Flaw, numbered
from mha_core.heads.corpora.reading import MAX_TEXT, Reading


def read_text(lines: Iterable[str], reading: Reading | None = None) -> Iterator[tuple[int, str]]:
    """The texts of a plain file with the lines they stand on: one a line, empty lines left out."""
    reading = reading or Reading()
    for number, line in numbered(lines):
        if isinstance(line, Flaw):
            reading.broken(number, line.what)
        elif len(line) > MAX_TEXT:
            reading.broken(number, f"a text of {len(line):,} characters; {MAX_TEXT:,} are read at most.")
        elif text := line.strip():
            yield number, text
