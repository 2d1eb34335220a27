"""Explore, the first page: one sentence, every head of a real model at work on it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from mha_core import AttentionRecord, Grid
from mha_core.display_names import Head
from mha_core.draw.crossed import cross_record
from mha_core.draw.payload import Payload, record_payload
from mha_core.heads.notices import untrained
from mha_core.heads.roles import Role
from mha_core.record.links import strongest_link
from pages.parts.explore import (
    before,
    evidence,
    export,
    measured,
    moments,
    next_word,
    opening,
    save,
    tables,
    why,
)
from pages.parts.frame import carried_selection, head_facts, loading, presets, shell, state
from pages.parts.frame.page_text import nothing_left, say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture.attention_view import explore_view
from pages.parts.serve import cache

SHOWN = shell.Shown(examples=True)


def draw() -> None:
    """The first page: its name and question, the menu, and what runs alone for another sentence."""
    state.whole_page()
    next_word.put_generated()
    shell.top(
        "Explore",
        "Where does each attention head look?",
        "",
        SHOWN,
    )
    with st.container(key="page"):
        sentence(shell.beside("Explore", SHOWN))


@st.fragment
def sentence(chosen: Request) -> None:
    """The sentence, the picture of all heads, and what can be taken away; `chosen` is what the menu says."""
    if state.whole_page():
        st.rerun()
    request = moments.asked(shell.with_text("Explore", chosen))
    record = shell.or_show_error(cache.record, request)
    if record is None:
        return
    if record.is_cross:
        crossed(request, record)
    else:
        picture(request, record)


def crossed(request: Request, record: AttentionRecord) -> None:
    """The picture of an encoder-decoder's cross-attention: what is read above what is written."""
    grid = cache.grid(request, record)
    if not len(grid) or not grid.key_labels:
        say(nothing_left(record.key_tokens.special_names), "notice")
        return
    shell.misread([record])
    carried_selection.forget()
    chosen = shell.selection_across(request, grid, partial(strongest_link, grid))
    explore_view(
        grid,
        record.tokens,
        made=cross_record(record, grid),
        model_title=record.model.title,
        selection=chosen,
        present=request.present,
        key="explore",
    )
    with st.container(key="below"):
        boxes(record, grid, chosen, request)


def boxes(record: AttentionRecord, grid: Grid, chosen: Selection, request: Request) -> None:
    """Under the picture, closed at first: its numbers as a table, and what can be taken away."""
    if record.is_cross:  # in the picture the source's units are counted first
        inside = replace(chosen, pins=tuple(pin - len(grid.key_labels) for pin in chosen.pins))
    else:
        inside = chosen
    tables.of_one(grid, record.tokens, inside, request)
    link = export.link_of(st.context.url or "", export.query_of(request), chosen)
    save.of_one(record, grid, inside, request, link)


def picture(request: Request, record: AttentionRecord) -> None:
    """The picture of all heads, and what can be taken away."""
    grid = shell.or_show_error(cache.grid, request, record)
    if grid is None:  # a refused measure is no title over other numbers
        request = request.measured("raw")
        grid = cache.grid(request, record)
    if not len(grid):
        say(nothing_left(record.tokens.special_names), "notice")
        return
    shell.misread([record])
    asked, moved = carried_selection.settle(request, grid)
    steps, asked, moved = why.settle(request, grid, asked, moved)
    chosen = shell.selection(request, grid, partial(strongest_link, grid), asked)
    roles = {} if request.mixed else head_facts.roles_of(request.model, request.trained)
    kept, first = first_visit(request, grid, roles)
    answer = why.of_choice(request, record, grid, chosen, steps, asked.get("without", ""))
    name = explore_view(
        grid,
        record.tokens,
        model_title=record.model.title,
        selection=chosen,
        roles=roles,
        present=request.present,
        key="explore",
        keep=cache.keeper(request),
        about=export.about(record, grid, request),
        more=more(request, record, grid, chosen) | {"first": first, "why": answer},
        kept=kept,
        moved=moved,
    )
    carried_selection.keep(request, grid, asked, name)
    with st.container(key="below"):
        why.find_means(answer, loading.model(request))
        if random := untrained(record):
            say(random)
        next_word.draw(request, record, grid, chosen.pins)
        boxes(record, grid, chosen, request)
    if not request.mixed and head_facts.finding(request.model, request.trained):
        roles_when_found(request)


def first_visit(
    request: Request, grid: Grid, roles: Mapping[Head, Role]
) -> tuple[list[Payload], Payload | None]:
    """Where nothing is asked for yet: the record of the sentence with its one word changed, and where that stands."""
    if state.params() or request.text != presets.TIRED:
        return [], None
    changed = replace(request, text=presets.WIDE)
    record = cache.record(changed)
    other = cache.grid(changed, record)
    about = export.about(record, other, changed)
    payload = record_payload(other, record.tokens, record.model.title, roles, cache.keeper(changed), about)
    return [payload], before.first_change(request, grid, other, str(payload["id"]))


def more(request: Request, record: AttentionRecord, grid: Grid, chosen: Selection) -> dict[str, Any]:
    """What the picture says of a choice beyond the weights: the switch of measures, why it opened there, what is known
    of the head, and what was before."""
    used = loading.model(request)
    return evidence.of_choice(request, record, grid, chosen) | {
        "measures": measured.switch(request, used, record=record, grid=grid),
        "opening": opening.reason(request, record, grid, chosen),
        "ghost": before.ghost(request, grid),
        "typed": before.typed([request], [record], [grid]),
        "twin": before.twin(request),
    }


@st.fragment(run_every=1.0)
def roles_when_found(request: Request) -> None:
    """On a fresh server: once the roles of the heads are known, the page has them."""
    if not head_facts.finding(request.model, request.trained):
        st.rerun()
