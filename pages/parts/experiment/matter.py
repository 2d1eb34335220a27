"""Which heads matter here? Every head taken away in turn, and what that does to the word that is followed, as a map."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from mha_core import Model, Record
from mha_core.experiments import Effects, Outcome, default_outcome, every_head
from mha_core.heads.roles import Role
from mha_core.wording import Head, head_name
from pages.parts.experiment.frame import caveats, kept, roles_of
from pages.parts.experiment.progress import work
from pages.parts.experiment.said import shown
from pages.parts.frame import shell, state
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request
from pages.parts.picture.head_switches import head_effects
from pages.parts.serve import cache

NAMED = 4
HOW = {"factor": "nothing", "mean": "its mean"}
HINT = "Point at a head for its numbers; a click opens it in Explore with this sentence."


def view(request: Request) -> None:
    """The whole part."""
    record = shell.or_show_error(cache.record, request)
    if record is None:
        return
    used = cache.model(request)
    how = "mean" if state.own("set", "0") == "mean" else "factor"
    with st.container(key="trying", horizontal=True, vertical_alignment="bottom", gap="medium"):
        outcome = shell.or_show_error(followed, record, used)
        how = setting(how)
    if outcome is None:
        return
    roles = roles_of(request)
    key = ("every", *map(repr, (request.run, used.digest, outcome, how)))
    with st.container(key="sweep"):
        work(
            key,
            lambda: every_head(record.tokens, used, outcome, factor=0.0 if how == "factor" else None),
            lambda effects: picture(effects, request, record, used, roles, how),
            button="Try every head",
            unit=f"of {used.n_layers * used.n_heads} heads tried",
        )
    caveats()


def followed(record: Record, used: Model) -> Outcome:
    """What is measured: two words of the reader's choice, else the two likeliest; the embedding where none is said."""
    if used.next_head is None:
        return default_outcome(record.tokens, used)
    word = st.text_input("Word", key="word", bind="query-params", placeholder="the likeliest", width=180)
    rival = st.text_input("Against", key="rival", bind="query-params", placeholder="the next one", width=180)
    return default_outcome(record.tokens, used, word or None, rival or None)


def setting(how: str) -> str:
    """What a head gives when its turn comes."""
    chosen = st.segmented_control(
        "In its turn a head gives",
        list(HOW),
        default=how,
        format_func=HOW.__getitem__,
        required=True,
        key="every-how",
        on_change=_keep_setting,
    )
    return chosen or how


def _keep_setting() -> None:
    state.change({"set": "mean" if st.session_state["every-how"] == "mean" else None})


def picture(
    effects: Effects | None,
    request: Request,
    record: Record,
    used: Model,
    roles: Mapping[Head, Role],
    how: str,
) -> None:
    """The sentence and the map, of as many heads as were tried."""
    if effects is None:
        return
    say(finding(effects, roles, how), "finding")
    last = str(len(record.tokens) - 1) if used.next_head is not None else ""
    links = {
        head_name((layer, head)): link_to("Explore", {**kept(request), "head": head_name((layer, head)), "pin": last})
        for layer in range(used.n_layers)
        for head in range(used.n_heads)
    }
    head_effects(
        np.asarray(effects.effect),
        measure=effects.names[0],
        was=effects.before[0],
        links=links,
        roles=roles,
        hint=HINT,
        key="effects",
    )


def finding(effects: Effects, roles: Mapping[Head, Role], how: str) -> str:
    """The strongest heads, with their roles where they are known."""
    numbers = np.asarray(effects.effect)
    tried = int(np.isfinite(numbers).sum())
    if not tried:
        return f"As it is, the {effects.names[0]} is {effects.before[0]:.2f}."
    strongest = [(place, float(value)) for place, value in effects.strongest(NAMED)]
    (head, value), rest = strongest[0], strongest[1:]
    done = "without it" if how == "factor" else "with its mean output instead"
    before = effects.before[0]
    first = (
        f"Of {tried} heads {named(head, roles)} matters most: {done} the {shown(effects.names[0])} goes from "
        f"{before:.2f} to {before + value:.2f}."
    )
    return f"{first} Then {listed(rest, roles)}." if rest else first


def listed(found: Sequence[tuple[Head, float]], roles: Mapping[Head, Role]) -> str:
    """Heads with their effects."""
    return ", ".join(f"{named(head, roles)} ({signed(value)})" for head, value in found)


def named(head: Head, roles: Mapping[Head, Role]) -> str:
    """A head with its role, if it has one."""
    role = roles.get(head)
    return f"{head_name(head)}, {role.label}," if role else head_name(head)


def signed(value: float) -> str:
    """A change with its sign."""
    return f"{value:+.2f}".replace("-", "−")
