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

KINDS = ("number", "numbers", "shape", "choice", "free", "token", "head", "part")


@dataclass(frozen=True)
class Exercise:
    """One question. `answer` is missing where the model itself gives it, or where there is no single one."""

    key: str
    kind: str
    question: str
    answer: Any = None
    tolerance: float = 1e-6
    right: str = ""
    hint: str = ""
    model: str = ""
    wrong: Sequence[Mapping[str, Any]] = ()
    options: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Verdict:
    """`right` is None where nothing was judged."""

    right: bool | None
    say: str


@dataclass(frozen=True)
class Step:
    """One step of the lesson: prose, a live picture, an exercise to answer before it, and others after it."""

    title: str
    text: Sequence[str]
    view: str
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


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((LESSON / name).read_text(encoding="utf-8"))


def check(exercise: Exercise, typed: str) -> Verdict:
    """Judge a typed answer. Decimal commas are as good as points; 94.4 % is 0.944."""
    if exercise.kind == "free":
        return Verdict(None, exercise.model)
    if exercise.kind == "choice":
        return _check_choice(exercise, typed)
    readings = _readings(exercise, typed)
    if not readings:
        return Verdict(False, "There is no number in your answer.")
    if any(_same(exercise, given, exercise.answer) for given in readings):
        return Verdict(True, exercise.right)
    for known in exercise.wrong:
        if any(_same(exercise, given, known["answer"]) for given in readings):
            return Verdict(False, known["say"])
    wanted = len(_listed(exercise.answer))
    if all(len(given) != wanted for given in readings):
        return Verdict(False, f"{wanted} numbers are asked for, {len(readings[0])} given. {exercise.hint}")
    return Verdict(False, exercise.hint)


def _check_choice(exercise: Exercise, typed: str) -> Verdict:
    for option in exercise.options:
        if option["text"] == typed:
            return Verdict(bool(option.get("right", False)), option["say"])
    return Verdict(False, exercise.hint)


def _readings(exercise: Exercise, typed: str) -> list[list[float]]:
    """What the reader may have meant: 1,024 can be a thousand and twenty-four, or one and a bit."""
    plain = typed.replace("−", "-")
    whole = [float(part) for part in re.findall(r"\d+", plain)]
    if exercise.kind == "shape":
        return [whole] if whole else []
    decimal = numbers(plain)
    thousands = numbers(re.sub(r"(?<=\d)[,. ](?=\d{3}(?!\d))", "", plain))
    return [reading for reading in (decimal, thousands) if reading]


def numbers(text: str) -> list[float]:
    """All numbers of a text; a comma or a point before digits is decimal, a per cent sign divides by 100."""
    found = re.findall(r"([-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:e[-+]?\d+)?)\s*(%?)", text, flags=re.IGNORECASE)
    return [float(number.replace(",", ".")) / (100 if percent else 1) for number, percent in found]


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
