"""The card of one head: its roles, and its evidence on the question that is shown.

In: a `Choice`. Out: HTML and a table. A role is named only where its verdict says that the head has it.
"""

import html
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import Head, head_name, percent
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import description_of, roles_held
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict_text import head_text, question_text
from pages.parts.frame import url_params
from pages.parts.frame.charts import SHARE
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.page_text import markup, say
from pages.parts.roles.choice import Choice
from pages.parts.roles.head_map import link


def draw_card(shown: Choice, query: Mapping[str, str], carried: Mapping[str, str]) -> None:
    """Draw the whole card; `query` is this address, `carried` what goes along to other pages."""
    head, answer = shown.head, shown.answer(shown.head)
    layer, number = head
    verdict = question_text(answer, head)
    rest = verdict.partition(": ")[2].casefold()  # a weak role is described by its question
    is_said = rest in head_text(shown.table, head).casefold()
    verdict = "" if is_said else f'<p class="hs-why"><b>{html.escape(verdict)}</b></p>'
    markup(
        f"<h2>Head {head_name(head)} <small>· L{layer}H{number}</small></h2>"
        f'<p class="hs-why">{names(shown.table, head, query)}</p>'
        f"<h3>{html.escape(answer.question.title)}</h3>"
        f"{verdict}"
        f"{score_bar(float(answer.score[head]), answer.baselines[0].score)}"
    )
    box = st.popover(
        "Evidence", icon=":material/info:", type="tertiary", key="role-evidence", on_change="rerun"
    )
    if box.open:
        with box:
            control = "" if answer.control is None else f" Control: {answer.question.control}."
            say(f"{answer.question.asks} Best baseline: {answer.baselines[0].name}.{control}")
            st.dataframe(
                evidence(answer, head),
                hide_index=True,
                column_config=dict.fromkeys(("share", "low", "high"), SHARE),
                key="role-evidence-table",
                alt=f"Evidence on head {head_name(head)}, n = {answer.n:,}",
            )
    markup(f'<p class="hs-why">{_other_pages(head, carried)}</p>')


def score_bar(score: float, baseline: float) -> str:
    """Return a bar from 0 to 100% of a head's score, with a tick at the best baseline."""
    side = "left" if baseline < 0.5 else "right"
    return (
        f'<figure class="role-bar" role="img" aria-label="Score {percent(score)}, best baseline {percent(baseline)}">'
        f'<i style="width:{score:.1%}"></i><b style="inset-inline-start:{baseline:.1%}"></b>'
        f'<span class="{side}" style="--at:{baseline:.1%}">baseline {percent(baseline)}</span></figure>'
    )


def about_file(shown: Choice) -> dict[str, str]:
    """Return a file's description: model, corpus, question, and the link back."""
    return {
        "model": shown.table.model,
        "corpus": "; ".join(corpus.title for corpus in shown.table.corpora.values()),
        "asked": shown.title,
        "link": with_params(st.context.url or "", url_params.params()),
    }


def names(table: RoleTable, head: Head, query: Mapping[str, str]) -> str:
    """Return a head's roles, or what comes closest, each as a link, escaped."""
    text, name = html.escape(head_text(table, head)), head_name(head)
    held = roles_held(table, head)
    if not held and (described := description_of(table, head)):
        title = table.by_key[described.question].question.title
        address = link(query, role="", question=described.question, head=name)
        return _linked(text, address, (described.name, described.does, title))
    for role in held:
        text = _linked(text, link(query, role=role.kind, question="", head=name), (KIND_OF[role.kind].name,))
    return text


def _linked(text: str, address: str, names: Sequence[str]) -> str:
    """Return escaped text with the first of these names in it as a link, whatever its first letter."""
    pattern = "|".join(re.escape(html.escape(name)) for name in names)
    return re.sub(
        pattern, lambda match: f'<a href="{address}">{match[0]}</a>', text, count=1, flags=re.IGNORECASE
    )


def evidence(answer: QuestionResult, head: Head) -> pd.DataFrame:
    """Return the shares of a head on a question beside its baselines, with interval and n."""
    n, n_wrong, n_all_wrong = answer.n, answer.n_baseline_wrong, answer.n_all_wrong
    at_head = {
        name: None if values is None else values[head]
        for name, values in (
            ("control", answer.control),
            ("there", answer.right_there),
            ("baseline", answer.as_baseline_there),
            ("all wrong", answer.right_where_all_wrong),
            ("mass", answer.mass),
        )
    }
    rows = [
        ("right", answer.score[head], n),
        (f"best baseline: {answer.baselines[0].name}", answer.baselines[0].score, n),
        (
            "right, head chosen on other documents",
            answer.held_out if answer.picked == (head, head) else None,
            n,
        ),
        (f"control: {answer.question.control}", at_head["control"], n),
        ("right where the best baseline is wrong", at_head["there"], n_wrong),
        ("the baseline's answer there", at_head["baseline"], n_wrong),
        ("right where every baseline is wrong", at_head["all wrong"], n_all_wrong),
        ("chance there", None if at_head["all wrong"] is None else answer.chance, n_all_wrong),
        ("attention there", at_head["mass"], n),
    ]
    frame = pd.DataFrame([row for row in rows if row[1] is not None], columns=["what", "share", "n"])
    frame["low"], frame["high"] = np.nan, np.nan
    frame.loc[0, ["low", "high"]] = answer.low[head], answer.high[head]
    return frame.astype({"share": float})


def _other_pages(head: Head, carried: Mapping[str, str]) -> str:
    name = head_name(head)
    links = {
        "Explore": link_to("Explore", {**carried, "head": name}),
        "Ablate": link_to("Experiment", {**carried, "head": name, "off": name}),
        "Examples": link_to("Roles", {**carried, "part": "atlas", "head": name}),
    }
    return " · ".join(f'<a href="{html.escape(address)}">{words}</a>' for words, address in links.items())
