"""From all cases of a question to its answer: scores, intervals and verdicts of every head.

In: a `Tally`, and how many attempts there were in all. Out: an `Answer` with arrays (layer, head): everything that a
table, a page or a file says of this question.
"""

from dataclasses import dataclass, replace

import numpy as np

from mha_core.heads.questions.base import BY_PLACE, Measured, Question
from mha_core.heads.stats import (
    Z_95,
    Gap,
    choose,
    detectable,
    effective,
    gap,
    intervals,
    mean_of,
    standard_error,
    z_for_best_of,
)
from mha_core.heads.tally import Tally, tally
from mha_core.heads.verdict import GOLD, MIN_CASES, Evidence, Word, beyond_chance, judge
from mha_core.heads.words import FloatArray
from mha_core.wording import Head

FOLLOWS_GOLD, FOLLOWS_NONE = -1, -2


@dataclass(frozen=True)
class Rule:
    """A baseline and its held-out score. `does` completes "looks at ..."; `by_place`: it knows no parts of speech."""

    name: str
    does: str
    score: float
    by_place: bool = True


@dataclass(frozen=True, eq=False)
class Answer:
    """One question and its answer. Arrays are (layer, head), shares from 0 to 1, heads (layer, head) from 0.

    `documents`: from how many the n cases are. `rules`: the baselines, the strongest first. `picked`: the best head on
    each half, `chosen` its score there, `held_out` on the other half, with `interval`; `over_rule`: how far that is
    above the strongest baseline.

    `score` with its 95 % interval `low`, `high`; `effective` sample size; `mass` on the target; `control` and the lower
    end of score minus control, `over_control`; `reach`: the gap to the strongest baseline that n could have shown.
    `others`: the score from other words with the same features, by name.

    `n_apart`: the cases in which the strongest baseline is wrong; `gold`, `rule`: how often a head gives the right
    answer there, and how often the baseline's. `n_hard`: the cases in which every baseline is wrong; `hard`: the share
    that a head gets right there, `chance` a blind choice's. `follows`: the baseline (its number) that a head follows,
    FOLLOWS_GOLD where it follows the right answer, FOLLOWS_NONE where neither is clear. `word`: verdict.py's.
    """

    question: Question
    n: int
    documents: int
    tried: int
    rules: tuple[Rule, ...]
    picked: tuple[Head, Head]
    chosen: float
    held_out: float
    interval: tuple[float, float]
    over_rule: Gap
    score: FloatArray
    low: FloatArray
    high: FloatArray
    effective: FloatArray
    reach: FloatArray
    mass: FloatArray | None
    control: FloatArray | None
    over_control: FloatArray | None
    others: dict[str, FloatArray]
    n_apart: int
    gold: FloatArray | None
    rule: FloatArray | None
    n_hard: int
    hard: FloatArray | None
    chance: float
    follows: np.ndarray
    word: np.ndarray

    @property
    def key(self) -> str:
        """The question's key."""
        return self.question.key

    @property
    def kind(self) -> str:
        """The kind of role, a key of KINDS."""
        return self.question.kind

    @property
    def best(self) -> Head:
        """The head with the highest score."""
        layer, head = np.unravel_index(int(self.score.argmax()), self.score.shape)
        return int(layer), int(head)

    def rank(self, head: Head) -> int:
        """Return the place of a head among all, from 1; equal scores share the better one."""
        return 1 + int((self.score > self.score[head]).sum())

    def evidence(self, head: Head) -> Evidence:
        """Return what there is to judge a head by."""
        at = int(self.follows[head])
        rule = self.rules[0]
        mass = self.score if self.mass is None else self.mass
        return Evidence(
            self.kind,
            float(self.score[head]),
            self.n,
            float(self.effective[head]),
            (rule.name, rule.score),
            self.tried,
            float(mass[head]),
            None if self.control is None else float(self.control[head]),
            None if self.over_control is None else float(self.over_control[head]),
            float(self.reach[head]),
            "" if at == FOLLOWS_NONE else GOLD if at == FOLLOWS_GOLD else self.rules[at].name,
        )

    def verdict(self, head: Head) -> Word:
        """Return the verdict on a head."""
        return judge(self.evidence(head))


