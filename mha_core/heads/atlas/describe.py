"""A head's strongest moments in words, with the evidence: which fixed feature most of them have, and how much oftener
than other pairs.

In: what was kept of a text. Out: for every head no, one or a few findings. A feature is found on one half of the
passages and its numbers are printed from the other. Where neither half agrees, there is no description: a head is
never guessed at. The thresholds stand here and nowhere else.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.heads.atlas.features import Feature, features, pair_features
from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.sums import AtlasSums, PassageKept
from mha_core.heads.words import BoolArray, FloatArray

# Most of the moments have the feature; or a quarter at least, if that is the oftener than elsewhere the fewer they are
# (positions apart). Times as often as other pairs of the same distance; of a position, as other keys of the same rows.
# Every fourth or so pair of neighbours is of one word, so no head could lift a link much more.
LEAST_SHARE, PART_SHARE = 0.5, 0.25
LEAST_LIFT = {"position": 3.0, "link": 2.0, "from": 3.0, "to": 3.0}
# A random head, too, looks most at one frequent token whose values happen to be long: a part must be rarer elsewhere.
PART_LIFT_TO = 12.0
LEAST_MOMENTS = 20  # in each half
TWO_SHARE, TWO_LIFT = 0.25, 3.0  # each of two features that exclude one another
TWO_TOGETHER = 0.05  # of the moments have both at most


@dataclass(frozen=True)
class Finding:
    """One feature of a head's moments: the share that has it, how many times as often as in the baseline, of n."""

    feature: Feature
    share: float
    baseline: float
    n: int

    @property
    def lift(self) -> float:
        """How many times as often as in the baseline."""
        return self.share / self.baseline if self.baseline > 0 else 0.0

    @property
    def weight(self) -> float:
        """By how much it sets the moments apart: its share times the bits of its lift."""
        return self.share * float(np.log2(max(self.lift, 1.0)))


@dataclass(frozen=True)
class Description:
    """What a head does when it acts: `findings`, content before position and the commonest first; none where there is
    no description. `two`: the first two exclude one another, so the head does two things. `few`: none was looked for,
    since there are too few moments."""

    findings: tuple[Finding, ...] = ()
    two: bool = False
    few: bool = False

    @property
    def by_content(self) -> bool:
        """Whether anything but a position is in it."""
        return any(one.feature.kind != "position" for one in self.findings)


def describe(sums: AtlasSums) -> list[Description]:
    """A description of every head, in their order."""
    lookup = _Lookup(sums)
    return [_describe(lookup, head) for head in range(len(sums.halves[0].of))]


class _Lookup:
    """The features of moments, and how often they are to be expected."""

    def __init__(self, sums: AtlasSums) -> None:
        self.sums = sums
        self.features = features(sums.is_causal)
        self.positions = np.array([one.kind == "position" for one in self.features])
        self._pairs: dict[int, BoolArray] = {}

    def measured(self, head: int, half: int) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Share and baseline of every feature over one head's moments of one half, and the marks (moment, feature)."""
        moments = self.sums.halves[half].sorted(head)
        if len(moments) < LEAST_MOMENTS:
            nothing = np.zeros(len(self.features))
            return nothing, nothing, np.zeros((0, len(self.features)), bool)
        marks = np.stack([self._of(one.passage)[:, one.query, one.key] for one in moments])
        return marks.mean(0), self._expected(moments), marks

    def _of(self, passage: int) -> BoolArray:
        if passage not in self._pairs:
            self._pairs[passage] = pair_features(self.sums.passages[passage].tokens, self.sums.is_causal).of
        return self._pairs[passage]

    def _expected(self, moments: list[Moment]) -> FloatArray:
        """How often each feature is true of pairs of the moments' distances in the moments' passages; for a position,
        of the keys that the moments' own rows could look at."""
        passages = [self.sums.passages[one.passage] for one in moments]
        distinct = {one.passage: passage for one, passage in zip(moments, passages, strict=True)}
        reach = max(len(passage.tokens) for passage in passages)
        pairs = np.zeros(2 * reach - 1)
        counts = np.zeros((len(self.features), 2 * reach - 1))
        for passage in distinct.values():
            _add(passage, reach, pairs, counts)
        at = [one.query - one.key + reach - 1 for one in moments]
        content = (counts[:, at] / pairs[at]).mean(-1)
        rows = np.stack(
            [passage.rows[:, one.query] for one, passage in zip(moments, passages, strict=True)]
        ).mean(0)
        expected: FloatArray = np.where(self.positions, rows, content)
        return expected


def _add(passage: PassageKept, reach: int, pairs: FloatArray, counts: FloatArray) -> None:
    shift = reach - len(passage.tokens)
    size = len(passage.pairs)
    pairs[shift : shift + size] += passage.pairs
    counts[:, shift : shift + size] += passage.counts


def _describe(lookup: _Lookup, head: int) -> Description:
    share, baseline, marks = lookup.measured(head, 0)
    share_2, baseline_2, marks_2 = lookup.measured(head, 1)
    if not len(marks) or not len(marks_2):
        return Description(few=True)
    found, printed = (
        [
            Finding(f, float(s), float(b), len(of))
            for f, s, b in zip(lookup.features, shares, baselines, strict=True)
        ]
        for shares, baselines, of in ((share, baseline, marks), (share_2, baseline_2, marks_2))
    )
    chosen = []
    for kind in ("link", "from", "to", "position"):
        best = max(
            (i for i, one in enumerate(found) if one.feature.kind == kind and _holds(one)),
            key=lambda i: found[i].weight,
            default=None,
        )
        if best is not None and _holds(printed[best]):
            chosen.append(best)
    if chosen:
        content = [i for i in chosen if not lookup.positions[i]]
        order = sorted(content, key=lambda i: -found[i].share) + [i for i in chosen if lookup.positions[i]]
        return Description(tuple(printed[i] for i in order))
    return _two_things(found, printed, marks, marks_2)


def _holds(one: Finding) -> bool:
    least = LEAST_LIFT[one.feature.kind]
    if one.share >= LEAST_SHARE:
        return one.lift >= least
    if one.feature.kind == "position" or one.share < PART_SHARE:
        return False
    return one.lift >= PART_LIFT_TO if one.feature.kind == "to" else one.lift * one.share >= 3.0 * LEAST_SHARE


def _two_things(
    found: list[Finding], printed: list[Finding], marks: BoolArray, marks_2: BoolArray
) -> Description:
    """The two most telling features that exclude one another, if both hold in both halves."""
    good = [i for i, one in enumerate(found) if one.share >= TWO_SHARE and one.lift >= TWO_LIFT]
    pairs = [
        (found[i].weight + found[j].weight, i, j) for i in good for j in good if i < j and _apart(marks, i, j)
    ]
    if not pairs:
        return Description()
    _, i, j = max(pairs)
    again = all(printed[k].share >= TWO_SHARE and printed[k].lift >= TWO_LIFT for k in (i, j))
    if not again or not _apart(marks_2, i, j):
        return Description()
    first, second = sorted((printed[i], printed[j]), key=lambda one: -one.share)
    return Description((first, second), two=True)


def _apart(marks: BoolArray, i: int, j: int) -> bool:
    return bool((marks[:, i] & marks[:, j]).mean() <= TWO_TOGETHER)
