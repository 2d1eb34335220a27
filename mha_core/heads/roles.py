"""One label for every head, or none: what it does by stated thresholds, with the evidence.

In: the tables of the other measures. Out: a Role for every head, (layer, head). A head whose score does not
beat its baseline, or whose control fails, is given no role, whatever else is said of it. Tried in this order:

positional: at least 90 % of its largest weights lie at one distance that most rows have (Voita et al. 2019,
section 5.2.1), or at least half of its mass on the previous or the next token (Clark et al. 2019, section
3.1).
copy: at least half of the repeated content tokens look most at their copy and a quarter of the mass goes
there. agreement, coreference: the interval is above every baseline and the control fails (see
coreference.py). syntactic: right in at least half of a relation's cases, and at least 10 points above the
best fixed offset (Voita, section 5.2.2) with the interval above it.
rare: at least half of the rows look most at the rarest token (Voita, section 5.2.3, found 66 %). separator:
at least half of its mass on [CLS], or [SEP], or periods and commas (Clark, section 3.2, who reads it as rest:
so it comes after what a head does when it does not rest). broad: entropy at least 80 % of that of a head that
looks everywhere equally.

Where heads are compared, intervals allow for the number of heads, directions and relations that were tried.
The quarter and the 80 % are this project's; the halves follow Clark's "more than half".
"""

from dataclasses import dataclass

import numpy as np

from mha_core.heads.copying import CopyTable
from mha_core.heads.coreference import DIRECTIONS as CHOICE_DIRECTIONS
from mha_core.heads.coreference import CoreferenceTable
from mha_core.heads.intervals import wilson, z_for_best_of
from mha_core.heads.positions import DISTANCES, PositionTable
from mha_core.heads.relations import ALL, DIRECTIONS, NOT_IN_ALL, RelationTable

PEAKS = 0.9
HALF = 0.5
COPY_MASS = 0.25
OVER_OFFSET = 0.10
BROAD = 0.8
MIN_CASES = 20


@dataclass(frozen=True)
class Role:
    """What a head does: `key` is the kind, `label` the words, `score` against `baseline` over `n` cases.

    `detail` is what the kind leaves open: the distance, the direction, or relation and direction.
    """

    letter: str
    label: str
    key: str
    score: float
    baseline: float
    n: int
    evidence: str
    detail: str = ""

    def __bool__(self) -> bool:
        """Has the head a role?"""
        return self.key != NONE


NONE = "none"
LETTERS = {
    "positional": "P",
    "separator": "D",
    "copy": "=",
    "agreement": "A",
    "coreference": "C",
    "syntactic": "S",
    "rare": "R",
    "broad": "B",
    NONE: "",
}
NO_ROLE = Role("", "no clear role", NONE, 0.0, 0.0, 0, "No measure puts it clearly above its baseline.")


@dataclass(frozen=True)
class Tables:
    """What the roles are given by; a table that is None gives none."""

    positions: PositionTable
    copies: CopyTable | None = None
    relations: RelationTable | None = None
    coreference: CoreferenceTable | None = None
    agreement: CoreferenceTable | None = None


def assign_roles(tables: Tables) -> tuple[tuple[Role, ...], ...]:
    """The role of every head, roles[layer][head]."""
    layers, heads = tables.positions["entropy"].shape
    return tuple(tuple(role_of(tables, layer, head) for head in range(heads)) for layer in range(layers))


def role_of(tables: Tables, layer: int, head: int) -> Role:
    """The first role in the order above whose conditions the head (from 0) meets."""
    place = (layer, head)
    return (
        _positional(tables.positions, place)
        or _copy(tables.copies, place)
        or _choice(tables.agreement, place, "agreement", "finds the antecedent by gender or number")
        or _choice(tables.coreference, place, "coreference", "pronoun and antecedent")
        or _syntactic(tables.relations, place)
        or _rare(tables.copies, place)
        or _separator(tables.positions, place)
        or _broad(tables.positions, place)
        or NO_ROLE
    )


def _role(
    key: str, label: str, score: float, baseline: float, n: int, evidence: str, detail: str = ""
) -> Role | None:
    return Role(LETTERS[key], label, key, score, baseline, n, evidence, detail) if score > baseline else None


def percent(share: float) -> str:
    """A share as a person reads it."""
    return f"{100 * share:.1f} %"


def _texts(n: int) -> str:
    return "1 text" if n == 1 else f"{n:,} texts"


