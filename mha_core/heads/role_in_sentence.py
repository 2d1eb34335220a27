"""What a head usually does, and whether it does so in the sentence at hand: one sentence of at most 20 words.

In: a record, a head, its role or description. A head by place, a sink, a diffuse head and one that copies can be
checked in any text. Whether a syntactic head found the right word cannot; then the sentence says where the chosen word
looks.
"""

from collections.abc import Callable

import numpy as np

from mha_core.heads.questions.places import SPECIAL, STEPS, is_mark
from mha_core.heads.roles import Role
from mha_core.heads.verdict import BROAD, HALF
from mha_core.heads.wordlists import is_content
from mha_core.heads.words import entropy
from mha_core.record import AttentionRecord
from mha_core.wording import Head, counted


def usually(
    record: AttentionRecord,
    head: Head,
    role: Role | None,
    looks: tuple[str, str] | None,
    step: int | None = None,
) -> str:
    """Say what a head (from 0) usually does and what it does here.

    `looks`: the chosen word and the word that it looks at most, as they are spelled; `step`: how many tokens further on
    that is, if its direction is to be said.
    """
    there = f"here {_looks(*looks, step)}" if looks else ""
    if role is None:
        return f"No clear role; {there}." if there else "No clear role."
    usual = f"Usually {role.does.removeprefix('often ')}"
    here = in_this_sentence(record, head, role) or there
    return f"{usual}; {here}." if here else f"{usual}."


def _looks(word: str, at: str, step: int | None) -> str:
    if step == 0:
        return f"`{word}` looks at itself"
    way = "" if step is None else "back " if step < 0 else "ahead "
    return f"`{word}` looks {way}at `{at}`"


def in_this_sentence(record: AttentionRecord, head: Head, role: Role) -> str:
    """Say how much a head does in a record of what its role is; empty where that needs gold, or there is no case."""
    ask = _ASKED.get(role.kind) if role.has else None
    return "" if ask is None else ask(record, head, role)


def _share(share: float, enough: float) -> str:
    return f"{'' if share >= enough else 'only '}{share:.0%}"


def _place(record: AttentionRecord, head: Head, role: Role) -> str:
    """The share of the text's own rows whose largest weight lies at the distance."""
    step, own = STEPS[role.question], _own(record)
    rows = np.flatnonzero(own)
    rows = rows[(rows + step >= 0) & (rows + step < len(own))]
    rows = rows[own[rows + step]]
    if record.model.is_causal:
        rows = rows[rows > 0]
    if not len(rows):
        return ""
    share = float((record.weights[head][rows].argmax(-1) == rows + step).mean())
    return f"here for {_share(share, HALF)} of the tokens"


def _sink(record: AttentionRecord, head: Head, role: Role) -> str:
    """The mass that words (marks aside) send to the special token, to punctuation, or to the first token."""
    pieces, rows = record.tokens.pieces, _own(record)
    marks, first = np.array([is_mark(piece) for piece in pieces]), np.arange(len(pieces)) == 0
    place = {"sink-punctuation": marks, "sink-first": first}.get(role.question)
    if place is None:
        place = np.array([piece.role == SPECIAL[role.question] for piece in pieces])
    rows = rows & ~marks & ~first
    if not rows.any() or not place.any():
        return ""
    share = float(record.weights[head][rows][:, place].sum(-1).mean())
    return f"here {_share(share, HALF)} of it"


def _diffuse(record: AttentionRecord, head: Head, role: Role) -> str:
    del role
    every = np.broadcast_to(np.True_, record.weights.shape[2:])
    can = every if record.visible is None else record.visible[head[0]]
    rows = _own(record) & (can.sum(-1) > 1)
    if not rows.any():
        return ""
    share = float((entropy(record.weights[head], can)[rows] / np.log(can.sum(-1))[rows]).mean())
    return f"here its entropy is {_share(share, BROAD)} of the maximum"


def _copy(record: AttentionRecord, head: Head, role: Role) -> str:
    """Of the content words with an earlier copy, the share that looks most at it, of what came before."""
    del role
    own = np.flatnonzero(_own(record))
    ids = np.array([record.tokens.pieces[i].id for i in own])
    content = np.array([is_content(record.tokens.pieces[i]) for i in own])
    same = (ids[:, None] == ids) & np.tri(len(ids), k=-1, dtype=bool)
    queries = np.flatnonzero(same.any(-1) & content)
    if not len(queries):
        return ""
    small = record.weights[head][np.ix_(own, own)]
    right = sum(bool(same[q][:q][small[q, :q].argmax()]) for q in queries)
    return f"here in {right} of {counted(len(queries), 'case')}"


def _own(record: AttentionRecord) -> np.ndarray:
    return np.array([not piece.special for piece in record.tokens.pieces])


_ASKED: dict[str, Callable[[AttentionRecord, Head, Role], str]] = {
    "previous": _place,
    "next": _place,
    "self": _place,
    "sink": _sink,
    "diffuse": _diffuse,
    "duplicate": _copy,
}
