"""One text as a page draws it: found once a run and handed to whatever draws.

In: a `Request`. Out: a `Context`; none after the page has said why. The session has the view drawn before, with whose
words the selection moves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import streamlit as st

from mha_core import AttentionRecord, Grid, HeadScopeError, Model
from mha_core.display_names import Head, place_name
from mha_core.draw.about import about
from mha_core.draw.payload import Payload
from mha_core.draw.text import listed
from mha_core.heads import measures
from pages.parts.frame import loading, shell, url_params
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import DrawnView, Link, Selection, pin_and_to, realign, select
from pages.parts.serve import cache

NOTHING = Selection((0, 0))
DRAWN, BEFORE = "drawn", "before"  # the view on the screen, and the one of the text before


@dataclass(frozen=True)
class Context:
    """A request, its model, record and grid, and what is selected in the picture; `contexts_of` selects nothing yet."""

    request: Request
    model: Model
    record: AttentionRecord
    grid: Grid
    selection: Selection = NOTHING

    @property
    def head(self) -> Head:
        """The selected head, (layer, head) from 0."""
        return self.selection.head

    @property
    def pins(self) -> tuple[int, ...]:
        """The selected words as rows of the grid: in cross-attention the picture counts the source's units first."""
        return tuple(pin - len(self.grid.key_units or ()) for pin in self.selection.pins)

    @property
    def place(self) -> str:
        """The selected head, layer or model as a person names it."""
        return place_name(self.head, self.request.per)

    @property
    def about(self) -> Payload:
        """The kind of the picture's numbers: see `record_payload`."""
        return about(self.record, self.grid, measures.BY_KEY[self.request.measure])


def contexts_of(*requests: Request) -> list[Context]:
    """Return a context a request, with nothing selected; [] after saying why there is none.

    Raw weights are drawn of all where one cannot be drawn by the measure of the URL, which is said.
    """
    runs = [run for request in requests if (run := shell.or_show_error(_run, request))]
    if len(runs) < len(requests):
        return []
    records = [record for _, record in runs]
    try:
        grids = [cache.grid(*each) for each in zip(requests, records, strict=True)]
    except HeadScopeError as error:
        say(str(error), "problem")
        requests = tuple(request.measured("raw") for request in requests)
        grids = [cache.grid(*each) for each in zip(requests, records, strict=True)]
    for record, grid in zip(records, grids, strict=True):
        if not len(grid) or not grid.key_labels:
            hidden = listed(record.key_tokens.special_names)
            say(f"With {hidden} hidden nothing of this text is left to look at.", "notice")
            return []
    shell.misread(records)
    return [Context(request, *run, grid) for request, run, grid in zip(requests, runs, grids, strict=True)]


def _run(request: Request) -> tuple[Model, AttentionRecord]:
    model = loading.model(request)
    return model, cache.record_from_weights(request.run, model)


def selected(
    context: Context,
    params: Mapping[str, str],
    opening_link: Callable[[Head], Link | None] = lambda head: None,
) -> Context:
    """Return the context with the selection of URL parameters, and say what of them was refused: see `select`."""
    selection, refused = select(params, context.request, context.grid, opening_link)
    for sentence in refused:
        say(sentence, "notice")
    return replace(context, selection=selection)


def followed_context(context: Context) -> Context:
    """Return the context with the selection of the URL, moved along with its words, and remember it as drawn."""
    params, _ = realigned(context)
    remember_view(context, params)
    return selected(context, params)


# ---- the view drawn before, in the session
def realigned(context: Context) -> tuple[dict[str, str], dict[str, str]]:
    """Return the URL parameters moved along with their words, and those that changed: see `realign`."""
    view = None if context.record.is_cross else st.session_state.get(DRAWN)
    return realign(url_params.params(), view, context.request, context.grid)


def remember_view(context: Context, params: Mapping[str, str], record: str = "") -> None:
    """Keep what is drawn for the next text or model: parameters as `realigned`, the record's name in the browser."""
    if context.record.is_cross:  # two texts: nothing moves along
        st.session_state.pop(DRAWN, None)
        return
    view: DrawnView | None = st.session_state.get(DRAWN)
    if view is not None and not view.has_text(context.request):
        st.session_state[BEFORE] = view
    in_url, choice = pin_and_to(url_params.params()), pin_and_to(params)
    st.session_state[DRAWN] = DrawnView(context.request, context.grid.units, record, in_url, choice)


def view_before(request: Request) -> DrawnView | None:
    """Return the view drawn before, if it was of another text under the same options."""
    view: DrawnView | None = st.session_state.get(DRAWN)
    if view is not None and view.has_text(request):
        view = st.session_state.get(BEFORE)
    return view if view and not view.has_text(request) and view.has_options(request) else None
