"""What a head depends on: the earlier heads without which it does its job worse, from the numbers that are shipped.

In: a model and a head. Out: sentences on its card; nothing for heads that were not tried. No Streamlit here.
"""

from collections.abc import Sequence

from mha_core.heads.depends.shipped import Shipped, of_head
from mha_core.heads.depends.table import Depends, Upstream, Way
from mha_core.wording import Head, head_name

MOST = 3


def lines(digest: str | None, head: Head) -> list[str]:
    """What was measured of one head of the model with this digest, a paragraph each."""
    return [said(one) for one in of_head(digest, head)] if digest else []


def said(one: Shipped) -> str:
    """One question: its score, and what it loses without each of the earlier heads that it needs most."""
    found = one.found
    score = f"{100 * found.score:.1f} % of {found.n:,} cases, {one.source.corpus}"
    lost = _lost(_needed(found, "zero"), found.strongest(k=1), found.fall[0].size)
    return f"Right when {one.job}: {score}. {lost}{_with_means(found)}"


def _needed(found: Depends, way: Way) -> list[Upstream]:
    """Those of the strongest that it loses by beyond luck."""
    return [upstream for upstream in found.strongest(way, MOST) if upstream.beyond_luck and upstream.fall > 0]


def _with_means(found: Depends) -> str:
    """The same with a head's mean output left in its place, for zero is no neutral value; empty if not measured."""
    if "mean" not in found.ways:
        return ""
    needed = _needed(found, "mean")
    if needed:
        parts = ", ".join(f"{head_name(one.head)} {100 * one.fall:.1f}" for one in needed)
        return (
            f" With the mean output left in its place, since nothing at all is unusual too: {parts} points."
        )
    most = found.strongest("mean", 1)[0]
    return (
        " With the mean output left in its place none costs more than luck explains either; the most, "
        f"{head_name(most.head)}, {100 * most.fall:.1f} points."
        if not _needed(found, "zero")
        else " With the mean output left in its place no head costs more than luck explains."
    )


def _lost(needed: Sequence[Upstream], most: Sequence[Upstream], tried: int) -> str:
    if needed:
        parts = "; ".join(map(_without, needed))
        first = parts[0].upper() + parts[1:]
        return f"{first}. Each of {tried} earlier heads was taken away alone, and luck is allowed for."
    return (
        f"Of {tried} earlier heads, taken away one at a time, none costs it more than luck explains; the most, "
        f"{_without(most[0])}."
    )


def _without(upstream: Upstream) -> str:
    low, high = 100 * upstream.low, 100 * upstream.high
    points = f"{100 * upstream.fall:.1f} points (95 % interval {low:.1f} to {high:.1f})"
    return f"without {head_name(upstream.head)} it loses {points}"
