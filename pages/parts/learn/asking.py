"""What the lesson asks: predictions, exercises, and what is said to an answer.

In: a step, a scene and what was typed. Out: verdicts, before anything is drawn, so that marks and counters show them
at once; then the controls with what is said.
"""

from dataclasses import dataclass
from hashlib import blake2s

import numpy as np
import streamlit as st

from mha_core import AttentionRecord
from mha_core.display_names import head_name
from mha_core.models.model_list import EMBEDDED
from mha_core.record.grid import piece_units
from pages.parts.frame.page_text import lowered, markup, prose, visible
from pages.parts.inside.scene import WalkState, sentence_key
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
from pages.parts.learn.memory import fill
from pages.parts.learn.progress import answer, here, solve
from pages.parts.picture.tiles import Board, paragraph, token_row

MOST_TOKENS = 32
LEADS = {True: "Right. ", False: "Not yet. ", None: ""}


@dataclass(frozen=True)
class Asked:
    """What a question may be about: the reader's sentence with one head, and all heads. None in the quiz."""

    scene: WalkState | None = None
    record: AttentionRecord | None = None

    def place(self, exercise: Exercise) -> str:
        """The name under which an answer is kept: a guess belongs to its model, sentence, head and token."""
        if exercise.kind == "token" and self.scene:
            return f"{exercise.key}@{self.scene.key}{self._weights()}"
        if exercise.kind == "head" and self.record:
            return f"{exercise.key}@{sentence_key(piece_units(self.record.tokens))}{self._weights()}"
        return exercise.key

    def _weights(self) -> str:
        """Names the model and its weights, where they are not those of the embedded one."""
        request = self.scene.request if self.scene else None
        if request is None or (request.model, request.trained) == (EMBEDDED, True):
            return ""
        name = f"{request.model} {request.trained}"
        return f"-{blake2s(name.encode(), digest_size=4).hexdigest()}"


def judge(keys: tuple[str, ...], asked: Asked) -> dict[str, Verdict]:
    """The verdict on everything that is answered, remembered at once."""
    found = {}
    for key in keys:
        exercise = exercises()[key]
        typed = _typed(exercise, asked)
        if not typed.strip():
            if here().answers.get(asked.place(exercise)):
                answer(asked.place(exercise), "")  # emptied, and not to come back on another screen
            continue
        answer(asked.place(exercise), typed)
        found[key] = verdict_on(exercise, typed, asked)
        if found[key].right is not False or exercise.kind in GUESSES:
            solve(key)
    return found


def _typed(exercise: Exercise, asked: Asked) -> str:
    place = asked.place(exercise)
    if exercise.kind in GUESSES:
        guess = guessed(f"predict-{place}", "query" if exercise.kind == "token" else "picked")
        return here().answers.get(place, "") if guess is None else str(guess)
    names = controls(exercise)
    if all(st.session_state.get(name) is None for name in names):
        fill(exercise.key, here().answers.get(place, ""))
    given = [str(st.session_state.get(name) or "").strip() for name in names]
    return BETWEEN.join(given) if any(given) else ""


def guessed(board: str, field: str) -> int | None:
    """What the reader pressed on a board before this run."""
    value = st.session_state.get(board, {}).get(field)
    return value if isinstance(value, int) else None


def verdict_on(exercise: Exercise, typed: str, asked: Asked) -> Verdict:
    """What is to be said to an answer; of guesses the model says it."""
    scene, record = asked.scene, asked.record
    if exercise.kind == "token" and scene:
        return _guessed_token(int(typed), scene) if typed.isdecimal() else Verdict(None, "")
    if exercise.kind == "head" and record:
        return _guessed_head(int(typed), record) if typed.isdecimal() else Verdict(None, "")
    return check(exercise, typed)


def _guessed_token(guess: int, scene: WalkState) -> Verdict:
    weights = scene.plain.weights[scene.h, scene.query]
    best = int(weights.argmax())
    if not 0 <= guess < len(weights):
        return Verdict(None, "")
    if guess == best:
        return Verdict(True, f"Yes: {{best}}, **{weights[best]:.0%}**.")
    gets = f"gets {weights[guess]:.0%}" if guess < len(scene.there) else "comes later and is not there yet"
    return Verdict(False, f"{{guess}} {gets}. Most goes to {{best}}: **{weights[best]:.0%}**.")


