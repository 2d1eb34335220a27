"""What a head depends on: the earlier heads without which it does its job worse, from the numbers that are shipped.

In: a model and a head. Out: sentences on its card; nothing for heads that were not tried. No Streamlit here.
"""

from collections.abc import Sequence

from mha_core.heads.depends.shipped import Shipped, of_head
from mha_core.heads.depends.table import Upstream
from mha_core.wording import Head, head_name

MOST = 3


def lines(digest: str | None, head: Head) -> list[str]:
    """What was measured of one head of the model with this digest, a paragraph each."""
    return [said(one) for one in of_head(digest, head)] if digest else []


def said(one: Shipped) -> str:
    """One question: its score, and what it loses without each of the earlier heads that it needs most."""
    found = one.found
    score = f"{100 * found.score:.1f} % of {found.n:,} cases, {one.source.corpus}"
    needed = [upstream for upstream in found.strongest(k=MOST) if upstream.beyond_luck and upstream.fall > 0]
    return f"Right when {one.job}: {score}. {_lost(needed, found.strongest(k=1), found.fall[0].size)}"


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
