"""The lesson: text on the left, the live picture on the right, one step a screen.

In: what the reader asked for. Out: the page; the step is in the link, what was answered in the reader's browser.
"""

import html
from functools import partial

import streamlit as st

from mha_core import AttentionRecord
from mha_core.display_names import head_name
from mha_core.record.grid import piece_units
from pages.parts.frame import loading, state
from pages.parts.frame.context import Context, followed_context
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.links import link_to
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import markup
from pages.parts.frame.request import Request
from pages.parts.inside.route import KEYS, route
from pages.parts.inside.scene import (
    PLACES,
    HeadToken,
    WalkState,
    followed,
    make_plain,
    places_of,
    sentence_key,
    token_chosen,
)
from pages.parts.inside.selectable import on_choice
from pages.parts.learn import asking
from pages.parts.learn.asking import Asked, ask, head_names
from pages.parts.learn.exercises import GUESSES, Step, Verdict, asked_in, exercises, steps
from pages.parts.learn.honest import DRAWN, links
from pages.parts.learn.memory import remember
from pages.parts.learn.progress import BUDGET, Lesson, go, here, solve, step_called
from pages.parts.learn.views import TABLES, VIEWS
from pages.parts.picture.tiles import Board, column, paragraph, token_row
from pages.parts.serve import cache

KEY = "lesson-board"
HEAD_BOX = "lesson-head"
OF_A_HEAD = {"budget", "asking", "follow", "rows", "mix", "norms"}  # pictures of the head that is chosen
SHOWN = "lesson-shown-"  # and the key of a step whose worked picture was asked for


@st.fragment
def lesson_view(request: Request) -> None:
    """One step: its prose, its prediction, its pictures and its exercises."""
    record = cache.record(request)  # a fragment lives as long as its reader, and so does what it is given
    scene = make_plain(request, _picked(request, record))
    if scene is None:
        return
    step = steps()[here().step - 1]
    if st.session_state.get(_board(step, "budget", scene), {}).get("met") is True:
        solve(BUDGET)
    asked = Asked(scene, record)
    verdicts = asking.judge(asked_in(step), asked)
    say_unknown("step", [key for one in steps() for key in (one.key, *one.was)], step.title)
    _bar(here())
    with st.container(key="lesson-step"):
        left, right = st.columns([5, 7], gap="large")
        with left:
            _text(step, asked, verdicts)
        with right:
            _pictures(step, asked, verdicts)
    remember()


def _picked(request: Request, record: AttentionRecord) -> HeadToken:
    """The head and the token that the address asks for."""
    units = piece_units(record.tokens)
    grid = cache.grid(request, record)
    asked = followed_context(Context(request, loading.model(request), record, grid)).selection
    sentence = sentence_key(units)
    st.session_state[PLACES] = sentence, places_of(units, grid)
    query = followed(grid, asked, sentence) if asked.pins else min(1, len(units) - 1)
    return HeadToken(record.tokens, units, asked.head, query, sentence)


def _bar(place: Lesson) -> None:
    """The way through the steps."""
    items = [{"key": step.key, "title": f"{step.title}{_mark(step, place)}"} for step in steps()]
    with st.container(key="lesson-bar"):
        board = Board()
        board.add({"type": "pager", "items": items, "now": place.step - 1})
        board.show(KEY, {"station": _jump, "go": partial(_turn, place.step)}, keys=True, large=False)


def _mark(step: Step, place: Lesson) -> str:
    """A tick where all that a step asks is solved."""
    keys = asked_in(step)
    return " ✓" if keys and all(key in place.done for key in keys) else ""


def _head_box(scene: WalkState, record: AttentionRecord) -> None:
    """The head that the pictures are of."""
    st.session_state[HEAD_BOX] = head_name(scene.head)
    st.selectbox("Head shown", head_names(record), key=HEAD_BOX, on_change=_choose_head, width=140)


def _choose_head() -> None:
    state.choose_head(str(st.session_state[HEAD_BOX]))


def _jump() -> None:
    wanted = step_called(str(heard_from(KEY, "station")))
    if wanted:
        go(wanted)


