"""Learn: ten steps with live pictures, exercises that answer, a quiz, the glossary, and links for a class.

In: what the reader asked for. Out: the page; the step and what was solved are in the link.
"""

import html
from collections.abc import Mapping
from urllib.parse import urlsplit

import numpy as np
import streamlit as st

from mha_core import Record
from mha_core.inside import shares
from mha_core.record import piece_units
from mha_core.wording import head_name, percent
from pages.parts.frame import shell, state
from pages.parts.frame.embed import HIDE
from pages.parts.frame.glossary import LESSON, terms
from pages.parts.frame.links import with_params
from pages.parts.frame.prose import heading, markup, say
from pages.parts.frame.request import Request, models
from pages.parts.frame.selection import parse_head
from pages.parts.inside.scene import Picked, Scene, make_plain, nothing, sentence_key
from pages.parts.learn.exercises import Exercise, check, exercises, previous_mass, quiz, references, steps
from pages.parts.learn.progress import Lesson, go, here, solve
from pages.parts.learn.views import VIEWS
from pages.parts.picture.tiles import Block, Board, paragraph, token_row

PLAN = LESSON.parent / "lesson-plan.md"
KEY = "lesson-board"
MOST_TOKENS = 32
PAGES = {
    "Explore": "",
    "Compare": "compare",
    "Heads": "specialization",
    "Inside": "inside",
    "Learn": "learn",
}


@st.fragment
def lesson_view(request: Request, record: Record) -> None:
    """One step: its prose, its prediction, its picture, its exercises, and the way on."""
    place = here()
    scene = make_plain(request, _picked(request, record))
    if scene is None:
        return
    step = steps()[place.step - 1]
    _steps(request, place)
    with st.container(key="lesson-step", gap="medium"):
        heading(f"{place.step} · {step.title}")
        board = Board()
        board.add(
            *(paragraph(text, "big", token=scene.token, head=head_name(scene.head)) for text in step.text)
        )
        board.show(f"lesson-text-{place.step}")
        open_ = not step.predict or _predict(step.predict, scene, record, place)
        blocks: list[Block] = []
        board = Board()
        if open_:
            blocks = VIEWS[step.view](board, scene)
        if blocks:
            board.add(*blocks)
            board.show(f"lesson-view-{place.step}-{scene.key}", query=scene.query)
        for key in step.exercises:
            ask(exercises()[key], scene, place)
    _onward(place)
    state.write()


def _picked(request: Request, record: Record) -> Picked:
    units = piece_units(record.tokens)
    grid = record.grid(words=request.words, specials=request.specials)
    asked = shell.selection(request, grid.weights.shape, grid.labels)
    query = grid.units[asked.pins[0]].pieces[0] if asked.pins else min(1, len(units) - 1)
    return Picked(record.tokens, units, asked.head, query, f"lesson-{sentence_key(units)}")


def _steps(request: Request, place: Lesson) -> None:
    """The numbered steps; in presenter mode only the keys that turn them."""
    board = Board()
    finished = [bool(s.exercises or s.predict) and _solved(place, s) for s in steps()]
    if not request.present:
        board.add(
            {
                "type": "steps",
                "label": "Steps of the lesson",
                "items": [s.title for s in steps()],
                "now": place.step - 1,
                "done": finished,
            }
        )
    board.show(KEY, {"step": _jump, "go": _turn}, keys=True)


def _solved(place: Lesson, step: object) -> bool:
    keys = [*getattr(step, "exercises", ()), *filter(None, [getattr(step, "predict", "")])]
    return all(key in place.done for key in keys)


def _jump() -> None:
    wanted = st.session_state[KEY].step
    if isinstance(wanted, int):
        go(wanted)


def _turn() -> None:
    way = st.session_state[KEY].go
    if way in (1, -1):
        go(here().step + way)


def _onward(place: Lesson) -> None:
    with st.container(horizontal=True, gap="small", key="lesson-onward"):
        st.button("Back", key="lesson-back", disabled=place.step == 1, on_click=go, args=(place.step - 1,))
        if place.step == len(steps()):
            say("That was the lesson. The quiz is above, beside it.")
        else:
            following = f"Next: {steps()[place.step].title}"
            st.button(following, key="lesson-next", on_click=go, args=(place.step + 1,))


