"""From two words chosen in Explore to the Atlas: which heads link them, and what these do over ordinary text."""

import html

from mha_core import AttentionRecord, Grid
from mha_core.picture.text import in_a_list
from pages.parts.frame.links import link_to, model_in_link
from pages.parts.frame.prose import markup
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection

LONGEST = 400  # characters that the Atlas takes as an example


def elsewhere(request: Request, record: AttentionRecord, grid: Grid, chosen: Selection) -> None:
    """One line with the link, where one word looks at one other in a single sentence; else nothing."""
    if len(chosen.pins) != 1 or chosen.to is None or request.pair or len(request.text) > LONGEST:
        return
    query, key = (grid.units[unit] for unit in (chosen.pins[0], chosen.to))
    if query.special or key.special:
        return
    asked = {
        "model": model_in_link(request.model),
        "weights": "" if request.trained else "untrained",
        "ask": request.text,
        "looks": in_a_list(record.tokens, query.pieces[-1]),
        "seen": in_a_list(record.tokens, key.pieces[-1]),
    }
    markup(
        f'<p class="hs-note"><a href="{html.escape(link_to("Atlas", asked))}" target="_self">Ask the Atlas</a> what '
        "the heads that link these two words do over ordinary text.</p>"
    )
