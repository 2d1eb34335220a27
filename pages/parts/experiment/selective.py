"""Role test: a role's heads are zero-ablated, then random heads of the same layers, and several tasks tried after."""

import html
from collections.abc import Mapping, Sequence

import streamlit as st

from mha_core.experiments import Selectivity, selective
from mha_core.heads.roles import Role, roles
from mha_core.wording import Head, head_name
from pages.parts.experiment.frame import caveat, heads_by_role
from pages.parts.experiment.text import number
from pages.parts.frame import head_facts, loading, shell
from pages.parts.frame.progress import work
from pages.parts.frame.prose import markup, say
from pages.parts.frame.request import Request

LEAST = 3  # heads of a role that is ablated as a whole
DRAWS = 40
CAPTION = (
    f"Dot: without the role's heads. Band: {DRAWS} random sets of as many heads in the same layers. Line: whole model. "
    "★: p < 0.05, not corrected for the number of cells."
)


def view(request: Request) -> None:
    """The whole part."""
    used = shell.or_show_error(loading.model, request)
    if used is None:
        return
    known = head_facts.known_table(request.model, request.trained)
    if known is None:
        say("The roles of this model's heads are not known yet.", "note")
        if st.button("Find the roles", key="find-roles", type="primary"):
            with st.spinner("Every head reads the built-in sentences.", show_time=True):
                known = shell.or_show_error(head_facts.table, request.model, request.trained)
    if known is None:
        return
    sets = sets_of(roles(known))
    if not sets:
        say(f"No role of {used.title} has {LEAST} heads or more.", "notice")
        return
    work(
        ("selective", used.name, used.fingerprint, repr(sets)),
        lambda: selective(sets, used, draws=DRAWS),
        lambda found: _show(found, len(sets)),
        button=f"Test {len(sets)} role{'s' * (len(sets) != 1)}",
        unit="sets of heads ablated",
        one="set of heads ablated",
    )
    caveat()


def sets_of(known: Mapping[Head, Role]) -> dict[str, tuple[Head, ...]]:
    """The heads of every role that has enough of them, most heads first."""
    return {name: heads for name, heads in heads_by_role(known) if len(heads) >= LEAST}


def _show(found: tuple[Selectivity, ...] | None, n_sets: int) -> None:
    if not found:
        return
    say(verdict(found, n_sets), "finding")
    markup(table(found))


def verdict(found: Sequence[Selectivity], n_sets: int) -> str:
    """For which roles the claim stands, and for which random heads of the same layers do as much harm."""
    rows = by_role(found)
    needed = {role: [one for one in cells if one.stands] for role, cells in rows.items()}
    stands = [
        f"{role} ({', '.join(f'{one.task.title}, p = {one.p:.2f}' for one in cells)})"
        for role, cells in needed.items()
        if cells
    ]
    falls = [role for role, cells in needed.items() if not cells]
    text = f"The role stands for {'; '.join(stands)}." if stands else "No role stands."
    if falls:
        text += f" Random heads of the same layers do as much harm as {_and(falls)}."
    return text if len(rows) == n_sets else f"{text} {len(rows)} of {n_sets} roles so far."


def by_role(found: Sequence[Selectivity]) -> dict[str, list[Selectivity]]:
    """One row a role."""
    rows = dict[str, list[Selectivity]]()
    for one in found:
        rows.setdefault(one.role, []).append(one)
    return rows


def table(found: Sequence[Selectivity]) -> str:
    """Roles down, tasks across; in each cell the number without the role, its p, and the range of the draws."""
    rows = by_role(found)
    first = next(iter(rows.values()))
    head = "".join(
        f'<th scope="col">{html.escape(one.task.title)}<br><small>{html.escape(one.task.unit)}, '
        f"{'less' if one.task.better == 'low' else 'more'} is better; n = {one.n}; whole model {number(one.intact)}"
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
    return (
        f'<div class="hs-scroll"><table class="selective"><caption>{CAPTION}</caption><thead><tr><th></th>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _span(cells: Sequence[Selectivity]) -> tuple[float, float]:
    numbers = [x for one in cells for x in (*one.draws, one.without, one.intact)]
    return min(numbers), max(numbers)


def _cell(one: Selectivity, least: float, most: float) -> str:
    def at(value: float) -> float:
        return 100 * (value - least) / ((most - least) or 1.0)

    low, high = min(one.draws), max(one.draws)
    star = " ★" if one.stands else ""
    return (
        f'<td class="{"worse" if one.stands else "within"}"><b>{number(one.without)}{star}</b> '
        f"<small>p = {one.p:.2f}; random {number(low)} to {number(high)}</small>"
        f'<span class="range" aria-hidden="true"><i class="is" style="left:{at(one.intact):.1f}%"></i>'
        f'<i class="band" style="left:{at(low):.1f}%;width:{at(high) - at(low):.1f}%"></i>'
        f'<i class="dot" style="left:{at(one.without):.1f}%"></i></span></td>'
    )


def _and(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]