def _guessed_head(guess: int, record: AttentionRecord) -> Verdict:
    if record.weights.shape[-1] < 2:
        return Verdict(None, "A single token has none before it. Enter a longer sentence.")
    mass = previous_mass(record.weights).reshape(-1)
    if not 0 <= guess < len(mass):
        return Verdict(None, "")
    names = head_names(record)
    best = int(mass.argmax())
    if guess == best:
        said = f"Yes: {names[best]} puts {mass[best]:.0%} of its attention on the token before."
        return Verdict(True, said)
    said = (
        f"{names[guess]} puts {mass[guess]:.0%} on the token before, {names[best]} most: {mass[best]:.0%}. "
        "Look for a strong line just below the diagonal."
    )
    return Verdict(False, said)


def head_names(record: AttentionRecord) -> list[str]:
    """All heads, layer by layer, as a person reads them."""
    return [head_name(head) for head in np.ndindex(*record.weights.shape[:2])]


def ask(key: str, asked: Asked, verdict: Verdict | None) -> None:
    """One exercise: the question, a place for the answer, and what is said to it."""
    exercise = exercises()[key]
    with st.container(key=f"exercise-{key}", gap="xsmall"):
        board = Board()
        board.add(paragraph(exercise.question, "strong", token=asked.scene.token if asked.scene else ""))
        board.show(f"question-{key}")
        _control(exercise, asked)
        if verdict is not None and verdict.say:
            said = lowered(prose(LEADS[verdict.right] + verdict.say))
            markup(f'<p class="hs-notice" role="status">{said}</p>')


def _control(exercise: Exercise, asked: Asked) -> None:
    question = exercise.question.replace("{token}", visible(asked.scene.token) if asked.scene else "")
    name, label = f"answer-{exercise.key}", f"Your answer: {question}"
    if exercise.kind == "choice":
        options = [option["text"] for option in exercise.options]
        st.session_state.setdefault(name, None)
        st.radio(label, options, key=name, label_visibility="collapsed")
    else:
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


def ask_token(key: str, asked: Asked, verdict: Verdict | None) -> None:
    """Guess a token before it is shown."""
    exercise, scene = exercises()[key], asked.scene
    if scene is None:
        return
    place = asked.place(exercise)
    kept = here().answers.get(place, "")
    before = int(kept) if kept.isdecimal() else None
    board = Board()
    board.add(
        paragraph(exercise.question, "strong", token=scene.token, head=head_name(scene.head)),
        token_row(scene.labels, scene.special, "Your guess", apart=True, chosen=before, size="snug"),
    )
    if verdict is not None and verdict.say and before is not None:
        best = int(scene.plain.weights[scene.h, scene.query].argmax())
        said = {"best": scene.labels[best], "guess": scene.labels[before]}
        board.add(paragraph(verdict.say, "strong-said", **said))
    board.show(f"predict-{place}", {"query": lambda: None})


def ask_head(key: str, asked: Asked, verdict: Verdict | None) -> None:
    """Guess a head among all of them."""
    exercise, record = exercises()[key], asked.record
    if record is None:
        return
    place = asked.place(exercise)
    kept = here().answers.get(place, "")
    heads, size = record.weights.shape[1], min(record.weights.shape[2], MOST_TOKENS)
    names = head_names(record)
    shown = record.weights[:, :, :size, :size].reshape(-1, size, size)
    board = Board()
    board.add(paragraph(exercise.question, "strong"))
    if verdict is not None and verdict.say:
        board.add(paragraph(verdict.say, "strong-said"))
    chosen = int(kept) if kept.isdecimal() else None
    drawn = board.sheets(
        "weights", shown, labels=names, ramp="weight", top=1, line=heads, wide=46, high=38, chosen=chosen
    )
    choices = [f"Choose {name}" for name in names]
    board.add(choosing(drawn, "figure", "picked", list(range(len(names))), choices, chosen, line=heads))
    if size < record.weights.shape[2]:
        said = (
            f"The pictures show the first {size} of {record.weights.shape[2]} tokens. The answer counts all."
        )
        board.add(paragraph(said, "quiet"))
    board.show(f"predict-{place}", {"picked": lambda: None})
