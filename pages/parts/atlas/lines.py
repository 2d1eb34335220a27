"""A moment as a line of text with two words marked, and its address in Explore. No Streamlit here.

In: a passage and two places in it. Out: five stretches of text for the browser, and links.
"""

import html
from collections.abc import Mapping
from typing import Any

from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.table import Line
from mha_core.wording import Head, head_name
from pages.parts.frame import state
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import visible

BEFORE, BETWEEN, AFTER = 60, 70, 40  # characters at most
BLANK = "␣"


def word(passage: Line, place: int) -> str:
    """A token in the reader's spelling; a bare space as a sign, an inserted token by its name."""
    start, end = passage.starts[place], passage.ends[place]
    text = passage.text[start:end]
    return visible(text) if text.strip() else (BLANK if end or place else passage.labels[place])


def marked(passage: Line, query: int, key: int) -> dict[str, Any]:
    """The line around two tokens, as assets/js/atlas.js takes it; what is of both, as a character in several tokens,
    stands in it once."""
    low, high = sorted((query, key))
    text, starts, ends = passage.text, passage.starts, passage.ends
    before = _end(text[: starts[low]], BEFORE)
    if low == high or starts[high] < ends[low]:
        line = [before, word(passage, low), "", "", _start(text[ends[high] :], AFTER)]
    else:
        between = _middle(text[ends[low] : starts[high]])
        line = [before, word(passage, low), between, word(passage, high), _start(text[ends[high] :], AFTER)]
    shown = [visible(part) for part in line]
    return {"line": shown, "first": "query" if query <= key else "key"}


def head_anchor(query: Mapping[str, str], head: Head, here: bool = True) -> str:
    """A link to another head; one of this page leaves all else as it is, and shows the head's card."""
    name = head_name(head)
    link = html.escape(link_to("Atlas", {**(state.params() if here else {}), **query, "head": name}))
    shows = ' data-shows=".st-key-atlas-card"' if here else ""
    return f'<a href="{link}"{shows}>{name}</a>'


def moment_data(
    passage: Line, one: Moment, query: Mapping[str, str], head: Head, note: str = ""
) -> dict[str, Any]:
    """A moment as the browser takes it: its line, its numbers, and where it opens; `query` is the link's model."""
    looks, seen = word(passage, one.query), word(passage, one.key)
    return {
        **marked(passage, one.query, one.key),
        "href": moment_link(passage, one, query, head),
        "label": f"Open in Explore: “{looks}” looks at “{seen}”, weight {one.weight:.2f}: {visible(passage.text)}",
        "numbers": f"{one.weight:.2f}, brings {one.brings:.1f}",
        "note": note,
    }


def moment_link(passage: Line, one: Moment, query: Mapping[str, str], head: Head) -> str:
    """Where Explore shows the passage with the head and the word chosen."""
    chosen = {"head": head_name(head), "pin": str(one.query), "to": str(one.key)}
    return link_to("Explore", {"text": passage.text, **query, **chosen})


def _end(text: str, most: int) -> str:
    return text if len(text) <= most else "… " + text[-most:].split(" ", 1)[-1]


def _start(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def _middle(text: str) -> str:
    return text if len(text) <= BETWEEN else f"{_start(text, BETWEEN // 2)} {_end(text, BETWEEN // 2)}"
