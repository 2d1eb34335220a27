"""Sentences to go and see: what a head really does in each of them, in the very numbers that Explore shows.

In: the cases of a job and a head. Out: `Seen`: the sentence, what the head looks at in it, and the link that opens
this view in Explore, in the same units. No Streamlit here.
"""

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mha_core import Grid
from mha_core.heads.job_table import ExampleRow, JobTable
from mha_core.heads.jobs import CHOICES, Job
from mha_core.wording import Head, head_name, percent
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import prose, visible

N_GOOD = 3
# Kinds that are asked of whole words; of the others every token is asked.
BY_WORDS = CHOICES | {"syntactic", "copy", "induction"}
# Kinds in which special tokens may be looked at, too.
ANYWHERE = frozenset(("positional", "separator", "sink", "broad"))
GridOf = Callable[[str, str], Grid]


@dataclass(frozen=True)
class Seen:
    """One case: who looks (`pin`) at whom (`to`), as positions in Explore's picture, and the weight there.

    `said` is what the head does, in words; `target` is where it should have looked, and `there` the weight on it.
    """

    look: ExampleRow
    right: bool
    unit: str
    pin: int
    to: int
    weight: float
    target: int
    there: float
    said: str

    def params(self, head: Head) -> dict[str, str]:
        """The parameters of the link into Explore."""
        return {
            "text": self.look.sample.sentence.text,
            "unit": self.unit if self.unit == "words" else "",
            "head": head_name(head),
            "pin": str(self.pin),
            "to": str(self.to),
        }


def seen(look: ExampleRow, job: Job, head: Head, grid_of: GridOf) -> Seen:
    """What the head does in one case. `grid_of(text, unit)` is the picture that Explore draws of it."""
    unit = "words" if job.kind in BY_WORDS else "pieces"
    grid = grid_of(look.sample.sentence.text, unit)
    weights = grid.weights[head]
    query, targets = _units(grid, look.query), _units(grid, look.target)
    if job.direction == "column":
        return _by_column(look, job, unit, grid, weights, (query, targets))
    pin = query[0]
    line = weights[pin]
    others = _candidates(look, job, grid, pin)
    target = _strongest(line, targets or others)
    best = target if look.right else _strongest(line, [u for u in others if u not in targets] or targets)
    said = f"`{grid.labels[pin]}` looks at `{grid.labels[best]}` {percent(float(line[best]))}"
    if not look.right:
        said += f" instead; `{grid.labels[target]}` gets {percent(float(line[target]))}"
    elif job.kind in CHOICES:
        rival = _strongest(line, [u for u in others if u not in targets])
        said += f"; `{grid.labels[rival]}` gets {percent(float(line[rival]))}"
    return Seen(look, look.right, unit, pin, best, float(line[best]), target, float(line[target]), said)


def _by_column(
    look: ExampleRow, job: Job, unit: str, grid: Grid, weights: np.ndarray, ends: tuple[list[int], list[int]]
) -> Seen:
    """The reading of a column: of all words that could, which one looks most at the target?"""
    looker, target = ends[0], ends[1][0]
    column = weights[:, target]
    others = [u for u in _candidates(look, job, grid, target) if u not in looker]
    own = _strongest(column, looker)
    best = own if look.right else _strongest(column, others or looker)
    said = f"`{grid.labels[best]}` looks at `{grid.labels[target]}` {percent(float(column[best]))}"
    if not look.right:
        said += f", more than `{grid.labels[own]}` does: {percent(float(column[own]))}"
    elif job.kind in CHOICES:
        rival = _strongest(column, others)
        said += f", `{grid.labels[rival]}` {percent(float(column[rival]))}"
    return Seen(look, look.right, unit, best, target, float(column[best]), target, float(column[own]), said)


