"""The top line of every page: its name, the other pages, and the pages under the same entry.

In: the page that is open, and the link. Out: links that take along what is chosen, to be drawn anew when that changes.
"""

from collections.abc import Mapping

import streamlit as st

from pages.parts.frame import state
from pages.parts.frame.pages import PAGES, Page, beside, page_called
from pages.parts.frame.prose import markup

TOP = '<a class="hs-skip" href="#picture">Skip to the picture</a><span class="hs-brand">HeadScope</span>'


def draw(title: str, present: bool) -> None:
    """The top line, and the pages under its entry; `present` for presenter mode."""
    with st.container(key="top", horizontal=True, vertical_alignment="center", gap="small"):
        markup(TOP, inline=True)
        here, carried = page_called(title), state.link_params()
        firsts = [page for page in PAGES if page == beside(page)[0]]
        for page in firsts:
            _page_link(page, page.entry, "here", page.entry == here.entry, carried)
        words = "Leave presenter mode" if present else "Present"
        if present or here.presented:
            st.button(words, key="presenter", type="tertiary", on_click=state.present, args=(not present,))
    if len(beside(here)) > 1 and not present:
        with st.container(key="tabs", horizontal=True, gap="small"):
            for page in beside(here):
                _page_link(page, page.tab, "this-tab", page == here, carried)


def _page_link(page: Page, label: str, mark: str, current: bool, carried: Mapping[str, str]) -> None:
    """A link to a page, in a container called `mark` where it is the one that is open."""
    place = st.container(key=mark, width="content") if current else st
    place.page_link(page.path, label=label, query_params=carried)


def carry() -> None:
    """The links take along what was chosen when they were drawn."""
