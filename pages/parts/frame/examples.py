"""A row of links that stand as words: the example sentences and the minimal pairs."""

import html
import json
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlencode

from pages.parts.frame.page_text import markup
from pages.parts.frame.pages import CARRIED

# A text of its own opens at its own word.
KEPT = " ".join(
    key for key in (*CARRIED, "present", "try", "map") if key not in ("pair", "text2", "pin", "to")
)


def row(label: str, offered: Mapping[str, Mapping[str, str]]) -> None:
    """Draw the names; each leads to this page with these parameters and what else is chosen; its text is a tooltip."""
    markup(_links(label, json.dumps(offered)), inline=True)


@lru_cache(64)
def _links(label: str, offered: str) -> str:
    links = ""
    for name, to in json.loads(offered).items():
        text = " / ".join(filter(None, map(to.get, ("text", "pair", "text2"))))
        address = html.escape(urlencode(to))
        links += (
            f'<a href="?{address}" data-carries="{KEPT}" title="{html.escape(text)}">{html.escape(name)}</a>'
        )
    return f'<nav class="hs-examples" aria-label="{label}"><span>{label}</span> {links}</nav>'
