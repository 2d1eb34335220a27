"""Links of the frame: the top line of every page, the row of its parts, and the example sentences.

The links never change: assets/js/address.js has them take along what is chosen, and follows them.
"""

import html
import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from urllib.parse import quote_plus, urlencode

import streamlit as st

from pages.parts.frame.page_text import markup
from pages.parts.frame.pages import CARRIED, PAGES, Page, beside, page_called

# A text of its own opens at its own head and word.
KEPT = " ".join(
    key for key in (*CARRIED, "present", "try", "map") if key not in ("pair", "text2", "head", "pin", "to")
)


@cache
def entries(modules: tuple[str, ...]) -> list[st.Page]:
    """The pages as Streamlit takes them, from the files of their modules, which are in the order of PAGES."""
    return [
        st.Page(file, title=page.title, url_path=page.name.removeprefix("explore"), default=page == PAGES[0])
        for page, file in zip(PAGES, modules, strict=True)
    ]


@cache
def top(title: str, present: bool) -> str:
    """Return the markup of the top line; `present` for presenter mode."""
    here = page_called(title)
    firsts = [page for page in PAGES if page == beside(page)[0]]
    links = "".join(link(page.address, page.entry, page.entry == here.entry) for page in firsts)
    return (
        '<a class="hs-skip" href="#picture">Skip to the picture</a><nav class="hs-top" aria-label="Pages">'
        f'<span class="hs-brand">HeadScope</span>{links}{_presenter(here, present)}</nav>'
    )


@cache
def tabs(title: str, tab: str) -> str:
    """Return the links to the parts of a page and of the pages beside it, `tab` is open; empty where there is one."""
    here = page_called(title)
    parts = [(page, part) for page in beside(here) for part in page.tabs]
    links = [
        link(
            f"{page.address}?{page.tab_key}={quote_plus(part)}" if page.tab_key else page.address,
            part,
            page == here and part == tab,
            *["*"] * (page == here),
        )
        for page, part in parts
    ]
    return tab_row(here.entry, links) if len(parts) > 1 else ""


def tab_row(label: str, links: Iterable[str]) -> str:
    """Return links as a row of tabs."""
    return f'<nav class="hs-tabs" aria-label="{label}">{"".join(links)}</nav>'


def link(address: str, label: str, is_current: bool, carries: str = " ".join(CARRIED)) -> str:
    """Return a link that takes along the parameters `carries` of the address, all where it is "*"."""
    mark = ' aria-current="page"' if is_current else ""
    return f'<a href="{address}" data-carries="{carries}"{mark}>{label[:1].upper()}{label[1:]}</a>'


def _presenter(here: Page, present: bool) -> str:
    """Return the link into presenter mode, or out of it; everything else stays."""
    to, words = ("", "Leave presenter mode") if present else ("1", "Present")
    return f'<a class="hs-presenter" href="{here.address}?present={to}" data-carries="*">{words}</a>'


def examples(label: str, offered: Mapping[str, Mapping[str, str]], in_view: int | None = None) -> None:
    """Draw the names as links to this page with these parameters; each text is a tooltip.

    `in_view`: how many stand in the row; the others stand behind one "More".
    """
    markup(_links(label, json.dumps(offered), in_view), inline=True)


@lru_cache(64)
def _links(label: str, offered: str, in_view: int | None) -> str:
    links = [_link(name, to) for name, to in json.loads(offered).items()]
    shown, more = " ".join(links[:in_view]), "" if in_view is None else " ".join(links[in_view:])
    if more:
        shown += f' <details class="hs-more"><summary>More</summary><div>{more}</div></details>'
    return f'<nav class="hs-examples" aria-label="{label}"><span>{label}:</span> {shown}</nav>'


def _link(name: str, to: Mapping[str, str]) -> str:
    text = " / ".join(filter(None, map(to.get, ("text", "pair", "text2"))))
    address = html.escape(urlencode(to))
    return f'<a href="?{address}" data-carries="{KEPT}" title="{html.escape(text)}">{html.escape(name)}</a>'
