"""All heads on a map: a press chooses one, a box filters the table of all rows; roles as links above it.

In: a `Choice`, or the shares of the atlas. Out: the frame of the map, and the part of a page with it.
"""

import html
from collections import Counter
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, head_name, percent
from mha_core.draw.figures import charts
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import KIND_OF
from pages.parts.frame import url_params
from pages.parts.frame.charts import SHARE, chart, is_dark, selected_heads
from pages.parts.frame.links import with_params
from pages.parts.frame.option_row import follow_url
from pages.parts.frame.page_text import say
from pages.parts.roles.choice import Choice, counts

HERE = "./roles"
MAP, ROWS = "role-map", "role-rows"
LEAD = "points over the best baseline"
MIN_SCALE = 10.0  # points at which the colours end at least
# Verdict: the mark in a cell, and its words; heads with the role are outlined.
MARKS = {
    "role": ("", "passes the test"),
    "slight": ("◐", "leads, but seldom differs"),
    "weak": ("◔", "leads, but too rarely right"),
    "tracks": ("○", "no better than a baseline"),
    "rule": ("○", "no better than a baseline"),
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
    """Return the escaped address of this page with changes; an empty value removes a parameter."""
    return html.escape(with_params(HERE, {**query, **changes}))


def current(is_current: bool) -> str:
    """Return the attribute of a chosen link."""
    return ' aria-current="true"' if is_current else ""


def scores(shown: Choice) -> pd.DataFrame:
    """Return a row a head on the question that is shown, of several on its best; `lead`: points over the baseline."""
    rows = []
    for head in shown.table.heads:
        answer = shown.answer(head)
        verdict, score = str(answer.word[head]), float(answer.score[head])
        baseline = answer.baselines[0].score
        rows.append(
            {
                "layer": head[0] + 1,
                "head": head[1] + 1,
                "question": answer.question.title,
                "score": score,
                "baseline": baseline,
                "lead": 100 * max(score - baseline, 0.0),
                "verdict": verdict,
                "mark": MARKS.get(verdict, ("", ""))[0],
                "has_role": verdict == "role",
                "text": hover_text(answer, head),
            }
        )
    return pd.DataFrame(rows)


def hover_text(answer: QuestionResult, head: Head) -> str:
    """Return a head's score, the baseline's and the verdict in words."""
    numbers = f"{percent(answer.score[head])}, best baseline {percent(answer.baselines[0].score)}"
    verdict = MARKS.get(str(answer.word[head]), ("", ""))[1]
    return f"Head {head_name(head)}, {answer.question.title}: {numbers}{f', {verdict}' if verdict else ''}"


def legend(frame: pd.DataFrame) -> str:
    """Return the marks on the map in words, each with its number of heads; of a map without a colour, why."""
    n_heads = Counter(MARKS[verdict] for verdict in frame["verdict"] if verdict in MARKS)
    texts = [
        f"{mark or '▢'} {words} ({n_heads[mark, words]})"
        for mark, words in dict.fromkeys(MARKS.values())
        if (mark, words) in n_heads
    ]
    if not frame["lead"].any():
        texts.insert(0, f"White: 0 of {len(frame)} heads score above the best baseline")
    return " · ".join(texts) or "No head has this role."


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

    def choose(head: str) -> None:
        url_params.change({"head": head, **({"role": role} if role else {})})

    def on_press() -> None:
        heads = selected_heads(key)
        if len(heads) == 1:
            choose(head_name(heads[0]))
        elif heads:
            st.session_state[ROWS] = True

    has_roles = "has_role" in frame
    figure = charts.head_map(
        frame,
        value,
        title=title,
        name=name,
        text="text",
        mark="mark" if has_roles else None,
        outlined="has_role" if has_roles else None,
        chosen=chosen,
        percent=not has_roles,
        dark=is_dark(),
    )
    if has_roles:  # a lead of a tenth of a point is pale
        figure.update_coloraxes(cmax=max(MIN_SCALE, float(frame[value].max())))
    shares = [column for column in ("share", "score", "baseline") if column in frame]
    columns = dict.fromkeys(shares, SHARE)
    shown = frame.drop(columns=["text", "mark", "has_role"], errors="ignore")
    chart(figure, shown, key=key, columns=columns, on_select=on_press, about=about)
    names = [
        head_name((layer - 1, head - 1)) for layer, head in zip(frame["layer"], frame["head"], strict=True)
    ]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        follow_url(st.selectbox, "Head", f"{key}-head", head_name(chosen), choose, options=names, width=110)
        if note:
            say(note, "label")
