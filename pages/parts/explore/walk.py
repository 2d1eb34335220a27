"""A circuit walked back: from a link to an earlier head that made it, and on from there, as the address says it.

In: the parameter `why`, such as "19-7.19.5,17-1.5.4" or "4-2.10.2,mlp3.query": links, a head from 1 with its query and
key as units from 0, and MLPs that are asked about the link before them. Out: checked steps, or the sentence that says
why there are none. No Streamlit here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mha_core import AttentionRecord, Grid, InputError
from mha_core.causal.mlp_sources import Side
from mha_core.display_names import Head, head_name, size_in_words
from pages.parts.frame.page_text import quoted
from pages.parts.frame.selection import Selection, parse_head

MAX_STEPS = 5
LINK = re.compile(r"([0-9]{1,4}-[0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})")
MLP = re.compile(r"mlp([1-9][0-9]{0,2})\.(query|key)")


@dataclass(frozen=True)
class Step:
    """A link that is asked about, (layer, head) and units from 0; with `mlp`, a layer from 1, which heads this MLP
    needed for its part on one `side` of that link's score."""

    head: Head
    query: int
    key: int
    mlp: int | None = None
    side: Side = "key"

    @property
    def name(self) -> str:
        """The name in the way back: "19-7", "MLP 3"."""
        return head_name(self.head) if self.mlp is None else f"MLP {self.mlp}"

    @property
    def in_address(self) -> str:
        """The form that `steps_of` reads."""
        link = f"{head_name(self.head)}.{self.query}.{self.key}"
        return link if self.mlp is None else f"mlp{self.mlp}.{self.side}"

    @property
    def link(self) -> dict[str, str]:
        """The parameters that choose its link in the picture."""
        return {"head": head_name(self.head), "pin": str(self.query), "to": str(self.key)}

    def is_of(self, chosen: Selection) -> bool:
        """Return whether its link is the chosen one."""
        return (chosen.head, chosen.pins, chosen.to) == (self.head, (self.query,), self.key)


def params_of(steps: Sequence[Step]) -> dict[str, str]:
    """Return the parameters of an address that opens there."""
    return {**steps[-1].link, "why": ",".join(step.in_address for step in steps), "without": ""}


def steps_of(value: str, grid: Grid) -> tuple[Step, ...]:
    """Return the steps of an address. Raises InputError for one that leads nowhere."""
    steps = list[Step]()
    parts = value.split(",")
    if len(parts) > MAX_STEPS:
        raise InputError(f"The link asks “Why?” {len(parts)} steps back; {MAX_STEPS} are the most.")
    for part in parts:
        steps.append(_step(part, steps[-1] if steps else None, grid))
    return tuple(steps)


def _step(part: str, before: Step | None, grid: Grid) -> Step:
    layers, heads = grid.weights.shape[:2]
    if before and before.mlp is None and (match := MLP.fullmatch(part)):
        mlp, side = int(match[1]), match[2]
        if mlp > before.head[0]:
            raise InputError(f"MLP {mlp} in the link does not write before head {before.name} reads.")
        return replace(before, mlp=mlp, side="key" if side == "key" else "query")
    match = LINK.fullmatch(part)
    head = parse_head(match[1]) if match else None
    if not match or not head:
        raise InputError(f"The link asks “Why?” of {quoted(part)}, which is no link of a head.")
    query, key, n = int(match[2]), int(match[3]), len(grid)
    if head[0] >= layers or head[1] >= heads:
        raise InputError(
            f"The link asks why head {head_name(head)} looks there; there are {size_in_words(layers, heads)}."
        )
    if max(query, key) >= n:
        raise InputError(
            f"The link asks about word {max(query, key)}; this sentence has positions 0 to {n - 1}."
        )
    if grid.visible is not None and not grid.visible[head[0], query, key]:
        names = [grid.units[unit].bare for unit in (query, key)]
        raise InputError(
            f"Head {head_name(head)} cannot look from `{names[0]}` to `{names[1]}`, which comes later."
        )
    if before and head[0] >= (before.mlp or before.head[0]):
        raise InputError(f"Head {head_name(head)} in the link does not write before {before.name} reads.")
    return Step(head, query, key)


def tokens_of(step: Step, record: AttentionRecord, grid: Grid) -> tuple[int, int]:
    """Return the link's tokens: of words of several tokens the pair with the largest weight."""
    queries, keys = (grid.units[unit].pieces for unit in (step.query, step.key))
    weights = np.array(record.weights[step.head][np.ix_(queries, keys)])
    if record.visible is not None:
        weights[~record.visible[step.head[0]][np.ix_(queries, keys)]] = -1
    query, key = divmod(int(weights.argmax()), len(keys))
    return queries[query], keys[key]


def unit_of(token: int, grid: Grid) -> int | None:
    """Return the unit of a token; None where it is hidden."""
    return next((i for i, unit in enumerate(grid.units) if token in unit.pieces), None)
