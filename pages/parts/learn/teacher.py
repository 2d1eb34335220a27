"""For teachers: a link that sets a whole class to one view, a button for each row of the plan, the plan to print.

In: what the teacher chooses. Out: addresses that any browser opens.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

import streamlit as st

from mha_core import HeadScopeError
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.links import with_params
from pages.parts.frame.page_text import heading, say
from pages.parts.frame.pages import PAGES, page_called
from pages.parts.frame.request import SPECIALS, UNITS, WEIGHTS, Request, models
from pages.parts.frame.selection import parse_head
from pages.parts.inside.route import STATIONS
from pages.parts.learn.exercises import steps
from pages.parts.learn.plan import as_page, rows
from pages.parts.serve import cache
from pages.parts.serve.cache import MAX_CHARS

PLAN = LESSON.parent / "lesson-plan.md"
TITLES = tuple(page.title for page in PAGES if page.title not in ("Training",))
# What can be opened on a page besides its sentence: the parameter, and its values with their names.
PLACES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Learn": ("step", {step.title: step.key for step in steps()}),
    "Inside": ("at", {station.name: station.key for station in STATIONS}),
    "Explore": ("tab", {"token lines": "lines", "table": "table"}),
}
PARTS_OF_LEARN = ("Quiz", "Glossary", "References")
FIRST = {"unit": UNITS[0], "specials": SPECIALS[0], "weights": WEIGHTS[0]}


def teacher_view(request: Request) -> None:
    """The link, and the plan with a button a row."""
    heading("A link for your class")
    say("Everyone who opens this link sees the same sentence, model, token and head.")
    query, page = _chosen(request)
    if query is None:
        return
    st.code(
        class_link(st.context.url or "", page_called(page).address, query), language=None, wrap_lines=True
    )
    _plan(query)


def _chosen(request: Request) -> tuple[dict[str, str] | None, str]:
    """What the link holds, or None where something cannot be; and the page."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        text = st.text_input("Sentence", request.text, key="class-text", width=460)
        page = st.selectbox("Page", TITLES, TITLES.index("Inside"), key="class-page", width=150) or "Inside"
        place = _place(page)
        token = st.text_input("Token", key="class-token", max_chars=60, width=90, placeholder="it")
        head = st.text_input("Head", "4-2", key="class-head", max_chars=7, width=80)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        model = st.selectbox("Model", models(), key="class-model", width=170) or models()[0]
        kinds = {
            key: st.selectbox(label, options, key=f"class-{key}", width=150)
            for key, label, options in (
                ("unit", "Units", UNITS),
                ("specials", "Special tokens", SPECIALS),
                ("weights", "Weights", WEIGHTS),
            )
        }
        present = st.toggle("Presenter mode", key="class-present")
    chosen = {key: value for key, value in kinds.items() if value and value != FIRST[key]}
    query = {"text": text, "model": model, **chosen, "head": head, **place}
    query |= {"present": "1"} if present else {}
    problem, pin = checked(text, token, head, query)
    if problem:
        say(problem, "notice")
        return None, page
    return query | ({"pin": pin} if pin else {}), page


def _place(page: str) -> dict[str, str]:
    """The step, station or tab to open."""
    if page not in PLACES:
        return {}
    key, values = PLACES[page]
    names = ["as it opens", *values, *(PARTS_OF_LEARN if page == "Learn" else ())]
    name = st.selectbox("Open at", names, key=f"class-place-{page}", width=230)
    if name in PARTS_OF_LEARN:
        return {"show": str(name)}
    return {key: values[name]} if name in values else {}


def checked(text: str, token: str, head: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Why the link cannot be made, or ""; and the token's place in the sentence, as the pages count."""
    if not text.strip():
        return "Write the sentence that the class shall see.", ""
    if len(text) > MAX_CHARS:
        return f"A link can hold {MAX_CHARS:,} characters; this text has {len(text):,}.", ""
    asked = parse_head(head)
    if asked is None:
        return "A head is written as layer and head, both from 1, such as 4-2.", ""
    request = Request(
        text,
        model=query["model"],
        trained=query.get("weights") != "untrained",
        unit=query.get("unit", UNITS[0]),
    )
    try:
        record = cache.record(request)
    except HeadScopeError as error:
        return str(error), ""
    layers, heads = record.weights.shape[:2]
    if asked[0] >= layers or asked[1] >= heads:
        return f"This model has no head {head} ({layers} layers × {heads} heads).", ""
    if not token.strip():
        return "", ""
    labels = [
        unit.label.strip().casefold()
        for unit in record.grid(words=request.words, specials=query.get("specials", SPECIALS[0])).units  # type: ignore[arg-type]
    ]
    if token.strip().casefold() not in labels:
        return f"This sentence has no token “{token.strip()}”.", ""
    return "", str(labels.index(token.strip().casefold()))


def _plan(query: Mapping[str, str]) -> None:
    """A row, a button: the same sentence, token and head, and the step of that row."""
    heading("A plan for one hour")
    text = PLAN.read_text(encoding="utf-8")
    here = st.context.url or ""
    kept = {key: value for key, value in query.items() if key not in ("step", "at", "tab", "show")}
    links = {row: class_link(here, page_called(row.page).address, kept | row.view()) for row in rows()}
    say("Each button opens its step with the sentence, token and head above, in a tab of its own.")
    with st.container(key="plan", gap="xsmall"):
        for row in rows():
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.link_button(f"{row.time} min", links[row], width=110)
                say(f"{row.what} ({row.where})")
    st.download_button(
        "The plan to print", as_page("One hour on multi-head attention", links, text), "lesson-plan.html", "text/html",
        key="class-print",
    )  # fmt: skip
    say("In presenter mode the type is large, and the arrow keys → and ← turn the steps of the lesson.")
    with st.expander("Before and after the hour"):
        st.markdown(text[text.index("\n", text.index("|---|")) :].rpartition("|")[2])


def class_link(here: str, page: str, query: Mapping[str, str]) -> str:
    """The address of a page of this app with these parameters; `here` is the address of the open page."""
    parts = urlsplit(here)
    base = (
        parts.path.rsplit("/", 1)[0] if parts.path.rstrip("/").endswith("learn") else parts.path.rstrip("/")
    )
    origin = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    return with_params(f"{origin}{base}/{page.removeprefix('./')}", query)
