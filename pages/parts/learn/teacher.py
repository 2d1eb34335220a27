"""For teachers: a link that sets a whole class to one view, a button for each row of the plan, the plan to print.

In: the teacher's choices. Out: URLs that any browser opens.
"""

import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st

from mha_core import AttentionRecord, HeadScopeError
from mha_core.record.grid import Specials
from pages.parts.frame.links import with_params
from pages.parts.frame.page_text import heading, lowered, markup, prose, quoted, say
from pages.parts.frame.pages import PAGES, page_called
from pages.parts.frame.request import SPECIALS, UNITS, WEIGHTS, Request, model_label, models
from pages.parts.frame.selection import parse_head
from pages.parts.inside.route import STATIONS
from pages.parts.learn.exercises import steps
from pages.parts.learn.plan import around, as_page, rows
from pages.parts.serve import cache
from pages.parts.serve.cache import MAX_CHARS

TITLES = tuple(page.title for page in PAGES if page.entry == page.title)
PARTS_OF_LEARN = tuple(part for part in page_called("Learn").tabs if part not in ("Lesson", "For teachers"))
# What can be opened on a page besides its sentence: the parameter, and its values with their names.
PLACES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Learn": ("step", {step.title: step.key for step in steps()}),
    "Inside": ("at", {station.name: station.key for station in STATIONS}),
    "Explore": ("tab", {"token lines": "lines", "table": "table"}),
}
ANYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - compared, not listened on
ALONE = (
    "These links open on this computer only. To serve a class, start HeadScope with `headscope app --address 0.0.0.0`, "
    "or open this page under the address that your class uses."
)
OPTIONS = {  # URL parameter: label, values of which the first is not in the URL
    "unit": ("Units", UNITS),
    "specials": ("Special tokens", SPECIALS),
    "weights": ("Weights", WEIGHTS),
}


def teacher_view(request: Request) -> None:
    """Draw the link, and the plan with a button a row."""
    heading("A link for your class")
    here = st.context.url or ""
    shared = class_address(here, st.get_option("server.address"))
    say("Everyone who opens this link sees exactly this view.")
    page, query = _choose(request)
    if shared is None:
        say(ALONE, "notice")
    elif shared != here:
        say("The link has this computer's address in your network. Try it on another device first.")
    if query is not None:
        link = _class_link(shared or here, page, query)
        st.code(link, language=None, wrap_lines=True)
        _plan(query, shared or here)


def _choose(request: Request) -> tuple[str, dict[str, str] | None]:
    """Draw the choices; return the page, and its parameters or None where there can be no link."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        text = st.text_input("Sentence", request.text, key="class-text", width=460)
        page = st.selectbox("Page", TITLES, TITLES.index("Learn"), key="class-page", width=150) or "Learn"
        place = _choose_place(page)
        token = st.text_input("Token", key="class-token", max_chars=60, width=90, placeholder="it").strip()
        head = st.text_input("Head", "4-2", key="class-head", max_chars=7, width=80)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        query = {
            "text": text,
            "model": st.selectbox("Model", models(), format_func=model_label, key="class-model", width=230),
        }
        for key, (label, values) in OPTIONS.items():
            value = st.selectbox(label, values, key=f"class-{key}", width=150)
            query |= {} if value == values[0] else {key: value}
        query |= {"head": head, **place}
        query |= {"present": "1"} if st.toggle("Presenter mode", key="class-present") else {}
    try:
        record = _check(text, head, query)
    except HeadScopeError as error:
        say(str(error), "notice")
        return page, None
    if token:
        specials: Specials = query.get("specials", SPECIALS[0])  # type: ignore[assignment]
        units = record.grid(words=query.get("unit") == "words", specials=specials).units
        labels = [unit.label.strip().casefold() for unit in units]
        if token.casefold() in labels:
            query["pin"] = str(labels.index(token.casefold()))
        else:
            say(f"The token {quoted(token)} is not in this sentence. The link leaves it out.", "notice")
    return page, query


def _choose_place(page: str) -> dict[str, str]:
    """Draw which step, station or tab to open; return its parameter."""
    if page not in PLACES:
        return {}
    key, values = PLACES[page]
    names = ["as it opens", *values, *(PARTS_OF_LEARN if page == "Learn" else ())]
    name = st.selectbox("Open at", names, key=f"class-place-{page}", width=230)
    if name in PARTS_OF_LEARN:
        return {"show": str(name)}
    return {key: values[name]} if name in values else {}


def _check(text: str, head: str, query: Mapping[str, str]) -> AttentionRecord:
    """Return the record that the link opens. Raises HeadScopeError where the link cannot be made."""
    if not text.strip():
        raise HeadScopeError("Enter a sentence for your class.")
    if len(text) > MAX_CHARS:
        raise HeadScopeError(f"A link holds at most {MAX_CHARS:,} characters; this text has {len(text):,}.")
    place = parse_head(head)
    if place is None:
        raise HeadScopeError("Write the head as layer and head, both from 1, such as 4-2.")
    trained, unit = query.get("weights") != "untrained", query.get("unit", UNITS[0])
    record = cache.record(Request(text, model=query["model"], trained=trained, unit=unit))
    if place[0] >= record.n_layers or place[1] >= record.n_heads:
        size = f"{record.n_layers} layers × {record.n_heads} heads"
        raise HeadScopeError(f"This model has no head {head} ({size}).")
    return record


def _plan(query: Mapping[str, str], here: str) -> None:
    """Draw a button for each row: the same sentence, token and head, and the step of that row."""
    heading("A plan for one hour")
    params = {key: value for key, value in query.items() if key not in ("step", "at", "tab", "show")}
    links = {row: _class_link(here, "Learn", params | {"step": row.step}) for row in rows()}
    say("A button opens its step in a new tab; a title says what to do.")
    with st.container(key="plan", gap="xsmall"):
        for row in rows():
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.link_button(f"{row.time} min", links[row], width=110)
                title, what = (lowered(prose(text)) for text in (row.title, row.what))
                markup(f'<details class="hs-note"><summary>{title}</summary><p>{what}</p></details>')
    st.download_button(
        "Download the plan", as_page(links), "lesson-plan.html", "text/html", key="class-print"
    )
    with st.expander("Without a server"):
        say(
            "`make static` writes Explore and Compare as a folder for any web host, such as GitHub Pages. "
            "Each student's browser computes: 1.3 MB with the toy model, 57 MB more with MiniLM. "
            "Try it with `python -m http.server --directory out/static`."
        )
    with st.expander("Before and after the hour"):
        for part in around():
            st.markdown(part)


def _class_link(here: str, page: str, query: Mapping[str, str]) -> str:
    """Return the URL of a page of this app with these parameters; `here`: the URL of the open page."""
    parts = urlsplit(here)
    base = parts.path.rstrip("/")
    base = parts.path.rsplit("/", 1)[0] if base.endswith("learn") else base
    origin = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    return with_params(f"{origin}{base}/{page_called(page).address.removeprefix('./')}", query)


# ---- the address under which others reach this server
def machine_address() -> str:
    """Return this machine's address in its network; empty where it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation (RFC 5737)
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer for whoever opens it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def class_address(here: str, listens_at: str | None, own: Callable[[], str] = machine_address) -> str | None:
    """Return the open page's address `here` as others reach it; None where nobody else does."""
    parts = urlsplit(here)
    if not is_loopback(parts.hostname or ""):
        return here
    host = own() if (listens_at or "") in ANYWHERE else listens_at or ""
    if not host or is_loopback(host):
        return None
    host = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=host if parts.port is None else f"{host}:{parts.port}").geturl()
