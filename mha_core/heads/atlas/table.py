"""The atlas of a text as a table: of every head its description and its examples.

In: what was kept of the text. Out: an `Atlas`, as objects, as rows and as pandas frames. Layers and heads count from 1
in rows and from 0 in objects; passages and tokens count from 0 in both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mha_core.display_names import Head
from mha_core.heads.atlas.collect import Collection, Example
from mha_core.heads.atlas.describe import FINDING, Description, describe
from mha_core.heads.atlas.effects import Effect
from mha_core.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

TENTHS = 10
OF_A_TENTH = 2
RANDOM = 8
Row = dict[str, Any]


@dataclass(frozen=True)
class HeadEntry:
    """One head (layer and head from 0). `sink` is the share of rows whose largest weight is on an attention sink; `top`
    is sorted by output norm; `typical` has some rows of every tenth of a random sample by output norm, the weakest
    tenth first; `random` are rows drawn without looking; `effects` belong to the first of `top`."""

    head: Head
    description: Description
    sink: float
    top: tuple[Example, ...]
    typical: tuple[tuple[Example, ...], ...]
    random: tuple[Example, ...]
    effects: tuple[Effect, ...] = ()

    def examples(self) -> Iterator[tuple[str, int | None, Example, Effect | None]]:
        """Yield every example with its kind (top, typical, random), its tenth from 1, and its effect if known."""
        for i, example in enumerate(self.top):
            yield "top", None, example, self.effects[i] if i < len(self.effects) else None
        for tenth, some in enumerate(self.typical, 1):
            yield from (("typical", tenth, example, None) for example in some)
        yield from (("random", None, example, None) for example in self.random)


class Passage(NamedTuple):
    """A passage as it is shown: its text as far as it was read, and of every token its label and its characters from
    start to end (both 0 for an inserted special token)."""

    text: str
    labels: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Atlas:
    """All heads; `passages` are those that examples are of, by their number in the text."""

    heads: tuple[HeadEntry, ...]
    passages: dict[int, Passage]
    n_passages: int
    n_tokens: int

    @property
    def n_described(self) -> int:
        """The number of heads with a description."""
        return sum(bool(entry.description.findings) for entry in self.heads)

    @property
    def n_by_content(self) -> int:
        """The number of those described by anything but a position."""
        return sum(entry.description.by_content for entry in self.heads)

    def entry(self, head: Head) -> HeadEntry:
        """Return one head's entry, layer and head from 0."""
        return next(entry for entry in self.heads if entry.head == head)

    def only(self, head: Head) -> "Atlas":
        """Return the same atlas with one head alone."""
        return replace(self, heads=(self.entry(head),))

    def to_frame(self) -> "pd.DataFrame":
        """Return the examples as a pandas DataFrame: `example_rows`."""
        import pandas as pd

        return pd.DataFrame(self.example_rows()).astype({"tenth": "Int64"})

    def descriptions(self) -> "pd.DataFrame":
        """Return the descriptions as a pandas DataFrame: `description_rows`."""
        import pandas as pd

        return pd.DataFrame(self.description_rows()).astype({"n": "Int64"})

    def example_rows(self) -> list[Row]:
        """Return a row a head and example. `tenth` is that of a typical one; `raises` and `lowers` are the next tokens
        that a decoder's first top examples make more and less likely."""
        return [
            {
                "layer": entry.head[0] + 1,
                "head": entry.head[1] + 1,
                "kind": kind,
                "tenth": tenth,
                **example._asdict(),
                "query_text": self.passages[example.passage].labels[example.query],
                "key_text": self.passages[example.passage].labels[example.key],
                "raises": [token.text for token in effect.raises] if effect else [],
                "lowers": [token.text for token in effect.lowers] if effect else [],
            }
            for entry in self.heads
            for kind, tenth, example, effect in entry.examples()
        ]

    def description_rows(self) -> list[Row]:
        """Return a row a head and feature, `low` and `high` the 95 % interval of `share`; a head without a description
        has one row without a feature."""
        return [
            {"layer": entry.head[0] + 1, "head": entry.head[1] + 1, "sink": entry.sink, **finding}
            for entry in self.heads
            for finding in [each.row() for each in entry.description.findings] or [dict.fromkeys(FINDING)]
        ]

    def to_data(self) -> Row:
        """Return everything for JSON: both tables, and of each passage the tokens."""
        numbers = {example.passage for entry in self.heads for *_, example, _ in entry.examples()}
        return {
            "n_passages": self.n_passages,
            "n_tokens": self.n_tokens,
            "descriptions": self.description_rows(),
            "examples": self.example_rows(),
            "passages": {str(number): list(self.passages[number].labels) for number in sorted(numbers)},
        }


def atlas(collection: Collection) -> Atlas:
    """Return the atlas of what was kept of a text."""
    entries = []
    for i, description in enumerate(describe(collection)):
        drawn = collection.sample.drawn(i)
        head, sink = divmod(i, collection.shape[1]), float(collection.sink[i])
        top = tuple(collection.top.sorted(i))
        entries.append(HeadEntry(head, description, sink, top, _tenths(drawn), tuple(drawn[:RANDOM])))
    numbers = {example.passage for entry in entries for *_, example, _ in entry.examples()}
    passages = {number: _passage(collection.passages[number]) for number in sorted(numbers)}
    return Atlas(tuple(entries), passages, collection.n_passages, collection.n_tokens)


def _tenths(drawn: list[Example]) -> tuple[tuple[Example, ...], ...]:
    """Some of every tenth of the sample by output norm, the first drawn of each."""
    rank = {example: i for i, example in enumerate(sorted(drawn, key=lambda example: example.order))}
    tenths: list[list[Example]] = [[] for _ in range(TENTHS)]
    for example in drawn:
        tenth = tenths[rank[example] * TENTHS // len(drawn)]
        if len(tenth) < OF_A_TENTH:
            tenth.append(example)
    return tuple(map(tuple, tenths))


def _passage(tokens: Tokens) -> Passage:
    pieces = tokens.pieces
    spans = tuple(piece.start for piece in pieces), tuple(piece.end for piece in pieces)
    return Passage(tokens.text, tuple(map(tokens.label, pieces)), *spans)
