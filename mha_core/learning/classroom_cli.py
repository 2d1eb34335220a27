"""`python -m mha_core learn train classroom` and `learn evaluate classroom`: the model in which "it" moves.

In: arguments. Out: a model's folder; or how many held-out pairs one head passes, as a table or as JSON.
"""

import argparse
import sys
from pathlib import Path

from mha_core.command_io import Answer, add_format, give
from mha_core.device import use_one_thread
from mha_core.errors import InputError
from mha_core.export import model_of
from mha_core.learning.classroom import report
from mha_core.learning.classroom.evaluation import RIGHT, WRONG, evaluate
from mha_core.learning.classroom.pairs import N_PAIRS
from mha_core.learning.classroom.shipped import save_model
from mha_core.learning.classroom.shipping import recipe_of, ship, trained
from mha_core.load import load_model
from mha_core.model_list import CLASSROOM_FOLDERS
from mha_core.wording import percent


def add_classroom_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `train` and `evaluate` to `learn`."""
    train = verbs.add_parser("train", help="train the toy model and save it")
    train.add_argument("model", choices=("classroom",), help="model to train")
    train.add_argument("--seed", type=int, help="random seed (1)")
    train.add_argument("--twin", action="store_true", help="train the control model: no window in layer 1")
    train.add_argument("--steps", type=int, help="number of steps (default: the recipe's)")
    train.add_argument("--ship", action="store_true", help="train all models that ship, with five seeds")
    train.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    train.set_defaults(run=run_train)
    evaluation = verbs.add_parser("evaluate", help="count the pairs in which one head follows the meaning")
    evaluation.add_argument(
        "model", metavar="MODEL", help=f"{', '.join(CLASSROOM_FOLDERS)}, or the folder of a toy model"
    )
    evaluation.add_argument("--untrained", action="store_true", help="use random weights in the same shape")
    evaluation.add_argument("--pairs", type=int, default=N_PAIRS, help="number of pairs (%(default)s)")
    add_format(evaluation)
    evaluation.set_defaults(run=run_evaluate)


def run_train(options: argparse.Namespace) -> int:
    """Train on one thread, and save."""
    if options.ship and (options.twin or options.seed is not None or options.steps is not None):
        raise InputError("--ship trains what the project ships, with its own seeds and steps; give it alone.")
    use_one_thread()
    recipe = recipe_of(options.twin, options.steps)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"'{options.out}' cannot be written: {problem.strerror}.") from None
    if options.ship:
        ship(options.out, _told)
    else:
        save_model(trained(1 if options.seed is None else options.seed, recipe, _told), options.out)
    sys.stderr.write("\n")
    return 0


def run_evaluate(options: argparse.Namespace) -> int:
    """Evaluate, and write what was found."""
    import pandas as pd

    use_one_thread()
    model = load_model(options.model, trained=not options.untrained, device="cpu")
    if model.config.model_type != "classroom":
        raise InputError(f"{model.title} is not a toy model. Choose one that `learn train` made.")
    found = evaluate(model.encoder, options.pairs)
    card, low, high = report.card(found), *map(percent, found.interval)
    frame = pd.json_normalize(card, sep=" ")  # one row
    said = (
        f"{card['head']} passes {percent(found.passed)} of {found.n} pairs (95 %: {low} to {high}): in both texts at "
        f"least {percent(RIGHT)} on the right noun and at most {percent(WRONG)} on the other.\n"
    )
    shown = frame.select_dtypes("float").T.rename_axis("measure").rename(columns={0: "share"})
    give(options, Answer(frame, {"model": model_of(model.info)}, said, shown))
    return 0


def _told(line: str) -> None:
    sys.stderr.write(f"\r{line:<60}")
    sys.stderr.flush()
