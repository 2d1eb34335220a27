"""The lesson: text on the left, the live picture on the right, one step a screen.

In: what the reader asked for. Out: the page; the step is in the link, what was answered in the reader's browser.
"""

import html
from functools import partial

import streamlit as st

from mha_core import AttentionRecord
from mha_core.grid import piece_units
from mha_core.wording import head_name
from pages.parts.frame import carried_selection, shell, state
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.links import link_to
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.page_text import heading, markup
from pages.parts.frame.request import Request
from pages.parts.frame.selection import parse_head
from pages.parts.inside.route import KEYS, route
from pages.parts.inside.scene import (
    PLACES,
    Picked,
    Scene,
    follow,
    followed,
    make_plain,
    places_of,
    sentence_key,
)
from pages.parts.learn import asking
from pages.parts.learn.asking import Asked, ask, head_names
from pages.parts.learn.exercises import Step, Verdict, asked_in, exercises, steps
from pages.parts.learn.honest import DRAWN, UNDER_THE_TEXT
from pages.parts.learn.memory import remember
from pages.parts.learn.progress import BUDGET, Lesson, go, here, solve
from pages.parts.learn.views import TABLES, VIEWS
from pages.parts.picture.tiles import Board, column, paragraph, token_row
from pages.parts.serve import cache

KEY = "lesson-board"
HEAD_BOX = "lesson-head"
# Steps about other sentences or models than the reader's own: no token row, no head to choose.
OF_THEIR_OWN = (*DRAWN, "example", "summary")
IN_THE_PICTURE = ("asking", "follow")  # their words are the token row


@st.fragment
def lesson_view(request: Request) -> None:
    """One step: its prose, its prediction, its picture, its exercises, and the way on."""
    record = cache.record(request)  # a fragment lives as long as its reader, and so does what it is given
    scene = make_plain(request, _picked(request, record))
    if scene is None:
        return
    step = steps()[here().step - 1]
    if st.session_state.get(f"lesson-view-{step.key}-{scene.key}", {}).get("met") is True:
        solve(BUDGET)
    asked = Asked(scene, record)
    verdicts = asking.judge(asked_in(step), asked)
    place = here()
    _bar(record, scene, place)
    with st.container(key="lesson-step"):
        wide = [11, 14] if step.view in UNDER_THE_TEXT else [5, 7]
        left, right = st.columns(wide, gap="large")
        with left:
            _text(step, place.step, asked, verdicts)
        with right:
            _picture(step, asked, verdicts)
        _onward(place)
    remember()


def _picked(request: Request, record: AttentionRecord) -> Picked:
    """The head and the token that the address asks for."""
    units = piece_units(record.tokens)
    grid = cache.grid(request, record)
    meant, _ = carried_selection.settle(request, grid)
    carried_selection.keep(request, grid, meant)
    asked = shell.selection(request, grid, asked=meant)
    sentence = sentence_key(units)
    st.session_state[PLACES] = sentence, places_of(units, grid)
    query = followed(grid, asked, sentence) if asked.pins else min(1, len(units) - 1)
    return Picked(record.tokens, units, asked.head, query, f"lesson-{sentence}")


def _bar(record: AttentionRecord, scene: Scene, place: Lesson) -> None:
    """The steps by number, and the head that the pictures are of."""
    finished = [bool(asked_in(s)) and all(key in place.done for key in asked_in(s)) for s in steps()]
    with st.container(key="lesson-bar"):
        numbers, heads = st.columns([9, 1], vertical_alignment="center")
    with numbers:
        board = Board()
        board.add(
            {
                "type": "steps",
                "label": "Steps of the lesson",
                "items": [s.title for s in steps()],
                "now": place.step - 1,
                "done": finished,
                "size": "snug",
            }
        )
        board.show(KEY, {"step": _jump, "go": partial(_turn, place.step)}, keys=True, large=False)
    with heads:
        names = head_names(record)
        st.session_state[HEAD_BOX] = head_name(scene.head)
        st.selectbox("Head", names, key=HEAD_BOX, label_visibility="collapsed", on_change=_choose_head)


def _choose_head() -> None:
    choose_head(st.session_state[HEAD_BOX])


