"""Which atlas the page shows: the one that comes with the program, or that of the reader's own text.

In: a request. Out: a `Source`. The reader's text stays in this server's memory while the page is looked at.
"""

from dataclasses import dataclass, field

import streamlit as st

from mha_core.embedded import EMBEDDED
from mha_core.families.bert import SPECIALS
from mha_core.heads.atlas.shipped import Shipped
from mha_core.heads.atlas.table import Atlas
from mha_core.models import Model
from pages.parts.frame.links import model_in_link
from pages.parts.frame.request import Request
from pages.parts.serve import cache

OWN = "atlas-own"


@dataclass(frozen=True, eq=False)
class Source:
    """An atlas, what it is of, and what more is known of it (nothing of a reader's text)."""

    atlas: Atlas
    text: str
    model: str
    rests_on: str
    more: Shipped | None = field(default=None)
    trained: bool = True

    @property
    def query(self) -> dict[str, str]:
        """What every link keeps: the model and its weights, where they are not the standard."""
        return {"model": model_in_link(self.model), "weights": "" if self.trained else "untrained"}

    @property
    def target(self) -> str:
        """Where links to other pages open: a text of the reader's own would be gone with this page."""
        return "_self" if self.more else "_blank"


def rests_on(name: str, used: Model | None = None) -> str:
    """Where the heads of a model rest, in words; empty where no token is only there to be rested on. Without the model
    itself, of those whose numbers come with the program."""
    if used is not None:
        return "the first token" if used.is_causal else " or ".join(used.tokenizer.special_names)
    framed = name == EMBEDDED or "bert" in name.lower()
    return f"{SPECIALS.begin} or {SPECIALS.separator}" if framed else "the first token"


def source(request: Request) -> Source | None:
    """What there is to show: the reader's own text first."""
    own: tuple[tuple[str, bool], Atlas] | None = st.session_state.get(OWN)
    if own is not None and own[0] == (request.model, request.trained):
        rests = rests_on(request.model, cache.at_hand(request.model, request.trained))
        return Source(own[1], "your text", request.model, rests, trained=request.trained)
    there = cache.shipped_atlas(request.model, request.trained)
    if there is None:
        return None
    return Source(there.atlas, "the project's own reader", request.model, rests_on(request.model), there)
