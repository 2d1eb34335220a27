"""Role test: a role's heads are zero-ablated, then random heads of the same layers, and several tasks tried after."""

from collections.abc import Mapping, Sequence

import streamlit as st

from mha_core.experiments import Selectivity, selective, selectivity_frame
from mha_core.experiments.selective import LEVEL
from mha_core.figures.random_sets import random_sets
from mha_core.heads.roles import Role, roles
from mha_core.wording import Head
from pages.parts.experiment.frame import caveat, heads_by_role
from pages.parts.frame import head_facts, loading, shell
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import work
from pages.parts.frame.request import Request

LEAST = 3  # heads of a role that is ablated as a whole
DRAWS = 40
CAPTION = (
    f"Filled: p < {LEVEL}, not corrected for the number of tests. Dotted line: whole model. Band: {DRAWS} random sets "
    "of as many heads in the same layers."
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
    frame = selectivity_frame(found)
    chart(
        random_sets(frame, title="Tasks without a role's heads", level=LEVEL, dark=is_dark()),
        frame,
        key="random-sets",
    )
    say(CAPTION, "label")


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


def _and(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]
