"""All heads on a map, layer down and head across: a press chooses one, a box filters the table of all rows.

In: a `Choice`, or what the atlas fills. Out: the frame of the map, and the part of a page with it.
"""

import html
from collections import Counter
from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, head_name
from mha_core.draw.figures import charts
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import KIND_OF
from pages.parts.frame import url_params
from pages.parts.frame.charts import chart, is_dark, selected_heads
from pages.parts.frame.links import with_params
from pages.parts.frame.page_text import say
from pages.parts.roles.choice import Choice, counts

HERE = "./roles"
MAP, ROWS = "role-map", "role-rows"
# Verdict: the mark in a cell, and its words. What is not here has no mark.
MARKS = {
    "role": ("●", "passes the test"),
    "slight": ("◐", "beats every baseline, but seldom differs"),
    "weak": ("◔", "beats every baseline, but too rarely right"),
    "tracks": ("○", "looks like it, but is weaker than a baseline"),
    "rule": ("○", "looks like it, but is weaker than a baseline"),
    "unclear": ("?", "cannot tell"),
}


def kinds(shown: Choice, query: Mapping[str, str]) -> str:
    """Return the kinds of roles as links, each with the number of heads that have it."""
    links = "".join(
        f'<a href="{link(query, role=key, question="", head="")}" style="--role:{KIND_OF[key].colour}"'
        f"{'' if n else ' class=none'}{current(key == shown.kind.key)}>{KIND_OF[key].word} <b>{n}</b></a>"
        for key, n in counts(shown.table).items()
    )
    return f'<nav class="role-kinds" aria-label="Roles">{links}</nav>'


def link(query: Mapping[str, str], **changes: str) -> str:
    """Return the escaped address of this page with changes; what is changed to nothing goes."""
    return html.escape(with_params(HERE, {**query, **changes}))


def current(is_this: bool) -> str:
    """Return the attribute of what is chosen."""
    return ' aria-current="true"' if is_this else ""


def scores(shown: Choice) -> pd.DataFrame:
    """Return a row a head: its score and verdict on the question that is shown, of several on its best."""
    rows = []
    for head in shown.table.heads:
        answer = shown.answer(head)
        word = str(answer.word[head])
        rows.append(
            {
                "layer": head[0] + 1,
                "head": head[1] + 1,
                "question": answer.question.title,
                "score": float(answer.score[head]),
                "verdict": word,
                "mark": MARKS.get(word, ("", ""))[0],
                "text": hover_text(answer, head),
            }
        )
    return pd.DataFrame(rows)


def hover_text(answer: QuestionResult, head: Head) -> str:
    """Return a head's score on a question in words, for those who do not see the mark."""
    mark = MARKS.get(str(answer.word[head]))
    name = f"Head {head_name(head)}, {answer.question.title}: {answer.score[head]:.0%}"
    return f"{name}, {mark[1]}" if mark else name


def legend(frame: pd.DataFrame) -> str:
    """Return the marks that are on the map, in words, each with its number of heads."""
    there = Counter(MARKS[word] for word in frame["verdict"] if word in MARKS)
    return (
        " · ".join(
            f"{mark} {words} ({there[mark, words]})"
            for mark, words in dict.fromkeys(MARKS.values())
            if (mark, words) in there
        )
        or "No head has this role."
    )


def draw_map(
    frame: pd.DataFrame,
    value: str,
    *,
    title: str,
    name: str,
    chosen: Head,
    key: str,
    role: str = "",
    note: str = "",
    about: Mapping[str, str] | None = None,
) -> None:
    """Draw the map, a list of the same heads and a `note`; a press on either chooses a head, of that `role`."""
    marks = "mark" if "mark" in frame else None
    figure = charts.head_map(
        frame,
        value,
        title=title,
        name=name,
        text="text",
        mark=marks,
        chosen=chosen,
        percent=True,
        dark=is_dark(),
    )
    shown = frame.drop(columns=["text", *([marks] if marks else [])])
    columns = {value: st.column_config.NumberColumn(name, format="percent")}
    chart(figure, shown, key=key, columns=columns, on_select=partial(_pressed, key, role), about=about)
    names = [
        head_name((layer - 1, head - 1)) for layer, head in zip(frame["layer"], frame["head"], strict=True)
    ]
    st.session_state[f"{key}-head"] = head_name(chosen)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox("Head", names, key=f"{key}-head", width=110, on_change=partial(_listed, key, role))
        if note:
            say(note, "label")


def _pressed(key: str, role: str) -> None:
    heads = selected_heads(key)
    if len(heads) == 1:
        _choose(head_name(heads[0]), role)
    elif heads:
        st.session_state[ROWS] = True


def _listed(key: str, role: str) -> None:
    _choose(st.session_state[f"{key}-head"], role)


def _choose(name: str, role: str) -> None:
    url_params.change({"head": name, **({"role": role} if role else {})})
