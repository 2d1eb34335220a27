"""Does it hold? One link of one sentence beside hundreds of real sentences with a link of the same kind.

In: what is chosen in the picture. Out: one sentence and one small picture: where this head stands among all heads, its
strongest simple rule, its control and its untrained twin. Only for models with figures from real text.
"""

import html
from functools import lru_cache
from typing import Any

import numpy as np

from mha_core import AttentionRecord, Grid
from mha_core.heads.link_kind import link_kind
from mha_core.heads.verdicts.entries import Entry
from mha_core.heads.verdicts.table import Verdicts
from mha_core.wording import Head, head_name, percent
from pages.parts.frame import head_facts
from pages.parts.frame.links import link_to, model_in_link
from pages.parts.frame.prose import heading, markup, prose, together
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.picture import evidence

HOLDS = {
    "specialist": "It holds, beyond every simple rule and its control",
    "rule": "It holds, but a simple rule does as well",
    "unsure": "Not sure",
    "none": "It does not hold beyond what a simple rule finds",
}


def beside(request: Request, record: AttentionRecord, grid: Grid, chosen: Selection) -> None:
    """The sentence and the picture for the chosen link; nothing where its kind was never asked of real text."""
    found = None if request.mixed or not request.raw else head_facts.evidence(request.model, request.trained)
    link = chosen_link(grid, chosen) if found else None
    if found is None or link is None:
        return
    entry = asked(found, record, grid, link)
    if entry is None:
        return
    sentence = prose(said(found, entry, grid, link, chosen.head))
    with together():
        heading("Does it hold?")
        markup(f'<p class="hs-why">{sentence} {_more(request, entry, chosen.head)}</p>')
    other = head_facts.evidence(request.model, not request.trained)
    strip = _strip(found, other, entry.key, chosen.head)
    evidence.draw(strip, "holds-strip")


@lru_cache(512)
def _strip(found: Verdicts, other: Verdicts | None, question: str, head: Head) -> dict[str, Any]:
    """The picture's data, the same for every sentence; `other`: of the model with other weights."""
    entry = found.entry(question)
    twin = other.by_key.get(question) if other else None
    what = f"{entry.title}, {entry.n:,} cases"
    return evidence.strip_data(
        head, entry.heads, twin.heads if twin else None, _marks(entry, head), what, found.trained
    )


def chosen_link(grid: Grid, chosen: Selection) -> tuple[int, int] | None:
    """From where to where: the target that was chosen, or the strongest other word of the row; None without a word."""
    if not chosen.pins:
        return None
    query = chosen.pins[0]
    if chosen.to is not None:
        return query, chosen.to
    line = np.array(grid.weights[chosen.head][query], dtype=float)
    line[[i for i, unit in enumerate(grid.units) if unit.special or i == query]] = -1.0
    return (query, int(line.argmax())) if line.max() > 0 else None


def asked(found: Verdicts, record: AttentionRecord, grid: Grid, link: tuple[int, int]) -> Entry | None:
    """The entry of the evidence that asks for links of this kind."""
    piece = record.tokens.pieces[grid.units[link[1]].pieces[0]]
    key = link_kind(grid.units, *link, found.by_key, str(piece.role))
    return None if key is None else found.entry(key)


def said(found: Verdicts, entry: Entry, grid: Grid, link: tuple[int, int], head: Head) -> str:
    """One sentence: the kind of link, how often this head does it, and what it is held against."""
    score, rank = float(entry.heads[head]), entry.rank(head)
    looks, seen = (grid.units[i].bare for i in link)
    control = "" if entry.controls is None else f"; control {percent(float(entry.controls[head]))}"
    word = HOLDS[str(entry.words[head])]
    return (
        f"`{looks}` → `{seen}` is a case of “{entry.title}”. {word}: in {entry.n:,} cases of "
        f"{found.corpora[entry.corpus].title} head {head_name(head)} scores {percent(score)}, rank {rank} of "
        f"{entry.heads.size}; the strongest simple rule, {entry.baseline_name}, {percent(entry.baseline)}{control}."
    )


def _marks(entry: Entry, head: Head) -> list[tuple[str, float]]:
    marks = [("simple rule", entry.baseline)]
    if entry.controls is not None and np.isfinite(entry.controls[head]):
        marks.append(("control", float(entry.controls[head])))
    return marks


def _more(request: Request, entry: Entry, head: Head) -> str:
    params = {
        "model": model_in_link(request.model),
        "weights": "" if request.trained else "untrained",
        "head": head_name(head),
        "by": f"real:{entry.key}",
    }
    return f'<a href="{html.escape(link_to("Roles", params))}" target="_self">All heads in this job</a>'
