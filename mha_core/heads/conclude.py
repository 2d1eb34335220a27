"""From all cases of a question to its answer: scores, intervals and verdicts of every head.

In: a `Measured`, and how many attempts there were in all. Out: an `Answer` with arrays (layer, head): everything that a
table, a page or a file says of this question.
"""

from dataclasses import dataclass, replace

import numpy as np

from mha_core.heads.questions.base import BY_PLACE, Baseline, Measured, Question
from mha_core.heads.stats import (
    Z_95,
    Gap,
    choose,
    detectable,
    effective,
    gap,
    intervals,
    standard_error,
    z_for_best_of,
)
from mha_core.heads.verdict import GOLD, MIN_CASES, Evidence, Verdict, beyond_chance, judge
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

    def verdict(self, head: Head) -> Verdict:
        """Return the verdict on a head, with its reason."""
        return judge(self.evidence(head))


def conclude(found: Measured, shape: tuple[int, int], tried: int) -> Answer | None:
    """Conclude from all cases of one question; None where one half has no case or no baseline could be learnt."""
    picks = choose(found.right, found.second_half)
    if picks is None or not found.baselines:
        return None
    strongest, clusters = found.baselines[0], found.clusters
    right = found.right.astype(np.float64)
    low, high = intervals(right, clusters)
    control, over = _control(found, tried)
    gold, rule, n_apart = _apart(found)
    hard, n_hard, chance = _hard(found)

    def place(flat: int) -> Head:
        return int(flat) // shape[1], int(flat) % shape[1]

    def square(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else np.asarray(values, dtype=np.float64).reshape(shape)

    ends = intervals(picks.answers, clusters)
    answer = Answer(
        found.question,
        found.n,
        len(np.unique(clusters)),
        tried,
        tuple(Rule(one.name, one.does, one.score, one.by_place) for one in found.baselines),
        (place(picks.picked[0]), place(picks.picked[1])),
        picks.where_chosen,
        picks.held_out,
        (float(ends[0]), float(ends[1])),
        gap(picks.answers, strongest.hits, clusters),
        right.mean(0).reshape(shape),
        low.reshape(shape),
        high.reshape(shape),
        effective(right, clusters, binary=found.binary).reshape(shape),
        detectable(standard_error(right - strongest.hits[:, None], clusters), tried).reshape(shape),
        square(found.mass),
        square(control),
        square(over),
        {name: _known_mean(values).reshape(shape) for name, values in found.others.items()},
        n_apart,
        square(gold),
        square(rule),
        n_hard,
        square(hard),
        chance,
        _follows(found, tried).reshape(shape),
        np.full(shape, "no", dtype="<U8"),
    )
    return judged(answer)


def judged(answer: Answer) -> Answer:
    """Return the answer with the verdict on every head, on its evidence."""
    word = np.empty_like(answer.word)
    for head in np.ndindex(*word.shape):
        word[head] = answer.verdict((head[0], head[1])).word
    return replace(answer, word=word)


def _control(found: Measured, tried: int) -> tuple[FloatArray | None, FloatArray | None]:
    """The control of every head, and the lower end of score minus control, widened for chance; both (head,)."""
    if found.control is None:
        return None, None
    there = np.isfinite(found.control[:, 0])
    if not there.any():
        return None, None
    if len(found.control) == len(found.right):
        apart = found.right[there] - found.control[there]
        error = standard_error(apart, found.clusters[there])
        over = apart.mean(0, dtype=np.float64) - z_for_best_of(tried) * error
    return found.control[there].mean(0, dtype=np.float64), over


def _known_mean(values: FloatArray) -> FloatArray:
    """The mean of the cases that have a value, (case, head) → (head,); nan where none has."""
    there = np.isfinite(values)
    result: FloatArray = np.where(there, values, 0).sum(0) / np.where(there.any(0), there.sum(0), np.nan)
    return result


def _apart(found: Measured) -> tuple[FloatArray | None, FloatArray | None, int]:
    """Where the strongest baseline is wrong: the share of heads that are right and that give its answer, (head,)."""
    strongest = found.baselines[0]
    if strongest.same is None or found.question.kind in BY_PLACE:
        return None, None, 0
    here = strongest.hits == 0
    if not here.any():
        return None, None, 0
    return found.right[here].mean(0), _known_mean(strongest.same[here]), int(here.sum())


def _hard(found: Measured) -> tuple[FloatArray | None, int, float]:
    """Where every baseline is wrong: the share of heads that are right, (head,), and a blind choice's."""
    here = _all_wrong(found)
    if found.chance is None or found.question.kind in BY_PLACE or not here.any():
        return None, 0, 0.0
    return found.right[here].mean(0), int(here.sum()), float(found.chance[here].mean())


def _follows(found: Measured, tried: int) -> np.ndarray:
    """What every head follows where baselines and the right answer disagree, (head,).

    The right answer, if it is given where every baseline is wrong more often than the distance of the words explains
    (corrected), and where the strongest is wrong more often than the strongest's; else the baseline that is followed
    most, if any is followed rather than the right answer (corrected). Either is asked of MIN_CASES cases at least.
    """
    follows, most = np.full(found.right.shape[1], FOLLOWS_NONE), np.zeros(found.right.shape[1])
    if found.question.kind in BY_PLACE:
        return follows
    for number, one in enumerate(found.baselines):
        apart, error = _rather(found, one)
        if apart is None or one.same is None:
            continue
        share = _known_mean(one.same)
        rather = (apart < -z_for_best_of(tried) * error) & (share > most)
        follows[rather], most[rather] = number, share[rather]
    apart, error = _rather(found, found.baselines[0])
    here = _all_wrong(found)
    if apart is not None and found.chance is not None and here.sum() >= MIN_CASES:
        right = found.right[here]
        n, chance = effective(right, found.clusters[here]), _by_distance(found, here)
        beats = [
            beyond_chance(*one, tried)
            for one in zip(right.mean(0).tolist(), n.tolist(), chance.tolist(), strict=True)
        ]
        follows[beats & (apart > Z_95 * error)] = FOLLOWS_GOLD
    return follows


def _by_distance(found: Measured, here: np.ndarray) -> FloatArray:
    """What heads would get right that look just as far, but whatever the case; a blind choice at least, (head,)."""
    blind = np.full(found.right.shape[1], 0.0 if found.chance is None else float(found.chance[here].mean()))
    if found.steps is None:
        return blind
    answers, looks = (steps[here] for steps in found.steps)
    far, counts = np.unique(answers, return_counts=True)
    alike = np.stack([(looks == step).mean(0) for step in far], -1) @ (counts / len(answers))
    result: FloatArray = np.maximum(blind, alike)
    return result


def _rather(found: Measured, one: Baseline) -> tuple[FloatArray | None, FloatArray]:
    """How much more often heads give the right answer than a baseline's where that is wrong, and the standard error;
    None where there are too few such cases."""
    if one.same is None:
        return None, np.zeros(0)
    here = (one.hits == 0) & np.isfinite(one.same[:, 0])
    if here.sum() < MIN_CASES:
        return None, np.zeros(0)
    apart = found.right[here] - one.same[here]
    return apart.mean(0), standard_error(apart, found.clusters[here])


def _all_wrong(found: Measured) -> np.ndarray:
    """The cases in which every baseline that has an answer is wrong, (case,)."""
    wrong = [one.hits == 0 for one in found.baselines if one.same is not None]
    return np.all(wrong, axis=0) if wrong else np.zeros(found.n, bool)
