"""The command line, `headscope` or `python -m mha_core`; `docs/cli.md` lists its commands.

A command makes a `CommandOutput`; its arguments and its output are handled here for all. Only this package imports
all others; none imports it. Layers and heads that people read count from 1 ("4-2" is layer 4, head 2, as Clark et al.
2019 write); positions in arrays count from 0. Exit codes: 0; 2 for bad input, with one sentence on stderr; 130 stopped.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mha_core.cli.app import add_app_parser, add_decoder_parser
from mha_core.cli.arguments import NOTE, Commands
from mha_core.cli.atlas import add_atlas_parser
from mha_core.cli.experiments import add_experiment_parsers
from mha_core.cli.models import add_models_parser
from mha_core.cli.process import run_guarded
from mha_core.cli.roles import add_merge_parser, add_roles_parser, add_similarity_parser
from mha_core.cli.texts import add_next_parser, add_trace_parser, add_why_parser
from mha_core.cli.training import add_learn_parser
from mha_core.version import __version__

COMMANDS = (
    add_app_parser, add_trace_parser, add_next_parser, add_why_parser, add_models_parser, add_roles_parser,
    add_similarity_parser, add_atlas_parser, add_merge_parser, add_experiment_parsers, add_learn_parser,
    add_decoder_parser,
)  # fmt: skip
MAX_MESSAGE = 300  # characters of an error that may repeat what was typed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return run_guarded(_run, sys.argv[1:] if arguments is None else arguments)


def _run(arguments: Sequence[str]) -> int:
    options = build_parser().parse_args(arguments)
    return options.run(options) or 0


class Parser(argparse.ArgumentParser):
    """Parser whose errors are one line, without its usage."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2 and one sentence."""
        message = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"
        self.exit(2, f"{message[:1].upper()}{message[1:]}; see '{self.prog} --help'.\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    prog = "headscope" if Path(sys.argv[0]).stem == "headscope" else "python -m mha_core"
    parser = Parser(prog=prog, description="See what attention heads do.", epilog=NOTE)
    parser.add_argument("--version", action="version", version=f"HeadScope {__version__}")
    commands: Commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return parser
