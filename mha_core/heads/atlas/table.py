"""The atlas of a text: of every head its description, measures and moments, with the passages that these are of.

In: what was kept of the text. Out: an `Atlas`, and the data that leaves the program.
"""

from dataclasses import dataclass
from typing import Any

from mha_core.heads.atlas.describe import Description, Finding, describe
from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.sums import AtlasSums
from mha_core.tokens import Tokens
from mha_core.wording import Head

TENTHS = 10
OF_A_TENTH = 2
RANDOM = 8


@dataclass(frozen=True)
class HeadEntry:
    """One head (layer and head from 0). `strongest` are sorted by what they bring; `tenths` are some rows of every
    tenth of a sample of all rows, the weakest tenth first; `random` are rows drawn without looking."""

    head: Head
    description: Description
    measures: dict[str, float]
    strongest: tuple[Moment, ...]
    tenths: tuple[tuple[Moment, ...], ...]
    random: tuple[Moment, ...]


@dataclass(frozen=True)
class Line:
    """A passage as it is shown: its text (as far as it was read), and of every token its label and its characters
    from start to end (both 0 for an inserted special token)."""

    text: str
    labels: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def line_of(tokens: Tokens) -> Line:
    """A passage's tokens as they are shown."""
    pieces = tokens.pieces
    return Line(
        tokens.text,
        tuple(map(tokens.label, pieces)),
        tuple(piece.start for piece in pieces),
        tuple(piece.end for piece in pieces),
    )


@dataclass(frozen=True, eq=False)
class Atlas:
    """All heads; `passages` are those that moments are of, by their number in the text."""

    heads: tuple[HeadEntry, ...]
    passages: dict[int, Line]
    n_passages: int
    n_tokens: int

    @property
    def n_described(self) -> int:
        """How many heads have a description."""
        return sum(bool(entry.description.findings) for entry in self.heads)

    @property
    def n_by_content(self) -> int:
        """How many are described by anything but a position."""
        return sum(entry.description.by_content for entry in self.heads)

    def entry(self, head: Head) -> HeadEntry:
        """One head's, from 0."""
        return next(entry for entry in self.heads if entry.head == head)


def atlas(sums: AtlasSums) -> Atlas:
    """Everything that is said about the heads, out of what was kept of a text."""
    habits = sums.habits.result()
    entries = []
    for i, description in enumerate(describe(sums)):
        drawn = sums.sample.drawn(i)
        entries.append(
            HeadEntry(
                divmod(i, sums.shape[1]),
                description,
                {name: float(values[i]) for name, values in habits.items()},
                tuple(sums.strongest.sorted(i)),
                _tenths(drawn),
                tuple(drawn[:RANDOM]),
            )
        )
    used = {
        one.passage
        for entry in entries
        for one in (*entry.strongest, *entry.random, *(m for tenth in entry.tenths for m in tenth))
    }
    passages = {number: line_of(sums.passages[number].tokens) for number in sorted(used)}
    return Atlas(tuple(entries), passages, sums.n_passages, sums.n_tokens)


def _tenths(drawn: list[Moment]) -> tuple[tuple[Moment, ...], ...]:
    """Some of every tenth of the sample by what they bring, the first drawn of each."""
    rank = {id(one): i for i, one in enumerate(sorted(drawn, key=lambda one: one.order))}
    found: list[list[Moment]] = [[] for _ in range(TENTHS)]
    for one in drawn:
        tenth = found[rank[id(one)] * TENTHS // len(drawn)]
        if len(tenth) < OF_A_TENTH:
            tenth.append(one)
    return tuple(map(tuple, found))


def atlas_data(found: Atlas, only: Head | None = None) -> dict[str, Any]:
    """The atlas as it leaves the program: heads counted from 1, all indices from 0, passages as tokens by their number
    in the text; those without a moment are left out."""
    return {
        "passages": {str(number): list(line.labels) for number, line in found.passages.items()},
        "heads": [
            {
                "layer": entry.head[0] + 1,
                "head": entry.head[1] + 1,
                "description": [finding_data(one) for one in entry.description.findings],
                "measures": entry.measures,
                "moments": [
                    {
                        "passage": one.passage,
                        "query": one.query,
                        "key": one.key,
                        "weight": one.weight,
                        "brings": one.brings,
                    }
                    for one in entry.strongest
                ],
            }
            for entry in found.heads
            if only in (None, entry.head)
        ],
    }


def finding_data(one: Finding) -> dict[str, Any]:
    """A finding as it leaves the program."""
    return {"feature": one.feature.key, "share": one.share, "lift": one.lift, "n": one.n}
