"""A head's top examples in words, with the evidence: which fixed feature most of them have, and how much more often
than other pairs.

In: what was kept of a text. Out: for every head no, one or a few findings. A feature is found on one half of the
passages and its numbers are those of the other. Where the halves do not agree, there is no description. The thresholds
are here and nowhere else.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.heads.atlas.collect import Collection, Example
from mha_core.heads.atlas.features import Feature, PairFeatures, features, pair_features
from mha_core.heads.cluster_stats import wilson
from mha_core.heads.word_weights import BoolArray

# Most of the examples have the feature; or a quarter at least, if that is the more often than elsewhere the fewer they
# are (positions apart). The baseline is other pairs of the same distance; of a position, other keys of the same rows.
# Every fourth or so pair of neighbours is of one word, so no head could lift a link much more.
LEAST_SHARE, PART_SHARE = 0.5, 0.25
LEAST_LIFT = {"position": 3.0, "link": 2.0, "from": 3.0, "to": 3.0}
# A random head, too, looks most at one frequent token whose values happen to be long: a part must be rarer elsewhere.
PART_LIFT_TO = 12.0
LEAST_EXAMPLES = 20  # in each half
TWO_SHARE, TWO_LIFT = 0.25, 3.0  # each of two features that exclude one another
TWO_TOGETHER = 0.05  # of the examples have both at most
FINDING = ("feature", "share", "low", "high", "baseline", "lift", "n")


@dataclass(frozen=True)
class Finding:
    """One feature of a head's top examples: the share of n that has it, and the share to expect."""

    feature: Feature
    share: float
    baseline: float
    n: int

    @property
    def lift(self) -> float:
        """The share as a multiple of the baseline's."""
        return self.share / self.baseline if self.baseline > 0 else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share, 95 %: (low, high)."""
        low, high = wilson(round(self.share * self.n), self.n)
        return float(low), float(high)

    def row(self) -> dict[str, Any]:
        """Return it by the names in FINDING."""
        numbers = (self.share, *self.interval, self.baseline, self.lift, self.n)
        return dict(zip(FINDING, (self.feature.key, *numbers), strict=True))

    @property
    def weight(self) -> float:
        """Its share times the bits of its lift."""
        return self.share * float(np.log2(max(self.lift, 1.0)))


@dataclass(frozen=True)
class Description:
    """What a head does: `findings`, content before position and the commonest first, or none. `two`: the first two
    exclude one another. `few`: there are fewer than 20 examples in a half."""

    findings: tuple[Finding, ...] = ()
    two: bool = False
    few: bool = False

    @property
    def by_content(self) -> bool:
        """True where anything but a position is in it."""
        return any(finding.feature.kind != "position" for finding in self.findings)


def describe(collection: Collection) -> list[Description]:
    """Return a description of every head, in their order."""
    passages = {
        example.passage for half in collection.halves for by_pair in half.of for example in by_pair.values()
    }
    pairs = {number: pair_features(collection.passages[number], collection.visibility) for number in passages}
    fixed = features(collection.visibility.is_causal)
    return [
        _describe(
            [half.sorted(head) for half in collection.halves], pairs, fixed, head // collection.shape[1]
        )
        for head in range(len(collection.top.of))
    ]


def _describe(
    halves: list[list[Example]], pairs: dict[int, PairFeatures], fixed: tuple[Feature, ...], layer: int
) -> Description:
    if min(map(len, halves)) < LEAST_EXAMPLES:
        return Description(few=True)
    marks = [
        np.stack([pairs[each.passage].holds[:, each.query, each.key] for each in half]) for half in halves
    ]
    findings, counted = (
        [
            Finding(feature, share, baseline, len(half))
            for feature, share, baseline in zip(
                fixed, has.mean(0).tolist(), _baselines(half, pairs, fixed, layer).tolist(), strict=True
            )
        ]
        for half, has in zip(halves, marks, strict=True)
    )
    chosen = []
    for kind in LEAST_LIFT:
        good = [i for i, each in enumerate(findings) if each.feature.kind == kind and _holds(each)]
        best = max(good, key=lambda i: findings[i].weight, default=None)
        if best is not None and _holds(counted[best]):
            chosen.append(best)
    if not chosen:
        return _two_things(findings, counted, marks)
    chosen.sort(key=lambda i: (fixed[i].kind == "position", -findings[i].share))
    return Description(tuple(counted[i] for i in chosen))


def _baselines(
    examples: list[Example], pairs: dict[int, PairFeatures], fixed: tuple[Feature, ...], layer: int
) -> FloatArray:
    """Return how often each feature is true of pairs of the examples' distances in their passages; of a position, of
    the keys that the examples' own queries could look at."""
    back = np.array([example.query - example.key for example in examples])
    true, every = np.zeros((len(fixed), len(back))), np.zeros(len(back))
    for passage in {example.passage for example in examples}:
        n = pairs[passage].holds.shape[-1]
        is_inside = np.abs(back) < n
        places = back[is_inside] + n - 1
        true[:, is_inside] += pairs[passage].counts[:, places]
        every[is_inside] += pairs[passage].pairs[places]
    by_layer = [(pairs[example.passage].rows, example.query) for example in examples]
    rows = np.stack([rows[layer % len(rows), :, query] for rows, query in by_layer]).mean(0)
    positions = np.array([feature.kind == "position" for feature in fixed])
    baselines: FloatArray = np.where(positions, rows, (true / every).mean(-1))
    return baselines


