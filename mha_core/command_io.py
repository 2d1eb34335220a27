"""Names by which the commands in `mha_core.learning` reach `mha_core.cli`, until they move there."""

import argparse

from mha_core.cli.arguments import writable_path
from mha_core.cli.output import FORMATS
from mha_core.cli.output import CommandOutput as Answer
from mha_core.cli.output import is_terminal as at_terminal
from mha_core.cli.output import write_output as give

__all__ = ["Answer", "add_format", "at_terminal", "give"]
HELP = "table (default), json, jsonl (an object a line) or csv; without it the ending of --out decides"


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the options of `write_output`."""
    parser.add_argument("--format", choices=FORMATS, help=HELP)
    parser.add_argument("--out", type=writable_path, metavar="FILE", help="write to a file")
