"""Pictures of a training: curves of loss and accuracy, and every head's weights on a fixed example.

In: a choice and the progress of its training. Out: boards and charts on the page, and a table.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.arrays import FloatArray
from mha_core.display_names import head_name
from mha_core.training.tasks import JOBS, TEXT
from pages.parts.frame.charts import course
from pages.parts.picture.tiles import Block, Board, column, paragraph, show_text
from pages.parts.training.parts import Choice, Report, curve_of
from pages.parts.training.training_jobs import TrainingProgress

SIDE = {1: 128, 2: 112, 4: 104, 8: 54}


def head_sheets(board: Board, weights: FloatArray, labels: Sequence[str], line: int, side: int) -> Block:
    """Draw weights (..., query, key) as small pictures with a label each, `line` in a row, `side` pixels wide."""
    stack = weights.reshape(-1, *weights.shape[-2:])
    return board.sheets(
        "weights", stack, labels=labels, ramp="weight", top=1, line=line, wide=side, high=side
    )


def live(choice: Choice, progress: TrainingProgress) -> None:
    """Draw everything that changes during training."""
    names = choice.names()
    rows = {name: curve_of(progress.rows, run) for run, name in enumerate(names)}
    for run, place in enumerate(st.columns(2, gap="large")):
        with place:
            board = Board()
            board.add(pictures(board, choice, run, progress.state["runs"][run]))
            board.show(f"training-live-{run}")
            if choice.task == "jobs":
                lines = {job: [(r["step"], r["jobs"][job]) for r in rows[names[run]]] for job in JOBS}
                course(f"{names[run]}: accuracy", lines, key=f"training-jobs-{run}", share=True)
    places = iter(st.columns(2, gap="large"))
    with next(places):
        _compared("Loss", "loss", rows)
    if choice.task != "jobs":
        with next(places):
            _compared("Accuracy on the second half", "accuracy", rows, share=True)
    show_text("training-explained", LEGENDS[choice.task], style="quiet")


def _compared(
    title: str, value: str, rows: Mapping[str, Sequence[Mapping[str, Any]]], *, share: bool = False
) -> None:
    lines = {name: [(r["step"], r[value]) for r in curve] for name, curve in rows.items()}
    course(title, lines, key=f"training-{value}", share=share)


LEGENDS = {
    "jobs": "Each picture: one head, one task, an unseen text; row looks at column. `repeat` is a falling diagonal, "
    "`mirror` a rising one, `rotate` a shifted one.",
    "induction": "Each picture: one head, an unseen text; row looks at column. Just below the diagonal: previous "
    "token. Further lines: induction.",
}


def pictures(board: Board, choice: Choice, run: int, state: Mapping[str, Any]) -> Block:
    """Draw every head of one model on the example; for the three jobs only the rows that copy, a job after another."""
    setup, name = choice.setups[run], choice.names()[run]
    if not state:
        return paragraph(f"**{name}**: starting …")
    weights = state["weights"]  # (text, layer, head, query, key)
    heads = [head_name(head) for head in np.ndindex(setup.layers, setup.heads)]
    if choice.task == "jobs":
        shown = weights[:, :, :, TEXT:, : TEXT + 1]
        labels = [f"{head} {job}" for job in JOBS for head in heads]
    else:
        shown, labels = weights, heads
    line = setup.heads if setup.heads > 1 else len(labels)
    sheets = head_sheets(board, shown, labels, line, SIDE[setup.heads])
    return column(paragraph(f"**{name}**, step {state['step']:,} of {setup.steps:,}"), sheets)


def scores(choice: Choice, report: Report) -> pd.DataFrame:
    """Return a row a head: its masses, its role, and the accuracy with it ablated."""
    jobs = choice.task == "jobs"
    masses = ["previous", "first", *JOBS] if jobs else ["previous", "first", "duplicate", "induction"]
    lines = []
    for head, without in zip(report["heads"], report["without"], strict=True):
        mass = {TITLES.get(name, name): (head.get("jobs", {}) | head)[name] for name in masses}
        after = without["jobs"] if jobs else {"right": without["accuracy"]}
        left = {f"ablated: {name}": share for name, share in after.items()}
        lines.append({"head": head["head"], **mass, "role": head["role"] or "no role", **left})
    return pd.DataFrame(lines)


TITLES = {"previous": "previous token", "first": "first token", "duplicate": "duplicate token"}
