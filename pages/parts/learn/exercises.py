"""The lesson's exercises: questions as data, answers checked with tolerance, feedback that helps. No Streamlit.

In: `assets/lesson/*.toml` and what the reader typed. Out: a `Verdict`; free answers get a model answer and
never a grade.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from pages.parts.frame.glossary import LESSON
from pages.parts.learn.answers import shape, values

KINDS = ("number", "numbers", "shape", "choice", "free", "token", "head", "part")
BETWEEN = "; "  # the numbers of several boxes, where an answer is kept
WANTED = {
    "number": "Write one number, such as 12 or 0.5.",
    "numbers": "Write a number in each box, such as 0.5 or 50 %.",
    "shape": "Write the sizes, such as (16, 24) or 16 x 24.",
}


@dataclass(frozen=True)
class Exercise:
    """One question. `answer` is missing where the model itself gives it, or where there is no single one.

    `boxes`: what each of several numbers is of.
    """

    key: str
    kind: str
    question: str
    answer: Any = None
    tolerance: float = 1e-6
    right: str = ""
    hint: str = ""
    model: str = ""
    boxes: Sequence[str] = ()
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

    `key` names it in links; `station` is its place on the map of the calculation.
    """

    key: str
    title: str
    text: Sequence[str]
    view: str
    station: str
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
    """Judge an answer. Decimal commas are as good as points; 94.4 % is 0.944, and so is 94.4 beside 5.6."""
    if exercise.kind == "free":
        return Verdict(None, exercise.model)
    if exercise.kind == "choice":
        return _check_choice(exercise, typed)
    given = _readings(exercise, typed)
    if not given:
        return Verdict(False, f"{WANTED[exercise.kind]} {exercise.hint}")
    if any(_same(exercise, one, exercise.answer) for one in given):
        return Verdict(True, exercise.right)
    return Verdict(False, _why_not(exercise, given))


def _why_not(exercise: Exercise, given: list[list[float]]) -> str:
    """What to say to a wrong answer: the mistake, if it is a known one, else a hint."""
    for known in exercise.wrong:
        if any(_same(exercise, one, known["answer"]) for one in given):
            return str(known["say"])
    wanted = _listed(exercise.answer)
    if any(_same(exercise, sorted(one), sorted(wanted)) for one in given if len(wanted) > 1):
        return "The right numbers, in another order."
    if len(given[0]) != len(wanted):
        return f"{len(wanted)} numbers are asked for, {len(given[0])} given. {exercise.hint}"
    return exercise.hint


def _check_choice(exercise: Exercise, typed: str) -> Verdict:
    judged = any("right" in option for option in exercise.options)
    for option in exercise.options:
        if option["text"] == typed:
            return Verdict(bool(option.get("right", False)) if judged else None, option["say"])
    return Verdict(False, exercise.hint)


def _readings(exercise: Exercise, typed: str) -> list[list[float]]:
    """What the reader may have meant; several numbers that add up to a hundred may be percentages."""
    if exercise.kind == "shape":
        found = shape(typed)
        return [found] if found else []
    given = [list(one) for one in product(*map(values, parts(exercise, typed)))]
    if exercise.kind == "numbers":
        given += [[x / 100 for x in one] for one in given if abs(sum(one) - 100) <= 1.5]
    return given


def parts(exercise: Exercise, typed: str) -> list[str]:
    """What stands in each box of a question."""
    return typed.split(BETWEEN.strip()) if exercise.boxes else [typed]


def controls(exercise: Exercise) -> list[str]:
    """The keys of a question's boxes."""
    return [f"answer-{exercise.key}{i or ''}" for i in range(max(1, len(exercise.boxes)))]


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
