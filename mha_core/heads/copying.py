"""Does a head look at rare tokens, or at an earlier copy of the same token?

In: weights (layer, head, query, key) over pieces, one text at a time, and how often each token occurs in the
whole corpus. Out, for every head:

rare: the share of rows whose largest weight (inserted tokens and the row itself aside) lies on the rarest
token of the text (in a decoder: of rows after it), the row of that token left out. Of equally rare tokens the
one later in the vocabulary counts as rarer, because vocabularies are written with the frequent tokens first.
lift: mean surprisal of what a head looks at minus the mean surprisal of the text, in nats (surprisal is minus
the logarithm of the token's share of the corpus).
copy: of content tokens with an earlier copy, the share whose largest weight among all earlier tokens lies on
a copy, and the mass on copies. after_copy is the same for the token after the copy: an induction head's mark.

Sources: Voita et al. 2019, section 5.2.3, for rare tokens; Olsson et al. 2022 for copies and induction.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mha_core.heads.positions import HasTokens
from mha_core.heads.seen import evenly, seen
from mha_core.heads.words import BoolArray, FloatArray, IntArray
from mha_core.tokens import Piece, Tokens

# Function words: a second "the" is no sign of copying. The list is short on purpose.
FUNCTION_WORDS = frozenset(
    """
    a about after all also an and any are as at be because been before being but by can could did do
    does doing down during each few for from had has have having he her here hers him his how i if in
    into is it its just me more most my no nor not now of off on once only or other our out over own
    same she should so some such than that the their them then there these they this those through to
    too under until up very was we were what when where which while who whom why will with would you
    your
    """.split()  # noqa: SIM905 - a list of words reads better as text
)


LABELS = {
    "rare": "looks most at the rarest token",
    "lift": "surprisal of what it looks at, over the text's, in nats",
    "copy": "looks most at the earlier copy",
    "copy_mass": "mass on earlier copies",
    "after_copy": "looks most at the token after the copy",
}


@dataclass(frozen=True)
class CopyTable:
    """Shares (layer, head) and the number of rows behind them; `rare_baseline`, `copy_baseline`: a blind
    choice.
    """

    n_texts: int
    rare: FloatArray
    n_rare: int
    rare_baseline: float
    lift: FloatArray
    copy: FloatArray
    copy_mass: FloatArray
    after_copy: FloatArray
    n_copies: int
    copy_baseline: float


def count_tokens(texts: Iterable[Tokens], vocab_size: int) -> IntArray:
    """How often each token of the vocabulary occurs in the texts, inserted tokens aside: (vocabulary,)."""
    counts = np.zeros(vocab_size, dtype=np.int64)
    for tokens in texts:
        counts += np.bincount([p.id for p in tokens.pieces if not p.special], minlength=vocab_size)
    return counts


class CopySums:
    """Sums over texts, which can be merged. `counts` (vocabulary,) of the whole corpus."""

    def __init__(self, n_layers: int, n_heads: int, counts: IntArray, is_causal: bool = False) -> None:
        self.shape = (n_layers, n_heads)
        self.is_causal = is_causal
        self.surprisal = -np.log((counts + 1) / (counts + 1).sum())
        self.rarity = np.argsort(np.lexsort((np.arange(len(counts)), -counts)))
        heads = n_layers * n_heads
        self.n_texts = 0
        self.rows = np.zeros(2, dtype=np.int64)
        self.chance = np.zeros(2)
        self.rare = np.zeros(heads)
        self.looked = np.zeros((2, heads))
        self.text = np.zeros(2)
        self.copies = np.zeros((3, heads))

    def add(self, weights: FloatArray, item: HasTokens) -> None:
        """Count one text; weights (layer, head, query, key) over its pieces."""
        own = np.array([i for i, piece in enumerate(item.tokens.pieces) if not piece.special], dtype=np.intp)
        if len(own) < 2:
            return
        self.n_texts += 1
        flat = weights.reshape(-1, *weights.shape[-2:])[:, own[:, None], own]
        ids = np.array([item.tokens.pieces[i].id for i in own])
        self._add_lift(flat, ids)
        self._add_rare(flat, ids)
        self._add_copies(flat, ids, np.array([is_content(item.tokens.pieces[i]) for i in own]))

    def _add_lift(self, flat: FloatArray, ids: IntArray) -> None:
        surprisal = self.surprisal[ids]
        received = flat.sum(1)
        self.looked += received @ surprisal, received.sum(-1)
        self.text += evenly(len(ids), self.is_causal).sum(0) @ surprisal, len(ids)

    def _add_rare(self, flat: FloatArray, ids: IntArray) -> None:
        """In a decoder a row counts once the rarest token has come, and its candidates stand before it."""
        rarest = ids == ids[self.rarity[ids].argmax()]
        can = seen(len(ids), self.is_causal) & ~np.eye(len(ids), dtype=bool)
        others = np.flatnonzero(~rarest & (can & rarest).any(-1))
        if not len(others):
            return
        rows = np.where(can[others], flat[:, others], -1.0)
        self.rare += rarest[rows.argmax(-1)].sum(-1)
        self.rows[0] += len(others)
        self.chance[0] += ((can[others] & rarest).sum(-1) / can[others].sum(-1)).sum()

    def _add_copies(self, flat: FloatArray, ids: IntArray, content: BoolArray) -> None:
        same = (ids[:, None] == ids) & np.tri(len(ids), k=-1, dtype=bool)
        queries = np.flatnonzero(same.any(-1) & content)
        if not len(queries):
            return
        earlier = np.arange(len(ids)) < queries[:, None]
        copy = same[queries]
        after = np.zeros_like(copy)
        after[:, 1:] = copy[:, :-1]
        after &= earlier & ~copy
        rows = flat[:, queries]
        peak = np.where(earlier, rows, -1.0).argmax(-1)
        every = np.arange(len(queries))
        self.copies[0] += copy[every, peak].sum(-1)
        self.copies[1] += (rows * copy).sum((-1, -2))
        self.copies[2] += after[every, peak].sum(-1)
        self.rows[1] += len(queries)
        self.chance[1] += (copy.sum(-1) / queries).sum()

    def result(self) -> CopyTable:
        """The shares so far; nan where no row could show it."""
        rare, copies = (n if n else np.nan for n in self.rows.astype(float))
        text = self.text[0] / (self.text[1] or np.nan)
        copy, mass, after = (self.copies / copies).reshape(3, *self.shape)
        return CopyTable(
            self.n_texts,
            (self.rare / rare).reshape(self.shape),
            int(self.rows[0]),
            float(self.chance[0] / rare),
            (self.looked[0] / np.where(self.looked[1] > 0, self.looked[1], np.nan) - text).reshape(
                self.shape
            ),
            copy,
            mass,
            after,
            int(self.rows[1]),
            float(self.chance[1] / copies),
        )


def is_content(piece: Piece) -> bool:
    """Is the piece a whole word of letters that is no function word?"""
    whole = not piece.special and not piece.continues and piece.bare.isalpha()
    return whole and piece.bare.lower() not in FUNCTION_WORDS