def _holds(finding: Finding) -> bool:
    if finding.share >= LEAST_SHARE:
        return finding.lift >= LEAST_LIFT[finding.feature.kind]
    if finding.feature.kind == "position" or finding.share < PART_SHARE:
        return False
    return (
        finding.lift >= PART_LIFT_TO
        if finding.feature.kind == "to"
        else finding.lift * finding.share >= 3.0 * LEAST_SHARE
    )


def _two_things(findings: list[Finding], counted: list[Finding], marks: list[BoolArray]) -> Description:
    """The two most telling features that exclude one another, if both hold in both halves."""

    def hold(i: int, j: int, half: int) -> bool:
        in_half = (findings, counted)[half]
        apart = (marks[half][:, i] & marks[half][:, j]).mean() <= TWO_TOGETHER
        return bool(apart) and all(
            in_half[k].share >= TWO_SHARE and in_half[k].lift >= TWO_LIFT for k in (i, j)
        )

    n = len(findings)
    couples = [(i, j) for i in range(n) for j in range(i + 1, n) if hold(i, j, 0)]
    i, j = max(
        couples, key=lambda two: (findings[two[0]].weight + findings[two[1]].weight, *two), default=(0, 0)
    )
    if i == j or not hold(i, j, 1):
        return Description()
    return Description(tuple(sorted((counted[i], counted[j]), key=lambda finding: -finding.share)), two=True)


def label(description: Description) -> str:
    """Return a few words for a head: its most telling feature, both where it does two things."""
    names = [finding.feature.name for finding in description.findings]
    if not names:
        return "no description"
    return f"two things: {names[0]}; {names[1]}" if description.two else names[0]


def sentences(description: Description) -> list[str]:
    """Return what a head does, a sentence a finding, each with its evidence; tokens are in `backquotes`."""
    if description.few:
        return [f"No description: fewer than {LEAST_EXAMPLES} examples in one half of the text."]
    if not description.findings:
        return ["No description: no fixed feature sets its top examples apart in both halves of the text."]
    starts = ["Sometimes looks", "Sometimes looks"] if description.two else ["Looks"]
    starts += ["Also looks"] * len(description.findings)
    return [
        f"{start} {finding.feature.words}: {evidence(finding)}, {_times(finding.lift)} the baseline."
        for start, finding in zip(starts, description.findings, strict=False)
    ]


def evidence(finding: Finding) -> str:
    """Return a finding's share in short: "95% of 40, 84–99%"."""
    low, high = finding.interval
    return f"{100 * finding.share:.0f}% of {finding.n}, {100 * low:.0f}–{100 * high:.0f}%"


def _times(lift: float) -> str:
    return f"{lift:.0f} times" if lift >= 10 else f"{lift:.1f} times"
