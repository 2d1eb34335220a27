"""Explore, the first page: one sentence, every head of a real model at work on it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from mha_core.heads.notices import untrained
from mha_core.record.links import strongest_link
from pages.parts.explore import next_word, save, tables, why
from pages.parts.explore.checkpoint_slider import at_checkpoint
from pages.parts.explore.comparison import Comparison
from pages.parts.explore.picture import explore_picture
from pages.parts.frame import controls, head_facts, presets, shell, url_params
from pages.parts.frame.context import Context, contexts_of, realigned, remember_view, selected, view_before
from pages.parts.frame.links import params_of
from pages.parts.frame.page_text import say
from pages.parts.frame.pages import page_called
from pages.parts.frame.request import Request
from pages.parts.picture import attention_view

PAGE, SHOWN = page_called("Explore"), shell.Shown(examples=True)


def draw() -> None:
    """Draw the title, the question and the menu, then the part that runs alone for another sentence."""
    url_params.whole_page()
    next_word.put_generated()
    shell.top("Explore", "Where does each attention head look?", "", SHOWN)
    with st.container(key="page"):
        sentence(controls.draw(PAGE, SHOWN, has_text=False))


@st.fragment
def sentence(request: Request) -> None:
    """Draw the sentence and its picture; `request` is the menu's."""
    if url_params.whole_page():
        st.rerun()
    request = shell.above_the_picture(controls.with_text(request, PAGE))
    above = st.container()
    with above:
        contexts = contexts_of(at_checkpoint(controls.sequence(request)))
    if contexts:
        picture(above, contexts[0])


def picture(above: AbstractContextManager[object], context: Context) -> None:
    """Draw all heads of one text, and what is below; `above`, what is said of them.

    The picture has one place in the page, whatever is above it: in another place it would be drawn anew.
    """
    with above:
        params, moved = realigned(context)
        steps, params, moved = why.settle(context, params, moved)
        context = selected(context, params, partial(strongest_link, context.grid))
        request = context.request
        answer = why.of_choice(context, steps, params.get("without", ""))
        is_first_visit = not url_params.params() and request.text == presets.TIRED
        changed = contexts_of(replace(request, text=presets.WIDE)) if is_first_visit else []
        if context.model.label_head is not None:
            say(next_word.labels_text(context), "finding")
        records, view = explore_picture(context, view_before(request), changed)
    attention_view.draw(records, view | {"why": answer}, context.selection, "explore", moved)
    remember_view(context, params, records[0]["id"])
    with st.container(key="below"):
        below(context, answer)
    if (
        not context.record.is_cross
        and not request.mixed
        and head_facts.finding(request.model, request.trained)
    ):
        roles_when_found(request)


def below(context: Context, answer: Mapping[str, Any] | None) -> None:
    """Draw predictions, then the boxes of numbers and files."""
    if not context.record.is_cross:
        why.find_means(answer, context.model)
        if random := untrained(context.record):
            say(random)
        next_word.draw(context)
    tables.of_one(context)
    save.draw(Comparison((context,), params_of(context.request), st.context.url or ""))


@st.fragment(run_every=1.0)
def roles_when_found(request: Request) -> None:
    """Run the page again, on a fresh server, once the roles of the heads are known."""
    if not head_facts.finding(request.model, request.trained):
        st.rerun()
