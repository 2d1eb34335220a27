"""The report card of one head: every measure with its baseline, its number of cases and the head's rank in
it.

In: a study and a head. Out: a ReportCard; layers and heads from 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.copying import LABELS
from mha_core.heads.coreference_table import CoreferenceTable
from mha_core.heads.intervals import wilson
from mha_core.heads.positions import PositionTable
from mha_core.heads.relation_table import RelationTable
from mha_core.heads.repeated import RepeatedTable
from mha_core.heads.roles import Role, Tables
from mha_core.heads.studies import Study
from mha_core.heads.words import FloatArray

REPEATED = {
    "previous": "random tokens said twice: mass on the previous token",
    "first": "random tokens said twice: mass on the first token",
    "duplicate": "random tokens said twice: mass on the earlier copy",
    "induction": "random tokens said twice: mass on what came after it",
}


@dataclass(frozen=True)
class CardLine:
    """One measure of one head. `rank` counts from 1 (the largest value) among `of` heads; what is None has
    none.
    """

    key: str
    label: str
    value: float
    baseline: float | None
    n: int
    low: float | None
    high: float | None
    rank: int
    of: int


@dataclass(frozen=True)
class ReportCard:
    """Everything known of one head, and its nearest relatives as (layer, head, distance)."""

    layer: int
    head: int
    role: Role
    lines: tuple[CardLine, ...]
    relatives: tuple[tuple[int, int, float], ...]

    def line(self, key: str) -> CardLine:
        """The line with that key."""
        for line in self.lines:
            if line.key == key:
                return line
        raise InputError(f"The report card has no line {key!r}.")


def report_card(study: Study, layer: int, head: int) -> ReportCard:
    """The card of one head (from 0). Raises InputError for a head that is not there."""
    layers, heads = study.tables.positions["entropy"].shape
    if not (0 <= layer < layers and 0 <= head < heads):
        raise InputError(f"Head {layer + 1}-{head + 1} was asked for; there are {layers} x {heads} heads.")
    return ReportCard(
        layer,
        head,
        study.roles[layer][head],
        (*_lines(study.tables, (layer, head)), *_repeated(study.repeated, (layer, head))),
        study.similarity.relatives(layer, head) if study.similarity else (),
    )


def _lines(tables: Tables, place: tuple[int, int]) -> Iterator[CardLine]:
    yield from _positions(tables.positions, place)
    if tables.copies is not None:
        c = tables.copies
        yield _line("rare", c.rare, place, c.n_rare, c.rare_baseline, share=True)
        yield _line("lift", c.lift, place, c.n_texts, 0.0)
        yield _line("copy", c.copy, place, c.n_copies, c.copy_baseline, share=True)
        yield _line("copy_mass", c.copy_mass, place, c.n_copies, None)
        yield _line("after_copy", c.after_copy, place, c.n_copies, None, share=True)
    if tables.relations is not None:
        yield from _relations(tables.relations, place)
    for key, table in (("coreference", tables.coreference), ("agreement", tables.agreement)):
        if table is not None:
            yield from _choices(key, table, place)


def _positions(table: PositionTable, place: tuple[int, int]) -> Iterator[CardLine]:
    for measure, label in table.labels.items():
        line = _line(measure, table[measure], place, table.n_texts, table.baseline(measure))
        yield replace(line, label=label)


def _repeated(table: RepeatedTable | None, place: tuple[int, int]) -> Iterator[CardLine]:
    if table is not None:
        for name, label in REPEATED.items():
            line = _line(f"repeated {name}", getattr(table, name), place, table.n_texts, None)
            yield replace(line, label=label)


def _relations(table: RelationTable, place: tuple[int, int]) -> Iterator[CardLine]:
    for relation in table.names:
        for direction in table.directions:
            if table.n(relation):
                values, (_, share) = table.accuracy(relation, direction), table.best_offset(relation)
                key = f"{relation} {direction}"
                yield _line(key, values, place, table.n(relation), share, share=True)


def _choices(key: str, table: CoreferenceTable, place: tuple[int, int]) -> Iterator[CardLine]:
    for i, direction in enumerate(table.directions):
        yield _line(f"{key} {direction}", table.accuracy[i], place, table.n, table.baseline, share=True)
        yield _line(f"{key} control {direction}", table.control[i], place, table.n, 0.5)
        if table.n_pairs:
            yield _line(f"{key} flip {direction}", table.flip[i], place, table.n_pairs, None, share=True)


def _line(
    key: str,
    values: FloatArray,
    place: tuple[int, int],
    n: int,
    baseline: float | None,
    share: bool = False,
) -> CardLine:
    value = float(values[place])
    low, high = wilson(value * n, n) if share and n else (None, None)
    return CardLine(
        key,
        LABELS.get(key, key),
        value,
        baseline,
        n,
        None if low is None else float(low),
        None if high is None else float(high),
        1 + int((values > value).sum()),
        int(np.isfinite(values).sum()),
    )
