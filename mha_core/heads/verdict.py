"""Does a head do a job, and so what is it called? The only thresholds there are, and the only function.

In: the `Evidence` for one head in one job. Out: a `Verdict`: "specialist", "rule", "unsure" or "none", with the reason.
A head is called by its jobs: by the first kind in the order of NAMED_BY in which it is a specialist, or else in which
it does what a simple rule does; it has no clear role exactly if neither is so anywhere. Of several jobs of one kind
with the same word it is called by the one that it does in most cases (score x n): that is what a reader of the text
meets most often, and a count of hundreds does not turn with a few sentences. How far a head is above the best rule of
place is no such order, for it names the job whose rule is poorest: determiners stand near their nouns, copulas do not
stand near their predicates.

A specialist has enough cases, is above the best simple rule beyond luck, loses its skill when it is read from the wrong
rows (where there is such a control), and does enough. A head that is all this but no better than a rule that is told
the parts of speech, which it may follow without knowing the job, has the word "rule". Luck: the best of `tried`
attempts is looked at, so the exact binomial test is Bonferroni's for as many; tried are heads x directions x jobs of
all kinds, counted by `tries` and nowhere else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mha_core.heads.intervals import binomial_tail, wilson
from mha_core.wording import counted, percent

Word = Literal["specialist", "rule", "unsure", "none"]

# The chance of one mistake, over all attempts together (one-sided; Bonferroni).
ALPHA = 0.025
# Fewer cases are an anecdote: with 30, an interval is still 30 points wide.
MIN_CASES = 30
# Over the best simple rule; Voita et al. 2019, section 5.2.2, ask the same of syntactic heads.
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
class Rule:
    """What a kind of job asks besides cases, luck and control: a `score`, and a `mass` on the target.

    `instead`: with so much mass the score need not be reached. `coin`: what a control shows without any skill.
    """

    score: float = 0.0
    mass: float = 0.0
    instead: float | None = None
    coin: float = 0.5


RULES: dict[str, Rule] = {
    "positional": Rule(score=PEAKS, instead=HALF),
    "syntactic": Rule(score=HALF),
    "semantic": Rule(score=HALF),
    "coreference": Rule(),
    "agreement": Rule(),
    "copy": Rule(score=HALF, mass=COPY_MASS, coin=0.0),
    "induction": Rule(score=HALF, mass=COPY_MASS, coin=0.0),
    "rare": Rule(score=HALF, coin=0.0),
    "separator": Rule(mass=HALF),
    "sink": Rule(mass=HALF),
    "broad": Rule(score=BROAD),
}
# The verdicts by which a head is called.
DOES: tuple[Word, ...] = ("specialist", "rule")
# What a head does comes before where it rests (Clark, section 3.2, reads separators as rest), a place before all.
NAMED_BY = (
    "positional", "induction", "copy", "agreement", "coreference", "syntactic", "semantic", "rare", "separator", "sink",
    "broad",
)  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """One head in one job: `score` in `n` cases against `baseline`, as one of `tried`; shares from 0 to 1.

    `mass`: what lies on the target, mean. `control`: the score where the answer should not be known: from other
    rows, or where the distance alone is left; `over_control`: the lower end of the interval of score minus control,
    widened for luck. `effective`: so many independent cases say as much (n without it). `rule`: what the best rule
    scores that is told the parts of speech; `baseline` is the best of those that are not.
    """

    kind: str
    score: float
    n: int
    baseline: float
    baseline_name: str
    tried: int
    mass: float = 0.0
    control: float | None = None
    over_control: float | None = None
    effective: float | None = None
    rule: float | None = None
    rule_name: str = ""

    @property
    def done(self) -> float:
        """In how many cases the head does it; of shares of mass or entropy, as many as they add up to."""
        return self.score * self.n

    @property
    def independent(self) -> float:
        """How many independent cases there are, as good as."""
        return float(self.n) if self.effective is None else self.effective


@dataclass(frozen=True)
class Verdict:
    """The word, and why, in one short phrase."""

    word: Word
    because: str

    def __bool__(self) -> bool:
        """Is the head a specialist?"""
        return self.word == "specialist"


@dataclass(frozen=True)
class Claim:
    """What a head would be called if the evidence carries it: `label` and `says` are words for people.

    `detail` is what the kind leaves open: the distance, the direction, or relation and direction. `word`: the verdict,
    where it has been given already (on a corpus that is not at hand); `corpus`: which; the built-in sentences without.
    """

    found: Evidence
    label: str
    says: str
    detail: str = ""
    word: Word | None = None
    corpus: str = ""


def called(claims: Iterable[Claim]) -> Claim | None:
    """The claim that a head is called by, or None: it has no clear role. Between equals the first is taken."""
    held = [(claim.word or judge(claim.found).word, claim) for claim in claims]

    def first(pair: tuple[Word, Claim]) -> tuple[int, int, float]:
        word, claim = pair
        return NAMED_BY.index(claim.found.kind), DOES.index(word), -claim.found.done

    return min((pair for pair in held if pair[0] in DOES), key=first, default=(None, None))[1]


def judge(found: Evidence) -> Verdict:
    """Whether a head does a job, on this evidence."""
    cases = found.independent
    if not cases or float(wilson(found.score * cases, cases)[0]) <= found.baseline:
        return Verdict("none", f"no better than {found.baseline_name}")
    if thin(found.n) or thin(cases):
        worth = "" if thin(found.n) else f", worth {cases:.0f} independent ones"
        return Verdict("unsure", f"only {counted(found.n, 'case')}{worth}: thin evidence")
    if _in_control(found):
        return Verdict("unsure", f"the control does too: {percent(found.control or 0.0)}")
    if not beyond_luck(found.score, cases, found.baseline, found.tried):
        return Verdict("unsure", f"could be luck, as the best of {found.tried}")
    if not _enough(found):
        return Verdict("unsure", "above the baseline, but weak")
    if found.rule is not None and not beyond_luck(found.score, cases, found.rule, found.tried):
        return Verdict("rule", f"beats the rules of place, and is no better than {found.rule_name}")
    return Verdict("specialist", "beats the baseline beyond luck")


def thin(n: float) -> bool:
    """Too few cases to say more than a guess."""
    return n < MIN_CASES


def beyond_luck(score: float, n: float, baseline: float, tried: int) -> bool:
    """Is a score above the baseline by the exact binomial test, though the best of so many was picked?"""
    return n > 0 and score > baseline and binomial_tail(score, n, baseline) < ALPHA / max(tried, 1)


def specific(score: float, control: float, coin: float = 0.5) -> bool:
    """Is the head right because it knows the answer? Without that its skill, over a `coin`'s, has to fall away."""
    return control - coin <= LEFT_IN_CONTROL * (score - coin)


def tries(n_heads: int, n_jobs: int) -> int:
    """How many attempts a kind of job has: every head at every job (a relation in one direction, a distance)."""
    return n_heads * max(n_jobs, 1)


def _in_control(found: Evidence) -> bool:
    if found.control is None:
        return False
    known = found.over_control is None or found.over_control > 0
    return not known or not specific(found.score, found.control, RULES[found.kind].coin)


def _enough(found: Evidence) -> bool:
    rule = RULES[found.kind]
    if found.score < found.baseline + MARGIN or found.mass < rule.mass:
        return False
    return found.score >= rule.score or (rule.instead is not None and found.mass >= rule.instead)
