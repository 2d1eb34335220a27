"""Selective or not? A role's heads are taken away, as many others at random, and several things asked after each."""

import html
from collections.abc import Mapping, Sequence

import streamlit as st

from mha_core import Model
from mha_core.experiments import Selectivity, selective
from mha_core.heads.jobs import KIND_OF
from mha_core.heads.roles import Role
from mha_core.wording import Head, head_name
from pages.parts.experiment.frame import caveats
from pages.parts.experiment.said import number
from pages.parts.frame import head_facts, loading, shell
from pages.parts.frame.progress import work
from pages.parts.frame.prose import markup, say
from pages.parts.frame.request import Request

LEAST = 3  # heads of a role that is taken away as a whole
DRAWS = 10
FINDING = "Every head reads the built-in sentences; that takes a while once."
LUCK = (
    f"Of {DRAWS} random sets and the role's own, one is the worst by luck alone in 1 of {DRAWS + 1} cases; with so "
    "many rows and columns some stars are luck."
)


def view(request: Request) -> None:
    """The whole part."""
    used = shell.or_show_error(loading.model, request)
    if used is None:
        return
    known = head_facts.known_findings(request.model, request.trained)
    if known is None:
        say("What the heads of this model do is not known yet; the roles come from there.", "note")
        if st.button("Find the roles first", key="find-roles", type="primary"):
            with st.spinner(FINDING, show_time=True):
                known = shell.or_show_error(head_facts.findings, request.model, request.trained)
    if known is None:
        return
    sets = sets_of(known.roles, used)
    if not sets:
        say(f"No role of {used.title} has {LEAST} heads or more, so there is no set to take away.", "notice")
        return
    work(
        ("selective", used.name, used.fingerprint, repr(sets)),
        lambda: selective(sets, used, draws=DRAWS),
        lambda found: _show(found, len(sets)),
        button=f"Take {len(sets)} roles away, one after the other"
        if len(sets) > 1
        else "Take the one role away",
        unit=f"steps; each role and {DRAWS} random sets of as many heads",
        one=f"step; each role and {DRAWS} random sets of as many heads",
    )
    caveats(LUCK)


def sets_of(roles: Mapping[Head, Role], used: Model) -> dict[str, tuple[Head, ...]]:
    """The heads of every role that has enough of them, and leaves as many to draw from; most heads first."""
    kinds = dict[str, list[Head]]()
    for head, role in sorted(roles.items()):
        kinds.setdefault(role.key, []).append(head)
    every = used.n_layers * used.n_heads
    return {
        KIND_OF[key].name: tuple(heads)
        for key, heads in sorted(kinds.items(), key=lambda pair: -len(pair[1]))
        if len(heads) >= LEAST and 2 * len(heads) <= every
    }


def _show(found: tuple[Selectivity, ...] | None, n_sets: int) -> None:
    if not found:
        return
    say(verdict(found, n_sets), "finding")
    markup(table(found))


def verdict(found: Sequence[Selectivity], n_sets: int) -> str:
    """Does the claim that heads are specialised hold, of the roles that were tried?"""
    rows = by_role(found)
    chosen = {role: [one for one in cells if one.worse] for role, cells in rows.items()}
    picky = [
        role
        for role, cells in rows.items()
        if 0 < len(chosen[role]) < len(cells) or (len(cells) == 1 and chosen[role])
    ]
    broad = [role for role, cells in rows.items() if len(cells) > 1 and len(chosen[role]) == len(cells)]
    none = [role for role in rows if not chosen[role]]
    so_far = "" if len(rows) == n_sets else f" ({len(rows)} of {n_sets} roles so far)"
    parts = []
    if picky:
        named = "; ".join(f"{role} ({', '.join(one.task.title for one in chosen[role])})" for role in picky)
        parts.append(
            f"That heads are specialised stands for {named}: without them this gets worse than without any of {DRAWS} "
            "random sets"
        )
    if broad:
        parts.append(
            f"without {_and(broad)} everything that was asked gets worse, so they are needed but not selective"
        )
    if none:
        parts.append(
            f"for {_and(none)} it falls: random heads do as much harm or more, so the role says where they look, "
            "not what they are needed for"
        )
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}{so_far}."


def by_role(found: Sequence[Selectivity]) -> dict[str, list[Selectivity]]:
    """One row a role."""
    rows = dict[str, list[Selectivity]]()
    for one in found:
        rows.setdefault(one.role, []).append(one)
    return rows


def table(found: Sequence[Selectivity]) -> str:
    """Roles down, tasks across; in each cell the number without the role, and the range of the draws."""
    rows = by_role(found)
    first = next(iter(rows.values()))
    head = "".join(
        f'<th scope="col">{html.escape(one.task.title)}<br><small>{html.escape(one.task.unit)}, '
        f"{'less' if one.task.better == 'low' else 'more'} is better; n = {one.n}; as it is {number(one.intact)}"
        "</small></th>"
        for one in first
    )
    spans = [_span([cells[i] for cells in rows.values()]) for i in range(len(first))]
    body = "".join(
        f'<tr><th scope="row" title="{", ".join(map(head_name, cells[0].heads))}">{html.escape(role)}'
        f"<br><small>{len(cells[0].heads)} heads</small></th>"
        + "".join(_cell(one, *spans[i]) for i, one in enumerate(cells))
        + "</tr>"
        for role, cells in rows.items()
    )
    caption = (
        f"The dot: without the role's heads. The band: {DRAWS} random sets of as many others, least to most. The "
        "line: as it is. ★: worse than all of them."
    )
    return (
        f'<div class="hs-scroll"><table class="selective"><caption>{caption}</caption><thead><tr><th></th>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _span(cells: Sequence[Selectivity]) -> tuple[float, float]:
    numbers = [x for one in cells for x in (one.low, one.high, one.without, one.intact)]
    return min(numbers), max(numbers)


def _cell(one: Selectivity, least: float, most: float) -> str:
    def at(value: float) -> float:
        return 100 * (value - least) / ((most - least) or 1.0)

    star = " ★" if one.worse else ""
    return (
        f'<td class="{"worse" if one.worse else "within"}"><b>{number(one.without)}{star}</b> '
        f"<small>others {number(one.low)} to {number(one.high)}</small>"
        f'<span class="range" aria-hidden="true"><i class="is" style="left:{at(one.intact):.1f}%"></i>'
        f'<i class="band" style="left:{at(one.low):.1f}%;width:{at(one.high) - at(one.low):.1f}%"></i>'
        f'<i class="dot" style="left:{at(one.without):.1f}%"></i></span></td>'
    )


def _and(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]
