"""What a head usually does, and whether it does so in the sentence at hand: one sentence of at most 20 words.

In: a record, a head, a table of roles. A head by place, a sink, a diffuse head and one that copies can be
checked in any text. Whether a syntactic head found the right word cannot; then the sentence says where the chosen word
looks.
"""

from collections.abc import Callable

import numpy as np

from mha_core.heads.questions.places import SPECIAL, STEPS, is_mark
from mha_core.heads.roles import Role, role_of
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict import BROAD, HALF
from mha_core.heads.verdict_text import head_text
from mha_core.heads.word_weights import entropy, seen
from mha_core.heads.wordlists import is_content
from mha_core.record import AttentionRecord
from mha_core.wording import Head, counted


def usually(
    record: AttentionRecord,
    head: Head,
    table: RoleTable,
    looks: tuple[str, str] | None,
    step: int | None = None,
) -> str:
    """Say what a head (from 0) usually does by its table and what it does here.

    `looks`: the chosen word and the word that it looks at most, as they are spelled; `step`: how many tokens further on
    that is, if its direction is to be said.
    """
    role = role_of(table, head)
    here = in_this_sentence(record, head, role) if role else ""
    here = here or (f"Here {_looks(*looks, step)}." if looks else "")
    return f"{head_text(table, head)} {here}".strip()


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
    return f"Here in {_share(share, HALF)} of the rows."


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
    return f"Here {_share(share, HALF)} of its attention."


def _diffuse(record: AttentionRecord, head: Head, role: Role) -> str:
    del role
    can = seen(len(record.tokens), False) if record.visible is None else record.visible[head[0]]
    rows = _own(record) & (can.sum(-1) > 1)
    if not rows.any():
        return ""
    share = float((entropy(record.weights[head], can)[rows] / np.log(can.sum(-1))[rows]).mean())
    return f"Here {_share(share, BROAD)} of maximum entropy."


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
    return f"Here in {right} of {counted(len(queries), 'case')}."


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
