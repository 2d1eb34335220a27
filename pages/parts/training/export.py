"""Exports of a training: the curves, the reports, the Python that repeats it. No Streamlit here.

In: the choice, its rows and its reports. Out: text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mha_core.record.export import csv_of, json_of
from mha_core.training.report import flatten
from pages.parts.frame.links import with_params
from pages.parts.training.parts import Choice


def as_csv(choice: Choice, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a row a snapshot: the model's layers and heads, the step, loss, accuracy, and that of each job."""
    lines = []
    for row in rows:
        setup = choice.setups[row["run"]]
        sizes = {"layers": setup.layers, "heads": setup.heads, "seed": setup.seed}
        lines.append(sizes | flatten({name: value for name, value in row.items() if name != "run"}))
    return csv_of(lines)


def as_json(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return the reports of both models, as the command line writes them."""
    return json_of({"runs": list(reports)})


def link_of(page: str, choice: Choice, guesses: Mapping[str, str]) -> str:
    """Return the URL that repeats it anywhere, with everything in it, also today's defaults."""
    return with_params(page.split("?")[0], {**choice.params, **guesses})


def python_of(choice: Choice) -> str:
    """Return lines that train both models again and print where they end."""
    setups = "\n".join(
        f'    TrainingSetup("{s.task}", layers={s.layers}, heads={s.heads}, seed={s.seed}, steps={s.steps}),'
        for s in choice.setups
    )
    return f"""from mha_core.engine.device import use_one_thread
from mha_core.training.report import train_and_report
from mha_core.training.train import TrainingSetup

use_one_thread()  # with more threads the last digits differ
for setup in (
{setups}
):
    results = train_and_report(setup)
    print(setup, results["curve"][-1])
    for head in results["without"]:
        print("without", head["head"], head["accuracy"])
"""