def choose_head(name: object) -> None:
    """Another head; a browser can send anything."""
    if isinstance(name, str) and parse_head(name):
        state.choose_head(name)


def _jump() -> None:
    wanted = heard_from(KEY, "step")
    if isinstance(wanted, int):
        go(wanted)


def _turn(now: int) -> None:
    """On or back from the step that was drawn: a key that is pressed at once still brings the address before it."""
    way = heard_from(KEY, "go")
    if way in (1, -1):
        go(now + way)


def _text(step: Step, number: int, asked: Asked, verdicts: dict[str, Verdict]) -> None:
    """The left column: heading, text, what is asked."""
    scene = asked.scene
    heading(f"{number} · {step.title}")
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
    if step.view in UNDER_THE_TEXT:
        UNDER_THE_TEXT[step.view]()


def _picture(step: Step, asked: Asked, verdicts: dict[str, Verdict]) -> None:
    """The right column: where we are, the sentence, and the live picture, once what it shows was guessed."""
    scene = asked.scene
    if scene is None:
        return
    _where(step, scene)
    if step.predict and exercises()[step.predict].kind == "head":
        asking.ask_head(step.predict, asked, verdicts.get(step.predict))
    if step.predict and step.predict not in verdicts:
        return
    if step.view in DRAWN:
        DRAWN[step.view](scene)
        return
    if step.view in VIEWS:
        board, key = Board(), f"lesson-view-{step.key}-{scene.key}"
        board.add(*VIEWS[step.view](board, scene))
        board.show(key, _heard(key, scene), query=scene.query)
        board.numbers(f"lesson-view-{step.key}")
    if step.view in TABLES:
        TABLES[step.view](scene)


def _where(step: Step, scene: Scene) -> None:
    """The map of the calculation, and the sentence to choose a token of."""
    board, key = Board(), f"lesson-where-{scene.key}"
    kept = {key: value for key, value in state.params().items() if key == "present"}
    links = {one: link_to("Inside", {**state.carried(), **kept, "at": one}) for one in KEYS}
    board.add(route(scene.plain, step.station, links=links))
    if step.view not in (*OF_THEIR_OWN, *IN_THE_PICTURE):
        board.add(token_row(scene.labels, scene.special, "Token to follow", size="snug"))
    board.show(key, {"query": partial(_follow, key, scene.key)}, query=scene.query)


def _heard(key: str, scene: Scene) -> dict[str, partial[None]]:
    """What a picture may tell: a head, a token, or that a budget suffices."""
    return {
        "head": partial(_head_in, key),
        "token": partial(_token_in, key, scene.key),
        "met": partial(_met, key),
    }


def _head_in(key: str) -> None:
    choose_head(heard_from(key, "head"))


def _token_in(key: str, scene_key: str) -> None:
    follow_token(heard_from(key, "token"), scene_key)


def _follow(key: str, scene_key: str) -> None:
    follow_token(heard_from(key, "query"), scene_key)


def follow_token(query: object, scene_key: str) -> None:
    """Another token of this sentence."""
    follow(query, scene_key.split("-")[1])


def _met(key: str) -> None:
    if heard_from(key, "met") is True:
        solve(BUDGET)


def _onward(place: Lesson) -> None:
    with st.container(horizontal=True, gap="small", key="lesson-onward"):
        st.button("Back", key="lesson-back", disabled=place.step == 1, on_click=go, args=(place.step - 1,))
        if place.step == len(steps()):
            quiz = link_to("Learn", {**state.carried(), "show": "Quiz"})
            markup(f'<a class="hs-next" href="{html.escape(quiz)}">Next: the quiz</a>', inline=True)
        else:
            following = f"Next: {steps()[place.step].title}"
            st.button(following, key="lesson-next", type="primary", on_click=go, args=(place.step + 1,))


def style(present: bool, *, lesson: bool) -> None:
    """The little that this page adds to the frame's own style."""
    sheets = ["learn", *(["lesson"] if lesson else []), *(["learn_present"] if present else [])]
    for name in sheets:
        st.html(LESSON.parent / "css" / f"{name}.css")
