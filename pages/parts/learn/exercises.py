"""The lesson's exercises: questions as data, answers checked with tolerance, feedback that helps. No Streamlit.

In: `assets/lesson/*.toml` and what the reader typed. Out: a `Verdict`; free answers get a model answer and
never a grade.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from pages.parts.frame.glossary import LESSON
from pages.parts.learn.answers import plain, readings, sizes

KINDS = ("number", "numbers", "shape", "choice", "free", "token", "head", "part")


@dataclass(frozen=True)
class Exercise:
    """One question. `answer` is missing where the model itself gives it, or where there is no single one.

    `said`: answers in words that are right.
    """

    key: str
    kind: str
    question: str
    answer: Any = None
    tolerance: float = 1e-6
    right: str = ""
    hint: str = ""
    model: str = ""
    said: Sequence[str] = ()
    wrong: Sequence[Mapping[str, Any]] = ()
    options: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Verdict:
    """`right` is None where nothing was judged."""

    right: bool | None
    say: str


@dataclass(frozen=True)
class Step:
    """One step of the lesson: prose, a live picture, an exercise to answer before it, and others after it.

    `key` names it in links, `was` is its number in older ones; `station` is its place on the map of the calculation.
    """

    key: str
    title: str
    text: Sequence[str]
    view: str
    station: str
    was: int = 0
    exercises: Sequence[str] = ()
    predict: str = ""


@dataclass(frozen=True)
class Reference:
    key: str
    text: str
    link: str
    why: str = field(default="")


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by their key."""
    entries = _read("exercises.toml")
    return {key: Exercise(key, **entry) for key, entry in entries.items() if key != "quiz"}


@cache
def quiz() -> tuple[str, ...]:
    """The keys of the closing quiz, in order."""
    return tuple(_read("exercises.toml")["quiz"]["order"])


@cache
def steps() -> tuple[Step, ...]:
    """The lesson, in order."""
    return tuple(Step(**entry) for entry in _read("lesson.toml")["step"])


@cache
def references() -> tuple[Reference, ...]:
    return tuple(Reference(**entry) for entry in _read("references.toml")["reference"])


def asked_in(step: Step) -> tuple[str, ...]:
    """The keys of all that is asked in a step."""
    return (*((step.predict,) if step.predict else ()), *step.exercises)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((LESSON / name).read_text(encoding="utf-8"))


def check(exercise: Exercise, typed: str) -> Verdict:
    """Judge a typed answer. Decimal commas are as good as points; 94.4 % is 0.944, and so is 94.4 beside 5.6."""
    if exercise.kind == "free":
        return Verdict(None, exercise.model)
    if exercise.kind == "choice":
        return _check_choice(exercise, typed)
    if _is_said(exercise, typed):
        return Verdict(True, exercise.right)
    given = _readings(exercise, typed)
    if not given:
        return Verdict(False, f"There is no number in your answer. {exercise.hint}")
    if any(_same(exercise, one, exercise.answer) for one in given):
        return Verdict(True, exercise.right)
    return Verdict(False, _why_not(exercise, given))


def _is_said(exercise: Exercise, typed: str) -> bool:
    """Whether a right answer in words stands there and is not denied (not the same); it may be a denial itself."""
    text = plain(typed)
    denied = re.search(r"\b(?:not|never|different)\b|n't\b", text)
    return any(
        re.search(rf"(?<!\w){words}(?!\w)", text) and (not denied or "n[o']" in words)
        for words in exercise.said
    )


def _why_not(exercise: Exercise, given: list[list[float]]) -> str:
    """What to say to a wrong answer: the mistake, if it is a known one, else a hint."""
    for known in exercise.wrong:
        if any(_same(exercise, one, known["answer"]) for one in given):
            return str(known["say"])
    wanted = _listed(exercise.answer)
    if any(_same(exercise, sorted(one), sorted(wanted)) for one in given if len(wanted) > 1):
        return "The right numbers, in another order."
    if all(len(one) != len(wanted) for one in given):
        asked = "One number is" if len(wanted) == 1 else f"{len(wanted)} numbers are"
        return f"{asked} asked for, {len(given[0])} given. {exercise.hint}"
    return exercise.hint


def _check_choice(exercise: Exercise, typed: str) -> Verdict:
    judged = any("right" in option for option in exercise.options)
    for option in exercise.options:
        if option["text"] == typed:
            return Verdict(bool(option.get("right", False)) if judged else None, option["say"])
    return Verdict(False, exercise.hint)


def _readings(exercise: Exercise, typed: str) -> list[list[float]]:
    """What the reader may have meant by numbers; those of a shape are whole."""
    if exercise.kind == "shape":
        return sizes(typed)
    return readings(typed, shares=exercise.kind == "numbers")


def _listed(answer: Any) -> list[float]:
    return [float(a) for a in answer] if isinstance(answer, list) else [float(answer)]


def _same(exercise: Exercise, given: Sequence[float], answer: Any) -> bool:
    wanted = _listed(answer)
    return len(given) == len(wanted) and all(
        abs(a - b) <= exercise.tolerance for a, b in zip(given, wanted, strict=True)
    )


def previous_mass(weights: np.ndarray) -> np.ndarray:
    """(layer, head): how much of its weight each head puts on the token before, mean over all queries but one."""
    return np.asarray(np.diagonal(weights, offset=-1, axis1=-2, axis2=-1).mean(axis=-1))
