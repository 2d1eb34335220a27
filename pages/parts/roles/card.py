"""The card of one head: what it is called, and the evidence on the question that is shown. No Streamlit here.

In: a `Choice`. Out: HTML. A role is named only where its verdict says that the head has it.
"""

import html
from collections.abc import Mapping

from mha_core.heads.conclude import FOLLOWS_GOLD, Answer
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import answers_of, description_of
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict import MIN_CASES
from mha_core.wording import Head, head_name
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import whole
from pages.parts.roles.choice import POINTS, Choice
from pages.parts.roles.head_map import link

HIGH = 12  # layers; of a higher map the card is out of sight where a head is pressed
Row = tuple[str, str]


def card(shown: Choice, query: Mapping[str, str], carried: Mapping[str, str]) -> str:
    """Return the whole card; `query` is this address, `carried` what goes along to other pages."""
    head, answer = shown.head, shown.answer(shown.head)
    layer, number = head
    high = " high" if shown.table.shape[0] > HIGH else ""
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{whole(html.escape(value))}</td></tr>'
        for name, value in evidence(answer, head)
    )
    return (
        f'<div class="role-jump{high}"></div>'
        f"<h2>Head {head_name(head)} <small>L{layer}H{number}, zero-based</small></h2>"
        f'<p class="hs-why">{names(shown.table, head, query)}</p>'
        f"<h3>{html.escape(answer.question.title)}</h3>"
        f'<p class="hs-note">{html.escape(answer.question.asks)}</p>'
        f'<p class="hs-why"><b>{html.escape(verdict(answer, head))}</b></p>'
        f"{bar(answer, head)}"
        f'<div class="hs-scroll"><table class="role-evidence"><tbody>{rows}</tbody></table></div>'
        f'<p class="hs-why">{_elsewhere(head, carried)}</p>'
    )


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


def verdict(answer: Answer, head: Head) -> str:
    """Return the verdict on a head in one sentence."""
    word, rule = str(answer.word[head]), answer.rules[0]
    if word == "unclear":
        n = answer.n if answer.n < MIN_CASES else float(answer.effective[head])
        if n < MIN_CASES:
            return f"Cannot tell: effective sample size {n:.0f}, and {MIN_CASES} are needed."
        gap = f"{100 * float(answer.reach[head]):.0f} points"
        return f"Cannot tell: {answer.n:,} cases only show a gap of {gap} or more."
    if word == "rule" and answer.follows[head] != FOLLOWS_GOLD:
        return f"Not this role: follows a baseline, {answer.rules[int(answer.follows[head])].name}."
    return {
        "role": f"Has the role: beats every baseline by {POINTS} or more.",
        "weak": f"Not this role: beats every baseline, but by less than {POINTS}.",
        "tracks": f"Not this role: weaker than {rule.name}, but right where that is wrong.",
    }.get(word, "Not this role.")


def evidence(answer: Answer, head: Head) -> list[Row]:
    """Return the numbers of a head on a question, by name."""
    low, high, rule = float(answer.low[head]), float(answer.high[head]), answer.rules[0]
    rows = [
        (
            "Score",
            f"{answer.score[head]:.0%} of {answer.n:,} cases in {answer.documents:,} documents",
        ),
        ("95% interval", f"{low:.0%} to {high:.0%}"),
        ("Best baseline", f"{rule.score:.0%}, {rule.name}"),
    ]
    if answer.picked == (head, head):
        rows.insert(2, ("Held out", f"{answer.held_out:.0%}"))
    if answer.control is not None:
        rows.append(("Control", f"{answer.control[head]:.0%}, {answer.question.control}"))
    if answer.gold is not None and answer.rule is not None:
        right, as_rule = float(answer.gold[head]), float(answer.rule[head])
        wrong = f"right {right:.0%}, the baseline's answer {as_rule:.0%}"
        if 1 - right - as_rule > 0.005:
            wrong += f", neither {1 - right - as_rule:.0%}"
        rows.append((f"Where that baseline is wrong ({answer.n_apart:,})", wrong))
    if answer.hard is not None:
        rows.append(
            (
                f"Where every baseline is wrong ({answer.n_hard:,})",
                f"right {answer.hard[head]:.0%}, chance {answer.chance:.0%}",
            )
        )
    if answer.mass is not None:
        rows.append(("Attention there", f"{answer.mass[head]:.0%}"))
    return rows


def bar(answer: Answer, head: Head) -> str:
    """Return the score with its interval, the best baseline and the control, on a line from 0 to 100%."""
    low, high, score = (100 * float(values[head]) for values in (answer.low, answer.high, answer.score))
    baseline = 100 * answer.rules[0].score
    marks = [("baseline", "baseline", baseline), ("score", head_name(head), score)]
    if answer.control is not None:
        marks.insert(0, ("control", "control", 100 * float(answer.control[head])))
    drawn = "".join(f'<i class="{kind}" style="left:{at:.1f}%"></i>' for kind, _, at in marks)
    keys = "".join(f'<span class="{kind}">{name} {at:.0f}%</span>' for kind, name, at in reversed(marks))
    return (
        f'<div class="role-bar" aria-hidden="true"><div><i class="interval" style="left:{low:.1f}%;'
        f'width:{high - low:.1f}%"></i>{drawn}</div><p>{keys}</p></div>'
    )


def _elsewhere(head: Head, carried: Mapping[str, str]) -> str:
    name = head_name(head)
    links = {
        "See it in Explore": link_to("Explore", {**carried, "head": name}),
        "Switch it off in Experiment": link_to("Experiment", {**carried, "head": name, "off": name}),
        "Its examples in the atlas": link_to("Roles", {**carried, "part": "atlas", "head": name}),
    }
    return " · ".join(f'<a href="{html.escape(to)}">{words}</a>' for words, to in links.items())
