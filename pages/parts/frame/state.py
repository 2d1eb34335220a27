"""The only writer of session state and of the link. Controls and address always say the same.

`enter` takes what the link says at the start of a run; controls, pictures and clicks ask for changes, and `write` makes
them all at the end of the run, because every write is a step of the browser's history.
Streamlit's own binding serves a page's own controls (`Page.own`); what goes along to other pages is a `Field`, because
the binding forgets a link's values on the way.
"""

from collections.abc import Mapping, Sequence

import streamlit as st

from mha_core.heads import measures
from mha_core.wording import Head, head_name
from pages.parts.frame import presets
from pages.parts.frame.pages import FIELDS, KEYS, OWN_FIRSTS, Field, first_of, page_called
from pages.parts.frame.request import WEIGHTS, refusal
from pages.parts.frame.selection import PARAMS, Selection, parse_head

LINK_CHARS = 4_000
CHANGES = "link-changes"
DRAWN = "drawn"  # what a picture shows now
BEFORE = "before"  # and what it showed before the reader changed its text
MOVES = "moves"  # the words that are chosen have yet to be found in the changed text, or where it is cut otherwise
LENT = "lent-by-an-example"  # a model that an example switched to, and what the reader had before
LEFT = "shown-elsewhere"  # what a picture showed on the page that the reader came from, or on one before
PAGE = "page"
FIRST = "first-visit"  # nothing was written into the link that a reader came by
RECONNECTED = "The connection was made anew; what you typed is kept."
Asked = tuple[str, ...]


def enter(title: str) -> list[str]:
    """Give every control its value: the reader's, else the link's, else the page's first; returns what was refused.

    When the reader goes back or forward, the link decides, and so it does for what a page begins with in its own way
    when the reader comes there. A control is a new one on every page, so its value is handed over each time. A
    browser can send what no control offers, so choices are checked each time.

    In a session that begins with text from a browser the server has started anew, or another replica answers: what
    the browser has in its boxes is the truth then, not the link of the sentence before.
    """
    query, problems = params(), list[str]()
    link_decides = False
    typed = dict[str, str]()
    if PAGE not in st.session_state:
        st.session_state[FIRST] = not typed and not link_decides
    before, st.session_state[PAGE] = st.session_state.get(PAGE, title), title
    if before != title:
        shown = st.session_state.pop(DRAWN, None)
        if link_decides:
            st.session_state.pop(LEFT, None)
        elif shown is not None:
            st.session_state[LEFT] = shown
    own_first = (
        {key for page in {before, title} for key in page_called(page).first} if before != title else set()
    )
    held = _held()
    for field in FIELDS:
        from_link = link_decides or (field.options is not None and field.key in own_first)
        value = None if from_link else held.get(field.key)
        if value is None and field.options is None:
            value = typed.get(field.key)
        if value is None:
            value = query.get(field.key, _first(field, title))
        problem = refusal(field.key, value, _first(field, title)) if field.options else None
        if problem:
            problems.append(problem)
        st.session_state[field.key] = _first(field, title) if problem else value
    if any(field.key in typed for field in FIELDS):
        problems.append(RECONNECTED)
    return problems


def _first(field: Field, title: str) -> str:
    if field.key == "text2":
        return presets.twin_sentence(st.session_state["text"])
    return first_of(field, page_called(title))


def link(title: str) -> None:
    """Let the address say what the controls say; what is first anyway is left out, so that links stay short. What was
    chosen where something else is first stays, or the next page would begin with its own."""
    said, held, now = (
        dict[str, str | None](),
        _held(),
        params(),
    )
    for field in FIELDS:
        value = held.get(field.key) or ""
        here = field.page in (None, title) and len(value) <= LINK_CHARS
        chosen = field.key in OWN_FIRSTS and now.get(field.key) == value
        spelled_out = field.spelled_out or chosen or value != _first(field, title)
        said[field.key] = value if here and spelled_out else None
    change(said)


def params() -> dict[str, str]:
    """The link's parameters as they will be at the end of this run."""
    found = st.query_params.to_dict()
    for key, value in st.session_state.get(CHANGES, {}).items():
        found.pop(key, None) if value is None else found.update({key: value})
    return found


def asked() -> Asked:
    """The values of the link that a picture is of; what is drawn of it may change without the rest of the page."""
    held = _held()
    return tuple(held.get(key) or "" for key in KEYS if key != "measure")


def _held() -> Mapping[str, str]:
    """The controls that have a value."""
    return {key: st.session_state[key] for key in KEYS if key in st.session_state}


def own(key: str, first: str) -> str:
    """The value of a page's own control before it is drawn: the reader's, else the link's, else the first."""
    return st.session_state.get(key) or params().get(key, first)


def own_part(key: str, parts: Sequence[str]) -> str:
    """The same of a row of parts: what is none of them counts as the first, as it does in the row."""
    asked = own(key, parts[0])
    return asked if asked in parts else parts[0]


def change(changes: Mapping[str, str | None]) -> None:
    """Have parameters of the link set, or with None taken away, when the page is done. For callbacks and pages."""
    st.session_state[CHANGES] = {**st.session_state.get(CHANGES, {}), **changes}


