"""From what was measured to what is concluded: one entry a question, for all heads, by the one verdict of verdict.py.

In: a `Measured` and how many attempts there were in all. Out: an `Entry`: the best head with the score on the half it
was chosen on and on the other, the strongest simple rule, score minus control with its interval, the verdict of every
head, and the name that survives: a head that is no better than a rule with parts of speech is called by that rule, and
one that does the same from other dependents of the same word is not called by the relation.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.heads.intervals import z_for_best_of
from mha_core.heads.verdict import DOES, Evidence, Verdict, judge, specific
from mha_core.heads.verdicts.halves import Gap, choose, effective, gap, interval, standard_error
from mha_core.heads.verdicts.measured import Measured, Question, RuleHits
from mha_core.heads.words import FloatArray
from mha_core.wording import Head

MOST_EQUALS = 6


@dataclass(frozen=True)
class Rule:
    """A simple rule and its held-out score; `by_place`: it is not told the parts of speech."""

    name: str
    score: float
    by_place: bool = True


@dataclass(frozen=True)
class Substitute:
    """The same head where another word with the same features stands in for the one that looks."""

    name: str
    score: float
    n: int
    over: Gap | None = None


@dataclass(frozen=True, eq=False)
class Entry:
    """One question and its answer. Heads (layer, head) from 0, shares from 0 to 1.

    `head`: the best over all cases, with its `score`; `picked`: the best on each half; `chosen`: the score where it was
    chosen; `held_out`: on the other half, with its `interval`. `baseline`: the strongest of the `rules`.
    `heads`, `controls`, `words`: score, control and verdict's word of every head, (layer, head).
    """

    asked: Question
    name: str
    n: int
    clusters: int
    head: Head
    score: float
    picked: tuple[Head, Head]
    chosen: float
    held_out: float
    interval: tuple[float, float]
    rules: tuple[Rule, ...]
    over_baseline: Gap
    control: float | None
    over_control: Gap | None
    substitutes: tuple[Substitute, ...]
    tried: int
    verdict: Verdict
    equals: tuple[Head, ...]
    heads: FloatArray
    controls: FloatArray | None
    words: np.ndarray
    mass: FloatArray | None = None

    @property
    def key(self) -> str:
        """The question's key."""
        return self.asked.key

    @property
    def kind(self) -> str:
        """A kind of jobs.py."""
        return self.asked.kind

    @property
    def title(self) -> str:
        """The job in words."""
        return self.asked.title

    @property
    def question(self) -> str:
        """The question in words."""
        return self.asked.question

    @property
    def corpus(self) -> str:
        """The key of the corpus."""
        return self.asked.corpus

    @property
    def relation(self) -> str:
        """In UD's names; empty for other questions."""
        return self.asked.relation

    @property
    def control_name(self) -> str:
        """What the control is, to be followed by its number."""
        return self.asked.control_name

    @property
    def baseline(self) -> float:
        """What the strongest rule scores."""
        return self.rules[0].score

    @property
    def baseline_name(self) -> str:
        """The strongest rule."""
        return self.rules[0].name

    def rank(self, head: Head) -> int:
        """The place of a head among all, from 1; equal scores share the better one."""
        return 1 + int((self.heads > self.heads[head]).sum())

    def does(self, head: Head) -> bool:
        """Is a head called by this job, as a specialist or as a rule would do it?"""
        return str(self.words[head]) in DOES


def conclude(found: Measured, shape: tuple[int, int], tried: int) -> Entry | None:
    """The answer to one question; None where one half has no case or no rule could be learnt."""
    picks = choose(found.right, found.second_half)
    if picks is None or not found.rules:
        return None
    share = found.right.mean(0, dtype=np.float64)
    best = int(share.argmax())
    verdicts = [judge(one) for one in evidence(found, tried)]
    controls = _controls(found, tried)[0]
    substitutes = tuple(_substitute(found, name, values, best) for name, values in found.others.items())
    verdict = verdicts[best]
    return Entry(
        found.asked,
        surviving_name(found.asked, verdict, found.rules, substitutes, float(share[best])),
        found.n,
        found.n_clusters,
        _place(best, shape),
        float(share[best]),
        (_place(picks.picked[0], shape), _place(picks.picked[1], shape)),
        picks.where_chosen,
        picks.held_out,
        interval(picks.answers, found.clusters),
        tuple(Rule(rule.name, rule.score, rule.by_place) for rule in found.rules),
        gap(picks.answers, found.rules[0].hits, found.clusters),
        None if controls is None else float(controls[best]),
        None if found.control is None else _over(found, found.control, best),
        substitutes,
        tried,
        verdict,
        tuple(_place(i, shape) for i in _equals(found, best)),
        share.reshape(shape),
        None if controls is None else controls.reshape(shape),
        np.array([one.word for one in verdicts]).reshape(shape),
        None if found.mass is None else np.asarray(found.mass, dtype=np.float64).reshape(shape),
    )


