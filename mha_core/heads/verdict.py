"""Does a head do what a question asks? The only thresholds there are, and the only function that judges.

In: the `Evidence` for one head and one question. Out: a `Word`, and the `missing` conditions of a role. A head has the
role only if it repairs enough of what the best baseline gets wrong, by more than chance explains, loses its skill in
the control, and does enough. A head that looks skilled without that is described, never given the role: by what it
tracks, where it gives the right answer clearly more often than a baseline that is wrong; by the baseline, where it
follows that.

Chance: the best of `n_comparisons` attempts is looked at, so one-sided tests at ALPHA are Bonferroni's for as many:
heads x questions of all kinds and corpora together. The difference from a baseline is tested case by case, over
documents (Student's t; of a perfect head by the exact sign test). A score that stands beside a known chance alone is
tested by the exact binomial test.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.heads.cluster_stats import Z_95, binomial_tail, bonferroni_t
from mha_core.heads.questions.base import BY_WRITING, POSITIONAL_KINDS

# role: it has the role. slight: it is clearly better than every baseline, and seldom differs from the best. weak: it is
# better than every baseline, but too rarely right, or with too little of its mass. tracks, rule: it is described by
# what it tracks, or by the rule it follows. unclear: n is too small to tell. no: it does not.
Word = Literal["role", "slight", "weak", "tracks", "rule", "unclear", "no"]
GOLD = "the right answer"
WORDS: tuple[Word, ...] = ("role", "slight", "weak", "tracks", "rule", "unclear", "no")
Condition = Literal["cases", "errors", "control", "chance", "repair", "score", "mass"]

# The chance of one mistake, over all attempts together (one-sided; Bonferroni).
ALPHA = 0.025
# Fewer cases are an anecdote: with 30, an interval is still 30 points wide.
MIN_CASES = 30
# With fewer documents Student's t is too sure of counts: the exact binomial test has to agree.
MANY_DOCUMENTS = 100
# Of the best baseline's errors a role repairs so many. A simple rule that was missing has repaired 11 to 28 % of them:
# who repairs a third is no better rule of that sort. Chosen on planted heads (docs/evidence.md).
SHARE = 1 / 3
# Above a coin, of a head that is described by what it tracks.
OVER_COIN = 0.10
# "More than half" is Clark et al. 2019, section 3: of the mass, of the rows, of a relation's cases.
HALF = 0.5
# Voita et al. 2019, section 5.2.1: a positional head has 90 % of its largest weights at one distance.
PEAKS = 0.9
# This project's: a copy is looked at and not only looked at most (a fifth of a row can be its maximum).
COPY_MASS = 0.25
# This project's: of the entropy of a head that looks everywhere equally.
BROAD = 0.8
# Of what a head has above a coin, so much at most may be left in the control.
LEFT_IN_CONTROL = 0.5


@dataclass(frozen=True)
class Threshold:
    """What a kind of role asks besides cases, chance and control: a `score`, and a `mass` on the target.

    `instead`: with so much mass the score need not be reached. `coin`: what a control shows without any skill.
    """

    score: float = 0.0
    mass: float = 0.0
    instead: float | None = None
    coin: float = 0.0


PLACE = Threshold(score=PEAKS, instead=HALF)
THRESHOLDS: dict[str, Threshold] = {
    "previous": PLACE,
    "next": PLACE,
    "self": PLACE,
    "syntactic": Threshold(score=HALF),
    "semantic": Threshold(score=HALF),
    "coreference": Threshold(coin=0.5),
    "agreement": Threshold(coin=0.5),
    "duplicate": Threshold(score=HALF, mass=COPY_MASS),
    "induction": Threshold(score=HALF, mass=COPY_MASS),
    # At no distance from their end do half of the prompts have a name.
    "mover": Threshold(score=HALF, mass=HALF),
    "suppression": Threshold(score=HALF, mass=HALF),
    "retrieval": Threshold(score=HALF, mass=COPY_MASS),
    "successor": Threshold(score=HALF),
    "linked": Threshold(score=HALF),
    "rare": Threshold(score=HALF),
    "sink": Threshold(mass=HALF),
    "dormant": Threshold(score=HALF, mass=HALF),
    "diffuse": Threshold(score=BROAD),
}


@dataclass(frozen=True)
class Evidence:
    """One head and one question: `score` in `n` cases, worth `effective` independent ones, as one of `n_comparisons`.

    Shares from 0 to 1. `best`: the best baseline and its score. `error`: the standard error of the `repaired` share,
    paired, over `documents` (0 where the baseline's score is known). `mass`: the mean mass on the target. `control`:
    the score where the answer should not be known; `over_control`: the lower end of the interval of score minus
    control, widened for chance. `detectable`: the gap to the best baseline that would have been seen with 80 % power.
    `follows`: what the head follows where baselines and the right answer disagree: GOLD, a baseline's name, or nothing
    where that is not clear.
    """

    kind: str
    score: float
    n: int
    effective: float
    best: tuple[str, float]
    n_comparisons: int
    mass: float = 0.0
    control: float | None = None
    over_control: float | None = None
    detectable: float = 0.0
    follows: str = ""
    error: float = 0.0
    documents: int = 0

    @property
    def n_errors(self) -> int:
        """The number of cases that the best baseline gets wrong."""
        return round(self.n * (1 - self.best[1]))

    @property
    def repaired(self) -> float:
        """The share of the best baseline's errors that are fewer by the head; below 0 where it makes more."""
        return (self.score - self.best[1]) / max(1 - self.best[1], 1 / max(self.n, 1))


def missing(evidence: Evidence) -> tuple[Condition, ...]:
    """Return the conditions of a role that do not hold, the first to be said first."""
    asks = THRESHOLDS[evidence.kind]
    holds: dict[Condition, bool] = {
        "cases": min(evidence.n, evidence.effective) >= MIN_CASES,
        "control": not in_control(evidence),
        "errors": evidence.n_errors >= min_errors(evidence.n_comparisons),
        "chance": _beats(evidence),
        "score": evidence.score >= asks.score or (asks.instead is not None and evidence.mass >= asks.instead),
        "mass": evidence.mass >= asks.mass,
        "repair": evidence.repaired - Z_95 * evidence.error >= SHARE,
    }
    return tuple(condition for condition, is_met in holds.items() if not is_met)


def _beats(evidence: Evidence) -> bool:
    """Return whether a head is better than the best baseline by more than chance explains."""
    is_exact = beyond_chance(evidence.score, evidence.effective, evidence.best[1], evidence.n_comparisons)
    if not evidence.documents:
        return is_exact
    if not evidence.error:  # it repairs every error, and makes none: the sign test
        enough = min_errors(evidence.n_comparisons)
        return evidence.repaired > 0 and min(evidence.n_errors, evidence.documents) >= enough
    lead = bonferroni_t(evidence.n_comparisons, evidence.documents) * evidence.error
    return evidence.repaired > lead and (is_exact or evidence.documents >= MANY_DOCUMENTS)


def judge(evidence: Evidence) -> Word:
    """Judge whether a head does what the question asks, on this evidence."""
    lacks, asks = missing(evidence), THRESHOLDS[evidence.kind]
    if not lacks:
        return "role"
    if "cases" in lacks:
        return "unclear"
    if "control" in lacks:
        return "no"
    beats = "chance" not in lacks
    if beats and evidence.kind in BY_WRITING and "mass" in lacks:
        return "no"
    if beats and evidence.kind not in POSITIONAL_KINDS and "errors" not in lacks:
        return "slight" if lacks == ("repair",) else "weak"
    if evidence.score >= max(asks.score, HALF, asks.coin + OVER_COIN) and evidence.follows:
        return "tracks" if evidence.follows == GOLD else "rule"
    gap, reach = evidence.score - evidence.best[1], evidence.detectable
    can_reach = evidence.score + reach >= asks.score and evidence.mass >= asks.mass
    return "unclear" if gap + reach > SHARE * (1 - evidence.best[1]) and can_reach else "no"


def min_errors(n_comparisons: int) -> int:
    """Return of how many errors of a baseline none may be left for a perfect head to be told from it: the exact sign
    test, Bonferroni's for so many comparisons."""
    return math.floor(math.log2(max(n_comparisons, 1) / ALPHA)) + 1


def beyond_chance(score: float, n: float, chance: float, n_comparisons: int) -> bool:
    """Return whether a score beats chance by the exact binomial test, though the best of so many was picked."""
    if n <= 0 or score <= chance:
        return False
    return float(np.asarray(binomial_tail(score, n, chance))) < ALPHA / max(n_comparisons, 1)


def specific(score: float, control: float, coin: float = 0.5) -> bool:
    """Return whether a head is right because it knows the answer: without that its skill, over a coin's, falls away."""
    return control - coin <= LEFT_IN_CONTROL * (score - coin)


def in_control(evidence: Evidence) -> bool:
    """Return whether a head does as much where the answer should not be known."""
    if evidence.control is None:
        return False
    if evidence.over_control is not None and evidence.over_control <= 0:
        return True
    return not specific(evidence.score, evidence.control, THRESHOLDS[evidence.kind].coin)
