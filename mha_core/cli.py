"""The command line, `headscope` or `python -m mha_core`: `app`, `trace TEXT`, `next TEXT`, `why TEXT`,
`ablate TEXT`, `patch SOURCE INTO`, `models`, `roles`, `atlas`, `similarity`, `merge`, `learn ...` and `decoder`.

Layers and heads that a person reads count from 1 ("4-2" is layer 4, head 2, as Clark et al. 2019 write);
positions in arrays count from 0. Exit codes: 0, and 2 for bad input with one sentence on stderr.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import mha_core
from mha_core.app_command import add_app_parser, add_decoder_parser
from mha_core.command_io import Answer, add_format, give
from mha_core.console import guarded
from mha_core.experiments.cli import add_experiment_parsers
from mha_core.heads.cli import add_roles_parsers
from mha_core.model_list import listed_models
from mha_core.next_command import add_next_parser
from mha_core.trace_command import add_trace_parser
from mha_core.training.cli import add_learn_parser
from mha_core.why_command import add_why_parser

NOTE = (
    "Layers and heads count from 1: 4-2 is layer 4, head 2 (L3H1 counted from 0). JSON and CSV arrays are "
    "[layer][head][query][key], counted from 0: row looks at column."
)
ALSO = (
    "Also: any BERT, DistilBERT, ELECTRA, RoBERTa, XLM-R, GPT-2 or Llama checkpoint in safetensors, by folder or "
    "Hugging Face id, and Llama GGUF files; transformers runs other architectures. Add --untrained for random weights."
)
MESSAGE = 300  # characters of what was given that a sentence about it repeats at most


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    return guarded(_run, sys.argv[1:] if arguments is None else arguments)


def _run(arguments: Sequence[str]) -> int:
    options = build_parser().parse_args(arguments)
    code: int = options.run(options)
    return code


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, without repeating its usage."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2 and one sentence."""
        message = message if len(message) <= MESSAGE else f"{message[:MESSAGE]}…"
        self.exit(2, f"{message[:1].upper()}{message[1:]}; see '{self.prog} --help'.\n")


def _root() -> argparse.ArgumentParser:
    called = Path(sys.argv[0]).stem
    prog = "headscope" if called == "headscope" else "python -m mha_core"
    parser = Parser(prog=prog, description="See what attention heads do.", epilog=NOTE)
    parser.add_argument("--version", action="version", version=f"HeadScope {mha_core.__version__}")
    return parser


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = _root()
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_app_parser(commands)
    add_trace_parser(commands, NOTE)
    add_next_parser(commands)
    add_why_parser(commands, NOTE)
    models = commands.add_parser("models", help="list the models")
    add_format(models)
    models.set_defaults(run=_run_models)
    add_roles_parsers(commands)
    add_experiment_parsers(commands, NOTE)
    add_learn_parser(commands)
    add_decoder_parser(commands)
    return parser


def _run_models(options: argparse.Namespace) -> int:
    import pandas as pd

    frame = pd.DataFrame(
        {"name": one.name, "title": one.title, "embedded": one.embedded, "description": one.description}
        for one in listed_models()
    )
    give(options, Answer(frame, {}, f"{ALSO}\n\n"))
    return 0
