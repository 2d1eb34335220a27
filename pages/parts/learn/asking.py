"""Predictions and exercises of the lesson: their controls, and the verdict on each answer.

In: a step, a scene and typed answers. Out: verdicts, before anything is drawn, so that marks and counters show them at
once; then the controls with their verdicts.
"""

from dataclasses import dataclass
from hashlib import blake2s

import numpy as np
import streamlit as st

from mha_core import AttentionRecord
from mha_core.display_names import head_name, visible
from mha_core.models.model_list import EMBEDDED
from pages.parts.frame.page_text import lowered, markup, prose
from pages.parts.inside.scene import WalkState
from pages.parts.inside.selectable import choosing
from pages.parts.learn.exercises import (
    BETWEEN,
    GUESSES,
    Exercise,
    Verdict,
    check,
    controls,
    exercises,
    previous_mass,
)
from pages.parts.learn.progress import answer, fill, here, solve
from pages.parts.picture.tiles import Board, paragraph, show_text, token_row

MAX_TOKENS = 32
LEADS = {True: "Right. ", False: "Not yet. ", None: ""}


@dataclass(frozen=True)
class ExerciseContext:
    """The subject of a question: the user's sentence with one head, and all heads. None in the quiz."""

    scene: WalkState | None = None
    record: AttentionRecord | None = None

    def place(self, exercise: Exercise) -> str:
        """Return the name of an answer: a guess belongs to its model, sentence, head and token."""
        if exercise.kind not in GUESSES or self.scene is None:
            return exercise.key
        request, subject = self.scene.request, self.scene.key
        if exercise.kind == "head":
            subject = self.scene.sentence
        if (request.model, request.trained) == (EMBEDDED, True):
            return f"{exercise.key}@{subject}"
        name = f"{request.model} {request.trained}"
        return f"{exercise.key}@{subject}-{blake2s(name.encode(), digest_size=4).hexdigest()}"

    def guess(self, exercise: Exercise) -> int | None:
        """Return the guess that is kept for an exercise."""
        text = here().answers.get(self.place(exercise), "")
        return int(text) if text.isdecimal() else None


def judge(keys: tuple[str, ...], context: ExerciseContext) -> dict[str, Verdict]:
    """Return the verdict on every answer, and remember both."""
    verdicts = {}
    for key in keys:
        exercise = exercises()[key]
        typed, place = _typed(exercise, context), context.place(exercise)
        if not typed.strip():
            if here().answers.get(place):
                answer(place, "")  # emptied, and not to come back on another screen
            continue
        answer(place, typed)
        verdicts[key] = _verdict_on(exercise, typed, context)
        if verdicts[key].right is not False or exercise.kind in GUESSES:
            solve(key)
    return verdicts


def _typed(exercise: Exercise, context: ExerciseContext) -> str:
    place = context.place(exercise)
    if exercise.kind in GUESSES:
        guess = guessed(f"predict-{place}", "query" if exercise.kind == "token" else "picked")
        return here().answers.get(place, "") if guess is None else str(guess)
    names = controls(exercise)
    if all(st.session_state.get(name) is None for name in names):
        fill(exercise.key, here().answers.get(place, ""))
    given = [str(st.session_state.get(name) or "").strip() for name in names]
    return BETWEEN.join(given) if any(given) else ""


def guessed(board: str, field: str) -> int | None:
    """Return what the user pressed on a board before this run."""
    value = st.session_state.get(board, {}).get(field)
    return value if isinstance(value, int) else None


def _verdict_on(exercise: Exercise, typed: str, context: ExerciseContext) -> Verdict:
    """Judge an answer; a guess by the model's own numbers."""
    if exercise.kind not in GUESSES:
        return check(exercise, typed)
    if not typed.isdecimal():
        return Verdict(None, "")
    if exercise.kind == "token" and context.scene:
        return _judge_token(int(typed), context.scene)
    return _judge_head(int(typed), context.record) if context.record else Verdict(None, "")


def _judge_token(guess: int, scene: WalkState) -> Verdict:
    weights = scene.plain.weights[scene.h, scene.query]
    best = int(weights.argmax())
    if not 0 <= guess < len(weights):
        return Verdict(None, "")
    if guess == best:
        return Verdict(True, f"Yes: {{best}}, **{weights[best]:.0%}**.")
    gets = (
        f"gets {weights[guess]:.0%}"
        if guess < len(scene.visible_labels)
        else "comes later and is not there yet"
    )
    return Verdict(False, f"{{guess}} {gets}. Most goes to {{best}}: **{weights[best]:.0%}**.")


