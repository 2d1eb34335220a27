"""Does a head do what a question asks? The only thresholds there are, and the only function that judges.

In: the `Evidence` for one head and one question. Out: a `Word`. A head has the role only if it beats every baseline
by more than chance explains, loses its skill in the control, and does enough. A head that looks skilled without that is
described, never given the role: by what it tracks, where it follows the right answer clearly more often than any
baseline in the cases in which the two disagree; by the baseline, where it follows that.

Chance: the best of `tried` attempts is looked at, so the exact binomial test is Bonferroni's for as many; tried are
heads x questions of all kinds and corpora together.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.heads.cluster_stats import binomial_tail, wilson
from mha_core.heads.questions.base import BY_WRITING, POSITIONAL_KINDS

# role: it has the role. weak: it beats every baseline, but by less than MARGIN. tracks, rule: it is described by what
# it tracks, or by the rule it follows. unclear: n is too small to tell. no: it does not.
Word = Literal["role", "weak", "tracks", "rule", "unclear", "no"]
GOLD = "the right answer"
WORDS: tuple[Word, ...] = ("role", "weak", "tracks", "rule", "unclear", "no")

# The chance of one mistake, over all attempts together (one-sided; Bonferroni).
ALPHA = 0.025
# Fewer cases are an anecdote: with 30, an interval is still 30 points wide.
MIN_CASES = 30
# Over the best baseline; Voita et al. 2019, section 5.2.2, ask the same of syntactic heads.
MARGIN = 0.10
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
    "rare": Threshold(score=HALF),
    "sink": Threshold(mass=HALF),
    "diffuse": Threshold(score=BROAD),
}


@dataclass(frozen=True)
class Evidence:
    """One head and one question: `score` in `n` cases, worth `effective` independent ones, as one of `tried`.

    Shares from 0 to 1. `best`: the best baseline and its score. `mass`: the mean mass on the target. `control`: the
    score where the answer should not be known; `over_control`: the lower end of the interval of score minus control,
    widened for chance. `detectable`: the gap to the best baseline that would have been seen with 80 % power.
    `follows`: what the head follows where baselines and the right answer disagree: GOLD, a baseline's name, or nothing
    where that is not clear.
    """

    kind: str
    score: float
    n: int
    effective: float
    best: tuple[str, float]
    tried: int
    mass: float = 0.0
    control: float | None = None
    over_control: float | None = None
    detectable: float = 0.0
    follows: str = ""


def judge(found: Evidence) -> Word:
    """Judge whether a head does what the question asks, on this evidence."""
    cases, best = found.effective, found.best[1]
    if found.n < MIN_CASES or cases < MIN_CASES:
        return "unclear"
    if in_control(found):
        return "no"
    asks = THRESHOLDS[found.kind]
    beats, gap = beyond_chance(found.score, cases, best, found.tried), found.score - best
    if beats and gap >= MARGIN and _enough(found):
        return "role"
    if beats and found.kind in BY_WRITING and found.mass < asks.mass:
        return "no"
    if beats and found.kind not in POSITIONAL_KINDS:
        return "weak"
    if found.score >= max(asks.score, HALF, asks.coin + MARGIN) and found.follows:
        return "tracks" if found.follows == GOLD else "rule"
    reach = found.detectable
    if gap + reach > MARGIN and found.score + reach >= asks.score and found.mass >= asks.mass:
        return "unclear"
    return "no"


def beyond_chance(score: float, n: float, baseline: float, tried: int) -> bool:
    """Return whether a score beats a baseline by the exact binomial test, though the best of so many was picked."""
    if n <= 0 or score <= baseline or float(wilson(score * n, n)[0]) <= baseline:
        return False
    return float(np.asarray(binomial_tail(score, n, baseline))) < ALPHA / max(tried, 1)


def specific(score: float, control: float, coin: float = 0.5) -> bool:
    """Return whether a head is right because it knows the answer: without that its skill, over a coin's, falls away."""
    return control - coin <= LEFT_IN_CONTROL * (score - coin)


def in_control(found: Evidence) -> bool:
    """Return whether a head does as much where the answer should not be known."""
    if found.control is None:
        return False
    if found.over_control is not None and found.over_control <= 0:
        return True
    return not specific(found.score, found.control, THRESHOLDS[found.kind].coin)


def _enough(found: Evidence) -> bool:
    asks = THRESHOLDS[found.kind]
    if found.mass < asks.mass:
        return False
    return found.score >= asks.score or (asks.instead is not None and found.mass >= asks.instead)
