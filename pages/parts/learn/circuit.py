"""Two heads that do induction together, found by asking twice why a head looks there.

In: nothing, the text and the link are the lesson's own. Out: two pictures, the numbers of both links, and a link to the
first in Explore; or the sentence that says why SmolLM2 is not there.
"""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, score_attribution
from mha_core.display_names import Head, head_name
from mha_core.draw.figures.attention import figure
from mha_core.draw.figures.style import CLEAR
from mha_core.heads.roles import role_of
from mha_core.models.model_list import DECODER
from mha_core.record.grid import piece_units
from pages.parts.frame import head_facts, loading
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.links import link_to
from pages.parts.frame.request import Request
from pages.parts.frame.shell import or_show_error
from pages.parts.inside.scene import WalkState
from pages.parts.learn.honest import links
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve import cache
from pages.parts.serve.jobs import MODEL

TEXT = "Mr and Mrs Dursley lived at number four. The owner of the house, Mrs Durs"
INDUCTION: Head = (18, 6)
FROM, TO = "urs", "ley"


@dataclass(frozen=True)
class Link:
    """One cell of one head: `query` and `key` are tokens from 0, `weight` what goes from one to the other."""

    head: Head
    query: int
    key: int
    weight: float


@dataclass(frozen=True)
class Circuit:
    """The link of the later head and of the earlier one, which wrote `part` of the `score` into the key."""

    record: AttentionRecord
    later: Link
    earlier: Link
    part: float
    score: float


def circuit(scene: WalkState) -> None:
    """Draw both links, each with the answer to why the later head looks there."""
    del scene
    found = or_show_error(two_heads)
    if found is None:
        return
    units = piece_units(found.record.tokens)
    query, key, before = (units[at].bare for at in (found.later.query, found.later.key, found.earlier.key))
    later, earlier = (head_name(link.head) for link in (found.later, found.earlier))
    role = role_of(head_facts.table(DECODER), found.earlier.head)
    is_a = f": a {role.name}" if role else ""
    _picture(
        found.record,
        found.later,
        f"Head {later}: the last `{query}` looks at `{key}`, **{found.later.weight:.1%}**.",
    )
    _picture(
        found.record,
        found.earlier,
        f"**Why?** The score of `{key}` is {found.score:.1f} above the mean. Head {earlier} wrote **{found.part:.1f}** "
        f"of that into its key. **And why that?** At `{key}` head {earlier} looks at `{before}`, "
        f"**{found.earlier.weight:.0%}**{is_a}.",
    )
    chosen = {"pin": str(found.later.query), "to": str(found.later.key)}
    links({"Ask why there": link_to("Explore", {"model": DECODER, "text": TEXT, "head": later, **chosen})})


def two_heads() -> Circuit:
    """Ask why the last `urs` looks at `ley`, and where the head looks that wrote most of it into that key.

    Raises HeadScopeError where SmolLM2 is not there.
    """
    request = Request(TEXT, model=DECODER)
    used, record = loading.model(request), cache.record(request)
    query, key = record.grid().find(FROM)[-1], record.grid().find(TO)[0]

    def asked() -> tuple[Head, float, float]:
        with MODEL:
            parts = score_attribution(TEXT, used, head=head_name(INDUCTION), query=query, key=key)
        first = parts[(parts["side"] == "key") & (parts["part"] == "head")].iloc[0]
        return (
            (int(first["layer"]) - 1, int(first["head"]) - 1),
            float(first["score"]),
            float(parts.attrs["score"]),
        )

    head, part, score = cache.of_run(request.run, used, ("why", INDUCTION, query, key), asked)
    return Circuit(record, _link(record, INDUCTION, query, key), _link(record, head, key), part, score)


def _link(record: AttentionRecord, head: Head, query: int, key: int | None = None) -> Link:
    """A link of a head, the strongest of the row where no key is named."""
    row = record.weights[head][query]
    at = int(row.argmax()) if key is None else key
    return Link(head, query, at, float(row[at]))


def _picture(record: AttentionRecord, link: Link, said: str) -> None:
    """One sentence, and the row of that head as arcs over the text."""
    grid, name = record.grid(), head_name(link.head)
    board = Board()
    board.add(paragraph(said))
    board.show(f"lesson-circuit-{name}")
    title = f"Head {name}, from {grid.units[link.query].bare}"
    drawn = figure(grid, "arcs", heads=[link.head], queries=[link.query], title=title, dark=is_dark())
    drawn.update_layout(paper_bgcolor=CLEAR)
    row = pd.DataFrame({"token": grid.labels, "weight": grid.weights[link.head][link.query]})
    with st.container(key=f"lesson-circuit-arcs-{name}"):
        chart(drawn, row, key=f"lesson-arcs-{name}")