def _judge_head(guess: int, record: AttentionRecord) -> Verdict:
    if record.weights.shape[-1] < 2:
        return Verdict(None, "A single token has none before it. Enter a longer sentence.")
    mass = previous_mass(record.weights).reshape(-1)
    if not 0 <= guess < len(mass):
        return Verdict(None, "")
    names, best = head_names(record), int(mass.argmax())
    if guess == best:
        return Verdict(
            True, f"Yes: {names[best]} puts {mass[best]:.0%} of its attention on the token before."
        )
    text = f"{names[guess]} puts {mass[guess]:.0%} on the token before, {names[best]} most: {mass[best]:.0%}."
    return Verdict(False, f"{text} Look for a strong line just below the diagonal.")


def head_names(record: AttentionRecord) -> list[str]:
    """Return the names of all heads, layer by layer."""
    return [head_name(head) for head in np.ndindex(*record.weights.shape[:2])]


def ask(key: str, context: ExerciseContext, verdict: Verdict | None) -> None:
    """Draw one exercise: the question, a place for the answer, and the verdict."""
    exercise, token = exercises()[key], context.scene.token if context.scene else ""
    with st.container(key=f"exercise-{key}", gap="xsmall"):
        show_text(f"question-{key}", paragraph(exercise.question, "strong", token=token))
        _draw_control(exercise, exercise.question.replace("{token}", visible(token)))
        if verdict is not None and verdict.say:
            text = lowered(prose(LEADS[verdict.right] + verdict.say))
            markup(f'<p class="hs-notice" role="status">{text}</p>')


def _draw_control(exercise: Exercise, question: str) -> None:
    if exercise.kind == "choice":
        name = f"answer-{exercise.key}"
        options = [option["text"] for option in exercise.options]
        st.session_state.setdefault(name, None)
        st.radio(f"Your answer: {question}", options, key=name, label_visibility="collapsed")
        return
    with st.container(horizontal=True, gap="small"):
        for key, box in zip(controls(exercise), exercise.boxes or ("Your answer",), strict=True):
            st.text_input(
                f"{box}: {question}",
                key=key,
                label_visibility="collapsed",
                placeholder=box,
                max_chars=40,
                width=200 if exercise.boxes else 280,
            )


def ask_token(key: str, context: ExerciseContext, verdict: Verdict | None) -> None:
    """Draw a guess of a token before it is shown."""
    exercise, scene = exercises()[key], context.scene
    if scene is None:
        return
    guess, board = context.guess(exercise), Board()
    board.add(
        paragraph(exercise.question, "strong", token=scene.token, head=head_name(scene.head)),
        token_row(scene.labels, scene.special, "Your guess", apart=True, chosen=guess, size="snug"),
    )
    if verdict is not None and verdict.say and guess is not None:
        best = int(scene.plain.weights[scene.h, scene.query].argmax())
        names = {"best": scene.labels[best], "guess": scene.labels[guess]}
        board.add(paragraph(verdict.say, "strong-said", **names))
    board.show(f"predict-{context.place(exercise)}", {"query": lambda _: None})


def ask_head(key: str, context: ExerciseContext, verdict: Verdict | None) -> None:
    """Draw a guess of a head among all of them."""
    exercise, record = exercises()[key], context.record
    if record is None:
        return
    _, n_heads, n, _ = record.weights.shape
    size, names, guess = min(n, MAX_TOKENS), head_names(record), context.guess(exercise)
    shown = record.weights[:, :, :size, :size].reshape(-1, size, size)
    board = Board()
    board.add(paragraph(exercise.question, "strong"))
    if verdict is not None and verdict.say:
        board.add(paragraph(verdict.say, "strong-said"))
    sheets = board.sheets(
        "weights", shown, labels=names, ramp="weight", top=1, line=n_heads, wide=46, high=38, chosen=guess
    )
    choices = [f"Choose {name}" for name in names]
    board.add(choosing(sheets, "figure", "picked", list(range(len(names))), choices, guess, line=n_heads))
    if size < n:
        text = f"The pictures show the first {size} of {n} tokens. The answer counts all."
        board.add(paragraph(text, "quiet"))
    board.show(f"predict-{context.place(exercise)}", {"picked": lambda _: None})