def write_whole() -> dict[str, dict[str, str]] | None:
    """At the end of a page: `write`, except on a first visit. Back would lead from the first sentence to itself, for
    every change from here is a step; so the parameters `before` and `after` are for the browser to change in place."""
    if not st.session_state.pop(FIRST, False):
        write()
        return None
    before, after = st.query_params.to_dict(), params()
    st.session_state[CHANGES] = {}
    return {"before": before, "after": after} if after != before else None


def write() -> None:
    """Change the address, in one step of the history at most. Back and Forward lead to addresses: they change none."""
    before, after = st.query_params.to_dict(), params()
    if st.session_state.get(FIRST):
        return
    st.session_state[CHANGES] = {}
    if after == before:
        return
    # Parameters bound to a control may not be named, so only those that differ are.
    gone = [key for key in before if key not in after]
    new = {key: value for key, value in after.items() if before.get(key) != value}
    for key in gone:
        del st.query_params[key]
    if new:
        st.query_params.update(new)


def keep(selection: Selection) -> None:
    """Let the link say what is chosen in the picture, so that the address always opens what is seen.

    A picture that mixes heads has none of its own: the link keeps the head that was chosen before.
    """
    chosen = {**dict.fromkeys(PARAMS), **selection.as_params()}
    per = measures.BY_KEY[st.session_state["measure"]].per if "measure" in st.session_state else "head"
    if per != "head":
        asked = parse_head(params().get("head", "")) or _opening_head()
        chosen["head"] = head_name(asked if per == "model" else (selection.head[0], asked[1]))
    change(chosen)


def draw_measure(key: object) -> None:
    """Show another measure; a browser may ask for anything."""
    if isinstance(key, str) and refusal("measure", key) is None:
        st.session_state["measure"] = key


def choose_head(name: str) -> None:
    """Another head, everything else as it is; `name` counts from 1 ("4-2")."""
    change({"head": name})


def link_params() -> dict[str, str]:
    """The parameters that go along to another page."""
    return {key: value for key, value in params().items() if key in (*KEYS, *PARAMS)}


def open_text(text: str, pair: str = "") -> None:
    """Put a sentence into the box, as if the reader had typed it; its view opens afresh, in a head that the reader
    chose, but not in the one that the sentence before opened in."""
    head, opened = params().get("head"), head_name(_opening_head())
    st.session_state["text"], st.session_state["pair"] = text, pair
    forget_before()
    change({**dict.fromkeys(PARAMS), "head": None if head == opened else head})


def _opening_head() -> Head:
    return presets.opening_head(st.session_state["text"], st.session_state["pair"], st.session_state["model"])


def grow(text: str, pair: str = "") -> None:
    """Let the text in the box go on; what is chosen in it stays."""
    if text != st.session_state["text"]:
        forget_before()
    st.session_state.update(text=text, pair=pair)
    st.session_state.pop("text2", None)


def open_pair(pair: presets.MinimalPair) -> None:
    """Put both sentences of a minimal pair into their boxes."""
    open_text(pair.a)
    st.session_state["text2"], st.session_state["against"] = pair.b, "sentence"


def readers_model() -> tuple[str, str]:
    """The model and weights that the reader chose, whatever an example has switched to since."""
    now = st.session_state["model"]
    lent, own = st.session_state.get(LENT, ("", ("", "")))
    return own if lent == now else (now, st.session_state["weights"])


def lend(model: str) -> None:
    """Show the next text in the model of its example; in the reader's own where it names none."""
    own = readers_model()
    shown = (model, WEIGHTS[0]) if model else own
    st.session_state["model"], st.session_state["weights"] = shown
    st.session_state[LENT] = (shown[0], own)


def chose_model() -> None:
    """The reader took a model: it is theirs from now on, and its pieces are others."""
    st.session_state.pop(LENT, None)
    cut_otherwise()


def forget_words() -> None:
    """Positions in one sentence mean nothing in the next."""
    change({"pin": None, "to": None})


def retype(text: str, pair: str, twin: str | None = None) -> None:
    """Put a text with one word changed into the box, as if the reader had typed it there; `twin` stays beside it."""
    st.session_state.update(text=text, pair=pair)
    changed_text()
    if twin is not None:
        st.session_state["text2"] = twin


def changed_text() -> None:
    """The text is another one: what was drawn is what was before, and chosen words are where they are found again."""
    shown = st.session_state.get(DRAWN)
    forget_before()
    if shown is None:
        forget_words()
    else:
        st.session_state[BEFORE], st.session_state[MOVES] = shown, True


def cut_otherwise() -> None:
    """The same text in another model's pieces, in words, or without special tokens: chosen words are where they are
    found again."""
    if DRAWN in st.session_state:
        st.session_state[MOVES] = True


def forget_before() -> None:
    """Nothing was before this text, and it is compared with its own twin."""
    for name in (BEFORE, MOVES, "text2"):
        st.session_state.pop(name, None)


def present(on: bool) -> None:
    """Enter or leave presenter mode."""
    change({"present": "1" if on else None})
