"""What every command shares: where its texts come from, in which format it answers, and progress on a terminal.

In: arguments. Out: texts, a format, and what is written: tables for people; JSON, a JSON object a line, or CSV with
headings for programs.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mha_core.console import write_file
from mha_core.errors import InputError
from mha_core.export import csv_of, json_of, rows_of
from mha_core.model import Model

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("table", "json", "jsonl", "csv")
STDIN = "-"
MOST_TEXTS = 10_000_000  # bytes of a file of sentences
HELP = "table (default), json, jsonl (an object a line) or csv; without it the ending of --out decides"
PIPED = HELP.replace("default", "default on a terminal; json in a pipe")
Write = Callable[[str, Path | None], None]


def add_format(parser: argparse.ArgumentParser, said: str = HELP) -> None:
    """`--format` and `--out`, the same everywhere."""
    parser.add_argument("--format", choices=FORMATS, help=said)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here instead of the screen")


def add_digest(parser: argparse.ArgumentParser) -> None:
    """`--sha256`, the same everywhere."""
    parser.add_argument(
        "--sha256", metavar="HEX", help="the one digest that the model's files must have together"
    )


def warn_if_unpinned(model: Model) -> None:
    """Say beside the result that nobody knows whether the model's files are those of its maker."""
    if not model.pinned:
        sys.stderr.write(
            f"The files of {model.title} were compared with no digest; --sha256 {model.files_digest} pins them.\n"
        )


def positive(text: str) -> int:
    """A number of the command line that counts something. Raises ArgumentTypeError."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return number


def form_of(options: argparse.Namespace, default: str = "table") -> str:
    """The format that was asked for, by name or by the ending of the file."""
    if options.format is not None:
        return str(options.format)
    ending = "" if options.out is None else options.out.suffix.lower().removeprefix(".")
    return ending if ending in FORMATS else default


def add_texts(parser: argparse.ArgumentParser, what: str) -> None:
    """One text, or many: `-` for standard input and `--file`, a text a line."""
    parser.add_argument("text", metavar="TEXT", nargs="?", help=f"{what}; - reads standard input, one a line")
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="a file of texts, one a line, instead of TEXT"
    )


def texts_of(options: argparse.Namespace) -> list[str]:
    """The texts that were given. Raises InputError for none, for both, and for a file that is no text."""
    if (options.text is None) == (options.file is None):
        raise InputError("Give a text, or - for standard input, or --file FILE.")
    if options.file is None and options.text != STDIN:
        return [options.text]
    where = "standard input" if options.file is None else f"'{options.file}'"
    # By line ends alone: other signs that break a line, such as U+2028, stand in texts.
    found = [line for line in _read(options.file, where).split("\n") if line.strip()]
    if not found:
        raise InputError(f"There is no text in {where}.")
    return found


def one_text(text: str) -> str:
    """The text itself, or all of standard input for `-`."""
    return text if text != STDIN else _read(None, "standard input").strip("\r\n")


def _read(path: Path | None, where: str) -> str:
    try:
        if path is None:
            if sys.stdin is None:
                raise InputError("Standard input is closed.")
            return sys.stdin.read().removeprefix("\ufeff")  # a file's mark that it is UTF-8
        if path.stat().st_size > MOST_TEXTS:
            raise InputError(f"{where} has more than {MOST_TEXTS:,} bytes.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise InputError(f"{where} cannot be read: {problem.strerror or problem}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{where} is no text in UTF-8.") from None


def told(texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The texts with their numbers from 1, and a line of progress where somebody sits in front of a terminal."""
    for number, text in enumerate(texts, 1):
        if len(texts) > 1 and at_terminal():
            last = number == len(texts)
            sys.stderr.write(f"\r{number:,} of {len(texts):,} texts" + ("\n" if last else ""))
            sys.stderr.flush()
        yield number, text


def at_terminal() -> bool:
    """Whether somebody sits in front of what is said beside the result."""
    return sys.stderr.isatty()


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without mappings inside: {"mass": {"-1": 0.5}} is {"mass -1": 0.5}."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{name} {inner}": cell for inner, cell in flat(value).items()}
        else:
            found[name] = value
    return found


def put(content: str, out: Path | None) -> None:
    """To the screen, or whole into a file. Raises InputError where that cannot be written."""
    if out is None:
        sys.stdout.write(content)
    else:
        write_file(out, content)


def written(
    form: str,
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str] | None,
    data: object,
    table: Callable[[], str],
) -> str:
    """An answer in one of FORMATS: `data` is what JSON says of all rows together. Without `columns` a CSV has those of
    the rows."""
    if form == "json":
        return json_of(data)
    if form == "jsonl":
        return "".join(json_of(row) for row in rows)
    return csv_of(map(flat, rows), columns) if form == "csv" else table()


def give_frame(
    options: argparse.Namespace,
    frame: "pd.DataFrame",
    about: Mapping[str, Any],
    shown: list[str] | None = None,
) -> None:
    """Write a table in the format that was asked for: `about` stands beside the rows in JSON, and a person is shown the
    columns `shown`. What is not known is null in JSON and empty elsewhere."""
    form = form_of(options)
    if form == "table":
        short = frame if shown is None else frame[shown]
        content = short.to_string(index=False, na_rep="", float_format="{:.3f}".format) + "\n"
    else:
        rows = rows_of(frame)
        content = written(form, rows, list(frame), {**about, "rows": rows}, str)
    put(content, options.out)