def _predict(key: str, scene: Scene, record: Record, place: Lesson) -> bool:
    """Ask before showing; True once the reader has answered, or asked to be shown."""
    exercise = exercises()[key]
    if exercise.kind == "token":
        return _predict_token(exercise, scene)
    if exercise.kind == "head":
        return _predict_head(exercise, record)
    return ask(exercise, scene, place)


def _predict_token(exercise: Exercise, scene: Scene) -> bool:
    key = f"predict-{exercise.key}-{scene.key}"
    before = st.session_state.get(key, {}).get("query")
    board = Board()
    board.add(
        paragraph(exercise.question, "strong", token=scene.token, head=head_name(scene.head)),
        token_row(scene.labels, scene.special, "Your guess", apart=True, chosen=before),
    )
    guess = board.show(key, {"query": nothing}).query
    if not isinstance(guess, int) or not 0 <= guess < len(scene.labels):
        return False
    weights = scene.plain.weights[scene.h, scene.query]
    best = int(weights.argmax())
    board = Board()
    if guess == best:
        board.add(
            paragraph(f"Yes: {{best}}, **{percent(weights[best])}**.", "verdict", best=scene.labels[best])
        )
    else:
        board.add(
            paragraph(
                f"{{guess}} gets {percent(weights[guess])}. Most goes to {{best}}: **{percent(weights[best])}**.",
                "verdict",
                guess=scene.labels[guess],
                best=scene.labels[best],
            )
        )
    board.show(f"{key}-said")
    solve(exercise.key)
    return True


def _predict_head(exercise: Exercise, record: Record) -> bool:
    layers, heads, n = record.weights.shape[:3]
    shown = record.weights[:, :, :MOST_TOKENS, :MOST_TOKENS]
    size = min(n, MOST_TOKENS)
    board = Board()
    names = [head_name((layer, head)) for layer in range(layers) for head in range(heads)]
    board.add(
        paragraph(exercise.question, "strong"),
        board.sheets(
            "weights",
            shown.reshape(-1, size, size),
            labels=names,
            ramp="weight",
            top=1,
            line=heads,
            square=True,
            pick="Choose",
        ),
    )
    guess = board.show(f"predict-head-{sentence_key(piece_units(record.tokens))}", {"picked": nothing}).picked
    if not isinstance(guess, int) or not 0 <= guess < layers * heads:
        return False
    mass = previous_mass(record.weights).reshape(-1)
    best = int(mass.argmax())
    said = (
        f"Yes: {names[best]} puts {percent(mass[best])} of its weight on the token before."
        if guess == best
        else f"{names[guess]} puts {percent(mass[guess])} on the token before. {names[best]} puts most there: "
        f"{percent(mass[best])}. Look for a dark line just below the diagonal."
    )
    say(said, "notice")
    solve(exercise.key)
    return True


def ask(exercise: Exercise, scene: Scene | None, place: Lesson) -> bool:
    """One exercise: the question, a place for the answer, and what to say to it. True once it is answered."""
    with st.container(key=f"exercise-{exercise.key}", gap="xsmall"):
        board = Board()
        board.add(paragraph(exercise.question, "strong", token=scene.token if scene else ""))
        board.show(f"question-{exercise.key}")
        if exercise.kind == "choice":
            typed = st.radio(
                "Your answer",
                [option["text"] for option in exercise.options],
                index=None,
                key=f"answer-{exercise.key}",
                label_visibility="collapsed",
            )
        elif exercise.kind == "free":
            typed = st.text_area(
                "Your answer",
                key=f"answer-{exercise.key}",
                label_visibility="collapsed",
                placeholder="Write your own answer, then press Ctrl and Enter to see ours",
                max_chars=2000,
                height=90,
            )
        else:
            typed = st.text_input(
                "Your answer",
                key=f"answer-{exercise.key}",
                label_visibility="collapsed",
                placeholder="Your answer, then Enter",
                max_chars=100,
                width=280,
            )
        if not typed or not typed.strip():
            return False
        return _answer(exercise, typed, scene, place)


