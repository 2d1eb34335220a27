"""All questions as a table to sort, every row of the chosen head and question, and files of all rows."""

from typing import Any

import streamlit as st

from mha_core import export
from mha_core.heads.table import RoleTable
from mha_core.wording import counted, head_name
from pages.parts.frame.prose import heading, say
from pages.parts.roles.choice import Choice

SHARES = ("score", "low", "high", "baseline_score", "control", "held_out")
COLUMNS = (
    "title",
    "head",
    "held_out",
    "baseline_score",
    "verdict",
    "n",
    "low",
    "high",
    "control",
    "baseline",
    "corpus",
)

VERDICTS = (
    "role: beats every baseline. weak: by too little. tracks: right where a stronger baseline is wrong. "
    "rule: follows a baseline. unclear: cannot tell."
)


def sheet(shown: Choice) -> None:
    """Draw the table of questions, the rows, the files and where the numbers are from."""
    table = shown.table
    heading("All questions")
    questions = table.questions()
    st.dataframe(
        _in_percent(questions),
        hide_index=True,
        column_order=COLUMNS,
        column_config=_columns(),
        height=320,
        key="role-questions",
        alt="Every question with its best head, held-out score, interval, baseline and verdict",
    )
    title = f"All rows of head {head_name(shown.head)}" + (" and of this question" if shown.question else "")
    box = st.expander(title, key="role-rows", on_change="rerun")
    if box.open:
        with box:
            st.dataframe(
                _in_percent(_rows(shown)), hide_index=True, column_config=_columns(), key="role-all-rows"
            )
    _files(table)
    say(_source(table), "label")
    st.code(table.command, language=None, wrap_lines=True)


def _rows(shown: Choice) -> Any:
    """The rows of the chosen head, and of the question where one is chosen."""
    frame = shown.table.to_frame()
    layer, head = shown.head
    return frame[
        (frame["layer"].eq(layer + 1) & frame["head"].eq(head + 1)) | frame["question"].eq(shown.question)
    ]


def _in_percent(frame: Any) -> Any:
    shares = [name for name in SHARES if name in frame]
    return frame.assign(**{name: 100 * frame[name] for name in shares})


def _columns() -> dict[str, Any]:
    numbers = {name: st.column_config.NumberColumn(format="%.0f%%") for name in SHARES}
    return {
        **numbers,
        "title": st.column_config.TextColumn("question", pinned=True),
        "head": st.column_config.TextColumn("best head"),
        "held_out": st.column_config.ProgressColumn("held out", format="%.0f%%", min_value=0, max_value=100),
        "verdict": st.column_config.TextColumn("verdict", help=VERDICTS),
        "baseline": "best baseline",
        "baseline_score": st.column_config.NumberColumn("baseline score", format="%.0f%%"),
    }


def _files(table: RoleTable) -> None:
    """CSV and JSON of all rows, made when they are asked for."""
    name = f"headscope-roles-{table.model.rsplit('/', 1)[-1]}{'' if table.trained else '-untrained'}"
    files = {
        "csv": lambda: export.csv_of(export.rows_of(table.to_frame())),
        "json": lambda: export.json_of(export.rows_of(table.to_frame())),
    }
    with st.container(key="role-files", horizontal=True, vertical_alignment="center", gap="small"):
        say("All heads, all questions:", "label")
        for kind, made in files.items():
            st.download_button(kind.upper(), made, f"{name}.{kind}", on_click="ignore", key=f"roles-{kind}")


def _source(table: RoleTable) -> str:
    corpora = "; ".join(
        f"{corpus.title} ({counted(corpus.n_texts, 'text')}{', ' + corpus.licence if corpus.licence else ''})"
        for corpus in table.corpora.values()
    )
    return f"Made {table.date} from {corpora}."
