"""What is lost without a head of a decoder: the numbers that come with the program.

In: the atlas on the page and one head. Out: a part of the head's page.
"""

import html
from collections.abc import Mapping

from mha_core.heads.atlas.losses import HeadLoss
from mha_core.heads.atlas.table import HeadEntry, Line
from mha_core.wording import counted, percent
from pages.parts.atlas.lines import word
from pages.parts.atlas.source import Source
from pages.parts.frame.prose import heading, markup, say, visible

BEFORE = 50  # characters of the passage that stand before the token


def lost(found: Source, entry: HeadEntry) -> None:
    """What is known of this head; nothing for a model that predicts no next token."""
    known = found.more.losses.get(entry.head)
    if known is None:
        return
    heading("What is lost without it", 3)
    _costs(known)
    _table(known, found.atlas.passages)


def _costs(loss: HeadLoss) -> None:
    most = "The tokens that lose most:" if loss.tokens else "No token becomes less likely."
    say(
        f"Taken away alone, it costs {loss.nats:+.4f} nats per token over {counted(loss.n, 'token')} of seven passages "
        "of the reader, each of another register. Other heads may do its work then, so little lost is not little done. "
        f"{most}"
    )


def _table(loss: HeadLoss, passages: Mapping[int, Line]) -> None:
    if not loss.tokens:
        return
    rows = []
    for one in loss.tokens:
        passage = passages.get(one.passage)
        if passage is None:
            continue
        start = passage.starts[one.position]
        before = passage.text[max(0, start - BEFORE) : start]
        rows.append(
            f"<tr><td>…{html.escape(visible(before))}<b>{html.escape(word(passage, one.position))}</b></td>"
            f"<td>{percent(one.before)}</td><td>{percent(one.after)}</td></tr>"
        )
    markup(
        '<div class="hs-scroll"><table class="measures"><thead><tr><th scope="col">Next token</th>'
        '<th scope="col">With it</th><th scope="col">Without it</th></tr></thead><tbody>'
        f"{''.join(rows)}</tbody></table></div>"
    )
