"""The questions that any text answers: a fixed place, special tokens and punctuation, spreading, earlier copies.

In: weights (layer, head, query, key) of one text. Out: a `Measured` for each question. A case is a token, and its text
the cluster, since the rows of one text are not independent; so long texts count as much as their tokens. Only the rows
of the text's own tokens count, so that what [CLS] does with itself is not said of a head. Where a head rests is told by
the mass, not by the largest weight, which a fifth of a row can be.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mha_core.heads.copying import is_content
from mha_core.heads.jobs import STEPS
from mha_core.heads.positions import HasTokens, entropy, special_names
from mha_core.heads.scoring import MARKS
from mha_core.heads.seen import seen
from mha_core.heads.verdicts.halves import half_of
from mha_core.heads.verdicts.measured import Measured, Question, RuleHits
from mha_core.heads.words import BoolArray, FloatArray

BLIND = "looking everywhere alike"
OTHER_TOKENS = "other tokens look most at the same copy in"
PLACES = {
    "previous": ("previous token", "Does a token look most at the one before it?"),
    "next": ("next token", "Does a token look most at the one after it?"),
    "self": ("itself", "Does a token look most at itself?"),
}
RESTS = {
    "begin": ("separator", "{}", "Do words send most of their attention to {}?"),
    "separator": ("separator", "{}", "Do words send most of their attention to {}?"),
    "punctuation": ("separator", "punctuation", "Do words send most of their attention to punctuation?"),
    "first": ("sink", "the first token", "Do tokens send most of their attention to the first one?"),
}


@dataclass
class _Kept:
    """One question's cases in one text: score and mass (case, head), what a blind choice would have (case,), and the
    control (case, head)."""

    score: FloatArray
    mass: FloatArray
    blind: FloatArray
    text: str
    control: FloatArray | None = None


class HabitLog:
    """Remembers what every head does in every text."""

    def __init__(self, is_causal: bool = False) -> None:
        self.is_causal = is_causal
        self.names: dict[str, str] = {}
        self.kept: dict[str, list[_Kept]] = {}

    def add(self, weights: FloatArray, item: HasTokens) -> None:
        """Count one text; weights (layer, head, query, key) over its pieces."""
        flat = weights.reshape(-1, *weights.shape[-2:])
        pieces = item.tokens.pieces
        own = np.array([not piece.special for piece in pieces])
        if own.sum() < 2:
            return
        self.names |= special_names(item.tokens)
        can = seen(len(pieces), self.is_causal)
        self._places(flat, own, can, item)
        self._rests(flat, own, can, item)
        rows = own & (can.sum(-1) > 1)
        even = (entropy(flat, can)[:, rows] / np.log(can.sum(-1))[rows]).T
        self._keep("broad", even, even, np.zeros(len(even)), item)
        self._copies(flat, item)

    def _keep(
        self, key: str, score: FloatArray, mass: FloatArray, blind: FloatArray, item: HasTokens,
        control: FloatArray | None = None,
    ) -> None:  # fmt: skip
        kept = _Kept(score.astype(np.float32), mass.astype(np.float32), blind, item.tokens.text, control)
        self.kept.setdefault(key, []).append(kept)

    def _places(self, flat: FloatArray, own: BoolArray, can: BoolArray, item: HasTokens) -> None:
        peak = flat.argmax(-1)
        for key, step in STEPS.items():
            if step > 0 and self.is_causal:
                continue
            rows = np.flatnonzero(own)
            rows = rows[(rows + step >= 0) & (rows + step < len(own))]
            rows = rows[own[rows + step] & (can.sum(-1)[rows] > 1)]
            if len(rows):
                score, mass = peak[:, rows] == rows + step, flat[:, rows, rows + step]
                self._keep(key, score.T.astype(np.float32), mass.T, 1 / can.sum(-1)[rows], item)

    def _rests(self, flat: FloatArray, own: BoolArray, can: BoolArray, item: HasTokens) -> None:
        pieces = item.tokens.pieces
        marks = np.array([piece.bare in MARKS and not piece.special for piece in pieces])
        first = np.arange(len(pieces)) == 0
        roles = {role: np.array([piece.role == role for piece in pieces]) for role in ("begin", "separator")}
        places = {"first": first} if self.is_causal else roles | {"punctuation": marks}
        rows = own & ~marks & ~first
        for key, place in places.items():
            if rows.any() and (place.any() or key == "punctuation"):
                mass = flat[:, rows][..., place].sum(-1).T
                self._keep(key, mass, mass, can[rows][:, place].sum(-1) / can[rows].sum(-1), item)

    def _copies(self, flat: FloatArray, item: HasTokens) -> None:
        """Every content word with an earlier copy; the control are other rows that could see that copy too."""
        own = np.array([i for i, piece in enumerate(item.tokens.pieces) if not piece.special], dtype=np.intp)
        ids = np.array([item.tokens.pieces[i].id for i in own])
        content = np.array([is_content(item.tokens.pieces[i]) for i in own])
        same = (ids[:, None] == ids) & np.tri(len(ids), k=-1, dtype=bool)
        if not (same.any(-1) & content).any():
            return
        small = flat[:, own[:, None], own]
        peak = np.where(np.tri(len(ids), k=-1, dtype=bool), small, -1.0).argmax(-1)
        for query in np.flatnonzero(same.any(-1) & content):
            copies = np.flatnonzero(same[query])
            others = [row for row in range(int(copies[0]) + 1, len(ids)) if ids[row] != ids[query]]
            score = np.isin(peak[:, query], copies)[None].astype(np.float32)
            control = np.isin(peak[:, others], copies).mean(-1) if others else np.full(len(peak), np.nan)
            mass, blind = small[:, query, copies].sum(-1)[None], np.array([len(copies) / int(query)])
            self._keep("copy", score, mass, blind, item, control[None])

    def measured(self, corpus: str) -> Iterator[Measured]:
        """Every question that had cases."""
        order = [*STEPS, "copy", *RESTS, "broad"]
        return (self._measured(key, corpus) for key in order if self.kept.get(key))

    def _measured(self, key: str, corpus: str) -> Measured:
        kept = self.kept[key]
        right = np.concatenate([one.score for one in kept])
        rows = [len(one.score) for one in kept]
        texts = np.unique([one.text for one in kept], return_inverse=True)[1]
        halves = np.array([half_of(one.text) for one in kept], dtype=bool)
        rule = RuleHits(BLIND, BLIND, np.concatenate([one.blind for one in kept]))
        if key == "broad":
            middle = float(np.median(right.mean(0, dtype=np.float64)))
            rule = RuleHits("the middle head", "the middle head", np.full(len(right), middle))
        controls = [one.control for one in kept if one.control is not None]
        return Measured(
            self._question(key, corpus),
            right,
            np.repeat(texts, rows),
            np.repeat(halves, rows),
            (rule,),
            np.concatenate(controls).astype(np.float32) if controls else None,
            mass=np.concatenate([one.mass for one in kept]).mean(0, dtype=np.float64),
            binary=key in PLACES or key == "copy",
        )

    def _question(self, key: str, corpus: str) -> Question:
        if key in PLACES:
            return Question(key, "positional", *PLACES[key], corpus)
        if key in RESTS:
            kind, title, asks = RESTS[key]
            name = self.names.get(key, key)
            return Question(_KEYS.get(key, key), kind, title.format(name), asks.format(name), corpus)
        if key == "copy":
            asks = "Does a repeated word look most, of what came before it, at its earlier copy?"
            return Question(key, "copy", "earlier copy", asks, corpus, control_name=OTHER_TOKENS)
        return Question(key, "broad", "broad", "Does a token spread its attention evenly?", corpus)


_KEYS = {"begin": "rest-begin", "separator": "rest-separator", "punctuation": "rest-punctuation"}