def _place(flat: int, shape: tuple[int, int]) -> Head:
    layer, head = divmod(int(flat), shape[1])
    return layer, head


def evidence(found: Measured, tried: int) -> list[Evidence]:
    """What there is to judge every head by."""
    share = found.right.mean(0, dtype=np.float64)
    cases = effective(found.right, found.clusters, binary=found.binary)
    blind = [rule for rule in found.rules if rule.by_place]
    told = next((rule for rule in found.rules if not rule.by_place), None)
    control, over = _controls(found, tried)
    mass = share if found.mass is None else found.mass
    return [
        Evidence(
            found.asked.kind,
            float(share[i]),
            found.n,
            blind[0].score,
            blind[0].name,
            tried,
            float(mass[i]),
            None if control is None else float(control[i]),
            None if over is None else float(over[i]),
            float(cases[i]),
            None if told is None else told.score,
            "" if told is None else told.name,
        )
        for i in range(len(share))
    ]


def _controls(found: Measured, tried: int) -> tuple[FloatArray | None, FloatArray | None]:
    """The control of every head, and the lower end of score minus control, widened for luck; both (head,)."""
    if found.control is None:
        return None, None
    there = np.isfinite(found.control[:, 0])
    if not there.any():
        return None, None
    apart = found.right[there] - found.control[there]
    error = standard_error(apart, found.clusters[there])
    return found.control[there].mean(0, dtype=np.float64), apart.mean(0, dtype=np.float64) - z_for_best_of(
        tried
    ) * error


def _over(found: Measured, control: FloatArray, best: int) -> Gap | None:
    there = np.isfinite(control[:, best])
    if not there.any():
        return None
    return gap(found.right[there, best], control[there, best], found.clusters[there])


def _substitute(found: Measured, name: str, values: FloatArray, best: int) -> Substitute:
    there = np.isfinite(values[:, best])
    score = float(values[there, best].mean()) if there.any() else 0.0
    return Substitute(name, score, int(there.sum()), _over(found, values, best))


def surviving_name(
    asked: Question,
    verdict: Verdict,
    rules: tuple[RuleHits, ...],
    substitutes: tuple[Substitute, ...],
    score: float,
) -> str:
    """What a head is called for this job, by what is left of it after rules and controls."""
    if verdict.word not in DOES:
        return asked.label
    if asked.kind == "agreement":
        alike = any(one.n and not specific(score, one.score) for one in substitutes)
        return "matches gender or number" if alike else asked.label
    if asked.kind == "semantic" and verdict.word == "rule":
        return f"word → {next(rule for rule in rules if not rule.by_place).short}"
    if not asked.relation:
        return asked.label
    any_other = any(one.n and (one.over is None or one.over.low <= 0) for one in substitutes)
    looks, at = asked.looks, f"its {asked.at}"
    if any_other:
        looks, at = (looks, "any word that depends on it") if asked.reads_column else ("any dependent", at)
    if verdict.word == "rule":
        told = next(rule for rule in rules if not rule.by_place)
        if not asked.reads_column:
            at = told.short
        elif told.side:
            at = ("any dependent" if any_other else f"the {asked.at}") + (
                " before it" if told.side > 0 else " after it"
            )
    return f"{looks} → {at}"


def _equals(found: Measured, best: int) -> list[int]:
    """The heads that cannot be told from the best (paired, over sentences), the best of them first."""
    behind = found.right[:, [best]] - found.right
    error = standard_error(behind, found.clusters)
    mean = behind.mean(0, dtype=np.float64)
    equal = np.flatnonzero(mean <= z_for_best_of(1) * error)
    order = sorted((int(i) for i in equal if i != best), key=lambda i: mean[i])
    return order[:MOST_EQUALS]
