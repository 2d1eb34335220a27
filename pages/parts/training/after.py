"""After a training: ablate heads, and export.

In: the choice and its reports. Out: the lower half of the page.
"""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, head_name, percent
from mha_core.heads.questions.base import KIND_OF
from mha_core.training.report import ablation_report
from pages.parts.frame import url_params
from pages.parts.frame.charts import SHARE, show_source, show_table
from pages.parts.frame.option_row import follow_url
from pages.parts.frame.page_text import heading
from pages.parts.frame.progress import tab_id
from pages.parts.frame.selection import parse_head
from pages.parts.picture.tiles import show_text
from pages.parts.serve.jobs import MODEL
from pages.parts.serve.store import STORE
from pages.parts.training import boards, export
from pages.parts.training.parts import Choice, Report, free_text, lost_most, points
from pages.parts.training.training_jobs import TRAININGS, TrainingProgress, name_of, progress_of

SEEN = 0.0005  # of a share: less is 0.0 %


def take_away(choice: Choice, reports: Sequence[Report]) -> None:
    """Draw the ablation of heads of model B."""
    heading("Ablate heads")
    name, report, setup = choice.names()[1], reports[1], choice.setups[1]
    heads = [head["head"] for head in report["heads"]]
    per_task = " per task" if choice.task == "jobs" else ""
    key = f"training-away-{choice.task}-{setup.layers}-{setup.heads}"
    names = url_params.params().get("without", "").split(",")
    picked = follow_url(
        st.pills,
        f"Ablate heads of the model with {name}",
        key,
        [name for name in names if name in heads],
        lambda chosen: url_params.change({"without": ",".join(chosen) or None}),
        options=heads,
        selection_mode="multi",
    )
    gone = [head for head in map(parse_head, picked or ()) if head]
    if gone:
        _gone(choice, report, gone)
    show_text("training-away-board", free_text(report))
    table = boards.scores(choice, report)
    alt = f"Heads of the model with {name}: where they look, and accuracy with each ablated"
    columns = dict.fromkeys(table.select_dtypes("number"), SHARE)
    show_table(table, key="training-scores", alt=alt, columns=columns)
    note = f"Mean attention, and accuracy with that head ablated (n = {report['answers']:,}{per_task}, held out)."
    show_text("training-away-note", note, style="quiet")


def _gone(choice: Choice, report: Report, gone: Sequence[Head]) -> None:
    """Say and list what is left without these heads, all at once."""
    names = ", ".join(head_name(head) for head in gone)
    left = _left(choice, gone)
    show_text("training-gone", _drop(report, left, names), style="verdict")
    change = st.column_config.NumberColumn("change, in points", format="%.1f")
    columns = {"all heads": SHARE, "without": SHARE, "points": change}
    show_table(without(report, left, gone), key="taken-away", alt=f"Without {names}", columns=columns)


def _drop(report: Report, left: Report, names: str) -> str:
    """Say what ablating these heads costs."""
    last = report["curve"][-1]
    if "jobs" not in last:
        accuracy = percent(last["accuracy"])
        return f"Without {names}, accuracy drops from {accuracy} to {percent(left['accuracy'])}."
    worst, cost = lost_most(report, left)
    if cost < SEEN:
        return f"Without {names}, no task gets worse."
    return f"Without {names}, `{worst}` drops most: by {points(cost)} points."


def without(report: Report, left: Report, gone: Sequence[Head]) -> pd.DataFrame:
    """A row a share that may change: with all heads, without those that are gone, and the difference in points."""
    last = report["curve"][-1]
    if "jobs" in last:
        before, after = last["jobs"], left["jobs"]
    else:
        before, after = {"accuracy": last["accuracy"]}, {"accuracy": left["accuracy"]}
        for head in report["heads"]:
            if head["role"] == KIND_OF["induction"].name and parse_head(head["head"]) not in gone:
                mass = f"induction mass of {head['head']}"
                before = before | {mass: head["induction"]}
                after = after | {mass: left["induction"][head["head"]]}
    table = pd.DataFrame({"share of": before.keys(), "all heads": before.values(), "without": after.values()})
    return table.assign(points=100 * (table["without"] - table["all heads"]))


def _progress(choice: Choice) -> TrainingProgress:
    return progress_of(TRAININGS.begun("small", choice.settings, tab_id()))


def _left(choice: Choice, gone: Sequence[Head]) -> Report:
    """Return the report of model B without these heads, computed once for all users."""
    parameters = _progress(choice).state["runs"][1]["parameters"]

    def compute() -> Report:
        with MODEL:
            return ablation_report(choice.setups[1], parameters, gone)

    return STORE.get(("ablated", name_of("small", choice.settings), tuple(gone)), compute)


def downloads(choice: Choice, reports: Sequence[Report]) -> None:
    """Draw the files, the link and the Python of a training."""
    box = st.expander("Export", key="training-take", on_change="rerun")
    if not box.open:
        return
    stem = f"headscope-{choice.task}-seed-{choice.setups[0].seed}"
    with box:
        with st.container(horizontal=True, key="training-files"):
            for label, text, ending, mime in (
                ("Curves (CSV)", export.as_csv(choice, _progress(choice).rows), "csv", "text/csv"),
                ("Everything (JSON)", export.as_json(reports), "json", "application/json"),
            ):
                st.download_button(label, text, f"{stem}.{ending}", mime, on_click="ignore")
        guesses = {key: url_params.params().get(key, "") for key in ("guess", "expect", "without")}
        show_source(export.link_of(st.context.url or "", choice, guesses), export.python_of(choice))
