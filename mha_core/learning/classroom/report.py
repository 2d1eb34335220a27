"""The report card of classroom models: one mapping a model, and over the seeds the mean with its interval.

In: evaluations. Out: what `learn evaluate` prints and `report.json` holds. Layers and heads count from 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import sqrt
from typing import Any

from mha_core.learning.classroom.evaluation import Evaluation
from mha_core.learning.classroom.pairs import FAMOUS
from mha_core.wording import head_name

# Student's t for 95 % by the number of seeds less one.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}


def card(found: Evaluation) -> dict[str, Any]:
    """All numbers of an evaluation; masses and shares from 0 to 1."""
    famous = {
        name: {
            words[-2]: {noun: round(mass, 4) for noun, mass in masses.items()}
            for words, masses in zip(FAMOUS[name].words, found.famous[name], strict=True)
        }
        for name in FAMOUS
    }
    return {
        "pairs": found.n,
        "pass": found.passed,
        "interval": [round(end, 4) for end in found.interval],
        "head": head_name(found.head),
        "animate": found.animate,
        "inanimate": found.inanimate,
        "right": round(found.right, 4),
        "wrong": round(found.wrong, 4),
        "famous": famous["street"],
        "trophy and suitcase": famous["suitcase"],
        "cat and mat": famous["mat"],
        "answers": asdict(found.answers),
        "tasks": found.tasks,
        "without_head": asdict(found.without_head) | {"tasks": found.tasks_without_head},
        "pointing": [head_name(head) for head in found.pointing],
        "without_pointing": asdict(found.without_pointing),
    }


def over_seeds(cards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean over seeds, its interval (95 %, Student's t over the seeds), the worst seed and the best."""
    shares = [float(one["pass"]) for one in cards]
    n, mean = len(shares), sum(shares) / len(shares)
    found: dict[str, Any] = {"seeds": n, "pass": round(mean, 4), "least": min(shares), "most": max(shares)}
    if n - 1 in T_95:
        spread = sqrt(sum((share - mean) ** 2 for share in shares) / (n - 1))
        half = T_95[n - 1] * spread / sqrt(n)
        found["interval"] = [round(max(0.0, mean - half), 4), round(min(1.0, mean + half), 4)]
    return found
