"""A head's page: one sentence with its certainty, its moments, what it raises, its like."""

import html

import streamlit as st

from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.said import label, sentence
from mha_core.heads.atlas.table import HeadEntry
from mha_core.heads.roles import real_roles
from mha_core.wording import Head, head_name
from pages.parts.atlas.component import draw
from pages.parts.atlas.lines import head_anchor, moment_data
from pages.parts.atlas.relatives import relatives
from pages.parts.atlas.source import Source
from pages.parts.frame import head_facts
from pages.parts.frame.links import link_to, model_in_link
from pages.parts.frame.prose import heading, markup, say, visible
from pages.parts.frame.request import Request, title_of

WHICH = ("Strongest", "Typical", "Random")
MOMENTS = 12
HELP = {
    "Strongest": "The moments at which it moves most: weight times the length of what it writes for that key. They are "
    "the tail, not the everyday.",
    "Typical": "Two moments from every tenth of a random sample of its rows, the strongest tenth first.",
    "Random": "Rows drawn without looking. The key marked is the strongest apart from where the head rests.",
}


def card(found: Source, entry: HeadEntry, request: Request) -> None:
    """Everything about one head."""
    name = head_name(entry.head)
    heading(f"Head {name}: {label(entry.description)}")
    say(sentence(entry, found.rests_on), "why")
    _narrow(found, entry, request)
    which = st.segmented_control(
        "Its moments", WHICH, default=WHICH[0], required=True, key="which", bind="query-params"
    )
    say(HELP[which or WHICH[0]])
    groups = _groups(found, entry, which or WHICH[0])
    draw({"kind": "moments", "groups": groups}, key="moments")
    _direct_only(found, which or WHICH[0])
    _like(found, entry.head)


def _groups(found: Source, entry: HeadEntry, which: str) -> list[dict[str, object]]:
    if which == "Typical":
        tenths = list(enumerate(entry.tenths, 1))[::-1]
        return [
            {"title": f"Tenth {number} of 10" + _end(number), "moments": _listed(found, entry, tenth)}
            for number, tenth in tenths
            if tenth
        ]
    chosen = entry.strongest[:MOMENTS] if which == "Strongest" else entry.random
    raised = found.more.raises.get(entry.head, ()) if which == "Strongest" else ()
    notes = [
        "What it writes here makes likelier: " + "  ".join(f"“{visible(r.text)}”" for r in one)
        for one in raised
    ]
    return [{"title": "", "moments": _listed(found, entry, chosen, notes)}]


def _end(number: int) -> str:
    return {10: ", the strongest", 1: ", the weakest"}.get(number, "")


def _listed(
    found: Source, entry: HeadEntry, moments: tuple[Moment, ...], notes: list[str] | None = None
) -> list[dict[str, object]]:
    passages, notes = found.atlas.passages, notes or []
    return [
        moment_data(passages[one.passage], one, found.query, entry.head, notes[i] if i < len(notes) else "")
        for i, one in enumerate(moments)
    ]


def _narrow(found: Source, entry: HeadEntry, request: Request) -> None:
    """What the head is called where it was asked for a job, beside what it does unasked."""
    asked = head_facts.evidence(request.model, request.trained)
    role = head_facts.known_roles(request.model, request.trained).get(entry.head) or (
        real_roles(asked).get(entry.head) if asked else None
    )
    if role is None:
        return
    here = label(entry.description)
    link = link_to("Roles", {**found.query, "head": head_name(entry.head)})
    markup(
        f'<p class="hs-note"><b>Asked</b> (<a href="{html.escape(link)}" target="_self">Roles</a>)'
        f": {html.escape(role.label)}. {html.escape(role.evidence)} <b>Not asked, over ordinary text</b>: "
        f"{html.escape(here)}. A question shows what a head can do; this page what moves it most.</p>"
    )


def _direct_only(found: Source, which: str) -> None:
    if found.more.raises and which == "Strongest":
        say(
            "“Makes likelier” is the direct effect alone: the head's own output, sent through the final norm to the "
            "vocabulary. What later layers make of it is not in it, and in early layers that is most."
        )


def _like(found: Source, head: Head) -> None:
    """Heads that act at the same moments, here and in the other model that comes with the program."""
    sides = [(found.model, found.atlas, found.query)]
    for name in head_facts.ATLAS_DIGESTS:
        other = head_facts.shipped_atlas(name) if name != found.model else None
        if other is not None:
            sides.append((name, other.atlas, {"model": model_in_link(name)}))
    for name, among, query in sides:
        like = relatives(found.atlas, head, among)
        here = name == found.model
        where = "Heads that act at the same moments" if here else f"In {title_of(name)}"
        links = ", ".join(
            f"{head_anchor(query, one, here)} ({n} of {len(found.atlas.entry(head).strongest)})"
            for one, n in like
        )
        markup(f'<p class="hs-note">{html.escape(where)}: {links or "none"}.</p>')