def _positional(table: PositionTable, place: tuple[int, int]) -> Role | None:
    common = table.peak_rows >= max(MIN_CASES, table.peak_rows.max() / 2)
    peaks = np.where(common, table.peak[place], 0.0)
    best = int(peaks.argmax())
    names = {-1: "previous token", 0: "same token", 1: "next token"}
    distance = int(DISTANCES[best])
    label = names.get(distance, f"{abs(distance)} tokens {'back' if distance < 0 else 'ahead'}")
    n, blind = table.n_texts, table.uniform_share
    if peaks[best] >= PEAKS:
        says = f"{percent(peaks[best])} of its largest weights lie there, in {_texts(n)}."
        return _role("positional", label, float(peaks[best]), blind, n, says, str(distance))
    for measure, distance in (("previous", -1), ("next", 1)):
        mass = float(table[measure][place])
        if mass >= HALF:
            says = f"{percent(mass)} of its mass, {percent(blind)} if it looked everywhere, in {_texts(n)}."
            return _role("positional", f"{measure} token", mass, blind, n, says, str(distance))
    return None


def _separator(table: PositionTable, place: tuple[int, int]) -> Role | None:
    masses = {
        "[CLS]": table["cls"][place],
        "[SEP]": table["sep"][place],
        "punctuation": table["period"][place] + table["comma"][place],
    }
    name = max(masses, key=lambda name: masses[name])
    mass, n, blind = float(masses[name]), table.n_texts, table.uniform_share
    if mass < HALF:
        return None
    says = f"{percent(mass)} of its mass, {percent(blind)} if it looked everywhere, in {_texts(n)}."
    return _role("separator", f"looks at {name}", mass, blind, n, says)


def _copy(table: CopyTable | None, place: tuple[int, int]) -> Role | None:
    if table is None or table.n_copies < MIN_CASES:
        return None
    share, n = float(table.copy[place]), table.n_copies
    low, _ = wilson(share * n, n, z_for_best_of(table.copy.size))
    if share < HALF or table.copy_mass[place] < COPY_MASS or low <= table.copy_baseline:
        return None
    says = (
        f"{percent(share)} of {n:,} repeated content tokens look most at the earlier copy among what stands "
        f"before them; {percent(table.copy_baseline)} by chance."
    )
    return _role("copy", "earlier copy of the token", share, table.copy_baseline, n, says)


def _choice(table: CoreferenceTable | None, place: tuple[int, int], key: str, label: str) -> Role | None:
    if table is None or table.n < MIN_CASES:
        return None
    passed = table.resolves()[:, *place]
    if not passed.any():
        return None
    direction = int(np.where(passed, table.accuracy[:, *place], -1.0).argmax())
    score, control = float(table.accuracy[direction, *place]), float(table.control[direction, *place])
    says = (
        f"{CHOICE_DIRECTIONS[direction]}: right in {percent(score)} of {table.n:,} choices, "
        f"{percent(table.baseline)} by the best simple rule, {percent(control)} from the other words' rows."
    )
    return _role(key, label, score, table.baseline, table.n, says, CHOICE_DIRECTIONS[direction])


def _syntactic(table: RelationTable | None, place: tuple[int, int]) -> Role | None:
    if table is None:
        return None
    z = z_for_best_of(2 * table.shape[0] * table.shape[1] * len(table.names))
    found: list[tuple[float, Role]] = []
    for relation in table.names:
        n = table.n(relation)
        if relation in (ALL, *NOT_IN_ALL) or n < MIN_CASES:
            continue
        offset, share = table.best_offset(relation)
        for direction in DIRECTIONS:
            score = table.score(relation, direction, *place).accuracy
            low, _ = wilson(score * n, n, z)
            if score < max(share + OVER_OFFSET, HALF) or low <= share:
                continue
            label = f"{relation}, {direction}"
            says = (
                f"{label}: right in {percent(score)} of {n:,} cases, {percent(share)} by "
                f"always looking {offset:+d} words away."
            )
            role = _role("syntactic", label, score, share, n, says, f"{relation} {direction}")
            if role:
                found.append((score - share, role))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _rare(table: CopyTable | None, place: tuple[int, int]) -> Role | None:
    if table is None or table.n_rare < MIN_CASES or table.rare[place] < HALF:
        return None
    share = float(table.rare[place])
    says = (
        f"{percent(share)} of {table.n_rare:,} tokens look most at the rarest token of their text, "
        f"{percent(table.rare_baseline)} by chance."
    )
    return _role("rare", "rarest token", share, table.rare_baseline, table.n_rare, says)


def _broad(table: PositionTable, place: tuple[int, int]) -> Role | None:
    nats = float(table["entropy"][place])
    share = nats / table.uniform_entropy if table.uniform_entropy else 0.0
    if share <= BROAD:
        return None
    says = f"Entropy {nats:.2f} nats of {table.uniform_entropy:.2f} possible, in {_texts(table.n_texts)}."
    return _role("broad", "looks broadly", share, BROAD, table.n_texts, says)