def _turn(now: int) -> None:
    """On or back from the step that was drawn: a key that is pressed at once still brings the address before it."""
    way = heard_from(KEY, "go")
    if way in (1, -1):
        go(now + way)


def _text(step: Step, asked: Asked, verdicts: dict[str, Verdict]) -> None:
    """The left column: text, what is asked. The title stands in the bar; it is a heading for who listens."""
    scene = asked.scene
    markup(f'<h2 class="hs-aloud" data-uncounted>{html.escape(step.title)}</h2>')
    board = Board()
    if scene is not None:
        words = {"token": scene.token, "head": head_name(scene.head)}
        board.add(column(*(paragraph(text, **words) for text in step.text), size="prose"))
    board.show(f"lesson-text-{step.key}")
    for key in asked_in(step):
        if exercises()[key].kind == "token":
            asking.ask_token(key, asked, verdicts.get(key))
        elif exercises()[key].kind != "head":
            ask(key, asked, verdicts.get(key))
    if scene is not None and asked.record is not None and OF_A_HEAD & set(step.views):
        _head_box(scene, asked.record)
    if step == steps()[-1]:
        links({"Take the quiz": link_to("Learn", {**state.carried(), "show": "Quiz"})})


def _pictures(step: Step, asked: Asked, verdicts: dict[str, Verdict]) -> None:
    """The right column: where we are, the sentence, and the live pictures, once what they show was guessed."""
    scene = asked.scene
    if scene is None:
        return
    _where(step, scene)
    if step.predict and exercises()[step.predict].kind == "head":
        asking.ask_head(step.predict, asked, verdicts.get(step.predict))
    if step.predict and not _answered(step, verdicts.get(step.predict)):
        return
    for view in step.views:
        _draw(step, view, scene)


def _draw(step: Step, view: str, scene: WalkState) -> None:
    """One picture: words and charts, a board, a table, or the last two."""
    if view in DRAWN:
        DRAWN[view](scene)
    if view in VIEWS:
        board, key = Board(), _board(step, view, scene)
        board.add(*VIEWS[view](board, scene))
        board.show(key, {**on_choice(key, scene), "met": partial(_met, key)}, query=scene.query)
    if view in TABLES:
        TABLES[view](scene)


def _answered(step: Step, verdict: Verdict | None) -> bool:
    """Whether the answer may be shown: after any guess, but a number must be right, or the reader asks for it."""
    if verdict and (verdict.right or exercises()[step.predict].kind in GUESSES):
        return True
    if not st.session_state.get(SHOWN + step.key) and exercises()[step.predict].kind not in GUESSES:
        st.button("Show me", key=f"lesson-show-{step.key}", on_click=_show, args=(step.key,))
    return bool(st.session_state.get(SHOWN + step.key))


def _show(key: str) -> None:
    st.session_state[SHOWN + key] = True


def _board(step: Step, view: str, scene: WalkState) -> str:
    """The key of the board of a picture."""
    return f"lesson-view-{step.key}-{view}-{scene.key}"


def _where(step: Step, scene: WalkState) -> None:
    """The map of the calculation, and the sentence to choose a token of."""
    board, key = Board(), f"lesson-where-{scene.key}"
    if step.station:
        kept = {key: value for key, value in state.params().items() if key == "present"}
        places = {one: link_to("Inside", {**state.carried(), **kept, "at": one}) for one in KEYS}
        board.add(route(scene.plain, step.station, links=places))
    if step.tokens:
        board.add(token_row(scene.labels, scene.special, "Token to follow", size="snug"))
    if board.blocks:
        sentence = scene.key.partition("-")[0]
        board.show(key, {"query": partial(token_chosen, key, "query", sentence)}, query=scene.query)


def _met(key: str) -> None:
    if heard_from(key, "met") is True:
        solve(BUDGET)


def style(present: bool, *, lesson: bool) -> None:
    """The little that this page adds to the frame's own style."""
    sheets = ["learn", *(["lesson"] if lesson else []), *(["learn_present"] if present else [])]
    for name in sheets:
        st.html(LESSON.parent / "css" / f"{name}.css")
