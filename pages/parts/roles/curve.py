"""A head's role over training: its score at every checkpoint, beside the best baseline.

In: the checkpoints, and the role and head that are shown. Out: a curve, which fills while checkpoints are analysed.
"""

from collections.abc import Iterator, Mapping

import pandas as pd
import streamlit as st

from mha_core.causal import PartialResult
from mha_core.display_names import Head, count_noun, head_name, percent
from mha_core.draw.figures import charts
from mha_core.heads.table import RoleTable
from mha_core.models.checkpoint_series import numbers_in
from pages.parts.explore.checkpoint_slider import Series, Step, step_text
from pages.parts.frame import head_facts
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import show_job
from pages.parts.roles.card import about_file
from pages.parts.roles.choice import Choice

BOX = "role-over-training"
Tables = Mapping[Step, RoleTable]


def draw_curve(series: Series, shown: Choice) -> None:
    """Draw the curve of the chosen head on its question, in a box: checkpoints are analysed once that is opened."""
    answer = shown.answer(shown.head)

    def parts() -> Iterator[PartialResult[Tables]]:
        tables = dict[Step, RoleTable]()
        for step, name in series.models.items():
            tables[step] = head_facts.found_by_job(name)
            yield PartialResult(len(tables) / len(series.models), len(tables), dict(tables))

    def draw(tables: Tables | None) -> None:
        if tables is None:
            return
        frame = scores_over_training(tables, answer.key, shown.head)
        if len(frame) < 2:  # a point is no curve
            return
        say(curve_text(frame, shown.head), "finding")
        title = f"{answer.question.title}: head {head_name(shown.head)} over training"
        lines = frame.melt(["checkpoint", "step"], ["head", "best baseline"], "line", "share")
        lines["line"] = lines["line"].replace("head", f"head {head_name(shown.head)}")
        figure = charts.curves(
            lines,
            "step",
            "share",
            "line",
            title=title,
            x_title="checkpoint",
            y_title="",
            percent=True,
            dark=is_dark(),
        )
        chart(figure, frame, key="role-curve", about=about_file(shown))

    n_checkpoints = count_noun(len(series.models), "checkpoint")
    box = st.expander(f"Over training: {n_checkpoints}", key=BOX, on_change="rerun")
    if box.open:
        with box:
            show_job(
                ("role-curve", *series.models.values()), parts, draw, unit=f"of {n_checkpoints} analysed"
            )


def scores_over_training(tables: Tables, question: str, head: Head) -> pd.DataFrame:
    """Return a row a checkpoint that the question was asked of: the head's score, the best baseline's, n and verdict.

    `step` is the number in the checkpoint's name, or its rank where a name has several.
    """
    numbers = [(step,) if isinstance(step, int) else numbers_in(step) for step in tables]
    is_plain = all(len(each) == 1 for each in numbers)
    rows = [
        {
            "checkpoint": step_text(step),
            "step": number[0] if is_plain else rank,
            "head": float(answer.score[head]),
            "best baseline": answer.baselines[0].score,
            "n": answer.n,
            "verdict": str(answer.word[head]),
        }
        for rank, ((step, table), number) in enumerate(zip(tables.items(), numbers, strict=True), 1)
        if (answer := table.by_key.get(question))
    ]
    return pd.DataFrame(rows)


def curve_text(frame: pd.DataFrame, head: Head) -> str:
    """Say how the head's score goes from the first to the last checkpoint."""
    first, last = frame.iloc[0], frame.iloc[-1]
    return (
        f"Head {head_name(head)} scores {percent(first['head'])} at {first['checkpoint']} and "
        f"{percent(last['head'])} at {last['checkpoint']}. There the best baseline scores "
        f"{percent(last['best baseline'])} (n = {last['n']:,})."
    )
