"""Does a head do in the sentence at hand what it is called by? Told wherever it can be told without gold.

In: a record and a head's role. Out: a few sentences, in which what is said of this text is counted in this very record.
A head by place, one that rests, one that spreads and one that copies can be checked in any text; whether a syntactic
head found the right word cannot, and then that is what is said.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_core.heads.copying import is_content
from mha_core.heads.positions import entropy
from mha_core.heads.roles import Role
from mha_core.heads.scoring import MARKS
from mha_core.heads.seen import seen
from mha_core.heads.verdict import BROAD, HALF
from mha_core.record import AttentionRecord
from mha_core.wording import Head, head_name, percent

UNTOLD = "Whether it finds the right word here, the sentence itself does not say."


@dataclass(frozen=True)
class Here:
    """What a head does here: `says` with its numbers, whether it is called by that (None: cannot be told), and whether
    it does `half` as much at least."""

    says: str
    does: bool | None
    half: bool = True


def role_said(record: AttentionRecord, head: Head, role: Role) -> str:
    """What a head is called by, and what it does in this sentence; the sentence first where it does something else."""
    here = in_this_sentence(record, head, role)
    name, called = f"ead {head_name(head)}", f"“{role.label}”"
    if here.does is False:
        less = "less of what it is called by" if here.half else "something else than what it is called by"
        return f"Here h{name} does {less}: {here.says}. Over many sentences it is called {called}. {role.evidence}"
    said = f"H{name} is called {called}. {role.evidence} "
    return said + (f"In this sentence it does so too: {here.says}." if here.does else here.says)


def in_this_sentence(record: AttentionRecord, head: Head, role: Role) -> Here:
    """What the head does here, and whether it is what its role says."""
    ask = _ASKED.get(role.key)
    found = ask(record, head, role) if ask is not None else None
    return found or Here(UNTOLD, None)


def _place(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    """The share of the text's own rows whose largest weight lies at the distance."""
    if not role.detail.lstrip("-").isdecimal():
        return None
    step, own = int(role.detail), _own(record)
    rows = np.flatnonzero(own)
    rows = rows[(rows + step >= 0) & (rows + step < len(own))]
    rows = rows[own[rows + step]]
    if record.model.is_causal:
        rows = rows[rows > 0]
    if not len(rows):
        return Here("No token of this sentence has another at that distance.", None)
    share = float((record.weights[head][rows].argmax(-1) == rows + step).mean())
    return Here(f"{percent(share)} of the tokens look most there", share >= HALF, share >= HALF / 2)


def _rest(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    """The mass that words (marks aside) send to the special token, or to punctuation."""
    pieces, own = record.tokens.pieces, _own(record)
    marks = np.array([piece.bare in MARKS and not piece.special for piece in pieces])
    name = role.label.removeprefix("looks at ")
    place = (
        marks
        if name == "punctuation"
        else np.array([piece.special and piece.text == name for piece in pieces])
    )
    rows = own & ~marks
    if role.key == "sink":
        place, name = np.arange(len(pieces)) == 0, "the first token"
        rows = rows & ~place
    if not rows.any():
        return None
    if not place.any():
        return Here(f"This sentence has no {name}.", None)
    share = float(record.weights[head][rows][:, place].sum(-1).mean())
    return Here(f"words send {percent(share)} of their attention to {name}", share >= HALF, share >= HALF / 2)


def _broad(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    del role
    everywhere = seen(len(record.tokens), is_causal=False)
    can = everywhere if record.visible is None else record.visible[head[0]]
    rows = _own(record) & (can.sum(-1) > 1)
    if not rows.any():
        return None
    even = entropy(record.weights[head], can)[rows] / np.log(can.sum(-1))[rows]
    share = float(even.mean())
    return Here(f"its rows have {percent(share)} of the possible entropy", share >= BROAD, share >= BROAD / 2)


def _copy(record: AttentionRecord, head: Head, role: Role) -> Here | None:
    """Of the content words with an earlier copy, the share that looks most at it, of what came before."""
    del role
    own = np.flatnonzero(_own(record))
    ids = np.array([record.tokens.pieces[i].id for i in own])
    content = np.array([is_content(record.tokens.pieces[i]) for i in own])
    same = (ids[:, None] == ids) & np.tri(len(ids), k=-1, dtype=bool)
    queries = np.flatnonzero(same.any(-1) & content)
    if not len(queries):
        return Here("In this sentence no content word comes twice, so there is nothing of it to do.", None)
    small = record.weights[head][np.ix_(own, own)]
    right = [bool(same[q][:q][small[q, :q].argmax()]) for q in queries]
    share = float(np.mean(right))
    words = "word looks" if len(queries) == 1 else "words look"
    return Here(
        f"{sum(right)} of {len(queries)} repeated {words} most at the earlier copy",
        share >= HALF,
        share >= HALF / 2,
    )


def _own(record: AttentionRecord) -> np.ndarray:
    return np.array([not piece.special for piece in record.tokens.pieces])


_ASKED: dict[str, Callable[[AttentionRecord, Head, Role], Here | None]] = {
    "positional": _place,
    "separator": _rest,
    "sink": _rest,
    "broad": _broad,
    "copy": _copy,
}
