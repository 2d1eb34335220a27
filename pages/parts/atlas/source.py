"""Which atlas the page shows: the one that comes with the program. In: a request. Out: a `Source`."""

from dataclasses import dataclass

from mha_core.families.bert import SPECIALS
from mha_core.heads.atlas.shipped import Shipped
from mha_core.heads.atlas.table import Atlas
from mha_core.shelf import EMBEDDED
from pages.parts.frame.links import model_in_link
from pages.parts.frame.request import Request
from pages.parts.serve import cache

TEXT = "the project's own reader"


@dataclass(frozen=True, eq=False)
class Source:
    """An atlas, its model, and what more is known of it."""

    atlas: Atlas
    model: str
    more: Shipped

    @property
    def query(self) -> dict[str, str]:
        """What every link keeps: the model, where it is not the standard."""
        return {"model": model_in_link(self.model)}

    @property
    def rests_on(self) -> str:
        """Where the heads rest, in words."""
        framed = self.model == EMBEDDED
        return f"{SPECIALS.begin} or {SPECIALS.separator}" if framed else "the first token"


def source(request: Request) -> Source | None:
    """What there is to show of a model; None where no numbers come with it."""
    there = cache.shipped_atlas(request.model, request.trained)
    return None if there is None else Source(there.atlas, request.model, there)
