"""All questions as a table to sort, every row of the chosen head and question, and files of all rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from mha_core.display_names import Head, count_noun, head_name
from mha_core.heads.table import Corpus, RoleTable
from mha_core.record import export
from pages.parts.frame import url_params
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.page_text import heading, say
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


def draw_table(shown: Choice, heads: Sequence[Head], carried: Mapping[str, str]) -> None:
    """Draw the table of questions, the rows (of `heads`, where there are several), the files and the source."""
    table = shown.table
    heading("All questions")
    st.dataframe(
        _in_percent(with_links(table.questions(), carried)),
        hide_index=True,
        column_order=COLUMNS,
        column_config=_columns(),
        height=320,
        key="role-questions",
        alt="Every question with its best head, held-out score, interval, baseline and verdict",
    )
    box = st.expander(rows_title(shown, heads), key=ROWS, on_change="rerun")
    if box.open:
        with box:
            st.dataframe(
                _in_percent(with_links(rows(shown, heads), carried)),
                hide_index=True,
                column_config=_columns() | {"head": _head_column("head")},
                key="role-all-rows",
                alt=rows_title(shown, heads),
            )
    _files(table)
    say(_source(table), "label")
    st.code(table.command, language=None, wrap_lines=True)


def rows_title(shown: Choice, heads: Sequence[Head]) -> str:
    """Return what the table of rows is of."""
    if len(heads) > 1:
        return f"All rows of the {len(heads)} selected heads"
    return f"All rows of head {head_name(shown.head)}" + (" and of this question" if shown.question else "")


def rows(shown: Choice, heads: Sequence[Head]) -> Any:
    """Return the rows of several heads, or those of the chosen head and of the question where one is chosen."""
    frame = shown.table.to_frame()
    frame.insert(
        0, "name", [f"{layer}-{head}" for layer, head in zip(frame["layer"], frame["head"], strict=True)]
    )
    if len(heads) > 1:
        found = frame[frame["name"].isin([head_name(head) for head in heads])]
    else:
        found = frame[frame["name"].eq(head_name(shown.head)) | frame["question"].eq(shown.question)]
    return found.drop(columns=["layer", "head"]).rename(columns={"name": "head"})


def with_links(frame: Any, carried: Mapping[str, str]) -> Any:
    """Return the frame with `head`, a name, as the address of its card on the row's question."""
    links = [
        link_to("Roles", {**carried, "question": question, "head": head})
        for question, head in zip(frame["question"], frame["head"], strict=True)
    ]
    return frame.assign(head=links)


def _in_percent(frame: Any) -> Any:
    shares = [name for name in SHARES if name in frame]
    return frame.assign(**{name: 100 * frame[name] for name in shares})


def _columns() -> dict[str, Any]:
    numbers = {name: st.column_config.NumberColumn(format="%.0f%%") for name in SHARES}
    return {
        **numbers,
        "title": st.column_config.TextColumn("question", pinned=True),
        "head": _head_column("best head"),
        "held_out": st.column_config.ProgressColumn("held out", format="%.0f%%", min_value=0, max_value=100),
        "verdict": st.column_config.TextColumn("verdict", help=VERDICTS),
        "baseline": "best baseline",
        "baseline_score": st.column_config.NumberColumn("baseline score", format="%.0f%%"),
    }


def _head_column(label: str) -> Any:
    return st.column_config.LinkColumn(label, display_text=r"[?&]head=(\d+-\d+)")


def _files(table: RoleTable) -> None:
    """CSV and JSON of all rows, made when they are asked for."""
    name = f"headscope-roles-{table.model.rsplit('/', 1)[-1]}{'' if table.trained else '-untrained'}"
    address = with_params(st.context.url or "", url_params.params())
    files = {
        "csv": lambda: export.csv_of(_described(table, address)),
        "json": lambda: export.json_of(_described(table, address)),
    }
    with st.container(key="role-files", horizontal=True, vertical_alignment="center", gap="small"):
        say("All heads, all questions:", "label")
        for kind, made in files.items():
            st.download_button(kind.upper(), made, f"{name}.{kind}", on_click="ignore", key=f"roles-{kind}")


def _described(table: RoleTable, address: str) -> Any:
    """All rows with the model's digest, the day they were made, and the link back."""
    return table.to_frame().assign(digest=table.digest, made=table.date, link=address)


def _source(table: RoleTable) -> str:
    return f"Made {table.date} from {'; '.join(map(_corpus_text, table.corpora.values()))}."


def _corpus_text(corpus: Corpus) -> str:
    """What was read, and how much of it was left out."""
    said = [count_noun(corpus.n_texts, "text")]
    said += [f"{corpus.n_left_out:,} left out"] if corpus.n_left_out else []
    return f"{corpus.title} ({', '.join([*said, *filter(None, [corpus.licence])])})"
