"""The top line of every page: its name, the other pages, and the pages under the same entry.

They are plain links that take along what is chosen: assets/js/address.js follows them without opening the app anew.
"""

import html

from pages.parts.frame import state
from pages.parts.frame.links import with_params
from pages.parts.frame.pages import CARRIED, PAGES, Page, beside
from pages.parts.frame.prose import markup


def draw(here: Page, present: bool) -> None:
    """The top line, and the pages under its entry; `present` for presenter mode."""
    firsts = [page for page in PAGES if page == beside(page)[0]]
    entries = "".join(_link(page, page.entry, page.entry == here.entry) for page in firsts)
    tabs = "".join(_link(page, page.tab, page == here) for page in beside(here))
    top = f'<span class="hs-brand">HeadScope</span>{entries}{_presenter(here, present)}'
    body = '<a class="hs-skip" href="#picture">Skip to the picture</a>'
    body += f'<nav class="hs-top" aria-label="Pages">{top}</nav>'
    if len(beside(here)) > 1 and not present:
        body += f'<nav class="hs-tabs" aria-label="{here.entry}">{tabs}</nav>'
    markup(body)


def _link(page: Page, label: str, current: bool) -> str:
    """A link to a page with all that goes along; `data-carries` has the browser bring it up to date."""
    to = html.escape(with_params(page.address, state.carried()))
    mark = ' aria-current="page"' if current else ""
    return f'<a href="{to}" data-carries="{" ".join(CARRIED)}"{mark}>{label}</a>'


def _presenter(here: Page, present: bool) -> str:
    """Into presenter mode, or out of it; everything else stays."""
    if not (present or here.presented):
        return ""
    to = html.escape(with_params(here.address, state.params() | {"present": "" if present else "1"}))
    return f'<a class="hs-presenter" href="{to}">{"Leave presenter mode" if present else "Present"}</a>'
