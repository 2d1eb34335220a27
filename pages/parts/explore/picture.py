"""The pictures of Explore and Compare: everything that the browser draws, made of contexts alone.

In: contexts, and the view drawn before. Out: records, which stay for a text, and the view, which changes with every
click; `attention_view.draw` mounts them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mha_core.display_names import Head
from mha_core.draw.crossed import cross_record
from mha_core.draw.payload import (
    Payload,
    compare_records,
    compare_view_payload,
    explore_view_payload,
    record_payload,
)
from mha_core.draw.text import listed
from mha_core.heads import measures
from mha_core.heads.notices import differing_rows
from mha_core.heads.roles import Role
from mha_core.record.links import strongest_link
from pages.parts.explore import evidence
from pages.parts.explore.changed_word import first_change, minimal_pair_link, previous_overlay, typed
from pages.parts.frame import head_facts
from pages.parts.frame.context import Context
from pages.parts.frame.selection import DrawnView, opening_word
from pages.parts.serve import cache

Picture = tuple[list[Payload], Payload]
READY = "Change one word: click the marked word of B and type another."


def explore_picture(context: Context, before: DrawnView | None, changed: Sequence[Context] = ()) -> Picture:
    """Return the picture of one text. `changed`: on a first visit, its sentence with one word changed."""
    request, grid, selection = context.request, context.grid, context.selection
    if context.record.is_cross:
        record = cross_record(context.record, grid)
        return [record], explore_view_payload(grid, record, selection=selection, present=request.present)
    roles = {} if request.mixed else head_facts.roles_of(request.model, request.trained)
    records = [_record(each, roles) for each in (context, *changed)]
    view = explore_view_payload(grid, records[0], selection=selection, present=request.present)
    first = [first_change(context, *each) for each in zip(changed, _names(records[1:]), strict=True)]
    return records, view | evidence.of_choice(context) | {
        "measures": measure_switch([context]),
        "opening": opening_reason(context),
        "ghost": previous_overlay(context, before),
        "typed": typed([context]),
        "twin": minimal_pair_link(request),
        "first": first[0] if first else None,
    }


def compare_picture(a: Context, b: Context, *, is_ready: bool) -> Picture:
    """Return the picture of two runs, with A's selection. `is_ready`: B is A still, and waits for a changed word."""
    titles = a.record.model.title, b.record.model.title
    records = compare_records(
        a.grid,
        a.record.tokens,
        b.grid,
        b.record.tokens,
        titles,
        keeps=(cache.keeper(a.request), cache.keeper(b.request), cache.keeper(a.request, b.request)),
        abouts=(a.about, b.about),
    )
    view = compare_view_payload(
        a.grid, b.grid, records, titles=titles, selection=a.selection, present=a.request.present
    )
    switch = measure_switch([a, b])
    if switch["said"]:
        switch["said"] = f"A: {switch['said']}"
    ready = {"ready": READY} if is_ready else {}
    return records, view | {"measures": switch, "typed": typed([a, b]), **ready}


def _names(records: Sequence[Payload]) -> list[str]:
    return [str(record["id"]) for record in records]


def _record(context: Context, roles: Mapping[Head, Role]) -> Payload:
    tokens, title = context.record.tokens, context.record.model.title
    keep = cache.keeper(context.request)
    return record_payload(context.grid, tokens, title, roles, keep, context.about)


def measure_switch(contexts: Sequence[Context]) -> dict[str, Any]:
    """Return the measures that all models have, and in how many rows of the first text the top word differs by it."""
    first, *others = contexts
    keys = [{each.key for each in measures.available(first.model, first.record.tokens)}]
    keys += [{each.key for each in measures.available(other.model)} for other in others]
    offered = [(each.key, each.label) for each in measures.MEASURES if all(each.key in have for have in keys)]
    chosen = first.request.measure
    sentence, differing = differing_rows(first.record, first.grid, chosen)
    switch = {"chosen": chosen, "offered": offered, "said": sentence}
    return switch | ({"differing": differing} if sentence else {})


def opening_reason(context: Context) -> dict[str, Any] | None:
    """Return why the strongest link is selected; None where it is not, or a known sentence has a word to follow."""
    request, grid, selection = context.request, context.grid, context.selection
    if opening_word(request.text, request.pair, grid.labels) is not None:
        return None
    if len(selection.pins) != 1 or (selection.pins[0], selection.to) != strongest_link(grid, context.head):
        return None
    ignored = list(context.record.tokens.special_names) if request.specials == "shown" else []
    if grid.is_causal and not grid.units[0].special:
        ignored.append("the first token")
    if any(not unit.special and not any(map(str.isalnum, unit.label)) for unit in grid.units):
        ignored.append("punctuation")
    but = f", ignoring {listed(ignored)}" if ignored else ""
    sentence = f"Strongest link between two different words in {context.place}{but}."
    return {"said": sentence, "of": selection.as_json()}
