"""What every command shares: where its texts and its model come from, and how its frame is written.

In: arguments. Out: texts, a model, and one answer or many in one of FORMATS: a table for people; JSON, a JSON object a
row, or CSV with headings for programs.
"""

import argparse
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mha_core.console import write_file
from mha_core.errors import InputError
from mha_core.export import csv_of, json_of, rows_of
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("table", "json", "jsonl", "csv")
STDIN = "-"
MOST_TEXTS = 10_000_000  # bytes of a file of sentences
HELP = "table (default), json, jsonl (an object a line) or csv; without it the ending of --out decides"


class Answer(NamedTuple):
    """What a command found: its rows, what stands beside them in JSON, a person's lines above the table, and the table
    that a person is shown (the rows unless given). Without rows `about` is all of it."""

    frame: "pd.DataFrame | None"
    about: Mapping[str, Any]
    said: str = ""
    shown: "pd.DataFrame | None" = None


def add_format(parser: argparse.ArgumentParser, said: str = HELP) -> None:
    """`--format` and `--out`, the same everywhere."""
    parser.add_argument("--format", choices=FORMATS, help=said)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file")


def add_model(parser: argparse.ArgumentParser, default: str) -> None:
    """Which model, the same everywhere."""
    parser.add_argument(
        "--model", default=default, help="model name, Hugging Face id or folder (%(default)s)"
    )
    parser.add_argument("--sha256", metavar="HEX", help="require this SHA-256 of the model's files")
    parser.add_argument("--untrained", action="store_true", help="use random weights in the same shape")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    parser.add_argument("--precision", help="float32, float64, bfloat16 or float16 (float32)")


def model_asked(options: argparse.Namespace, seed: int = 0) -> Model:
    """Load the model that was asked for, saying how far it is fetched and whether its files are pinned."""

    def progress(file: str, done: int, total: int) -> None:
        share = f"{100 * done / total:.0f} %" if total else f"{done / 1e6:.0f} MB"
        sys.stderr.write(f"\rFetching {file}: {share}" + ("\n" if total and done >= total else ""))

    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        model = load_model(
            options.model,
            trained=not options.untrained,
            seed=seed,
            device=options.device,
            dtype=options.precision,
            progress=progress,
            sha256=options.sha256,
        )
    for note in notes:
        sys.stderr.write(f"{note.message}\n")
    if not model.pinned:
        sys.stderr.write(
            f"The files of {model.title} were compared with no digest; --sha256 {model.files_digest} pins them.\n"
        )
    return model


def warn_if_cut(n_cut: int, model: Model, where: str = "") -> None:
    """Say that so many tokens of a text are more than the model takes, and `where` they were cut off."""
    if n_cut:
        sys.stderr.write(
            f"The text is longer than the {model.max_tokens} tokens that {model.title} takes; "
            f"{counted(n_cut, 'token', ('was', 'were'))} left out{where and ', ' + where}.\n"
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
    parser.add_argument(
        "text", metavar="TEXT", nargs="?", help=f"{what}; - reads standard input, one per line"
    )
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="file of texts, one per line, instead of TEXT"
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
        raise InputError(f"No text in {where}.")
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
        raise InputError(f"{where} must be text in UTF-8.") from None


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


def give(options: argparse.Namespace, answer: Answer) -> None:
    """Write an answer in the format that was asked for. What is not known is null in JSON and empty elsewhere."""
    _put([_written(form_of(options), answer)], options.out)


def give_many(options: argparse.Namespace, answers: Iterable[Answer]) -> None:
    """Write the answers to many texts as they come: rows and headings have the number of their text, `sentence`."""
    form = form_of(options, "jsonl")
    parts = (_written(form, answer, number) for number, answer in enumerate(answers, 1))
    if form == "json":
        commas = (("," if number else "[\n") + part for number, part in enumerate(parts))
        _put(chain(commas, ["]\n"]), options.out)
    else:
        _put(parts, options.out)


def _put(parts: Iterable[str], out: Path | None) -> None:
    """To the screen part by part, or whole into a file. Raises InputError where that cannot be written."""
    if out is not None:
        write_file(out, "".join(parts))
        return
    for part in parts:
        sys.stdout.write(part)


def _written(form: str, answer: Answer, number: int | None = None) -> str:
    frame, about, said, shown = answer
    if form == "table":
        text = f"{about['text']}\n" if number else ""
        return text + said + table_of(frame if shown is None else shown) + ("\n" if number else "")
    if frame is None:
        return json_of(about)
    if form == "json":
        return json_of({**about, "rows": frame})
    if number is not None:
        frame = frame.assign(sentence=number)[["sentence", *frame]]
    if form == "jsonl":
        return "".join(map(json_of, rows_of(frame)))
    return csv_of(frame) if number in (None, 1) else csv_of(frame).partition("\n")[2]


def table_of(frame: "pd.DataFrame | None") -> str:
    """A frame for people: text to the left, numbers with three decimals; its index where that has a name."""
    if frame is None or not len(frame):
        return ""
    frame = frame.reset_index() if frame.index.name else frame
    texts = frame.select_dtypes(exclude=["number", "bool"])
    cells = texts.map(lambda cell: " ".join(map(str, cell)) if isinstance(cell, list | tuple) else str(cell))
    cells = cells.where(texts.notna(), "")
    widths = {name: max(len(name), *map(len, cells[name])) for name in cells}
    padded = {name: cells[name].str.ljust(width) for name, width in widths.items()}
    unknown = {
        name: frame[name].astype(object).where(frame[name].notna(), "")
        for name in frame
        if frame[name].dtype == "Int64"
    }
    lines = (
        frame.assign(**padded, **unknown)
        .rename(columns={name: name.ljust(width) for name, width in widths.items()})
        .to_string(index=False, na_rep="", float_format="{:.3f}".format)
    )
    return "".join(f"{line.rstrip()}\n" for line in lines.split("\n"))
