"""`python -m mha_core learn ...`: train small models, and report what their heads learned.

In: arguments. Out: curve, head scores and ablations of an attention-only model; or of the toy model its folder, or how
many held-out pairs one head passes. Reports are a table or JSON.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from mha_core.cli.arguments import Commands, add_command, output_options
from mha_core.cli.output import CommandOutput, is_terminal, show_progress, warn, write_output
from mha_core.display_names import count_noun, percent
from mha_core.engine.device import use_one_thread
from mha_core.errors import InputError
from mha_core.heads.cluster_stats import wilson
from mha_core.models.load import load_model
from mha_core.models.model_list import CLASSROOM_FOLDERS
from mha_core.record.export import model_of
from mha_core.training import report
from mha_core.training.tasks import TASKS
from mha_core.training.toy.evaluation import MAX_WRONG, MIN_RIGHT, evaluate
from mha_core.training.toy.pairs import N_PAIRS
from mha_core.training.toy.recipe import CLASSROOM, CONTROL_RECIPE
from mha_core.training.toy.shipping import save_model, ship, train_toy
from mha_core.training.train import Snapshot, TrainingSetup


def add_learn_parser(commands: Commands) -> None:
    """Add `learn` with a verb a task, `train` and `evaluate`."""
    learn = commands.add_parser("learn", help="train a small model and see what its heads learn")
    verbs = learn.add_subparsers(dest="verb", required=True)
    for name, task in TASKS.items():
        description = f"Train a small model: {task.help}."
        parser = add_command(verbs, name, task.help, _run_task, output_options(), description=description)
        parser.set_defaults(task=name)
        for option, default, text in (
            ("--layers", task.layers, "layers"),
            ("--heads", 4, "heads per layer"),
            ("--seed", 0, "random seed"),
            ("--steps", task.steps, "maximum number of steps"),
        ):
            parser.add_argument(option, type=int, default=default, help=f"{text} (%(default)s)")
    add = add_command(verbs, "train", "train the toy model and save it", _run_train).add_argument
    add("model", choices=("classroom",), help="model to train")
    add("--seed", type=int, help="random seed (1)")
    add("--twin", action="store_true", help="train the control model: no window in layer 1")
    add("--steps", type=int, help="number of steps (default: the recipe's)")
    add("--ship", action="store_true", help="train all models that ship, with five seeds")
    add("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    text = "count the pairs in which one head follows the meaning"
    add = add_command(verbs, "evaluate", text, _run_evaluate, output_options()).add_argument
    add("model", metavar="MODEL", help=f"{', '.join(CLASSROOM_FOLDERS)}, or the folder of a toy model")
    add("--untrained", action="store_true", help="use random weights in the same shape")
    add("--pairs", type=int, default=N_PAIRS, help="number of pairs (%(default)s)")


def _run_task(options: argparse.Namespace) -> None:
    """Train on a task and write the report: its rows are the curve, and the table shows the heads."""
    setup = TrainingSetup(options.task, options.layers, options.heads, options.seed, options.steps)
    use_one_thread()
    results = report.train_and_report(setup, _show_snapshot if is_terminal() else lambda _: None)
    if is_terminal():
        warn("")
    write_output(options, _task_output(results))


def _task_output(results: dict[str, Any]) -> CommandOutput:
    import pandas as pd

    curve = [report.flatten(row) for row in results["curve"]]
    last = curve[-1]
    text = (
        f"After {count_noun(last['step'], 'step')}: accuracy {percent(last['accuracy'])}, loss {last['loss']:.3f} nats "
        f"(n = {results['answers']:,} answers, on texts held out).\n"
    )
    heads = pd.DataFrame([report.flatten(row) for row in results["heads"]]).drop(columns=["layer", "number"])
    without = [row["accuracy"] for row in results["without"]]
    about = {name: value for name, value in results.items() if name != "curve"}
    return CommandOutput(pd.DataFrame(curve), about, text, heads.assign(**{"accuracy without it": without}))


def _run_train(options: argparse.Namespace) -> None:
    """Train the toy model on one thread, and save it."""
    if options.ship and (options.twin or options.seed is not None or options.steps is not None):
        raise InputError("--ship trains what the project ships, with its own seeds and steps; give it alone.")
    if options.steps is not None and options.steps < 1:
        raise InputError(f"steps must be 1 or more, not {options.steps}.")
    use_one_thread()
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"'{options.out}' cannot be written: {problem.strerror}.") from None
    if options.ship:
        ship(options.out, show_progress)
    else:
        recipe = CONTROL_RECIPE if options.twin else CLASSROOM
        recipe = recipe if options.steps is None else replace(recipe, steps=options.steps)
        stack = train_toy(1 if options.seed is None else options.seed, recipe, show_progress)
        save_model(stack, options.out)
    warn("")


def _run_evaluate(options: argparse.Namespace) -> None:
    """Evaluate a toy model, and write its report card."""
    import pandas as pd

    use_one_thread()
    model = load_model(options.model, trained=not options.untrained, device="cpu")
    if model.config.model_type != "classroom":
        raise InputError(f"{model.title} is not a toy model. Choose one that `learn train` made.")
    card = evaluate(model.encoder, options.pairs)
    n, passed = card["pairs"], card["pass"]
    low, high = (percent(float(end)) for end in wilson(passed * n, n))
    frame = pd.json_normalize(card, sep=" ")  # one row
    text = (
        f"{card['head']} passes {percent(passed)} of {n} pairs (95 %: {low} to {high}): in both texts at "
        f"least {percent(MIN_RIGHT)} on the right noun and at most {percent(MAX_WRONG)} on the other.\n"
    )
    table = frame.select_dtypes("float").T.rename_axis("measure").rename(columns={0: "share"})
    write_output(options, CommandOutput(frame, {"model": model_of(model.info)}, text, table))


def _show_snapshot(snapshot: Snapshot) -> None:
    show_progress(f"{count_noun(snapshot.step, 'step')}, accuracy {percent(snapshot.accuracy)}")
