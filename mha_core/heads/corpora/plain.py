"""Plain text, one sentence a line, or JSON lines, an object with "text" a line."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mha_core.errors import InputError
from mha_core.heads.corpora.lines import Flaw, numbered
from mha_core.heads.corpora.reading import MAX_TEXT, Reading

NOT_TEXTS = (".csv", ".tsv", ".json", ".conllu")  # endings of files whose lines are no texts


def refuse_table(place: str, ending: str) -> None:
    """Raise InputError for a file with the ending of a table or a treebank, of which each line would be a text."""
    if ending.lower() in NOT_TEXTS:
        raise InputError(
            f"{place} is no list of texts. Give .txt, a text a line, or .jsonl, an object with “text” a line."
        )


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


def read_json_lines(lines: Iterable[str], reading: Reading | None = None) -> Iterator[tuple[int, str]]:
    """The texts of JSON lines with the lines they stand on: of every object its "text"."""
    reading = reading or Reading()
    for number, line in numbered(lines):
        if isinstance(line, Flaw):
            reading.broken(number, line.what)
        elif line.strip():
            text = (json_object(line) or {}).get("text")
            if not isinstance(text, str):
                reading.broken(number, 'a line must be a JSON object with a "text".')
            else:
                yield from ((number, each) for _, each in read_text([" ".join(text.split())], reading))


def json_object(line: str) -> dict[str, Any] | None:
    """Return the JSON object that a line is; None where it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
