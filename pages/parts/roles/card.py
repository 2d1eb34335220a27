"""The card of one head: what it is called, and the evidence on the question that is shown.

In: a `Choice`. Out: HTML and a chart. A role is named only where its verdict says that the head has it.
"""

import html
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import Head, head_name
from mha_core.draw.figures import charts
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import description_of, roles_held
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict_text import head_text, question_text
from pages.parts.frame import url_params
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.page_text import markup
from pages.parts.roles.choice import Choice
from pages.parts.roles.head_map import link

KEY = "role-evidence"


def draw_card(shown: Choice, query: Mapping[str, str], carried: Mapping[str, str]) -> None:
    """Draw the whole card; `query` is this address, `carried` what goes along to other pages."""
    head, answer = shown.head, shown.answer(shown.head)
    layer, number = head
    name = head_name(head)
    markup(
        f"<h2>Head {name} <small>· L{layer}H{number}</small></h2>"
        f'<p class="hs-why">{names(shown.table, head, query)}</p>'
        f"<h3>{html.escape(answer.question.title)}</h3>"
        f'<p class="hs-why"><b>{html.escape(question_text(answer, head))}</b></p>'
    )
    found = evidence(answer, head)
    figure = charts.intervals(
        found.assign(label=[f"{one.label} {one.share:.0%}" for one in found.itertuples()]),
        "label",
        "share",
        "low",
        "high",
        title=f"Head {name}, n = {answer.n:,}",
        dark=is_dark(),
    )
    shares = {key: st.column_config.NumberColumn(format="percent") for key in ("share", "low", "high")}
    chart(figure, found.drop(columns="label"), key=KEY, columns=shares, about=about_file(shown, head))
    markup(
        f'<p class="hs-note">{html.escape(answer.question.asks)} {html.escape(compared(answer))}</p>'
        f'<p class="hs-why">{_other_pages(head, carried)}</p>'
    )


def about_file(shown: Choice, head: Head | None = None) -> dict[str, str]:
    """Return what a file of the page says of itself: model, corpus, question, head, and the link back."""
    answer = shown.answer(head or shown.head)
    corpora = "; ".join(corpus.title for corpus in shown.table.corpora.values())
    return {
        "model": shown.table.model,
        "corpus": corpora,
        "asked": answer.question.title if head or shown.question else shown.kind.word,
        **({"of_head": head_name(head)} if head else {}),
        "link": with_params(st.context.url or "", url_params.params()),
    }


def names(table: RoleTable, head: Head, query: Mapping[str, str]) -> str:
    """Return what a head does, each role or what comes closest as a link, escaped."""
    text, name = html.escape(head_text(table, head)), head_name(head)
    held = roles_held(table, head)
    if not held and (described := description_of(table, head)):
        title = table.by_key[described.question].question.title
        to = link(query, role="", question=described.question, head=name)
        return _linked(text, to, (described.name, described.does, title))
    for role in held:
        kind = KIND_OF[role.kind].name
        text = _linked(text, link(query, role=role.kind, question="", head=name), (kind,))
    return text


def _linked(text: str, to: str, names: Sequence[str]) -> str:
    """Return escaped text with the first of these names that is in it as a link, whatever its first letter."""
    found = re.search("|".join(re.escape(html.escape(one)) for one in names), text, re.IGNORECASE)
    return (
        text
        if found is None
        else f'{text[: found.start()]}<a href="{to}">{found[0]}</a>{text[found.end() :]}'
    )


def compared(answer: QuestionResult) -> str:
    """Return what the score is compared with."""
    control = "" if answer.control is None else f" Control: {answer.question.control}."
    return f"Best baseline: {answer.baselines[0].name}.{control}"


def evidence(answer: QuestionResult, head: Head) -> pd.DataFrame:
    """Return the shares of a head on a question beside its baselines: a short `label`, what it is, interval and n."""
    rule = answer.baselines[0]
    rows = [
        ("Score", "right", answer.score[head], answer.low[head], answer.high[head], answer.n),
        ("Best baseline", rule.name, rule.score, np.nan, np.nan, answer.n),
    ]

    def add(label: str, what: str, share: float, n: int) -> None:
        rows.append((label, what, share, np.nan, np.nan, n))

    if answer.picked == (head, head):
        add("Held out", "right, head chosen on other documents", answer.held_out, answer.n)
    if answer.control is not None:
        add("Control", answer.question.control, answer.control[head], answer.n)
    if answer.right_there is not None and answer.as_baseline_there is not None:
        add(
            "Baseline wrong",
            "right where the best baseline is wrong",
            answer.right_there[head],
            answer.n_baseline_wrong,
        )
        add(
            "… its answer",
            "the baseline's answer there",
            answer.as_baseline_there[head],
            answer.n_baseline_wrong,
        )
    if answer.right_where_all_wrong is not None:
        add(
            "All wrong",
            "right where every baseline is wrong",
            answer.right_where_all_wrong[head],
            answer.n_all_wrong,
        )
        add("… chance", "chance there", answer.chance, answer.n_all_wrong)
    if answer.mass is not None:
        add("Attention", "attention there", answer.mass[head], answer.n)
    frame = pd.DataFrame(rows, columns=["label", "what", "share", "low", "high", "n"])
    return frame.astype({"share": float, "low": float, "high": float})


def _other_pages(head: Head, carried: Mapping[str, str]) -> str:
    name = head_name(head)
    links = {
        "See it in Explore": link_to("Explore", {**carried, "head": name}),
        "Ablate it": link_to("Experiment", {**carried, "head": name, "off": name}),
        "Examples": link_to("Roles", {**carried, "part": "atlas", "head": name}),
    }
    return " · ".join(f'<a href="{html.escape(to)}">{words}</a>' for words, to in links.items())
