"""One run, or two side by side, A and B: what Explore and Compare show below the picture, and what Save writes."""

from collections.abc import Sequence
from dataclasses import dataclass

from mha_core import AttentionRecord, Grid
from mha_core.record.compare import align
from pages.parts.frame.context import Context
from pages.parts.frame.links import with_params
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection


@dataclass(frozen=True)
class Comparison:
    """A context or two. `selection` is A's; `params`: the link to the view but for that; `page`: the page's address."""

    contexts: tuple[Context, ...]
    params: dict[str, str]
    page: str

    @property
    def selection(self) -> Selection:
        return self.contexts[0].selection

    @property
    def place(self) -> str:
        """The selected head, layer or model as a person names it."""
        return self.contexts[0].place

    @property
    def link(self) -> str:
        """The link to the view, with everything in it, also what is the default today."""
        return with_params(self.page, {**self.params, **self.selection.as_params()})

    @property
    def sides(self) -> Sequence[Request]:
        return [context.request for context in self.contexts]

    @property
    def records(self) -> Sequence[AttentionRecord]:
        return [context.record for context in self.contexts]

    @property
    def grids(self) -> Sequence[Grid]:
        return [context.grid for context in self.contexts]

    @property
    def pairs(self) -> Sequence[tuple[int | None, int | None]]:
        """Positions in A beside positions in B, None where one has no counterpart."""
        return align(*(grid.labels for grid in self.grids))

    @property
    def both(self) -> list[tuple[int, int]]:
        """Positions in A and in B of the units that both have."""
        return [(i, j) for i, j in self.pairs if i is not None and j is not None]

    def pins_in(self, side: str) -> tuple[int, ...]:
        """Return the selected words as rows of "A", "B", or the units that both have; without those that it lacks."""
        if side in ("", "A"):
            return self.contexts[0].pins
        index = dict(self.both) if side == "B" else {i: row for row, (i, _) in enumerate(self.both)}
        return tuple(index[pin] for pin in self.selection.pins if pin in index)