def _answer(exercise: Exercise, typed: str, scene: Scene | None, place: Lesson) -> bool:
    if exercise.kind == "part":
        right: bool | None
        right, said = check_part(exercise, typed, scene)
    else:
        verdict = check(exercise, typed)
        right, said = verdict.right, verdict.say
    lead = {True: "Right. ", False: "Not yet. ", None: "Compare with ours: "}[right]
    say(lead + said, "notice")
    if right is not False and exercise.key not in place.done:
        solve(exercise.key)
    return True


def check_part(exercise: Exercise, typed: str, scene: Scene | None) -> tuple[bool, str]:
    """Whether the head named is the one with the longest part in the token's output."""
    asked = parse_head(typed.strip())
    if scene is None or asked is None:
        return False, "Write it as layer and head, such as 4-2."
    norms = shares(scene.plain, scene.query).norms
    best = int(np.argmax(norms))
    if asked == (scene.head[0], best):
        return True, f"{head_name(asked)} adds a vector of length {norms[best]:.3f}."
    return False, exercise.hint


def quiz_view() -> None:
    """Five questions to close with."""
    place = here()
    heading("Five questions")
    right = sum(key in place.done for key in quiz())
    say(f"{right} of {len(quiz())} done. Free answers are yours to compare with ours; nobody grades them.")
    for key in quiz():
        ask(exercises()[key], None, place)


def glossary_view() -> None:
    """Every term, in one place."""
    heading("Glossary")
    lines = "".join(
        f'<dt id="term-{html.escape(t.key)}"><strong>{html.escape(t.term)}</strong></dt>'
        f"<dd>{html.escape(t.short)} {html.escape(t.more)}</dd>"
        for t in terms().values()
    )
    markup(f'<dl class="hs-glossary">{lines}</dl>')


def references_view() -> None:
    """What to read."""
    heading("References")
    lines = "".join(
        f'<li><a href="{html.escape(r.link)}">{html.escape(r.text)}</a><br>{html.escape(r.why)}</li>'
        for r in references()
    )
    markup(f'<ul class="hs-references">{lines}</ul>')


def teacher_view(request: Request) -> None:
    """A link that opens one view for a whole class."""
    heading("A link for your class")
    say("Everyone who opens this link sees the same sentence, model and head, with nothing else in the way.")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        text = st.text_input("Sentence", request.text, key="class-text", max_chars=1000, width=520)
        page = st.selectbox("Page", tuple(PAGES), 3, key="class-page", width=170)
        model = st.selectbox("Model", models(), key="class-model", width=200)
        head = st.text_input("Head", "4-2", key="class-head", max_chars=7, width=90)
        hidden = st.multiselect("Hide", tuple(HIDE), key="class-hide", width=260)
        present = st.toggle("Presenter mode", key="class-present")
    if parse_head(head) is None:
        say("A head is written as layer and head, both from 1, such as 4-2.", "notice")
        return
    query = {"text": text, "model": model, "head": head}
    if hidden:
        query["hide"] = ",".join(hidden)
    if present:
        query["present"] = "1"
    st.code(class_link(st.context.url or "", PAGES[page or "Inside"], query), language=None, wrap_lines=True)
    say("In presenter mode the type is large, and the arrow keys → and ← turn the steps of the lesson.")
    with st.expander("A plan for one hour"):
        st.markdown(PLAN.read_text(encoding="utf-8"))


def class_link(here: str, page: str, query: Mapping[str, str]) -> str:
    """The address of a page of this app with these parameters; `here` is the address of the open page."""
    parts = urlsplit(here)
    base = (
        parts.path.rsplit("/", 1)[0] if parts.path.rstrip("/").endswith("learn") else parts.path.rstrip("/")
    )
    origin = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    return with_params(f"{origin}{base}/{page}", query)


def style(present: bool) -> None:
    """The little that this page adds to the frame's own style."""
    st.html(LESSON.parent / "css" / "learn.css")
    if present:
        st.html(LESSON.parent / "css" / "learn_present.css")
