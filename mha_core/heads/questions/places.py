"""The questions that any text answers: a fixed place, attention sinks, diffuse attention, repeated words.

In: weights (layer, head, query, key) of one text. Out: a `Measured` for each question. A case is a token, and its
document the cluster, since the rows of one text are not independent; so long texts count as much as their tokens. Only
the rows of the text's own tokens count, so that what [CLS] does with itself is not said of a head. A sink is told by
the mass, not by the largest weight, which a fifth of a row can be. Layers with windows see fewer keys: a blind choice
is that of the layer where it is right most often.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mha_core.heads.questions.base import Baseline, Measured, Question
from mha_core.heads.stats import digests_of, half_of
from mha_core.heads.survey import HasTokens
from mha_core.heads.words import BoolArray, FloatArray, IntArray, entropy
from mha_core.tokens import Piece, Tokens
from mha_core.visibility import EVERYTHING, Visibility
from mha_core.wordlists import is_content

STEPS = {"previous": -1, "next": 1, "self": 0}
MARKS = frozenset(".,;:?!")
BLIND = "looking everywhere alike"
MIDDLE = "the middle head"
CONTROL = "other tokens look most at the same copy"
WHERE = {"previous": "the token before it", "next": "the token after it", "self": "itself"}
# Roles of special tokens by the question's key.
SPECIAL = {"sink-begin": "begin", "sink-separator": "separator"}
ORDER = (*STEPS, "copy", *SPECIAL, "sink-punctuation", "sink-first", "diffuse")


@dataclass
class _Kept:
    """One question's cases in one text: their number, the means of score and mass (head,), of what a blind choice would
    have, and the control (head,)."""

    n: int
    score: FloatArray
    mass: FloatArray
    blind: float
    source: str
    half: str
    control: FloatArray | None = None


class PlaceLog:
    """Keeps what every head does in every text."""

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility = visibility
        self.names: dict[str, str] = {}
        self.kept: dict[str, list[_Kept]] = {}

    def add(self, weights: FloatArray, item: HasTokens, visible: BoolArray | None = None) -> None:
        """Keep one text; weights (layer, head, query, key) over its tokens; `visible`: a mask of its own."""
        flat = weights.reshape(-1, *weights.shape[-2:])
        pieces = item.tokens.pieces
        own = np.array([not piece.special for piece in pieces])
        if own.sum() < 2:
            return
        self.names |= special_names(item.tokens)
        visible = self.visibility.mask(len(pieces)) if visible is None else visible
        n_visible = visible.sum(-1)  # (layer, query)
        own_rows = own & (n_visible > 1).any(0)
        self._places(flat, own, n_visible, item)
        self._sinks(flat, own, visible, item)
        most = np.log(n_visible[:, None, own_rows])
        even = entropy(weights, visible[:, None])[..., own_rows] / most
        even = even.reshape(len(flat), -1).T
        self._keep("diffuse", even, even, np.zeros(len(even)), item)
        self._copies(weights, visible, item)

    def _keep(
        self, key: str, score: FloatArray, mass: FloatArray, blind: FloatArray, item: HasTokens,
        control: FloatArray | None = None,
    ) -> None:  # fmt: skip
        sentence = getattr(item, "sentence", None)
        text = item.tokens.text
        source, half = (sentence.source, sentence.pair or text) if sentence is not None else (text, text)
        means = score.mean(0, dtype=np.float64), mass.mean(0, dtype=np.float64)
        self.kept.setdefault(key, []).append(
            _Kept(len(score), *means, float(blind.mean()), source, half, control)
        )

    def _places(self, flat: FloatArray, own: BoolArray, n_visible: IntArray, item: HasTokens) -> None:
        peak, blind = flat.argmax(-1), 1 / n_visible.min(0)
        for key, step in STEPS.items():
            if step > 0 and self.visibility.is_causal:
                continue
            rows = np.flatnonzero(own)
            rows = rows[(rows + step >= 0) & (rows + step < len(own))]
            rows = rows[own[rows + step] & (n_visible[:, rows] > 1).any(0)]
            if len(rows):
                score, mass = peak[:, rows] == rows + step, flat[:, rows, rows + step]
                self._keep(key, score.T.astype(np.float32), mass.T, blind[rows], item)

    def _sinks(self, flat: FloatArray, own: BoolArray, visible: BoolArray, item: HasTokens) -> None:
        pieces = item.tokens.pieces
        marks, first = np.array([is_mark(piece) for piece in pieces]), np.arange(len(pieces)) == 0
        places = {key: np.array([one.role == role for one in pieces]) for key, role in SPECIAL.items()}
        places = {"sink-first": first} if self.visibility.is_causal else places | {"sink-punctuation": marks}
        rows = own & ~marks & ~first
        for key, place in places.items():
            if rows.any() and (place.any() or key == "sink-punctuation"):
                mass = flat[:, rows][..., place].sum(-1).T
                blind = (visible[:, rows][..., place].sum(-1) / visible[:, rows].sum(-1)).max(0)
                self._keep(key, mass, mass, blind, item)

    def _copies(self, weights: FloatArray, visible: BoolArray, item: HasTokens) -> None:
        """Every content word that sees an earlier copy; the control are other rows that could see that copy too."""
        own = np.array([i for i, piece in enumerate(item.tokens.pieces) if not piece.special], dtype=np.intp)
        ids = np.array([item.tokens.pieces[i].id for i in own])
        content = np.array([is_content(item.tokens.pieces[i]) for i in own])
        earlier = visible[:, own[:, None], own] & np.tri(len(ids), k=-1, dtype=bool)  # (layer, query, key)
        same = (ids[:, None] == ids) & earlier.any(0)
        if not (same.any(-1) & content).any():
            return
        small = weights[..., own[:, None], own]
        peak = np.where(earlier[:, None], small, -1.0).argmax(-1).reshape(-1, len(ids))
        for query in np.flatnonzero(same.any(-1) & content):
            copies = np.flatnonzero(same[query])
            others = np.flatnonzero(earlier[..., copies].any((0, 2)) & (ids != ids[query]))
            score = np.isin(peak[:, query], copies)[None].astype(np.float32)
            control = np.isin(peak[:, others], copies).mean(-1) if len(others) else np.full(len(peak), np.nan)
            mass = small[:, :, query, copies].sum(-1).reshape(1, -1)
            blind = earlier[:, query, copies].sum(-1) / np.maximum(earlier[:, query].sum(-1), 1)
            self._keep("copy", score, mass, blind.max(keepdims=True), item, control)

    def measured(self, corpus: str) -> Iterator[Measured]:
        """Yield every question that had cases."""
        return (self._measured(key, corpus) for key in ORDER if self.kept.get(key))

    def _measured(self, key: str, corpus: str) -> Measured:
        kept = self.kept[key]
        n = np.array([one.n for one in kept], dtype=float)
        blind = Baseline(BLIND, "", np.array([one.blind for one in kept]))
        controls = [one.control for one in kept if one.control is not None]
        return Measured(
            self._question(key, corpus),
            np.array([one.score for one in kept]),
            digests_of([one.source for one in kept]),
            np.array([half_of(one.half) for one in kept], dtype=bool),
            (Baseline(MIDDLE, "", None) if key == "diffuse" else blind,),
            np.array(controls) if controls else None,
            mass=n @ np.array([one.mass for one in kept]) / n.sum(),
            binary=key in STEPS or key == "copy",
            weight=n,
        )

    def _question(self, key: str, corpus: str) -> Question:
        if key in STEPS:
            title = {"previous": "previous token", "next": "next token", "self": "same token"}[key]
            asks = f"Does a token look most at {WHERE[key]}?"
            return Question(key, key, title, f"looks at {WHERE[key]}", asks, corpus)
        if key.startswith("sink"):
            name = {"sink-first": "the first token", "sink-punctuation": "punctuation"}.get(key)
            name = name or self.names.get(SPECIAL[key], SPECIAL[key])
            asks = f"Do words send most of their attention to {name}?"
            return Question(
                key, "sink", f"attention to {name}", f"sends its attention to {name}", asks, corpus
            )
        if key == "copy":
            asks = "Does a repeated word look most, of what came before it, at its earlier copy?"
            does = "looks from a repeated word to its earlier copy"
            return Question(key, "duplicate", "word → its earlier copy", does, asks, corpus, control=CONTROL)
        asks = "Does a token spread its attention evenly?"
        return Question(key, "diffuse", "diffuse attention", "spreads its attention evenly", asks, corpus)


def is_mark(piece: Piece) -> bool:
    """Is it a punctuation mark of the text?"""
    return piece.bare in MARKS and not piece.special


def special_names(tokens: Tokens) -> dict[str, str]:
    """Return what the tokenizer calls the special tokens before a text and between texts, by their role."""
    return {str(piece.role): piece.text for piece in tokens.pieces if piece.role in SPECIAL.values()}
