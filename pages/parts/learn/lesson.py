"""The lesson: text on the left, the live picture on the right, one step a screen.

In: a request. Out: the page; the step is in the URL, the answers are in the user's browser.
"""

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from mha_core.display_names import head_name
from mha_core.draw.bundle import ASSETS
from pages.parts.frame import url_params
from pages.parts.frame.links import link_to
from pages.parts.frame.option_row import follow_url, say_unknown
from pages.parts.frame.page_text import markup
from pages.parts.frame.request import Request
from pages.parts.inside.many import cost_table, hulls, rows_picture
from pages.parts.inside.pictures import contribution_bars, follow_block
from pages.parts.inside.route import KEYS, route
from pages.parts.inside.scene import WalkState, follow, read_scene
from pages.parts.inside.selectable import on_choice
from pages.parts.learn import asking, claim_views, views
from pages.parts.learn.asking import ExerciseContext, ask, ask_head, ask_token, head_names
from pages.parts.learn.circuit import TEXT, circuit
from pages.parts.learn.exercises import GUESSES, Step, Verdict, exercises, questions_of, steps
from pages.parts.learn.progress import BUDGET, Lesson, go, here, remember, solve, step_called
from pages.parts.picture.tiles import Block, Board, column, paragraph, show_text, token_row
from pages.parts.serve import cache

OF_A_HEAD = {"budget", "asking", "follow", "rows", "mix", "norms"}  # pictures of the head that is chosen
OWN_TEXT = "circuit"  # a picture of a text and a model of its own
SHOWN = "lesson-shown-"  # and the key of a step whose worked picture the user wants to see


@dataclass(frozen=True)
class View:
    """A picture of the lesson: blocks for a board, or what draws itself, under the board where it has both."""

    blocks: Callable[[Board, WalkState], list[Block]] | None = None
    below: Callable[[WalkState], None] | None = None


VIEWS = {  # by their names in lesson.toml
    "budget": View(views.budget),
    "asking": View(lambda board, scene: [follow_block(board, scene, upto="raw")]),
    "example": View(views.by_hand),
    "follow": View(lambda board, scene: [follow_block(board, scene, 5)]),
    "hulls": View(below=partial(hulls, height=250)),
    "rows": View(partial(rows_picture, high=14)),
    "rank": View(below=views.rank),
    "mix": View(views.mix),
    "stream": View(views.stream),
    "kinds": View(below=claim_views.kinds),
    "claim": View(below=claim_views.claim),
    "tests": View(below=claim_views.tests),
    "truth": View(below=claim_views.truth),
    "classroom": View(below=claim_views.classroom),
    "norms": View(below=views.norms),
    "parts": View(contribution_bars),
    "circuit": View(below=circuit),
    "costs": View(below=cost_table),
    "sharing": View(views.sharing, views.caches),
    "summary": View(below=views.summary),
    "code": View(below=claim_views.listing),
}


@st.fragment
def lesson_view(request: Request) -> None:
    """Draw one step: its prose, its prediction, its pictures and its exercises."""
    record = cache.record(request)  # a fragment lives as long as its user, and so does what it is given
    scene = read_scene(request, record, first=1)
    if scene is None:
        return
    step = steps()[here().step - 1]
    if st.session_state.get(_board(step, "budget", scene), {}).get("met") is True:
        solve(BUDGET)
    context = ExerciseContext(scene, record)
    verdicts = asking.judge(questions_of(step), context)
    say_unknown("step", [key for each in steps() for key in (each.key, *each.former_keys)], step.title)
    _draw_bar(here())
    with st.container(key="lesson-step"):
        left, right = st.columns([5, 7], gap="large")
        with left:
            _draw_text(step, scene, context, verdicts)
        with right:
            _draw_pictures(step, scene, context, verdicts)
    remember()


def _draw_bar(place: Lesson) -> None:
    """Draw the ways to other steps, with a tick where all that a step asks is solved."""
    items = []
    for step in steps():
        keys = questions_of(step)
        is_done = keys and all(key in place.done for key in keys)
        items.append({"key": step.key, "title": f"{step.title}{' ✓' if is_done else ''}"})
    with st.container(key="lesson-bar"):
        board = Board()
        board.add({"type": "pager", "items": items, "now": place.step - 1})
        board.show(
            "lesson-board", {"station": _jump, "go": partial(_turn, place.step)}, keys=True, large=False
        )


