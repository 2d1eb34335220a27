"""Two heads that do induction together: one link asked about twice.

In: nothing, the text and the link are the lesson's own. Out: two pictures, the numbers of both links, and a link to the
first in Explore; or the sentence that says why SmolLM2 is not available.
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
from pages.parts.learn.claim_views import links
from pages.parts.picture.tiles import show_text
from pages.parts.serve import cache
from pages.parts.serve.jobs import MODEL

TEXT = "Mr and Mrs Dursley lived at number four. The owner of the house, Mrs Durs"
INDUCTION: Head = (18, 6)
FROM, TO = "urs", "ley"


@dataclass(frozen=True)
class Circuit:
    """The link `query` to `key` (tokens from 0) of the later head, whose `score` gets `part` from the earlier head.

    The earlier head looks from `key` to `before`.
    """

    record: AttentionRecord
    query: int
    key: int
    earlier: Head
    before: int
    part: float
    score: float


def circuit(_scene: WalkState) -> None:
    """Draw both links, each with the answer to why the later head looks there."""
    result = or_show_error(read_circuit)
    if result is None:
        return
    record, query, key = result.record, result.query, result.key
    later, earlier = INDUCTION, result.earlier
    units = piece_units(record.tokens)
    last, target, before = (units[i].bare for i in (query, key, result.before))
    role = role_of(head_facts.table(DECODER), earlier)
    weight = record.weights[later][query][key]
    _picture(
        record,
        later,
        query,
        f"Head {head_name(later)}: the last `{last}` looks at `{target}`, **{weight:.1%}**.",
    )
    weight = record.weights[earlier][key][result.before]
    _picture(
        record,
        earlier,
        key,
        f"**Why?** The score of `{target}` is {result.score:.1f} above the mean. Head {head_name(earlier)} wrote "
        f"**{result.part:.1f}** of that into its key. **And why that?** At `{target}` head {head_name(earlier)} "
        f"looks at `{before}`, **{weight:.0%}**{f': a {role.name}' if role else ''}.",
    )
    chosen = {"head": head_name(later), "pin": str(query), "to": str(key)}
    links({"Ask why there": link_to("Explore", {"model": DECODER, "text": TEXT, **chosen})})


def read_circuit() -> Circuit:
    """Ask why the last `urs` looks at `ley`, and where the head looks that wrote most of it into that key.

    Raises HeadScopeError where SmolLM2 is not available.
    """
    request = Request(TEXT, model=DECODER)
    model, record = loading.model(request), cache.record(request)
    query, key = record.grid().find(FROM)[-1], record.grid().find(TO)[0]

    def ask_why() -> tuple[Head, float, float]:
        with MODEL:
            parts = score_attribution(TEXT, model, head=head_name(INDUCTION), query=query, key=key)
        first = parts[(parts["side"] == "key") & (parts["part"] == "head")].iloc[0]
        head = int(first["layer"]) - 1, int(first["head"]) - 1
        return head, float(first["score"]), float(parts.attrs["score"])

    head, part, score = cache.of_run(request.run, model, ("why", INDUCTION, query, key), ask_why)
    return Circuit(record, query, key, head, int(record.weights[head][key].argmax()), part, score)


def _picture(record: AttentionRecord, head: Head, query: int, text: str) -> None:
    """Draw one sentence, and a row of a head as arcs over the text."""
    grid, name = record.grid(), head_name(head)
    show_text(f"lesson-circuit-{name}", text)
    title = f"Head {name}, from {grid.units[query].bare}"
    arcs = figure(grid, "arcs", heads=[head], queries=[query], title=title, dark=is_dark())
    arcs.update_layout(paper_bgcolor=CLEAR)
    row = pd.DataFrame({"token": grid.labels, "weight": grid.weights[head][query]})
    with st.container(key=f"lesson-circuit-arcs-{name}"):
        chart(arcs, row, key=f"lesson-arcs-{name}")
