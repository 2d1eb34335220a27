"""`python -m mha_core learn ...`: train a small model and say what its heads have learnt.

In: arguments. Out: the curve, every head's scores, and what is left without each head, as a table or as JSON.
"""

import argparse
import sys
from typing import Any

from mha_core.command_io import Answer, add_format, at_terminal, give
from mha_core.console import check_file
from mha_core.device import use_one_thread
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


def add_learn_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `learn` and what can be learnt to the command line."""
    learn = subparsers.add_parser("learn", help="train a small model and see what its heads learn")
    verbs = learn.add_subparsers(dest="verb", required=True)
    for task, text in VERBS.items():
        parser = verbs.add_parser(task, help=text, description=f"Train a small model: {text}.")
        parser.add_argument("--layers", type=int, default=LAYERS[task], help="layers (%(default)s)")
        parser.add_argument("--heads", type=int, default=4, help="heads per layer (%(default)s)")
        parser.add_argument("--seed", type=int, default=0, help="random seed (%(default)s)")
        parser.add_argument(
            "--steps", type=int, default=STEPS[task], help="maximum number of steps (%(default)s)"
        )
        add_format(parser)
        parser.set_defaults(run=run, task=task)
    add_classroom_parsers(verbs)


def run(options: argparse.Namespace) -> int:
    """Train and write what was found: the rows are the curve, and a person is shown the heads."""
    setup = Setup(options.task, options.layers, options.heads, options.seed, options.steps)
    check_file(options.out)
    use_one_thread()
    found = report.trained(setup, _tell if at_terminal() else None)
    if at_terminal():
        sys.stderr.write("\n")
    give(options, _answer(found))
    return 0


def _answer(found: dict[str, Any]) -> Answer:
    import pandas as pd

    curve = [report.flat(snapshot) for snapshot in found["curve"]]
    last = curve[-1]
    said = (
        f"After {counted(last['step'], 'step')}: accuracy {percent(last['accuracy'])}, loss {last['loss']:.3f} nats "
        f"(n = {found['answers']:,} answers, on texts held out).\n"
    )
    heads = pd.DataFrame([report.flat(head) for head in found["heads"]]).drop(columns=["layer", "number"])
    without = [effect["accuracy"] for effect in found["without"]]
    about = {name: value for name, value in found.items() if name != "curve"}
    return Answer(pd.DataFrame(curve), about, said, heads.assign(**{"accuracy without it": without}))


def _tell(now: Snapshot) -> None:
    line = f"{counted(now.step, 'step')}, accuracy {percent(now.accuracy)}"
    sys.stderr.write(f"\r{line:<60}")
    sys.stderr.flush()
