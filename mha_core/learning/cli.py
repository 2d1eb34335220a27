"""`python -m mha_core learn ...`: train a small model and say what its heads have learnt.

In: arguments. Out: the curve, every head's scores, and what is left without each head, as a table or as JSON.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mha_core.command_io import add_format, at_terminal, form_of, put
from mha_core.console import check_file
from mha_core.device import use_one_thread
from mha_core.export import json_of
from mha_core.learning import report
from mha_core.learning.classroom_cli import add_classroom_parsers
from mha_core.learning.train import Setup, Snapshot
from mha_core.wording import counted, percent

# Steps at most: enough for what is to be seen (one layer is given time to show that it never learns).
STEPS = {"jobs": 8_000, "induction": 6_000}
VERBS = {
    "jobs": "three jobs in one stream (repeat, mirror, rotate), one layer",
    "induction": "go on with a repeated random text, two layers",
}
LAYERS = {"jobs": 1, "induction": 2}
WRITERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "table": report.table,
    "json": json_of,
    "jsonl": lambda found: "".join(json_of(row) for row in found["curve"]),
    "csv": report.curve_csv,
}


def add_learn_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `learn` and what can be learnt to the command line."""
    learn = subparsers.add_parser("learn", help="train a small model: what do its heads learn?")
    verbs = learn.add_subparsers(dest="verb", required=True)
    for task, text in VERBS.items():
        parser = verbs.add_parser(task, help=text, description=f"Train a small model: {text}.")
        parser.add_argument("--layers", type=int, default=LAYERS[task], help="layers (%(default)s)")
        parser.add_argument("--heads", type=int, default=4, help="heads per layer (%(default)s)")
        parser.add_argument("--seed", type=int, default=0, help="the same seed, the same numbers")
        parser.add_argument(
            "--steps", type=int, default=STEPS[task], help="at most so many; fewer if all is learnt"
        )
        add_format(parser)
        parser.set_defaults(run=run, task=task)
    add_classroom_parsers(verbs)


def run(options: argparse.Namespace) -> int:
    """Train and write what was found; csv and jsonl are the curve alone."""
    setup = Setup(options.task, options.layers, options.heads, options.seed, options.steps)
    check_file(options.out)
    use_one_thread()
    found = report.trained(setup, _tell if at_terminal() else None)
    if at_terminal():
        sys.stderr.write("\n")
    put(WRITERS[form_of(options)](found), options.out)
    return 0


def _tell(now: Snapshot) -> None:
    line = f"{counted(now.step, 'step')}, accuracy {percent(now.accuracy)}"
    sys.stderr.write(f"\r{line:<60}")
    sys.stderr.flush()
