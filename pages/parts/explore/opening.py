"""What a sentence of one's own opens with: without a word to follow, the strongest link between two words of the head.

In: a grid and what is chosen in it. Out: that link, and the sentence that says why it was chosen.
"""

from typing import Any

from mha_core import AttentionRecord, Grid
from mha_core.display_names import Head, place_name
from mha_core.draw.text import listed
from mha_core.record.compare import most_changed
from mha_core.record.links import strongest_link
from pages.parts.frame import presets
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection


def changed(a: Grid, b: Grid, head: Head) -> tuple[int, None] | None:
    """The word of the link that changes most in a head between two runs, all of whose links are then shown."""
    link = most_changed(a, b, head)
    return None if link is None else (link[0], None)


def reason(request: Request, record: AttentionRecord, grid: Grid, chosen: Selection) -> dict[str, Any] | None:
    """Why this is chosen, for as long as it is; None where the reader or a known sentence says what to follow."""
    if presets.opening_word(request.text, request.pair or "", grid.labels) is not None:
        return None
    if len(chosen.pins) != 1 or (chosen.pins[0], chosen.to) != strongest_link(grid, chosen.head):
        return None
    left_out = list(record.tokens.special_names) if request.specials == "shown" else []
    if grid.is_causal and not grid.units[0].special:
        left_out.append("the first token")
    if any(not unit.special and not any(map(str.isalnum, unit.label)) for unit in grid.units):
        left_out.append("punctuation")
    but = f", ignoring {listed(left_out)}" if left_out else ""
    return {
        "said": f"Strongest link between two different words in {place_name(chosen.head, request.per)}{but}.",
        "of": chosen.as_json(),
    }
