"""One job, all heads: what was counted, what is concluded, and the cases themselves, to go and look.

In: what `EvidenceLog` counted over the built-in sentences. Out: scores with intervals and baseline, the verdict for
every head (verdict.py), ranks, and the sentences in which a head works best or fails worst.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mha_core.heads.jobs import Job
from mha_core.heads.samples import Sample
from mha_core.heads.scoring import RESTS, ends, rest_name
from mha_core.heads.verdict import Claim, Evidence, Verdict, Word, judge, thin
from mha_core.heads.words import FloatArray, IntArray
from mha_core.wording import Head, percent


@dataclass(frozen=True)
class ExampleRow:
    """One row to go and see: which pieces look, at which they should, and the share that lies there."""

    sample: Sample
    query: tuple[int, ...]
    target: tuple[int, ...]
    share: float
    right: bool


@dataclass(frozen=True)
class JobTable:
    """One job, all heads: `right` and `mass` on the target (case, layer, head) from 0 to 1, `rows` (case, 2,
    layer, head) the row of each case that shows it best and the one that shows it worst; `rests` (3, layer, head)
    the mass on each of RESTS where a head may rest; the rest (layer, head). `tried`: the attempts of its kind;
    `independent`: so many cases are they worth, since twins say the same twice.
    """

    job: Job
    cases: tuple[Sample, ...]
    right: FloatArray
    mass: FloatArray
    rows: IntArray
    score: FloatArray
    low: FloatArray
    high: FloatArray
    tried: int
    baseline: float
    baseline_name: str
    control: FloatArray | None
    rests: FloatArray | None = None
    independent: FloatArray | None = None

    @property
    def n(self) -> int:
        """How many sentences were cases of the job."""
        return len(self.cases)

    @property
    def thin(self) -> bool:
        """Too few cases to say more than a guess."""
        return thin(self.n)

    def verdict(self, layer: int, head: int) -> Word:
        """Whether a head does the job, on this evidence; layer and head from 0."""
        return self.verdicts[layer, head].word

    @cached_property
    def verdicts(self) -> dict[Head, Verdict]:
        """The same for all heads, with the reasons."""
        return {head: judge(self.evidence(head)) for head in np.ndindex(*self.score.shape)}

    def evidence(self, head: Head) -> Evidence:
        """What there is to judge a head by."""
        mass = self.mean_mass if self.rests is None else self.rests.max(0)
        return Evidence(
            self.job.kind,
            float(self.score[head]),
            self.n,
            self.baseline,
            self.baseline_name,
            self.tried,
            float(mass[head]),
            None if self.control is None else float(self.control[head]),
            effective=None if self.independent is None else float(self.independent[head]),
        )

    @cached_property
    def mean_mass(self) -> FloatArray:
        """The mean mass on the target, (layer, head)."""
        found: FloatArray = self.mass.mean(0)
        return found

    def claim(self, head: Head) -> Claim:
        """What the head is called if it is a specialist, and the evidence in a sentence."""
        found, label = self.evidence(head), self.job.title
        if self.rests is not None:
            rest = rest_name(RESTS[int(self.rests[:, *head].argmax())], self.cases[0].tokens)
            label = f"looks at {rest}"
            says = f"{percent(found.mass)} of its mass, in {self.n:,} built-in sentences."
        elif self.job.kind == "sink":
            label = "rests on the first token"
            says = f"{percent(found.mass)} of its mass, in {self.n:,} built-in sentences."
        elif self.job.kind == "broad":
            label = "looks broadly"
            says = f"{percent(found.score)} of the possible entropy, in {self.n:,} built-in sentences; "
            says += f"{percent(found.baseline)} in {found.baseline_name}."
        else:
            says = f"Correct in {percent(found.score)} of {self.n:,} {self.job.cases} "
            says += f"(baseline, {found.baseline_name}: {percent(found.baseline)})."
        if found.control is not None:
            says += f" Control: {self.job.control} {percent(found.control)}."
        return Claim(found, label, says, self.job.name)

    def order(self) -> list[Head]:
        """All heads, the best first; equal scores by the mass on the target."""
        return list(self._order)

    @cached_property
    def _order(self) -> dict[Head, int]:
        flat = np.lexsort((-self.mean_mass.ravel(), -self.score.ravel()))
        n_heads = self.score.shape[1]
        return {divmod(int(i), n_heads): place for place, i in enumerate(flat, start=1)}

    def rank(self, layer: int, head: int) -> int:
        """The place of a head among all, from 1."""
        return self._order[layer, head]

    def examples(
        self, layer: int, head: int, count: int = 3, *, right: bool = True
    ) -> tuple[ExampleRow, ...]:
        """Where the head works best, or with `right=False` where it fails worst; fewer if there are fewer."""
        works, mass = self.right[:, layer, head], self.mass[:, layer, head]
        order = np.lexsort((-mass, -works)) if right else np.lexsort((mass, works))
        kept: dict[str, int] = {}
        for i in order:
            if (works[i] >= 0.5) == right:
                # Of a minimal pair one is enough.
                kept.setdefault(self.cases[i].family, int(i))
        return tuple(self._example(i, layer, head, right) for i in list(kept.values())[:count])

    def _example(self, case: int, layer: int, head: int, right: bool) -> ExampleRow:
        item = self.cases[case]
        row = int(self.rows[case, 0 if right else 1, layer, head])
        query, target = ends(item, self.job, row)
        return ExampleRow(item, query, target, float(self.mass[case, layer, head]), right)