def _jump(name: object) -> None:
    if step := step_called(str(name)):
        go(step)


def _turn(step: int, by: object) -> None:
    """Turn from the step that was drawn: a key that is pressed at once still brings the URL before it."""
    if isinstance(by, int) and by in (1, -1):
        go(step + by)


def _draw_text(step: Step, scene: WalkState, context: ExerciseContext, verdicts: dict[str, Verdict]) -> None:
    """Draw the left column: text, then exercises. The bar has the title; here it is a heading for screen readers."""
    markup(f'<h2 class="hs-aloud" data-uncounted>{html.escape(step.title)}</h2>')
    words = {"token": scene.token, "head": head_name(scene.head)}
    paragraphs = (paragraph(text, **words) for text in step.text)
    show_text(f"lesson-text-{step.key}", column(*paragraphs, size="prose"))
    for key in questions_of(step):
        if exercises()[key].kind == "token":
            ask_token(key, context, verdicts.get(key))
        elif exercises()[key].kind != "head":
            ask(key, context, verdicts.get(key))
    if context.record is not None and OF_A_HEAD & set(step.views):
        names = head_names(context.record)
        follow_url(
            st.selectbox, "Head shown", "lesson-head", head_name(scene.head), _choose_head, options=names, width=140
        )  # fmt: skip
    if step == steps()[-1]:
        claim_views.links({"Take the quiz": link_to("Learn", {**url_params.carried(), "show": "Quiz"})})


def _choose_head(name: str) -> None:
    url_params.change({"head": name})


def _draw_pictures(
    step: Step, scene: WalkState, context: ExerciseContext, verdicts: dict[str, Verdict]
) -> None:
    """Draw the right column: map, sentence, and the live pictures, once what they show was guessed."""
    _draw_map(step, scene)
    verdict = verdicts.get(step.predict)
    if step.predict and exercises()[step.predict].kind == "head":
        ask_head(step.predict, context, verdict)
    if step.predict and not _is_answered(step, verdict):
        return
    for name in step.views:
        view = VIEWS[name]
        if view.blocks:
            board = Board()
            board.add(*view.blocks(board, scene))
            board.show(_board(step, name, scene), {**on_choice(scene), "met": _met}, query=scene.query)
        if view.below:
            view.below(scene)


def _is_answered(step: Step, verdict: Verdict | None) -> bool:
    """Return whether the answer may be shown: after any guess; a number must be right, or the user asks for it."""
    is_guess = exercises()[step.predict].kind in GUESSES
    if verdict and (verdict.right or is_guess):
        return True
    if not st.session_state.get(SHOWN + step.key) and not is_guess:
        st.button("Show me", key=f"lesson-show-{step.key}", on_click=_show, args=(step.key,))
    return bool(st.session_state.get(SHOWN + step.key))


def _show(key: str) -> None:
    st.session_state[SHOWN + key] = True


def _board(step: Step, view: str, scene: WalkState) -> str:
    """Return the key of a picture's board."""
    return f"lesson-view-{step.key}-{view}-{scene.key}"


def _draw_map(step: Step, scene: WalkState) -> None:
    """Draw the map of the calculation, and the sentence to choose a token of."""
    board = Board()
    if OWN_TEXT in step.views:
        with st.container(key="lesson-own-text"):  # hides the user's sentence and model, see lesson.css
            show_text("lesson-text-read", f"SmolLM2 reads: “{TEXT}”")
    if step.station:
        params = {**url_params.carried(), **({"present": "1"} if scene.request.present else {})}
        links = {station: link_to("Inside", {**params, "at": station}) for station in KEYS}
        board.add(route(scene.plain, step.station, links=links))
    if step.tokens:
        board.add(token_row(scene.labels, scene.special, "Token to follow", size="snug"))
    if board.blocks:
        events = {"query": partial(follow, scene.sentence)}
        board.show(f"lesson-where-{scene.key}", events, query=scene.query)


def _met(is_met: object) -> None:
    if is_met is True:
        solve(BUDGET)


def style(present: bool, *, lesson: bool) -> None:
    """Add the styles of this page."""
    sheets = ["learn", *(["lesson"] if lesson else []), *(["learn_present"] if present else [])]
    for name in sheets:
        st.html(ASSETS / "css" / f"{name}.css")
