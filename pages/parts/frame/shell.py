"""The frame around every page: menu, heading, the controls.

In: the address and what the reader types. Out: one frozen `Request`, each value checked; what was refused is
said in one sentence.

    request = shell.page("Explore", question="Where does each attention head look?")
    record = shell.read(request)
    if record: ...
"""

import functools
import html
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar
from urllib.parse import quote_plus

import streamlit as st

from mha_core import AttentionRecord, HeadScopeError
from mha_core.draw.bundle import ASSETS
from mha_core.draw.figures.colours import page as colours_of
from mha_core.draw.standalone import FACES
from mha_core.heads.notices import unread
from pages.parts.frame import controls, loading, menu, url_params
from pages.parts.frame.controls import Shown as Shown  # for pages
from pages.parts.frame.links import link_to
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import markup, prose, say, whole
from pages.parts.frame.pages import page_called
from pages.parts.frame.request import Request
from pages.parts.picture.attention_view import bring_library
from pages.parts.picture.shared import font_addresses
from pages.parts.serve import cache

P = ParamSpec("P")
T = TypeVar("T")

DAY = 86_400.0  # seconds
CSS = ASSETS / "css"
REASONS = "tells"  # the step of the lesson "What attention does not tell"


def page(title: str, *, question: str, lead: str = "", shown: Shown = Shown()) -> Request:  # noqa: B008 - frozen
    """Draw the frame, the heading and the reader's controls; what they ask for is the page's to answer.

    `title` is the page's name in PAGES, `question` its heading, `shown` which controls it has.
    """
    top(title, question, lead, shown)
    return above_the_picture(controls.draw(page_called(title), shown))


def top(title: str, question: str, lead: str, shown: Shown) -> None:
    """All above the controls."""
    st.set_page_config(
        page_title=f"{title} · HeadScope", page_icon=str(ASSETS / "favicon.svg"), layout="wide"
    )
    st.html(_style(shown.examples, url_params.is_presented()))
    bring_library()
    markup(menu.top(title, url_params.is_presented()))
    below = f'<p class="hs-lead">{whole(prose(lead))}</p>' if lead else ""
    tabs = menu.tabs(title, tab_of(title))
    markup(f'<div class="hs-heading"><h1>{html.escape(question)}</h1>{below}{tabs}</div>')
    page = page_called(title)
    say_unknown(page.tab_key, page.tabs, page.tabs[0])


def above_the_picture(request: Request) -> Request:
    """Draw the target of the link that skips to the picture; return the request."""
    markup('<h2 id="picture" class="hs-aloud" tabindex="-1" data-uncounted>The picture</h2>')
    return request


@st.fragment(run_every=DAY)
def foot() -> None:
    """The last line of every page: the one caveat, with the step of the lesson that gives its reasons.

    Only a page with something that runs by itself is drawn again when a server comes back; else the fragments in it,
    a sentence's too, would stay unknown to that server.
    """
    markup(
        '<footer class="hs-foot">Attention shows where a head looks, not why the model answers. '
        f'<a href="{link_to("Learn", {"step": REASONS})}" target="_self">Why not?</a></footer>'
    )


def tab_of(title: str) -> str:
    """Return the open part of a page, the first at first."""
    page = page_called(title)
    return url_params.page_part(page.tab_key, page.tabs)


def part_of(label: str, parts: Sequence[str], key: str) -> str:
    """Draw a row of tabs below the heading; return the one that is open, the first at first; in the link as `key`."""
    part = url_params.page_part(key, parts)
    markup(
        menu.tab_row(
            label, (menu.link(f"?{key}={quote_plus(each)}", each, each == part, "*") for each in parts)
        )
    )
    say_unknown(key, parts, part)
    return part


def or_show_error(make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """The value of `make(...)`, or None after saying on the page why there is none."""
    try:
        return make(*args, **kwargs)
    except HeadScopeError as error:
        say(str(error), "problem")
        return None


def read(request: Request) -> AttentionRecord | None:
    """Return the record of a model whose inside is known, or None after saying why there is none; say what was cut."""
    record = or_show_error(cache.record, request) if or_show_error(loading.inside, request) else None
    if record is not None:
        misread([record])
    return record


def misread(records: Sequence[AttentionRecord]) -> None:
    """Above the picture: where the model did not read what was written, of every text by its side."""
    for side, record in zip("AB", records, strict=False):
        for sentence in unread(record):
            say(sentence if len(records) == 1 else f"{side}: {sentence}", "notice")


@functools.cache
def _style(above: bool, present: bool) -> str:
    """The style sheet; its typeface comes from this server. `above`: all above the picture is small."""
    faces = [
        f"@font-face{{font-family:HeadScope;font-weight:400 650;font-display:swap;unicode-range:{scope};"
        f"src:url({font_addresses()[name]}) format('woff2')}}"
        for name, scope in FACES.items()
    ]
    colours = f".stApp {{ {css_variables()} }}"
    sheets = ["page.css", *(["explore.css"] if above else []), *(["present.css"] if present else [])]
    return f"<style>{''.join(faces)}{colours}{''.join((CSS / name).read_text() for name in sheets)}</style>"


def css_variables() -> str:
    """The page's colours as declarations that follow the reader's scheme."""
    light, dark = colours_of(dark=False), colours_of(dark=True)
    return " ".join(f"--{name}: light-dark({light[name]}, {dark[name]});" for name in light)
