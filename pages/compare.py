"""Compare: two runs side by side, word under word, and which heads switch from one candidate to another."""

import html
from contextlib import AbstractContextManager
from functools import partial

import streamlit as st

from mha_core import Grid, HeadScopeError
from mha_core.display_names import Head, count_noun, head_name, visible
from mha_core.heads import measures
from mha_core.record.compare import head_changes, most_changed
from pages.parts.explore import changes, save, tables, why_changed
from pages.parts.explore.checkpoint_slider import at_checkpoint
from pages.parts.explore.comparison import Comparison
from pages.parts.explore.picture import compare_picture
from pages.parts.frame import presets, shell, url_params
from pages.parts.frame.context import Context, contexts_of, realigned, remember_view, selected
from pages.parts.frame.links import link_to, params_of_both
from pages.parts.frame.page_text import heading, markup, say
from pages.parts.frame.request import models
from pages.parts.picture import attention_view

ONE_MODEL = "This server has only one model. Compare weights or sentences instead."
SAME_MODEL = "A and B are the same model. Choose another one for B."


def draw() -> None:
    """Draw the title, the controls and both pictures, at the checkpoint of a model that has several."""
    request = shell.page(
        "Compare",
        question="What changes when you change one word?",
        lead="Compare two sentences, two models, or trained and random weights.",
        shown=shell.Shown(comparison=True),
    )
    above = st.container()
    with above:
        request = at_checkpoint(request)
        contexts = contexts_of(*(side for side in (request, request.other) if side))
    if any(context.record.is_cross for context in contexts):
        say("Cross-attention is drawn on Explore; Compare takes the encoder or the decoder.", "notice")
    elif contexts:
        picture(above, *contexts)


def picture(above: AbstractContextManager[object], a: Context, b: Context) -> None:
    """Draw both runs, and what is below; `above`, what is said of them: the picture keeps its place in the page."""
    against = url_params.page_param("against", "sentence")
    is_same_run = a.request.run == b.request.run
    with above:
        if against == "model" and is_same_run:
            say(SAME_MODEL if len(models()) > 1 else ONE_MODEL, "notice")
        params, moved = realigned(a)
        a = selected(a, params, partial(_opening_link, a, b))
        is_ready = against == "sentence" and is_same_run
        records, view = compare_picture(a, b, is_ready=is_ready)
    attention_view.draw(records, view, a.selection, "compare", moved)
    remember_view(a, params, records[0]["id"])
    if not is_ready:
        link = params_of_both(a.request, b.request, against)
        with st.container(key="below"):
            below(Comparison((a, b), link, st.context.url or ""))


def _opening_link(a: Context, b: Context, head: Head) -> tuple[int, None] | None:
    """Return the word of the link that changes most in a head, with all its links."""
    link = most_changed(a.grid, b.grid, head)
    return None if link is None else (link[0], None)


def below(runs: Comparison) -> None:
    """Draw which heads switch between candidates of the selected word, then the boxes of numbers and files."""
    (a, b), pins = runs.contexts, runs.selection.pins
    query = next(((i, j) for i, j in runs.both if (i,) == pins[:1]), None)
    difference = changes.first_difference(a, b)
    if difference and query and query[0] < difference.place:
        changes.draw_shared_prefix(difference, a.grid, b.grid)
    elif query:
        heads_of_word(runs, query)
    elif pins:
        say(f"`{visible(a.grid.labels[pins[0]])}` appears only in A. Choose a word that both have.", "look")
    else:
        say("Click a word of sentence A to see which heads change.", "look")
    why_changed.of_both(runs)
    tables.of_both(runs)
    save.draw(runs)


def heads_of_word(runs: Comparison, query: tuple[int, int]) -> None:
    """Draw the candidates of one word, the finding, what tests it, and the box of all heads."""
    (a, b), request = runs.grids, runs.sides[0]
    title = st.container()
    keys = _candidates(runs, query)
    labels = [x if x == y else f"{x} / {y}" for x, y in ((a.labels[i], b.labels[j]) for i, j in keys)]
    with title:
        heading(changes.title([a.labels[i] for i, _ in keys], a.labels[query[0]], request.per))
    if request.per == "layer" and len(a.weights) != len(b.weights):
        say(f"Layers cannot be compared one by one: A has {len(a.weights)}, B {len(b.weights)}.", "notice")
        return
    try:
        heads = head_changes(a, b, query, keys)
    except HeadScopeError as error:
        say(str(error), "notice")
        return
    measure = "" if request.raw else f"{measures.BY_KEY[request.measure].label}: "
    say(measure + changes.result(heads, list(map(visible, labels)), request.per), "finding")
    if request.per == "head" and presets.twin_sentence(request.text) == runs.sides[1].text != request.text:
        tested = link_to("Roles", {**url_params.carried(), "head": head_name(heads[0].head)})
        markup(
            f'<nav class="hs-examples"><span>With {count_noun(len(heads), "head")}, one will fit by chance.</span> '
            f'<a href="{html.escape(tested)}">See the test of {head_name(heads[0].head)}</a></nav>'
        )
    changes.draw_heads(heads, labels, request.per, runs.params | {"pin": str(query[0])})


def _candidates(runs: Comparison, query: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the preset's candidates, or those picked from the words that both have and the query can see."""
    (a, b), request = runs.grids, runs.sides[0]
    both = [pair for pair in runs.both if pair[0] != query[0]]
    both = [(i, j) for i, j in both if _can_see(a, query[0], i) and _can_see(b, query[1], j)]
    preset = presets.minimal_pair(request.text)
    wanted = preset.candidates if preset else ()
    labels = a.labels  # the session keeps what names an option, and would keep the whole grid with it
    options = f"{request.model}-{request.unit}-{request.specials}"
    picked = st.multiselect(
        "Candidates",
        [i for i, _ in both],
        default=[i for i, _ in both if labels[i].casefold() in wanted],
        format_func=lambda i: f"{visible(labels[i])} ({i})",
        key=f"candidates-{request.text}-{request.pair}-{runs.sides[1].text}-{options}",
        max_selections=6,
        placeholder="Pick two words",
        help=changes.SWITCHES,
        width=560,
    )
    return [pair for pair in both if pair[0] in picked]


def _can_see(grid: Grid, query: int, key: int) -> bool:
    return grid.visible is None or bool(grid.visible[:, query, key].any())
