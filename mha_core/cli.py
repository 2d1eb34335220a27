"""The command line, `headscope` or `python -m mha_core`: `app`, `trace TEXT`, `next TEXT`, `why TEXT`,
`ablate TEXT`, `patch SOURCE INTO`, `models`, `roles`, `atlas`, `similarity`, `learn ...` and `decoder`.

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
from mha_core.command_io import add_format, form_of, put, warn_if_unpinned, written
from mha_core.console import guarded
from mha_core.experiments.cli import add_experiment_parsers
from mha_core.heads.cli import add_roles_parsers
from mha_core.learning.cli import add_learn_parser
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.next_command import add_next_parser
from mha_core.shelf import shelf
from mha_core.trace_command import add_trace_parser
from mha_core.why_command import add_why_parser
from mha_core.wording import counted

NOTE = (
    "Layers and heads are numbered from 1: 4-2 is layer 4, head 2. Positions in the JSON and CSV arrays, "
    "[layer][head][query][key], are from 0. A row is the token that looks, a column the one looked at."
)
ALSO = (
    "Also: any BERT, DistilBERT, ELECTRA, RoBERTa, XLM-R, GPT-2 or Llama checkpoint in safetensors, by folder or "
    "hub id, and a Llama's GGUF file; transformers computes any other architecture. Any of them --untrained."
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
    add_trace_parser(commands, _load, put, _warn_if_cut, NOTE)
    add_next_parser(commands, _load, put, _warn_if_cut)
    add_why_parser(commands, _load, _warn_if_cut, NOTE)
    models = commands.add_parser("models", help="the models to choose from")
    add_format(models)
    models.set_defaults(run=_run_models)
    add_roles_parsers(commands)
    add_experiment_parsers(commands, _load, put, _warn_if_cut, NOTE)
    add_learn_parser(commands)
    add_decoder_parser(commands)
    return parser


def _warn_if_cut(n_cut: int, model: Model) -> None:
    if n_cut:
        print(
            f"The text is longer than the {model.max_tokens} tokens that {model.title} takes; "
            f"{counted(n_cut, 'token', ('was', 'were'))} left out.",
            file=sys.stderr,
        )


def _load(options: argparse.Namespace) -> Model:
    def progress(file: str, done: int, total: int) -> None:
        share = f"{100 * done / total:.0f} %" if total else f"{done / 1e6:.0f} MB"
        print(f"\rFetching {file}: {share}", end="\n" if total and done >= total else "", file=sys.stderr)

    model = load_model(
        options.model,
        trained=not options.untrained,
        device=options.device,
        dtype=options.precision,
        progress=progress,
        sha256=options.sha256,
    )
    warn_if_unpinned(model)
    return model


def _run_models(options: argparse.Namespace) -> int:
    rows = [
        {"name": one.name, "title": one.title, "embedded": one.embedded, "description": one.description}
        for one in shelf()
    ]
    put(
        written(form_of(options), rows, list(rows[0]), {"models": rows}, _models_table),
        options.out,
    )
    return 0


def _models_table() -> str:
    lines = [
        f"{entry.name:32} {entry.title:18} {'embedded' if entry.embedded else 'from the hub':14} {entry.description}"
        for entry in shelf()
    ]
    return "\n".join([*lines, ALSO, ""])
