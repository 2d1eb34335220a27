"""The card of one head: what it is called, and the evidence on the question that is shown.

In: a `Choice`. Out: HTML and a chart. A role is named only where its verdict says that the head has it.
"""

import html
from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.figures import charts
from mha_core.heads.conclude import FOLLOWS_GOLD, QuestionResult
from mha_core.heads.questions.base import BY_WRITING, KIND_OF
from mha_core.heads.roles import answers_of, description_of
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict import MIN_CASES, THRESHOLDS
from mha_core.wording import Head, head_name
from pages.parts.frame import state
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.page_text import markup
from pages.parts.roles.choice import POINTS, Choice
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
        f'<p class="hs-why"><b>{html.escape(verdict(answer, head))}</b></p>'
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
        "link": with_params(st.context.url or "", state.params()),
    }


def names(table: RoleTable, head: Head, query: Mapping[str, str]) -> str:
    """Return the roles of a head as links, one a kind, or what else it is described by."""
    has = {answer.kind: answer for answer in reversed(answers_of(table, head, ("role",)))}
    if has:
        links = [
            f'<a href="{link(query, role=kind, question="", head=head_name(head))}">{KIND_OF[kind].name}</a>'
            for kind in reversed(has)
        ]
        return f"Roles: {', '.join(links)}." if len(links) > 1 else f"Role: {links[0]}."
    described = description_of(table, head)
    if described is None:
        return "No role found."
    to = link(query, role="", question=described.question, head=head_name(head))
    tracks = "" if described.name == described.does else "tracks "
    return f'No role found. It {tracks}<a href="{to}">{html.escape(described.name)}</a>.'


def verdict(answer: QuestionResult, head: Head) -> str:
    """Return the verdict on a head in one sentence."""
    word, rule = str(answer.word[head]), answer.baselines[0]
    if word == "unclear":
        n = answer.n if answer.n < MIN_CASES else float(answer.effective_n[head])
        if n < MIN_CASES:
            return f"Cannot tell: effective sample size {n:.0f}, and {MIN_CASES} are needed."
        gap = f"{100 * float(answer.detectable_gap[head]):.0f} points"
        return f"Cannot tell: {answer.n:,} cases only show a gap of {gap} or more."
    if word == "rule" and answer.follows[head] != FOLLOWS_GOLD:
        return f"Not this role: follows a baseline, {answer.baselines[int(answer.follows[head])].name}."
    asked = THRESHOLDS[answer.kind].mass
    if word == "no" and answer.kind in BY_WRITING and answer.mass is not None and answer.mass[head] < asked:
        return f"Not this role: names get {answer.mass[head]:.0%} of its attention; {asked:.0%} are asked."
    return {
        "role": f"Has the role: beats every baseline by {POINTS} or more.",
        "weak": f"Not this role: beats every baseline, but by less than {POINTS}.",
        "tracks": f"Not this role: weaker than {rule.name}, but right where that is wrong.",
    }.get(word, "Not this role.")


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
