"""Compare: two runs, word under word, and which heads switch from one candidate to another.

In: two grids and what is chosen. Out: sentences and tables on the page, every number by mha_core.record.compare.
"""

import html
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from mha_core import AttentionRecord, Grid, HeadScopeError
from mha_core.display_names import count_noun, head_name
from mha_core.heads import measures
from mha_core.record.compare import align, counterpart, head_changes
from mha_core.record.first_difference import FirstDivergence
from pages.parts.explore import (
    before,
    causal_finding,
    changes,
    export,
    measured,
    opening,
    save,
    tables,
    why_changed,
)
from pages.parts.explore.export_both import Comparison
from pages.parts.frame import carried_selection, loading, presets, shell, state
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import heading, markup, nothing_left, say, visible
from pages.parts.frame.request import Request, models
from pages.parts.frame.selection import Selection
from pages.parts.picture.attention_view import compare_view
from pages.parts.serve import cache

ONE_MODEL = "This server has only one model. Compare weights or sentences instead."
READY = "Change one word: click the marked word of B and type another."
SAME_MODEL = "A and B are the same model. Choose another one for B."


def draw(request: Request) -> None:
    """Both pictures of a request and what changed between them; or why there are none."""
    sides = [side for side in (request, request.other) if side]
    records = [record for side in sides if (record := shell.or_show_error(cache.record, side))]
    if any(record.is_cross for record in records):
        say("Cross-attention is drawn on Explore; Compare takes the encoder or the decoder.", "notice")
    elif len(records) == len(sides):
        picture(sides, records)


def picture(sides: Sequence[Request], records: Sequence[AttentionRecord]) -> None:
    """Both pictures and what changed between them; raw weights on both sides where one has nothing else."""
    grids = drawn(sides, records)
    if None in grids:
        sides = [side.measured("raw") for side in sides]
        grids = [cache.grid(side, record) for side, record in zip(sides, records, strict=True)]
    a, b = (grid for grid in grids if grid is not None)
    if not both_have_words((a, b), records):
        return
    shell.misread(records)
    twice = same_model(*sides)
    if twice:
        say(twice, "notice")
    asked, moved = carried_selection.settle(sides[0], a)
    chosen = shell.selection(sides[0], a, partial(opening.changed, a, b), asked)
    parting = causal_finding.found_in(records, a, b)
    name = compare_view(
        a,
        records[0].tokens,
        b,
        records[1].tokens,
        titles=titles(*records),
        selection=chosen,
        present=sides[0].present,
        key="compare",
        keeps=(cache.keeper(sides[0]), cache.keeper(sides[1]), cache.keeper(*sides)),
        abouts=[export.about(*each) for each in zip(records, (a, b), sides, strict=True)],
        more=more(sides, records, (a, b)),
        moved=moved,
    )
    carried_selection.keep(sides[0], a, asked, name)
    query = export.query_of_both(sides[0], sides[1], state.own("against", "sentence"))
    link = export.link_of(st.context.url or "", query, chosen)
    if not is_same_sentence(*sides):
        below(
            Comparison((records[0], records[1]), (a, b), (sides[0], sides[1]), chosen, query, link), parting
        )


def is_same_sentence(a: Request, b: Request) -> bool:
    """Return whether two sentences are asked for and B is A still: one word of it waits to be changed."""
    return state.own("against", "sentence") == "sentence" and a.run == b.run


def same_model(a: Request, b: Request) -> str:
    """Where two models were asked for and it is one: why that shows nothing; else empty."""
    if state.own("against", "sentence") != "model" or a.run != b.run:
        return ""
    return SAME_MODEL if len(models()) > 1 else ONE_MODEL


def drawn(sides: Sequence[Request], records: Sequence[AttentionRecord]) -> list[Grid | None]:
    """What each side draws; why one draws nothing is said once, also where neither does."""
    try:
        return [cache.grid(side, record) for side, record in zip(sides, records, strict=True)]
    except HeadScopeError as error:
        say(str(error), "problem")
        return [None, None]


def more(
    sides: Sequence[Request], records: Sequence[AttentionRecord], grids: Sequence[Grid]
) -> dict[str, Any]:
    """What the picture says beyond the weights: the switch of measures, and where its words stand in the texts."""
    models = [loading.model(side) for side in sides]
    switch = measured.switch(sides[0], *models, record=records[0], grid=grids[0])
    if switch["said"]:
        switch["said"] = f"A: {switch['said']}"
    ready = {"ready": READY} if is_same_sentence(*sides) else {}
    return {"measures": switch, "typed": before.typed(sides, records, grids), **ready}


