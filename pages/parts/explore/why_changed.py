"""Why a link changed between two sentences: its score in A and in B, split among all that was written before.

In: a `Comparison`. Out: the box that says which part changed most and draws the first few side by side; or what is
missing.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, score_attribution
from mha_core.display_names import Head, head_name, percent, signed, visible
from mha_core.draw.figures import charts
from mha_core.draw.text import indexed
from mha_core.record.grid import units_of
from pages.parts.explore.comparison import Comparison
from pages.parts.explore.tables import box
from pages.parts.explore.walk import Step, tokens_of
from pages.parts.frame import loading, shell
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve.jobs import MODEL

SHOWN = 8  # parts that are drawn
NOTHING = 1e-3  # of a score
SCORE = st.column_config.NumberColumn(format="%+.2f")
Link = tuple[int, int]  # a query and a key


def of_both(runs: Comparison) -> None:
    """Draw the box "Why did it change?" of the chosen head and its two words."""
    opened = box("Why did it change?", "why-changed")
    if opened is None:
        return
    with opened:
        missing = _missing(runs)
        if missing:
            say(missing, "look")
        elif shell.or_show_error(loading.inside, runs.sides[0]):
            changes = shell.or_show_error(_changes, runs, _links(runs))
            if changes is not None:
                _draw(runs, changes)


def _missing(runs: Comparison) -> str:
    """Say what is not chosen or cannot be asked; empty where the two links can be compared."""
    a, b = (side.run for side in runs.sides)
    chosen, partner = runs.selection, dict(runs.both)
    if (a.model, a.trained, a.part) != (b.model, b.trained, b.part):
        return "Compare two sentences in one model to see why a link changed."
    if not all(side.raw for side in runs.sides):
        return "Choose raw attention to see why a link changed."
    if not chosen.pins:
        return "Click a word of sentence A, then a second one."
    for unit in (chosen.pins[0], chosen.to):
        if unit is not None and unit not in partner:
            return f"`{visible(runs.grids[0].labels[unit])}` appears only in A. Choose a word that both have."
    return ""


def _links(runs: Comparison) -> tuple[Link, Link]:
    """Return the chosen words as tokens of A and of B; without a second word the one whose weight changes most."""
    partner, chosen = dict(runs.both), runs.selection
    query = chosen.pins[0], partner[chosen.pins[0]]
    rows = [grid.weights[chosen.head][unit] for grid, unit in zip(runs.grids, query, strict=True)]
    words = [pair for pair in runs.both if not runs.grids[0].units[pair[0]].special] or runs.both
    key = (
        max(words, key=lambda pair: abs(rows[0][pair[0]] - rows[1][pair[1]]))
        if chosen.to is None
        else (chosen.to, partner[chosen.to])
    )
    a, b = (
        tokens_of(Step(chosen.head, query[i], key[i]), record, grid)
        for i, (record, grid) in enumerate(zip(runs.records, runs.grids, strict=True))
    )
    return a, b


def _changes(runs: Comparison, links: Sequence[Link]) -> pd.DataFrame:
    """Return a row a part with its score in A and in B, the largest change first; `attrs`: the words and weights.

    Raises InputError where the query cannot see the key.
    """
    a, b = (_parts(*each, runs.selection.head) for each in zip(runs.sides, runs.records, links, strict=True))
    words = _words(runs.records, links)
    changes = a.merge(b, on=["side", "part", "layer", "head"], suffixes=("_a", "_b"))
    changes["part"] = [_name(row) for row in changes.to_dict("records")]
    changes = changes.assign(at=changes["side"].map(words), change=changes["score_b"] - changes["score_a"])
    changes = changes.rename(columns={"score_a": "A", "score_b": "B"})[["part", "at", "A", "B", "change"]]
    changes = changes.sort_values("change", key=abs, ascending=False, kind="stable", ignore_index=True)
    changes.attrs = {"words": words, "weights": (a.attrs["weight"], b.attrs["weight"])}
    return changes


def _parts(side: Request, record: AttentionRecord, link: Link, head: Head) -> pd.DataFrame:
    """Return the parts of one link's score, cached for all users."""
    model, (query, key) = loading.model(side), link

    def compute() -> pd.DataFrame:
        with MODEL:
            return score_attribution(record.tokens, model, head=head_name(head), query=query, key=key)

    return cache.of_run(side.run, model, ("why", head, link), compute)


def _words(records: Sequence[AttentionRecord], links: Sequence[Link]) -> dict[str, str]:
    """Return the tokens of the link, "it" or "it / she", as query and as key."""
    spelt = [indexed([visible(unit.bare) for unit in units_of(record.tokens)]) for record in records]
    tokens = zip(
        *([names[token] for token in link] for names, link in zip(spelt, links, strict=True)), strict=True
    )
    query, key = (a if a == b else f"{a} / {b}" for a, b in tokens)
    return (
        {"query": query, "key": key} if query != key else {"query": f"{query}, query", "key": f"{key}, key"}
    )


def _name(row: Mapping[Hashable, Any]) -> str:
    """Return the name of a part: "MLP 3", "head 3-2", "embedding"; a bias of the head itself is of its W_q or W_k."""
    part: str = row["part"]
    if part == "bias":
        return part if pd.isna(row["layer"]) else f"bias of W_{row['side'][0]}"
    return {"mlp": f"MLP {row['layer']}", "head": f"head {row['layer']}-{row['head']}"}.get(part, part)


def finding(changes: pd.DataFrame) -> str:
    """Return how far the weight moved, and the part that changed most."""
    first, (before, after) = changes.iloc[0], changes.attrs["weights"]
    weight = f"The weight {_moves(before, after, percent)}."
    if abs(first["change"]) < NOTHING:
        return f"{weight} None of its parts changes."
    part = f"{first['part'][:1].upper()}{first['part'][1:]} at `{first['at']}`"
    return f"{weight} {part} changes most: its part of the score {_moves(first['A'], first['B'], signed)}."


def _moves(before: float, after: float, write: Callable[[float], str]) -> str:
    if write(before) == write(after):
        return f"stays at {write(before)}"
    return f"{'rises' if after > before else 'falls'} from {write(before)} to {write(after)}"


def _draw(runs: Comparison, changes: pd.DataFrame) -> None:
    """Draw the finding, and the parts that change most as pairs of bars."""
    say(finding(changes), "finding")
    query, key = changes.attrs["words"].values()
    figure = charts.bars(
        changes.head(SHOWN).round(2).assign(label=changes["part"] + " at " + changes["at"]),
        "label",
        ["A", "B"],
        title=f"{runs.place.capitalize()}, {query} → {key}: parts of the score",
        x_title="score above the mean over keys",
        dark=is_dark(),
    )
    chart(figure, changes, key="why-changed-bars", columns=dict.fromkeys(("A", "B", "change"), SCORE))
