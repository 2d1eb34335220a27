"""What every head is called, from all tables there are: measures → claims in words, and verdict.py decides.

In: the tables of the measures, and for the built-in sentences those of the jobs. Out: a Role for every head, (layer,
head). Of a kind for which there are jobs, the jobs alone count, so that a head's name and its verdicts cannot
disagree; a reader's own corpus has no jobs, so there the tables count.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mha_core.heads.copying import CopyTable
from mha_core.heads.coreference_table import CoreferenceTable
from mha_core.heads.job_table import JobTable
from mha_core.heads.jobs import KIND_OF, NO_ROLE_SAID, STEPS, distance_said
from mha_core.heads.positions import DISTANCES, PositionTable
from mha_core.heads.relation_table import ALL, RelationTable
from mha_core.heads.relations import NOT_IN_ALL
from mha_core.heads.scoring import RESTS
from mha_core.heads.verdict import MIN_CASES, Claim, Evidence, called, tries
from mha_core.heads.verdicts.table import Verdicts
from mha_core.wording import Head, always, counted, percent

NONE = "none"
EVERYWHERE = "looking everywhere alike"


@dataclass(frozen=True)
class Role:
    """What a head does: `key` is the kind, `label` the words, `score` against `baseline` over `n` cases.

    `detail` is what the kind leaves open: the distance, the direction, or relation and direction. `corpus`: the real
    text on which it was seen; empty for the built-in sentences.
    """

    letter: str
    label: str
    key: str
    score: float
    baseline: float
    n: int
    evidence: str
    detail: str = ""
    corpus: str = ""

    @property
    def where(self) -> str:
        """On what the head was seen to do it."""
        if self.corpus:
            return self.corpus
        random = self.key == "induction" or self.detail == "duplicate"
        return "random tokens said twice" if random else "the built-in sentences"

    def __bool__(self) -> bool:
        """Has the head a role?"""
        return self.key != NONE


NO_ROLE = Role("", NO_ROLE_SAID, NONE, 0.0, 0.0, 0, "No measure puts it clearly above its baseline.")


@dataclass(frozen=True)
class Tables:
    """What the roles are given by; a table that is None gives none. `jobs`: those of the built-in sentences; `real`:
    the verdicts on real text, which come before everything of the same kind."""

    positions: PositionTable
    copies: CopyTable | None = None
    relations: RelationTable | None = None
    coreference: CoreferenceTable | None = None
    agreement: CoreferenceTable | None = None
    jobs: Mapping[str, JobTable] = field(default_factory=dict)
    real: Verdicts | None = None


def assign_roles(tables: Tables) -> tuple[tuple[Role, ...], ...]:
    """The role of every head, roles[layer][head]."""
    layers, heads = tables.positions["entropy"].shape
    return tuple(tuple(role_of(tables, layer, head) for head in range(heads)) for layer in range(layers))


def role_of(tables: Tables, layer: int, head: int) -> Role:
    """What a head (from 0) is called."""
    return _role(called(claims(tables, (layer, head))))


def real_roles(real: Verdicts) -> dict[Head, Role]:
    """The heads that real text alone gives a role, and which; without a model."""
    heads = np.ndindex(*real.entries[0].heads.shape) if real.entries else ()
    found = {(head[0], head[1]): _role(called(real_claims(real, (head[0], head[1])))) for head in heads}
    return {head: role for head, role in found.items() if role}


def _role(claim: Claim | None) -> Role:
    if claim is None:
        return NO_ROLE
    found = claim.found
    letter = KIND_OF[found.kind].letter
    return Role(
        letter,
        claim.label,
        found.kind,
        found.score,
        found.baseline,
        found.n,
        claim.says,
        claim.detail,
        claim.corpus,
    )


def claims(tables: Tables, head: Head) -> Iterator[Claim]:
    """Everything that a head could be called, each with its evidence; one correction for all that has no job."""
    real = set() if tables.real is None else {entry.kind for entry in tables.real.entries}
    yield from () if tables.real is None else real_claims(tables.real, head)
    for table in tables.jobs.values():
        if table.job.kind not in real or table.job.repeated:
            yield table.claim(head)
    measured = list(_measured(tables, head, real | {table.job.kind for table in tables.jobs.values()}))
    known = max((table.tried for table in tables.jobs.values()), default=0)
    tried = known or tries(tables.positions["entropy"].size, len(measured))
    yield from (replace(claim, found=replace(claim.found, tried=tried)) for claim in measured)


def real_claims(real: Verdicts, head: Head) -> Iterator[Claim]:
    """What a head is called on real text."""
    for entry in real.by_head(head):
        blind = next(rule for rule in entry.rules if rule.by_place)
        told = next((rule for rule in entry.rules if not rule.by_place), None)
        score, corpus = float(entry.heads[head]), real.corpora[entry.corpus].title
        of = "of its mass" if entry.kind in ("separator", "sink") else "of the possible entropy"
        of = of if entry.kind in ("separator", "sink", "broad") else f"of {entry.n:,} cases are right"
        says = f"{percent(score)} {of} in {corpus} ({blind.name}: {percent(blind.score)}"
        says += f"; {told.name}: {percent(told.score)})." if told else ")."
        rule, name = (None, "") if told is None else (told.score, told.name)
        found = Evidence(
            entry.kind, score, entry.n, blind.score, blind.name, entry.tried, rule=rule, rule_name=name
        )
        label = entry.name
        detail = str(STEPS[entry.key]) if entry.key in STEPS else entry.key
        yield Claim(found, label, says, detail, str(entry.words[head]), corpus)  # type: ignore[arg-type]


def _measured(tables: Tables, head: Head, told: set[str]) -> Iterator[Claim]:
    """What the tables of measures say of the kinds that no job has told of."""
    yield from _places(tables.positions, head, named=set(STEPS.values()) if "positional" in told else set())
    if "separator" not in told and tables.positions.names:
        yield _separator(tables.positions, head)
    if "sink" not in told and not tables.positions.names:
        yield _sink(tables.positions, head)
    if "broad" not in told:
        yield _broad(tables.positions, head)
    if tables.copies is not None:
        yield from (claim for claim in _copies(tables.copies, head) if claim.found.kind not in told)
    if tables.relations is not None and "syntactic" not in told:
        yield from _relations(tables.relations, head)
    for kind, table in (("agreement", tables.agreement), ("coreference", tables.coreference)):
        if table is not None and kind not in told:
            yield from _choices(table, head, kind)


def _places(table: PositionTable, head: Head, named: set[int]) -> Iterator[Claim]:
    """Every distance that most rows have; those that are `named` are jobs."""
    tried = tries(table["entropy"].size, len(DISTANCES))
    for i, distance in enumerate(DISTANCES.tolist()):
        if distance in named or table.peak_rows[i] < max(MIN_CASES, table.peak_rows.max() / 2):
            continue
        peak, mass = float(table.peak[head][i]), float(table.distance[head][i])
        texts = counted(table.n_texts, "text")
        says = f"{percent(peak)} of its largest weights lie there, in {texts}, and {percent(mass)} "
        found = Evidence("positional", peak, table.n_texts, table.uniform_share, EVERYWHERE, tried, mass)
        yield Claim(found, distance_said(distance), f"{says}of its mass.", str(distance))


def _separator(table: PositionTable, head: Head) -> Claim:
    measures = dict(zip(RESTS, (("cls",), ("sep",), ("period", "comma")), strict=True))
    masses = {rest: sum(float(table[each][head]) for each in of) for rest, of in measures.items()}
    rest = max(masses, key=lambda rest: masses[rest])
    name = table.names.get(rest, rest)
    mass, n, blind = masses[rest], table.n_texts, sum(table.even[each] for each in measures[rest])
    says = f"{percent(mass)} of its mass, {percent(blind)} if it looked everywhere, in {counted(n, 'text')}."
    found = Evidence("separator", mass, n, blind, EVERYWHERE, tries(table["cls"].size, 1), mass)
    return Claim(found, f"looks at {name}", says)


def _sink(table: PositionTable, head: Head) -> Claim:
    mass, n, blind = float(table["first"][head]), table.n_texts, table.even["first"]
    says = f"{percent(mass)} of its mass, {percent(blind)} if it looked everywhere, in {counted(n, 'text')}."
    found = Evidence("sink", mass, n, blind, EVERYWHERE, tries(table["first"].size, 1), mass)
    return Claim(found, "rests on the first token", says)


def _broad(table: PositionTable, head: Head) -> Claim:
    """Against the middle head, as for the built-in sentences: of random weights every head looks broadly."""
    shares = table["entropy"] / (table.uniform_entropy or np.inf)
    n, nats = table.n_texts, float(table["entropy"][head])
    says = f"Entropy {nats:.2f} nats of {table.uniform_entropy:.2f} possible, in {counted(n, 'text')}."
    middle = float(np.median(shares))
    found = Evidence("broad", float(shares[head]), n, middle, "the middle head", tries(shares.size, 1))
    return Claim(found, "looks broadly", says)


def _copies(table: CopyTable, head: Head) -> Iterator[Claim]:
    tried, share, rare = tries(table.copy.size, 1), float(table.copy[head]), float(table.rare[head])
    if table.n_copies:
        says = (
            f"{percent(share)} of {table.n_copies:,} repeated content tokens look most at the earlier copy among "
            f"what stands before them; {percent(table.copy_baseline)} by chance."
        )
        mass = float(table.copy_mass[head])
        found = Evidence("copy", share, table.n_copies, table.copy_baseline, "chance", tried, mass)
        yield Claim(found, "earlier copy of the token", says)
    if table.n_rare:
        says = (
            f"{percent(rare)} of {table.n_rare:,} tokens look most at the rarest token of their text, "
            f"{percent(table.rare_baseline)} by chance."
        )
        found = Evidence("rare", rare, table.n_rare, table.rare_baseline, "chance", tried)
        yield Claim(found, "rarest token", says)


def _choices(table: CoreferenceTable, head: Head, kind: str) -> Iterator[Claim]:
    label = "pronoun and antecedent" if kind == "coreference" else "finds the antecedent by gender or number"
    for d, direction in enumerate(table.directions):
        found = table.evidence(d, head, kind)
        says = (
            f"{direction.replace('->', ' → ')}: right in {percent(found.score)} of {found.n:,} choices, "
            f"{percent(found.baseline)} by the best simple rule, {percent(found.control or 0.0)} from the other "
            "words' rows."
        )
        yield Claim(found, label, says[:1].upper() + says[1:], direction)


def _relations(table: RelationTable, head: Head) -> Iterator[Claim]:
    for relation in table.names:
        if relation in (ALL, *NOT_IN_ALL) or not table.n(relation):
            continue
        for direction in table.directions:
            found = table.score(relation, direction, *head)
            label = f"{relation}, {direction}"
            says = (
                f"{label}: correct in {percent(found.accuracy)} of {found.n:,} cases "
                f"(baseline, {always(found.offset)}: {percent(found.offset_accuracy)})."
            )
            yield Claim(found.evidence, label, says, f"{relation} {direction}")
