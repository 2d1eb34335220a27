"""Output of every command, in one of FORMATS: a table for people; JSON, JSON lines or CSV for programs.

In: a command's result, or one a text. Out: text on standard output, or a whole file. Progress and warnings go to
standard error.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mha_core.errors import InputError
from mha_core.record.export import csv_of, json_of, rows_of

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("table", "json", "jsonl", "csv")


class CommandOutput(NamedTuple):
    """Result of a command: its rows, the values beside them in JSON, and a table for people with lines above it.

    The table is the rows unless given. Without rows JSON is `about` alone.
    """

    frame: "pd.DataFrame | None"
    about: Mapping[str, Any]
    heading: str = ""
    table: "pd.DataFrame | None" = None


def output_format(options: argparse.Namespace, default: str = "table") -> str:
    """Return the format chosen by --format or by the ending of --out."""
    if options.format is not None:
        return str(options.format)
    ending = "" if options.out is None else options.out.suffix.lower().removeprefix(".")
    return ending if ending in FORMATS else default


def write_output(options: argparse.Namespace, output: CommandOutput) -> None:
    """Write a result in the chosen format. Unknown values are null in JSON and empty elsewhere."""
    _write([_formatted(output_format(options), output)], options.out)


def write_outputs(options: argparse.Namespace, outputs: Iterable[CommandOutput]) -> None:
    """Write the results of many texts as they come, each row with the number of its text, `sentence`."""
    form = output_format(options, "jsonl")
    parts: Iterator[str] = (_formatted(form, output, number) for number, output in enumerate(outputs, 1))
    if form == "json":
        items = (("," if number else "[\n") + part for number, part in enumerate(parts))
        parts = chain(items, ["]\n"])
    _write(parts, options.out)


def answer_texts(
    options: argparse.Namespace, texts: Sequence[str], answer: Callable[[str], CommandOutput]
) -> None:
    """Write the answer to one text, or to each of many. Raises InputError, with the number of a text among many."""

    def numbered() -> Iterator[CommandOutput]:
        for number, text in enumerate(texts, 1):
            if is_terminal():
                show_progress(f"{number:,} of {len(texts):,} texts", is_last=number == len(texts))
            try:
                output = answer(text)
            except InputError as problem:
                raise InputError(f"Text {number}: {problem}") from None
            yield output

    if len(texts) == 1:
        write_output(options, answer(texts[0]))
    else:
        write_outputs(options, numbered())


def is_terminal() -> bool:
    """Return whether someone reads standard error."""
    return sys.stderr.isatty()


def show_progress(line: str, *, is_last: bool = False) -> None:
    """Replace the line of progress on standard error."""
    sys.stderr.write(f"\r{line:<60}" + ("\n" if is_last else ""))
    sys.stderr.flush()


def warn(sentence: object) -> None:
    """Write a sentence to standard error."""
    sys.stderr.write(f"{sentence}\n")


def write_file(path: Path, content: str) -> None:
    """Write a file whole or not at all: beside its place, then renamed. Raises InputError with the system's reason."""
    data = content.encode()
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():  # a device or a pipe takes bytes and no other name
            target.write_bytes(data)
            return
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(mode)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as problem:
        raise InputError(
            f"'{path}' cannot be written: {getattr(problem, 'strerror', None) or problem}."
        ) from None


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def _write(parts: Iterable[str], path: Path | None) -> None:
    """Write to standard output part by part, or whole into a file."""
    if path is not None:
        write_file(path, "".join(parts))
        return
    for part in parts:
        sys.stdout.write(part)


def _formatted(form: str, output: CommandOutput, number: int | None = None) -> str:
    frame, about, heading, table = output
    if form == "table":
        text = heading + table_text(frame if table is None else table)
        return f"{about['text']}\n{text}\n" if number else text
    if frame is None:
        return json_of(about)
    if form == "json":
        return json_of({**about, "rows": frame})
    if number is not None:
        frame = frame.assign(sentence=number)[["sentence", *frame]]
    if form == "jsonl":
        return "".join(map(json_of, rows_of(frame)))
    return csv_of(frame) if number in (None, 1) else csv_of(frame).partition("\n")[2]


def table_text(frame: "pd.DataFrame | None") -> str:
    """Return a frame for people: text to the left, numbers to the right with three decimals, a named index first."""
    if frame is None or not len(frame):
        return ""
    frame = frame.reset_index() if frame.index.name else frame
    columns = [_cells(str(name), frame.iloc[:, i]) for i, name in enumerate(frame)]
    return "".join(f"{' '.join(row).rstrip()}\n" for row in zip(*columns, strict=True))


def _cells(name: str, column: "pd.Series[Any]") -> list[str]:
    """Return a column's cells and its name, all as wide as the widest."""
    kind = column.dtype.kind
    texts = [f" {name}" if kind in "iuf" else name]  # two spaces before a column of numbers
    for value, is_unknown in zip(column, column.isna(), strict=True):
        if is_unknown:
            texts.append("")
        elif kind == "f":
            texts.append(f"{value:.3f}")
        else:
            texts.append(" ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    width = max(map(len, texts))
    return [text.rjust(width) if kind in "biuf" else text.ljust(width) for text in texts]
