"""Which head chooses the right mention, counted: shares of right choices, what they are measured against, verdicts.

In: what CoreferenceSums counted (coreference.py). Out: arrays (direction, layer, head) and evidence for verdict.py.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.heads.verdict import Evidence, judge, tries
from mha_core.heads.words import BoolArray, FloatArray
from mha_core.wording import Head

Direction = Literal["pronoun->mention", "mention->pronoun"]
DIRECTIONS: tuple[Direction, Direction] = ("pronoun->mention", "mention->pronoun")


@dataclass(frozen=True)
class CoreferenceTable:
    """Shares (direction, layer, head): `accuracy` and `control`; `both`, `flip` of the `n_pairs` minimal
    pairs. `n_later`: what a decoder is not asked for, for a mention comes after the pronoun.
    """

    n: int
    accuracy: FloatArray
    control: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    baselines: dict[str, float]
    n_pairs: int
    both: FloatArray
    flip: FloatArray
    directions: tuple[Direction, ...] = DIRECTIONS
    n_later: int = 0

    def best(self, direction: Direction = "pronoun->mention") -> tuple[int, int]:
        """The head that chooses right most often: (layer, head) from 0."""
        values = self.accuracy[DIRECTIONS.index(direction)]
        layer, head = np.unravel_index(int(values.argmax()), values.shape)
        return int(layer), int(head)

    @property
    def baseline(self) -> float:
        """The best of the baselines."""
        return max(self.baselines.values())

    def evidence(self, direction: int, head: Head, kind: str = "coreference") -> Evidence:
        """What there is to judge a head (from 0) by, in one direction."""
        rule = max(self.baselines, key=self.baselines.__getitem__)
        place = (direction, *head)
        tried = tries(self.accuracy[0].size, len(self.directions))
        score, control = float(self.accuracy[place]), float(self.control[place])
        return Evidence(kind, score, self.n, self.baseline, f"the rule “{rule}”", tried, control=control)

    def resolves(self) -> BoolArray:
        """(direction, layer, head): which heads are specialists (verdict.py)."""
        found = [bool(judge(self.evidence(d, (la, h)))) for d, la, h in np.ndindex(*self.accuracy.shape)]
        return np.array(found).reshape(self.accuracy.shape)
