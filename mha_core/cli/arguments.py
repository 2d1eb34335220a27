"""Options that commands share, as parent parsers, and the texts and the model that they name.

In: the options of a command. Out: texts, tokens, a model.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mha_core.cli.output import FORMATS, show_progress, warn
from mha_core.display_names import count_noun
from mha_core.errors import InputError
from mha_core.heads.corpora import read_json_lines, refuse_table
from mha_core.models.load import load_model
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

Commands = Any  # argparse keeps the type of its subparsers to itself
NOTE = (
    "Layers and heads count from 1: 4-2 is layer 4, head 2 (L3H1 counted from 0). JSON and CSV arrays are "
    "[layer][head][query][key], counted from 0: row looks at column."
)
STDIN = "-"
MAX_BYTES = 10_000_000  # of a file of texts


def add_command(
    commands: Commands,
    name: str,
    text: str,
    run: Callable[[argparse.Namespace], int | None],
    *parents: argparse.ArgumentParser,
    **more: str,
) -> argparse.ArgumentParser:
    """Add a command with its help and its parents' options, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, parents=parents, **more)
    parser.set_defaults(run=run)
    return parser


def model_options(default: str) -> argparse.ArgumentParser:
    """Return a parent with the options of `load_chosen_model`."""
    parent = argparse.ArgumentParser(add_help=False)
    add = parent.add_argument_group("model").add_argument
    add("--model", default=default, help="model name, Hugging Face id or folder (%(default)s)")
    add("--sha256", metavar="HEX", help="require this SHA-256 of the model's files")
    add("--untrained", action="store_true", help="use random weights in the same shape")
    add("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    add("--precision", help="float32, float64, bfloat16 or float16 (float32)")
    return parent


def output_options() -> argparse.ArgumentParser:
    """Return a parent with the options of `write_output`."""
    text = "table (default), json, jsonl (an object a line) or csv; without it the ending of --out decides"
    parent = argparse.ArgumentParser(add_help=False)
    add = parent.add_argument_group("output").add_argument
    add("--format", choices=FORMATS, help=text)
    add("--out", type=writable_path, metavar="FILE", help="write to a file")
    return parent


def text_options(text: str) -> argparse.ArgumentParser:
    """Return a parent with the options of `read_texts`; `text` is the help of TEXT."""
    parent = argparse.ArgumentParser(add_help=False)
    add = parent.add_argument
    add("text", metavar="TEXT", nargs="?", help=f"{text}; - reads standard input, one per line")
    add("--file", type=Path, metavar="FILE", help="file of texts, one per line (or .jsonl), instead of TEXT")
    return parent


def number_from(minimum: int) -> Callable[[str], int]:
    """Return an argument type for whole numbers from `minimum` (0 or more) up."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a number from {minimum} up")
        return int(text)

    return parse


def writable_path(text: str) -> Path:
    """Return the path of a file to write, refused before the work if its folder is missing.

    Raises ArgumentTypeError.
    """
    if not Path(os.path.realpath(text)).parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write '{text}', the folder does not exist")
    return Path(text)


def load_chosen_model(options: argparse.Namespace, seed: int = 0) -> Model:
    """Load the model of `model_options`, with progress of a download and a warning about unpinned files."""

    def progress(file: str, done: int, total: int) -> None:
        share = f"{100 * done / total:.0f} %" if total else f"{done / 1e6:.0f} MB"
        show_progress(f"Fetching {file}: {share}", is_last=0 < total <= done)

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
        warn(note.message)
    if not model.pinned:
        warn(
            f"The files of {model.title} were compared with no digest; --sha256 {model.files_digest} pins them."
        )
    return model


def encode(text: str, model: Model) -> Tokens:
    """Return the tokens of a text, with a warning if the model cuts it."""
    tokens = model.tokenizer.encode(text)
    warn_if_cut(tokens, model)
    return tokens


def warn_if_cut(tokens: Tokens, model: Model) -> None:
    """Warn that the text has more tokens than the model takes."""
    place = tokens.cut_text
    if tokens.n_cut:
        warn(
            f"The text is longer than the {model.max_tokens} tokens that {model.title} takes; "
            f"{count_noun(tokens.n_cut, 'token', ('was', 'were'))} left out{place and ', ' + place}."
        )


def read_texts(options: argparse.Namespace, tables: Sequence[str] = ()) -> list[str]:
    """Return the texts of `text_options`; `tables`: endings of tables that the command reads line by line.

    Raises InputError for none, for both options, for an unreadable file and for one that is no list of texts.
    """
    if (options.text is None) == (options.file is None):
        raise InputError("Give a text, or - for standard input, or --file FILE.")
    if options.file is None and options.text != STDIN:
        return [options.text]
    place = "standard input" if options.file is None else f"'{options.file}'"
    # Split at line feeds alone: other signs that break a line, such as U+2028, occur in texts.
    ending = "" if options.file is None else options.file.suffix.lower()
    if ending not in tables:
        refuse_table(place, ending)
    lines = _read(options.file, place).split("\n")
    texts = [line for line in lines if line.strip()]
    if ending == ".jsonl":
        texts = [text for _, text in read_json_lines(lines)]
    if not texts:
        raise InputError(f"No text in {place}.")
    return texts


def read_text(text: str) -> str:
    """Return the text itself, or all of standard input for "-"."""
    return text if text != STDIN else _read(None, "standard input").strip("\r\n")


def _read(path: Path | None, place: str) -> str:
    try:
        if path is None:
            if sys.stdin is None:
                raise InputError("Standard input is closed.")
            return sys.stdin.read().removeprefix("\ufeff")  # the mark of a UTF-8 file
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{place} has more than {MAX_BYTES:,} bytes.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise InputError(f"{place} cannot be read: {problem.strerror or problem}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{place} must be text in UTF-8.") from None