def conclude(asked: Measured | Tally, shape: tuple[int, int], tried: int) -> Answer | None:
    """Conclude from all cases of one question; None where one half has no case or no baseline could be learnt."""
    found = asked if isinstance(asked, Tally) else tally(asked)
    sums, n = found.documents, found.documents["n"].sum(1)
    right = sums["right"].sum(1)
    picks = choose(sums["right"], sums["n"])
    if picks is None or not found.rules:
        return None
    score = mean_of(right, n)
    hits = _hits(found, n, score)
    order = sorted(range(len(found.rules)), key=lambda i: -hits[:, i].sum())
    strongest, rules = order[0], [found.rules[i] for i in order]
    low, high = intervals(right, n)
    control, over = _control(found, tried)
    gold, rule, n_apart = _apart(found, strongest)
    n_hard = int(sums["hard_n"].sum())

    def place(flat: int) -> Head:
        return int(flat) // shape[1], int(flat) % shape[1]

    def square(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else np.asarray(values, dtype=np.float64).reshape(shape)

    ends = intervals(picks.answers, n)
    answer = Answer(
        found.question,
        int(n.sum()),
        len(sums),
        tried,
        tuple(
            Rule(one.name, one.does, float(mean_of(hits[:, i], n)), one.by_place)
            for i, one in zip(order, rules, strict=True)
        ),
        (place(picks.picked[0]), place(picks.picked[1])),
        picks.where_chosen,
        picks.held_out,
        (float(ends[0]), float(ends[1])),
        gap(picks.answers - hits[:, strongest], n),
        score.reshape(shape),
        low.reshape(shape),
        high.reshape(shape),
        effective(right, n, binary=found.binary).reshape(shape),
        detectable(standard_error(right - hits[:, strongest, None], n), tried).reshape(shape),
        square(found.whole["mass"][0] / n.sum() if found.has_mass else None),
        square(control),
        square(over),
        {name: _known_mean(found, name).reshape(shape) for name in found.others},
        n_apart,
        square(gold),
        square(rule),
        n_hard,
        square(mean_of(sums["hard"], sums["hard_n"]) if n_hard else None),
        float(found.whole["chance"][0]) / n_hard if n_hard else 0.0,
        _follows(found, order, tried).reshape(shape),
        np.full(shape, "no", dtype="<U8"),
    )
    return judged(answer)


def judged(answer: Answer) -> Answer:
    """Return the answer with the verdict on every head, on its evidence."""
    word = np.empty_like(answer.word)
    for head in np.ndindex(*word.shape):
        word[head] = answer.verdict((head[0], head[1]))
    return replace(answer, word=word)


def _hits(found: Tally, n: FloatArray, score: FloatArray) -> FloatArray:
    """What every rule gets right, (document, rule)."""
    hits = found.documents["hits"].copy()
    for i, rule in enumerate(found.rules):
        if rule.middle:
            hits[:, i] = n * np.median(score)
    return hits


def _control(found: Tally, tried: int) -> tuple[FloatArray | None, FloatArray | None]:
    """The control of every head, and the lower end of score minus control, widened for chance; both (head,)."""
    if not found.whole["control_n"].any():
        return None, None
    apart, n = found.documents["control"], found.documents["controlled"]
    over = mean_of(apart, n) - z_for_best_of(tried) * standard_error(apart, n) if n.any() else None
    return _known_mean(found, "control"), over


def _known_mean(found: Tally, name: str) -> FloatArray:
    """The mean of the cases that have a value, (...); nan where none has."""
    n = found.whole[f"{name}_n"][0]
    result: FloatArray = found.whole[name][0] / np.where(n > 0, n, np.nan)
    return result


def _apart(found: Tally, strongest: int) -> tuple[FloatArray | None, FloatArray | None, int]:
    """Where the strongest baseline is wrong: the share of heads that are right and that give its answer, (head,)."""
    n = int(found.whole["wrong"][0, strongest])
    if not n or found.question.kind in BY_PLACE:
        return None, None, 0
    return found.whole["wrong_right"][0, strongest] / n, _known_mean(found, "wrong_same")[strongest], n


def _follows(found: Tally, order: list[int], tried: int) -> np.ndarray:
    """What every head follows where baselines and the right answer disagree, (head,).

    The right answer, if it is given where every baseline is wrong more often than the distance of the words explains
    (corrected), and where the strongest is wrong more often than the strongest's; else the baseline that is followed
    most, if any is followed rather than the right answer (corrected). Either is asked of MIN_CASES cases at least.
    `order`: the baselines, the strongest first.
    """
    n_heads = found.documents["right"].shape[-1]
    follows, most = np.full(n_heads, FOLLOWS_NONE), np.zeros(n_heads)
    if found.question.kind in BY_PLACE:
        return follows
    shares = _known_mean(found, "same")
    for number, i in enumerate(order):
        apart, error = _rather(found, i)
        if apart is None:
            continue
        rather = (apart < -z_for_best_of(tried) * error) & (shares[i] > most)
        follows[rather], most[rather] = number, shares[i][rather]
    apart, error = _rather(found, order[0])
    right, cases = found.documents["hard"], found.documents["hard_n"]
    if apart is not None and cases.sum() >= MIN_CASES:
        chance = _by_distance(found, float(found.whole["chance"][0]) / cases.sum())
        beats = [
            beyond_chance(*one, tried)
            for one in zip(
                mean_of(right, cases).tolist(), effective(right, cases).tolist(), chance.tolist(), strict=True
            )
        ]
        follows[beats & (apart > Z_95 * error)] = FOLLOWS_GOLD
    return follows


def _by_distance(found: Tally, blind: float) -> FloatArray:
    """What heads would get right that look just as far, but whatever the case; a blind choice at least, (head,)."""
    answers, looks = found.steps["answers"], found.steps["looks"]
    total = answers.sum()
    alike = answers @ looks / total**2 if total else np.zeros(looks.shape[1])
    result: FloatArray = np.maximum(blind, alike)
    return result


def _rather(found: Tally, rule: int) -> tuple[FloatArray | None, FloatArray]:
    """How much more often heads give the right answer than a baseline's where that is wrong, and the standard error;
    None where there are too few such cases."""
    n = found.documents["rather_n"][:, rule]
    if n.sum() < MIN_CASES:
        return None, np.zeros(0)
    sums = found.documents["rather"][:, rule]
    return mean_of(sums, n), standard_error(sums, n)
