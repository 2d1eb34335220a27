"""What is lost without a head: the numbers that come with the program, and over every passage on request.

In: the atlas on the page and one head of a decoder. Out: a part of the head's page. The work says how far it is and
can be stopped; the numbers and places that it finds are all it keeps.
"""

import hashlib
import html
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from mha_core.experiments import Part
from mha_core.heads.atlas.losses import HeadLoss, loss_of
from mha_core.heads.atlas.reading import passage_tokens
from mha_core.heads.atlas.table import HeadEntry, Line, line_of
from mha_core.models import Model
from mha_core.reader import REGISTERS, read_reader
from mha_core.tokens import Tokens
from mha_core.wording import Head, counted, head_name, percent
from pages.parts.atlas.lines import word
from pages.parts.atlas.source import Source
from pages.parts.frame.prose import heading, markup, say, visible
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve.progress import work

BEFORE = 50  # characters of the passage that stand before the token
Asked = tuple[HeadLoss, Mapping[int, Line]]


def lost(found: Source, entry: HeadEntry, request: Request) -> None:
    """What is known, and the button that finds more; nothing for a model that predicts no next token."""
    if not _predicts(found, request):
        return
    heading("What is lost without it", 3)
    known = found.more.losses.get(entry.head) if found.more else None
    if known is not None:
        _costs(known, "of seven passages of the reader, each of another register")
        _table(known, found.atlas.passages)
    name = head_name(entry.head)
    where = "the whole reader" if found.more else "these passages of your text"
    work(
        ("lost", found.model, str(request.trained), _key(found), name),
        lambda: _sweep(found, entry.head, request),
        lambda asked: _drawn(asked, "of the reader" if found.more else "of your text"),
        unit="passages",
        one="passage",
        button=f"Take {name} away over {where}",
    )


def _predicts(found: Source, request: Request) -> bool:
    """Whether there is a next token to lose; asked of the shipped numbers where the model need not be loaded."""
    if found.more is not None:
        return bool(found.more.losses)
    used = cache.at_hand(request.model, request.trained)
    return used is not None and used.next_head is not None


def _key(found: Source) -> str:
    """Which passages these are."""
    if found.more is not None:
        return "reader"
    texts = "\n".join(line.text for line in found.atlas.passages.values())
    return hashlib.sha256(texts.encode()).hexdigest()


def _sweep(found: Source, head: Head, request: Request) -> Iterator[Part[Asked]]:
    used = cache.model(request)
    passages = _reader(used) if found.more else _shown(found, used)
    lines = {number: line_of(tokens) for number, tokens in passages}
    for done, loss in loss_of(head, passages, used):
        yield Part(done / len(passages), done, (loss, lines))


def _reader(used: Model) -> list[tuple[int, Tokens]]:
    """All passages of the reader, one of each register after the other: what is stopped early is of all of them."""
    numbered = list(enumerate(read_reader()))
    registers = [[(n, one.text) for n, one in numbered if one.register == name] for name in REGISTERS]
    mixed = [pair for row in zip_longest(*registers) for pair in row if pair is not None]
    return [(n, tokens) for n, text in mixed if (tokens := passage_tokens(text, used)) is not None]


def _shown(found: Source, used: Model) -> list[tuple[int, Tokens]]:
    """The passages of the reader's own text that moments are of."""
    return [(n, used.tokenizer.encode(line.text)) for n, line in found.atlas.passages.items()]


def _drawn(asked: Asked | None, of: str) -> None:
    if asked is not None:
        loss, lines = asked
        _costs(loss, of)
        _table(loss, lines)


def _costs(loss: HeadLoss, of: str) -> None:
    most = "The tokens that lose most:" if loss.tokens else "No token becomes less likely."
    say(
        f"Taken away alone, it costs {loss.nats:+.4f} nats per token over {counted(loss.n, 'token')} {of}. Other heads "
        f"may do its work then, so little lost is not little done. {most}"
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
