"""What a head usually does, and whether it does so in the sentence at hand: one sentence of at most 20 words.

In: a record, a head, its role or description. A head by place, a sink, a diffuse head and one that copies can be
checked in any text. Whether a syntactic head found the right word cannot; then the sentence says where the chosen word
looks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_core.heads.questions.places import SPECIAL, STEPS, is_mark
from mha_core.heads.roles import Role
from mha_core.heads.verdict import BROAD, HALF
from mha_core.heads.wordlists import is_content
from mha_core.heads.words import entropy, seen
from mha_core.record import AttentionRecord
from mha_core.wording import Head


@dataclass(frozen=True)
class Here:
    """How much a head does here of what it usually does (`share`), in words, and whether that is most of it."""

    says: str
    share: float
    does: bool


def usually(record: AttentionRecord, head: Head, role: Role | None, looks: tuple[str, str] | None) -> str:
    """Say what a head (from 0) usually does and what it does here.

    `looks`: the chosen word and the word that it looks at most, as they are spelled.
    """
    there = f"`{looks[0]}` looks at `{looks[1]}`" if looks else ""
    if role is None:
        return f"No role found. Here {there}." if there else "No role found."
    usual = f"Usually {role.does.removeprefix('often ')}"
    found = in_this_sentence(record, head, role)
    if found is not None:
        return f"{usual}; here {found.says}." if found.does else f"{usual}; not here: {found.says}."
    return f"{usual}; here {there}." if there else f"{usual}."


def in_this_sentence(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    """Count in a record what a head is called by; None where that needs gold, or the text has no case of it."""
    if not role.has:
        return None
    ask = _ASKED.get(role.kind)
    return None if ask is None else ask(record, head, role)


def _place(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    """The share of the text's own rows whose largest weight lies at the distance."""
    step, own = STEPS[role.question], _own(record)
    rows = np.flatnonzero(own)
    rows = rows[(rows + step >= 0) & (rows + step < len(own))]
    rows = rows[own[rows + step]]
    if record.model.is_causal:
        rows = rows[rows > 0]
    if not len(rows):
        return None
    share = float((record.weights[head][rows].argmax(-1) == rows + step).mean())
    return Here(f"{share:.0%} of the tokens do", share, share >= HALF)


def _sink(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    """The mass that words (marks aside) send to the special token, to punctuation, or to the first token."""
    pieces, rows = record.tokens.pieces, _own(record)
    marks, first = np.array([is_mark(piece) for piece in pieces]), np.arange(len(pieces)) == 0
    place = {"sink-punctuation": marks, "sink-first": first}.get(role.question)
    if place is None:
        place = np.array([piece.role == SPECIAL[role.question] for piece in pieces])
    rows = rows & ~marks & ~first
    if not rows.any() or not place.any():
        return None
    share = float(record.weights[head][rows][:, place].sum(-1).mean())
    return Here(f"{share:.0%} of it", share, share >= HALF)


def _diffuse(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    del role
    can = seen(len(record.tokens), False) if record.visible is None else record.visible[head[0]]
    rows = _own(record) & (can.sum(-1) > 1)
    if not rows.any():
        return None
    share = float((entropy(record.weights[head], can)[rows] / np.log(can.sum(-1))[rows]).mean())
    return Here(f"{share:.0%} of the possible entropy", share, share >= BROAD)


def _copy(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    """Of the content words with an earlier copy, the share that looks most at it, of what came before."""
    del role
    own = np.flatnonzero(_own(record))
    ids = np.array([record.tokens.pieces[i].id for i in own])
    content = np.array([is_content(record.tokens.pieces[i]) for i in own])
    same = (ids[:, None] == ids) & np.tri(len(ids), k=-1, dtype=bool)
    queries = np.flatnonzero(same.any(-1) & content)
    if not len(queries):
        return None
    small = record.weights[head][np.ix_(own, own)]
    right = sum(bool(same[q][:q][small[q, :q].argmax()]) for q in queries)
    share = right / len(queries)
    return Here(f"{right} of {len(queries)} do", share, share >= HALF)


def _own(record: AttentionRecord) -> np.ndarray:
    return np.array([not piece.special for piece in record.tokens.pieces])


_ASKED: dict[str, Callable[[AttentionRecord, Head, Role], Here | None]] = {
    "previous": _place,
    "next": _place,
    "self": _place,
    "sink": _sink,
    "diffuse": _diffuse,
    "duplicate": _copy,
}
