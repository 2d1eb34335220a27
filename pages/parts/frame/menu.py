"""The top line of every page: its name, the other pages, and the pages under the same entry.

The links never change: assets/js/address.js has them take along what is chosen, and follows them.
"""

from functools import cache
from urllib.parse import quote_plus

import streamlit as st

from pages.parts.frame.pages import CARRIED, PAGES, Page, beside, page_called


@cache
def entries(modules: tuple[str, ...]) -> list[st.Page]:
    """The pages as Streamlit takes them, from the files of their modules, which are in the order of PAGES."""
    return [
        st.Page(file, title=page.title, url_path=page.name.removeprefix("explore"), default=page == PAGES[0])
        for page, file in zip(PAGES, modules, strict=True)
    ]


@cache
def top(title: str, present: bool, part: str = "") -> str:
    """The markup of it; `present` for presenter mode, `part` of the page that is open."""
    here = page_called(title)
    firsts = [page for page in PAGES if page == beside(page)[0]]
    links = "".join(_link(page, page.entry, page.entry == here.entry) for page in firsts)
    body = (
        '<a class="hs-skip" href="#picture">Skip to the picture</a><nav class="hs-top" aria-label="Pages">'
        f'<span class="hs-brand">HeadScope</span>{links}{_presenter(here, present)}</nav>'
    )
    if len(beside(here)) > 1 and not present:
        tabs = "".join(_tabs(page, page == here, part) for page in beside(here))
        body += f'<nav class="hs-tabs" aria-label="{here.entry}">{tabs}</nav>'
    return body


def _tabs(page: Page, open_now: bool, part: str) -> str:
    """The links to a page under an entry, or to each of its parts; the first is where it opens."""
    several = len(page.tabs) > 1
    return "".join(
        _link(page, tab, open_now and tab == part, f"?show={quote_plus(tab)}" if several else "")
        for tab in page.tabs
    )


def _link(page: Page, label: str, current: bool, query: str = "") -> str:
    """A link to a page, with all that goes along."""
    mark = ' aria-current="page"' if current else ""
    return f'<a href="{page.address}{query}" data-carries="{" ".join(CARRIED)}"{mark}>{label}</a>'


def _presenter(here: Page, present: bool) -> str:
    """Into presenter mode, or out of it; everything else stays."""
    if not (present or here.presented):
        return ""
    to, words = ("", "Leave presenter mode") if present else ("1", "Present")
    return f'<a class="hs-presenter" href="{here.address}?present={to}" data-carries="*">{words}</a>'
