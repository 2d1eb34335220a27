"""All heads as a table of links, layer down and head across, marked by the role that is shown. No Streamlit here."""

import html
from collections import Counter
from collections.abc import Mapping

from mha_core.heads.conclude import Answer
from mha_core.heads.questions.base import KIND_OF
from mha_core.wording import Head, head_name
from pages.parts.frame.links import with_params
from pages.parts.roles.choice import POINTS, Choice, counts

HERE = "./roles"
# Verdict: the mark in a cell, and its words. What is not here has no mark.
MARKS = {
    "role": ("●", "has the role"),
    "weak": ("◐", f"beats every baseline by less than {POINTS}"),
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


def head_map(shown: Choice, query: Mapping[str, str]) -> str:
    """Return the map with its legend."""
    layers, heads = shown.table.shape
    columns = "".join(f'<th scope="col">{i}</th>' for i in range(1, heads + 1))
    rows = "".join(
        f'<tr><th scope="row">{layer + 1}</th>'
        + "".join(_cell(shown, (layer, head), query) for head in range(heads))
        + "</tr>"
        for layer in range(layers)
    )
    return (
        f'<p class="hs-label">Layer ↓, head →</p><div class="hs-scroll role-map" style="--role:{shown.kind.colour}">'
        f'<table aria-label="All heads: {html.escape(shown.kind.word)}"><thead><tr><td></td>{columns}</tr></thead>'
        f'<tbody>{rows}</tbody></table></div><p class="hs-label">{_legend(shown)}</p>'
    )


def link(query: Mapping[str, str], **changes: str) -> str:
    """Return the escaped address of this page with changes; what is changed to nothing goes."""
    return html.escape(with_params(HERE, {**query, **changes}))


def current(is_this: bool) -> str:
    """Return the attribute of what is chosen."""
    return ' aria-current="true"' if is_this else ""


def said(answer: Answer, head: Head) -> str:
    """Return a head's score on a question in words, for those who do not see the mark."""
    mark = MARKS.get(str(answer.word[head]))
    name = f"Head {head_name(head)}, {answer.question.title}: {answer.score[head]:.0%}"
    return f"{name}, {mark[1]}" if mark else name


def _cell(shown: Choice, head: Head, query: Mapping[str, str]) -> str:
    word, name = shown.word(head), head_name(head)
    label = html.escape(said(shown.answer(head), head))
    mark = f'<b aria-hidden="true">{MARKS[word][0]}</b>' if word in MARKS else ""
    to = link(query, role=shown.kind.key, head=name)
    return (
        f'<td><a href="{to}" class="{word}" data-shows=".role-jump" title="{label}" aria-label="{label}"'
        f"{current(head == shown.head)}>{name}{mark}</a></td>"
    )


def _legend(shown: Choice) -> str:
    there = Counter(MARKS[word] for head in shown.table.heads if (word := shown.word(head)) in MARKS)
    return (
        " · ".join(
            f"{mark} {words} ({there[mark, words]})"
            for mark, words in dict.fromkeys(MARKS.values())
            if (mark, words) in there
        )
        or "No head has this role."
    )
