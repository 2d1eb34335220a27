"""A row of links that stand as words: the example sentences and the minimal pairs."""

import html
import json
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlencode

from pages.parts.frame.page_text import markup
from pages.parts.frame.pages import CARRIED

# A text of its own opens at its own head and word.
KEPT = " ".join(
    key for key in (*CARRIED, "present", "try", "map") if key not in ("pair", "text2", "head", "pin", "to")
)


def row(label: str, offered: Mapping[str, Mapping[str, str]], in_view: int | None = None) -> None:
    """Draw the names as links to this page with these parameters; each text is a tooltip.

    `in_view`: how many stand in the row; the others stand behind one "More".
    """
    markup(_links(label, json.dumps(offered), in_view), inline=True)


@lru_cache(64)
def _links(label: str, offered: str, in_view: int | None) -> str:
    links = [_link(name, to) for name, to in json.loads(offered).items()]
    shown, more = " ".join(links[:in_view]), "" if in_view is None else " ".join(links[in_view:])
    if more:
        shown += f' <details class="hs-more"><summary>More</summary><div>{more}</div></details>'
    return f'<nav class="hs-examples" aria-label="{label}"><span>{label}:</span> {shown}</nav>'


def _link(name: str, to: Mapping[str, str]) -> str:
    text = " / ".join(filter(None, map(to.get, ("text", "pair", "text2"))))
    address = html.escape(urlencode(to))
    return f'<a href="?{address}" data-carries="{KEPT}" title="{html.escape(text)}">{html.escape(name)}</a>'
