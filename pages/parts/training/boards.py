"""What a training looks like: curves of loss and accuracy, and every head's picture on a fixed example.

In: a choice and what the trainer knows of it. Out: boards, which `tiles` draws.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mha_core.learning.tasks import JOBS, TEXT
from mha_core.learning.train import example
from mha_core.wording import head_name, percent
from pages.parts.picture.course import course
from pages.parts.picture.tiles import Block, Board, column, paragraph, row
from pages.parts.training.live import Course
from pages.parts.training.parts import Choice, Report, curve_of, example_text

SIDE = {1: 128, 2: 112, 4: 104, 8: 54}


def live_board(choice: Choice, training: Course) -> Board:
    """Everything that changes while it is learnt."""
    board, names = Board(), choice.names()
    curves = [curve_of(training.rows, run) for run in (0, 1)]
    runs = training.now["runs"]
    ways = [
        [(name, [(r["step"], r["loss"]) for r in rows]) for name, rows in zip(names, curves, strict=True)],
        [
            (name, [(r["step"], r["accuracy"]) for r in rows])
            for name, rows in zip(names, curves, strict=True)
        ],
    ]
    loss = course(board, "loss", "Loss, in nats", ways[0], None)
    if choice.task == "jobs":
        by_job = [
            course(
                board,
                f"jobs-{run}",
                f"{names[run]}: right answers by job",
                [(job, [(r["step"], r["jobs"][job]) for r in curves[run]]) for job in JOBS],
                1.0,
            )
            for run in (0, 1)
        ]
        board.add(
            row(
                *(column(pictures(board, choice, run, runs[run]), by_job[run], size="half") for run in (0, 1))
            ),
            loss,
        )
    else:
        accuracy = course(board, "accuracy", "Right answers in the second half", ways[1], 1.0)
        board.add(
            row(*(column(pictures(board, choice, run, runs[run]), size="half") for run in (0, 1))),
            row(loss, accuracy),
        )
    board.add(paragraph(EXPLAINED[choice.task].format(**_examples(choice.task)), "quiet"))
    return board


EXPLAINED = {
    "jobs": "Each small picture is one head on one job, on a fixed text that is never trained on. Rows are the places "
    "that ask for a token, columns the job's name and the text before; the stronger the colour, the more "
    "weight, on one scale. `repeat` is a falling line, `mirror` a rising one, `rotate` a falling line that is moved. "
    "What a row gives to later tokens is not shown. The text: `{text}`",
    "induction": "Each small picture is one head on a fixed text: each row shows where one token looks; the "
    "stronger the colour, the more weight, on one scale. A line just below the diagonal is a previous-token head; "
    "lines further away go to what came after the same token before. The text: `{text}`",
}


def _examples(task: str) -> dict[str, str]:
    ids = example(task).ids[0]
    return {"text": example_text(task, ids[1 : TEXT + 1] if task == "jobs" else ids)}


def pictures(board: Board, choice: Choice, run: int, state: Mapping[str, Any]) -> Block:
    """Every head of one model on the example; for the three jobs on each of them, the rows that ask alone."""
    setup, name = choice.setups[run], choice.names()[run]
    if not state:
        return paragraph(f"**{name}**: waits for its first step.")
    weights = state["weights"]  # (text, layer, head, query, key)
    heads = [head_name(head) for head in np.ndindex(setup.layers, setup.heads)]
    if choice.task == "jobs":
        shown = weights[:, :, :, TEXT:, : TEXT + 1]
        labels = [f"{head} {job}" for job in JOBS for head in heads]
    else:
        shown, labels = weights, heads
    sheets = board.sheets(
        "weights",
        shown.reshape(-1, *shown.shape[-2:]),
        labels=labels,
        ramp="weight",
        top=1,
        line=setup.heads if setup.heads > 1 else len(labels),
        side=SIDE[setup.heads],
    )
    return column(paragraph(f"**{name}**, step {state['step']:,} of at most {setup.steps:,}"), sheets)


def scores_block(choice: Choice, run: int, report: Report) -> Block:
    """A line a head: where its mass lies, its role, and what is left without it."""
    jobs = choice.task == "jobs"
    masses = ["previous", "first", *JOBS] if jobs else ["previous", "first", "duplicate", "induction"]
    left = [f"without: {job}" for job in JOBS] if jobs else ["without: right"]
    lines = []
    for head, without in zip(report["heads"], report["without"], strict=True):
        there = [percent((head.get("jobs", {}) | head)[name]) for name in masses]
        after = [percent(without["jobs"][job]) for job in JOBS] if jobs else [percent(without["accuracy"])]
        lines.append([head["head"], *there, head["role"] or "no role", *after])
    return {
        "type": "grid",
        "id": f"scores-{run}",
        "label": f"Heads of the model with {choice.names()[run]}",
        "head": ["head", *(TITLES.get(name, name) for name in masses), "role", *left],
        "rows": lines,
    }


TITLES = {"previous": "previous token", "first": "first token", "duplicate": "earlier copy"}