def _units(grid: Grid, pieces: Sequence[int]) -> list[int]:
    """The units of a picture that hold these pieces, in order."""
    wanted = set(pieces)
    return [i for i, unit in enumerate(grid.units) if wanted.intersection(unit.pieces)]


def _candidates(look: ExampleRow, job: Job, grid: Grid, one: int) -> list[int]:
    """Where the head could have looked from `one`: the two candidates, or every place that its measure allows."""
    choice = look.sample.choice
    if job.kind in CHOICES and choice is not None:
        return [u for mention in choice.candidates for u in _units(grid, [int(p) for p in mention])]
    places = range(len(grid)) if job.kind in ANYWHERE else [i for i in range(len(grid)) if i != one]
    found = [i for i in places if job.kind in ANYWHERE or not grid.units[i].special]
    if job.kind == "copy":
        found = [i for i in found if i < one]
    if grid.visible is not None:
        found = [i for i in found if grid.visible[:, one, i].any()]
    return found


def _strongest(line: np.ndarray, units: Sequence[int]) -> int:
    return max(units, key=lambda unit: float(line[unit]))


def shown(table: JobTable, head: Head, query: Mapping[str, str], grid_of: GridOf) -> str:
    """Three sentences in which the head does the job and one in which it looks elsewhere, as links into Explore."""
    good, bad = table.examples(*head, N_GOOD), table.examples(*head, 1, right=False)
    items = [_item(look, table.job, head, query, grid_of) for look in (*good, *bad)]
    if len(good) < N_GOOD:
        items.insert(len(good), f"<li><small>{_no_more(len(good), table.job.repeated)}</small></li>")
    return f'<ul class="examples">{"".join(items)}</ul>'


def _no_more(n: int, repeated: bool) -> str:
    where = "text" if repeated else "sentence"
    if n == 0:
        return f"In no {where} does this head look there."
    return f"No other {where} works."


def _item(look: ExampleRow, job: Job, head: Head, query: Mapping[str, str], grid_of: GridOf) -> str:
    mark = "works" if look.right else "elsewhere"
    if look.sample.said_twice:
        share = f"{percent(look.share)} of the mass there"
        return f'<li class="{mark}">{marked(look)} <small>{share}</small></li>'
    found = seen(look, job, head, grid_of)
    link = html.escape(link_to("Explore", found.params(head) | dict(query)))
    return (
        f'<li class="{mark}"><a href="{link}" target="_self">{marked(look)}</a> '
        f"<small>{prose(found.said)}</small></li>"
    )


def marked(look: ExampleRow) -> str:
    """The sentence with the word that looks underlined and what it should look at set off; escaped."""
    if look.sample.said_twice:
        return _two_places(look)
    text = look.sample.sentence.text
    out, at = [], 0
    for start, end, tag in _spans(look):
        if start >= at:
            inner = html.escape(visible(text[start:end]))
            out += [html.escape(visible(text[at:start])), f"<{tag}>{inner}</{tag}>"]
            at = end
    return "".join(out) + html.escape(visible(text[at:]))


def _spans(look: ExampleRow) -> Iterator[tuple[int, int, str]]:
    pieces = look.sample.tokens.pieces
    yield from sorted(
        (pieces[i].start, pieces[i].end, tag)
        for tag, group in (("u", look.query), ("b", look.target))
        for i in group
        if not pieces[i].special and pieces[i].end > pieces[i].start
    )


def _two_places(look: ExampleRow) -> str:
    """Of random tokens, which are no sentence: those around the target, and those up to the one that looks."""
    pieces = look.sample.tokens.pieces
    (query,), (target,) = look.query, look.target

    def token_at(place: int) -> str:
        token = html.escape(visible(pieces[place].bare))
        return {target: f"<b>{token}</b>", query: f"<u>{token}</u>"}.get(place, token)

    around = [range(max(target - 2, 0), target + 2), range(query - 1, query + 1)]
    return f"… {' … '.join(' · '.join(map(token_at, places)) for places in around)}"
