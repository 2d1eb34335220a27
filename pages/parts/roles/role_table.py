"""All questions as a table to sort, every row of the chosen head and question, and files of all rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, count_noun, head_name
from mha_core.heads.table import Corpus, RoleTable
from mha_core.record import export
from pages.parts.frame import url_params
from pages.parts.frame.charts import HEAD_NAME, SHARE
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.page_text import heading, say
from pages.parts.frame.request import name_outside
from pages.parts.roles.choice import Choice
from pages.parts.roles.head_map import ROWS

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
    "role: repairs a third of the best baseline's errors. slight: better, but seldom differs. weak: too rarely right. "
    "tracks: right where a stronger baseline is wrong. "
    "rule: follows a baseline. unclear: cannot tell."
)
CONFIG: Mapping[str, Any] = {
    **dict.fromkeys(SHARES, SHARE),
    "title": st.column_config.TextColumn("question", pinned=True),
    "head": st.column_config.LinkColumn("best head", display_text=HEAD_NAME),
    "held_out": st.column_config.ProgressColumn("held out", format="percent", min_value=0, max_value=1),
    "verdict": st.column_config.TextColumn("verdict", help=VERDICTS),
    "baseline": "best baseline",
    "baseline_score": st.column_config.NumberColumn("baseline score", format="percent"),
}


def draw_table(shown: Choice, heads: Sequence[Head], carried: Mapping[str, str]) -> None:
    """Draw the table of questions, the rows (of `heads`, where there are several), the files and the source."""
    table = shown.table
    heading("All questions")
    st.dataframe(
        with_links(table.questions(), carried),
        hide_index=True,
        column_order=COLUMNS,
        column_config=CONFIG,
        height=320,
        key="role-questions",
        alt="Every question with its best head, held-out score, interval, baseline and verdict",
    )
    title = rows_title(shown, heads)
    box = st.expander(title, key=ROWS, on_change="rerun")
    if box.open:
        with box:
            head_column = st.column_config.LinkColumn("head", display_text=HEAD_NAME)
            st.dataframe(
                with_links(rows(shown, heads), carried),
                hide_index=True,
                column_config={**CONFIG, "head": head_column},
                key="role-all-rows",
                alt=title,
            )
    _files(table)
    say(f"Made {table.date} from {'; '.join(map(_corpus_text, table.corpora.values()))}.", "label")
    st.code(table.command.replace(table.model, name_outside(table.model)), language=None, wrap_lines=True)


def rows_title(shown: Choice, heads: Sequence[Head]) -> str:
    """Return the title of the table of rows."""
    if len(heads) > 1:
        return f"All rows of the {len(heads)} selected heads"
    return f"All rows of head {head_name(shown.head)}" + (" and of this question" if shown.question else "")


def rows(shown: Choice, heads: Sequence[Head]) -> pd.DataFrame:
    """Return the rows of several heads, or those of the chosen head and of the question where one is chosen."""
    frame = shown.table.to_frame()
    names = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    if len(heads) > 1:
        is_shown = names.isin([head_name(head) for head in heads])
    else:
        is_shown = names.eq(head_name(shown.head)) | frame["question"].eq(shown.question)
    frame = frame.drop(columns=["layer", "head"])
    frame.insert(0, "head", names)
    return frame[is_shown]


def with_links(frame: pd.DataFrame, carried: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with `head`, a name, as the address of its card on the row's question."""
    links = [
        link_to("Roles", {**carried, "question": question, "head": head})
        for question, head in zip(frame["question"], frame["head"], strict=True)
    ]
    return frame.assign(head=links)


def _files(table: RoleTable) -> None:
    """Draw the buttons for files of all rows."""
    name = f"headscope-roles-{table.model.rsplit('/', 1)[-1]}{'' if table.trained else '-untrained'}"
    link = with_params(st.context.url or "", url_params.params())

    def described() -> pd.DataFrame:
        return table.to_frame().assign(digest=table.digest, made=table.date, link=link)

    files = {"csv": lambda: export.csv_of(described()), "json": lambda: export.json_of(described())}
    with st.container(key="role-files", horizontal=True, vertical_alignment="center", gap="small"):
        say("All heads, all questions:", "label")
        for kind, write in files.items():
            st.download_button(kind.upper(), write, f"{name}.{kind}", on_click="ignore", key=f"roles-{kind}")


def _corpus_text(corpus: Corpus) -> str:
    """Name a corpus with the number of its texts, those left out, and the licence."""
    n_left_out = f"{corpus.n_left_out:,} left out" if corpus.n_left_out else ""
    facts = (count_noun(corpus.n_texts, "text"), n_left_out, corpus.licence)
    return f"{corpus.title} ({', '.join(filter(None, facts))})"