def both_have_words(grids: Sequence[Grid], records: Sequence[AttentionRecord]) -> bool:
    """Whether there is something to compare; says so where there is not."""
    if all(len(grid) for grid in grids):
        return True
    empty = next(record for grid, record in zip(grids, records, strict=True) if not len(grid))
    say(nothing_left(empty.tokens.special_names), "notice")
    return False


def titles(a: AttentionRecord, b: AttentionRecord) -> tuple[str, str]:
    """Which model made each of the two."""
    return a.model.title, b.model.title


def below(runs: Comparison, parting: FirstDivergence | None = None) -> None:
    """Which heads switch between the candidates of the chosen word, and the boxes of numbers and files."""
    request, (a, b), selection = runs.sides[0], runs.grids, runs.selection
    with st.container(key="below"):
        pairs = align(a.labels, b.labels)
        query = _query(pairs, selection)
        if parting and query and query[0] < parting.place:
            causal_finding.no_difference(parting, a, b)
        elif query is None and selection.pins:
            say(
                f"`{visible(a.labels[selection.pins[0]])}` appears only in A. Choose a word that both have.",
                "look",
            )
        elif query is None:
            say("Click a word of sentence A to see which heads change.", "look")
        else:
            title = st.container()
            keys = _candidates(request, a, b, pairs, query)
            with title:
                heading(changes.title([a.labels[i] for i, _ in keys], a.labels[query[0]], request.per))
            _heads(runs, query, keys)
        why_changed.of_both(runs)
        tables.of_both(runs.grids, tuple(record.tokens for record in runs.records), selection, request)
        save.of_both(runs)


def _heads(runs: Comparison, query: tuple[int, int], keys: list[tuple[int, int]]) -> None:
    """The heads of one word: the finding, what tests it, and the box of all heads."""
    request, (a, b) = runs.sides[0], runs.grids
    if request.per == "layer" and len(a.weights) != len(b.weights):
        say(f"Layers cannot be compared one by one: A has {len(a.weights)}, B {len(b.weights)}.", "notice")
        return
    try:
        found = head_changes(a, b, query, keys)
    except HeadScopeError as error:
        say(str(error), "notice")
        return
    labels = [x if x == y else f"{x} / {y}" for x, y in ((a.labels[i], b.labels[j]) for i, j in keys)]
    measure = "" if request.raw else f"{measures.BY_KEY[request.measure].label}: "
    say(measure + changes.result(found, list(map(visible, labels)), request.per), "finding")
    if request.per == "head" and presets.minimal_pair(request.text, _text_b(request)):
        tested = link_to("Roles", {**state.carried(), "head": head_name(found[0].head)})
        markup(
            f'<nav class="hs-examples"><span>With {count_noun(len(found), "head")}, one will fit by chance.</span> '
            f'<a href="{html.escape(tested)}">See the test of {head_name(found[0].head)}</a></nav>'
        )
    changes.draw_heads(found, labels, request.per, runs.query | {"pin": str(query[0])})


def _query(pairs: tuple[tuple[int | None, int | None], ...], selection: Selection) -> tuple[int, int] | None:
    """The first pinned word, in A and in B."""
    if not selection.pins:
        return None
    there = counterpart(pairs, selection.pins[0])
    return None if there is None else (selection.pins[0], there)


def _candidates(
    request: Request,
    a: Grid,
    b: Grid,
    pairs: tuple[tuple[int | None, int | None], ...],
    query: tuple[int, int],
) -> list[tuple[int, int]]:
    """The preset's candidates; else whatever the reader picks from the words that both have."""
    both = [(i, j) for i, j in pairs if i is not None and j is not None and i != query[0]]
    both = [(i, j) for i, j in both if _sees(a, query[0], i) and _sees(b, query[1], j)]
    wanted = presets.candidates(request.text)
    labels = a.labels  # what names an option is kept with the session, and the whole grid would be with it
    at_first = [i for i, _ in both if labels[i].casefold() in wanted]
    picked = st.multiselect(
        "Candidates",
        [i for i, _ in both],
        default=at_first,
        format_func=lambda i: f"{visible(labels[i])} ({i})",
        key=f"candidates-{request.text}-{request.pair}-{_text_b(request)}-{request.model}-{request.unit}-"
        f"{request.specials}",
        max_selections=6,
        placeholder="Pick two words",
        help=changes.SWITCHES,
        width=560,
    )
    return [pair for pair in both if pair[0] in picked]


def _sees(grid: Grid, query: int, key: int) -> bool:
    return grid.visible is None or bool(grid.visible[:, query, key].any())


def _text_b(request: Request) -> str:
    return request.other.text if request.other else ""
