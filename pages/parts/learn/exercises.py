"""The lesson's exercises: questions as data, answers checked with tolerance, feedback that helps. No Streamlit.

In: `assets/lesson/*.toml` and typed answers. Out: a `Verdict`.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from pages.parts.frame.glossary import LESSON

GUESSES = ("token", "head")  # pressed in a picture before the answer is shown
BETWEEN = "; "  # the numbers of several boxes, where an answer is kept
WANTED = {
    "number": "Write one number, such as 12 or 0.5.",
    "numbers": "Write a number in each box, such as 0.5 or 50%.",
    "shape": "Write the sizes, such as (16, 24) or 16 x 24.",
}
_MINUS = str.maketrans("−–—‑", "----")
_DECIMAL = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[., '’_]\d{3})+")
_SHAPE = re.compile(r"[-\d\s,;x×*()\[\]]+", re.IGNORECASE)


@dataclass(frozen=True)
class Exercise:
    """One question. `answer` is missing where the model itself gives it, and where an option is chosen.

    `boxes`: the name of each of several numbers.
    """

    key: str
    kind: str
    question: str
    answer: Any = None
    tolerance: float = 1e-6
    right: str = ""
    hint: str = ""
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
    """One step of the lesson: prose, live pictures, an exercise to answer before them, and others after them.

    `key` names it in links, `former_keys` in older ones. `station`: its place on the map of the calculation.
    `tokens`: a row of tokens to follow stands above the pictures.
    """

    key: str
    title: str
    text: Sequence[str]
    views: Sequence[str]
    station: str = ""
    tokens: bool = False
    exercises: Sequence[str] = ()
    predict: str = ""
    former_keys: Sequence[str] = ()


@cache
def exercises() -> dict[str, Exercise]:
    """Return all exercises by their key."""
    entries = _read("exercises.toml")
    return {key: Exercise(key, **entry) for key, entry in entries.items() if key != "quiz"}


@cache
def quiz() -> tuple[str, ...]:
    """Return the keys of the closing quiz, in order."""
    return tuple(_read("exercises.toml")["quiz"]["order"])


@cache
def steps() -> tuple[Step, ...]:
    """Return the lesson, in order."""
    return tuple(Step(**entry) for entry in _read("lesson.toml")["step"])


def questions_of(step: Step) -> tuple[str, ...]:
    """Return the keys of a step's questions."""
    return (*((step.predict,) if step.predict else ()), *step.exercises)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((LESSON / name).read_text(encoding="utf-8"))


def check(exercise: Exercise, typed: str) -> Verdict:
    """Judge an answer. Decimal commas are as good as points; 94.4% is 0.944, and so is 94.4 beside 5.6."""
    if exercise.kind == "choice":
        return _check_choice(exercise, typed)
    readings = _readings(exercise, typed)
    if not readings:
        return Verdict(False, f"{WANTED[exercise.kind]} {exercise.hint}")
    if _is_among(readings, exercise.answer, exercise):
        return Verdict(True, exercise.right)
    return Verdict(False, _explain(exercise, readings))


def _explain(exercise: Exercise, readings: list[list[float]]) -> str:
    """Return what to say to a wrong answer: the mistake, if it is a known one, else a hint."""
    for known in exercise.wrong:
        if _is_among(readings, known["answer"], exercise):
            return str(known["say"])
    wanted = _listed(exercise.answer)
    if len(wanted) > 1 and _is_among([sorted(numbers) for numbers in readings], sorted(wanted), exercise):
        return "The right numbers, in another order."
    if len(readings[0]) != len(wanted):
        return f"{len(wanted)} numbers are asked for, {len(readings[0])} given. {exercise.hint}"
    return exercise.hint


def _check_choice(exercise: Exercise, typed: str) -> Verdict:
    has_right = any("right" in option for option in exercise.options)
    for option in exercise.options:
        if option["text"] == typed:
            return Verdict(bool(option.get("right", False)) if has_right else None, option["say"])
    return Verdict(False, exercise.hint)


def _readings(exercise: Exercise, typed: str) -> list[list[float]]:
    """Return the numbers that the user may mean; several that add up to a hundred may be percentages."""
    if exercise.kind == "shape":
        sizes = _shape(typed)
        return [sizes] if sizes else []
    readings = [list(numbers) for numbers in product(*map(_values, parts(exercise, typed)))]
    if exercise.kind == "numbers":
        readings += [[x / 100 for x in numbers] for numbers in readings if abs(sum(numbers) - 100) <= 1.5]
    return readings


def _values(typed: str) -> list[float]:
    """Return the readings of a number: 1,024 is a thousand and twenty-four, or one and a bit; [] for anything else."""
    text = typed.translate(_MINUS).strip()
    number = text.removesuffix("%").rstrip()
    scale = 1.0 if number == text else 100.0
    readings = [number.replace(",", ".")] if _DECIMAL.fullmatch(number) else []
    readings += [re.sub(r"[., '’_]", "", number)] if _GROUPED.fullmatch(number) else []
    return [float(reading) / scale for reading in readings]


def _shape(typed: str) -> list[float]:
    """Return the whole numbers of a shape, whatever separates them; [] for anything else."""
    text = typed.translate(_MINUS)
    return [float(size) for size in re.findall(r"-?\d+", text)] if _SHAPE.fullmatch(text) else []


def parts(exercise: Exercise, typed: str) -> list[str]:
    """Return the text of each box of a question."""
    return typed.split(BETWEEN.strip()) if exercise.boxes else [typed]


def controls(exercise: Exercise) -> list[str]:
    """Return the keys of a question's boxes."""
    return [f"answer-{exercise.key}{i or ''}" for i in range(max(1, len(exercise.boxes)))]


def _listed(answer: Any) -> list[float]:
    return [float(a) for a in answer] if isinstance(answer, list) else [float(answer)]


def _is_among(readings: list[list[float]], answer: Any, exercise: Exercise) -> bool:
    """Return whether a reading is the answer, within the exercise's tolerance."""
    wanted = _listed(answer)
    return any(
        len(numbers) == len(wanted)
        and all(abs(a - b) <= exercise.tolerance for a, b in zip(numbers, wanted, strict=True))
        for numbers in readings
    )


def previous_mass(weights: np.ndarray) -> np.ndarray:
    """Return each head's mean weight on the token before, over all queries but the first, (layer, head)."""
    return np.asarray(np.diagonal(weights, offset=-1, axis1=-2, axis2=-1).mean(axis=-1))
