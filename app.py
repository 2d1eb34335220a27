"""Explore, the first page: one sentence, every head of a real model at work on it."""

from dataclasses import replace
from functools import partial

import streamlit as st

from mha_core import Record
from mha_core.heads.notices import against_raw, notices
from pages.parts.explore import downloads, next_word
from pages.parts.frame import shell
from pages.parts.frame.prose import nothing_left, say
from pages.parts.frame.request import Request
from pages.parts.picture.attention_view import explore_view
from pages.parts.serve import cache, server


def explore() -> None:
    """The sentence, the picture of all heads, why it looks as it does, and what can be taken away."""
    with shell.page(
        "Explore",
        question="What does each head look at?",
        lead="A language model reads a sentence through dozens of small lenses, its attention heads. Each lets "
        "every word look at some of the others. Point at a word to see where it looks.",
        examples=True,
    ) as request:
        record = shell.or_show_error(cache.record, request)
        if record is not None:
            picture(request, record)


def picture(request: Request, record: Record) -> None:
    """The picture of all heads, why it looks as it does, and what can be taken away."""
    grid = shell.or_show_error(cache.grid, request, record)
    if grid is None:
        request = replace(request, measure="raw")
        grid = cache.grid(request, record)
    if not len(grid):
        say(nothing_left(record.tokens.special_names), "notice")
        return
    roles = {} if request.mixed else cache.roles_of(request.model, request.trained)
    chosen = explore_view(
        grid,
        record.tokens,
        model_title=record.model.title,
        selection=shell.selection(request, grid.weights.shape, grid.labels),
        roles=roles,
        present=request.present,
        key="explore",
        on_change=partial(shell.follow, "explore"),
        keep=cache.keeper(request),
        following=partial(next_word.under, request, record, grid, "explore"),
    )
    shell.keep(chosen)
    head = None if request.mixed else chosen.head  # a mixed picture shows none of the record's heads
    with st.container(key="below"):
        shell.why(
            [
                *against_raw(record, grid, request.measure, chosen.head),
                *notices(record, head, roles.get(chosen.head)),
            ]
        )
        downloads.heatmap(grid, chosen, request)
        downloads.offer(record, grid, chosen, request)


if __name__ == "__main__":  # run by Streamlit for one reader
    explore()
else:  # imported by the server
    app = st.App(__file__, **server.settings())
