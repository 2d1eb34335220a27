"""The questions that any text answers: a fixed place, attention sinks, diffuse attention, repeated words.

A case is a token, and its document the cluster, since the rows of one text are not independent; so long texts count as
much as their tokens. Only the rows of the text's own tokens count, so that what [CLS] does with itself is not said of a
head. A sink is told by the mass, not by the largest weight, which a fifth of a row can be.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.engine.visibility import EVERYTHING, Visibility
from mha_core.heads.baselines import constant
from mha_core.heads.cases import Baseline, Columns, Frame, ScoredCases
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.question_set import QuestionSet
from mha_core.heads.survey import HasTokens
from mha_core.heads.word_weights import BoolArray, entropy
from mha_core.text.tokens import Token, Tokens
from mha_core.wordlists import FUNCTION_WORDS

STEPS = {"previous": -1, "next": 1, "self": 0}
MARKS = frozenset(".,;:?!")
BLIND = "looking everywhere alike"
MIDDLE = "the middle head"
CONTROL = "other tokens look most at the same copy"
WHERE = {"previous": "the token before it", "next": "the token after it", "self": "itself"}
# Roles of special tokens by the question's key.
SPECIAL = {"sink-begin": "begin", "sink-separator": "separator"}
ORDER = (*STEPS, "copy", *SPECIAL, "sink-punctuation", "sink-first", "diffuse")
Row = tuple[str, FloatArray, FloatArray, FloatArray, FloatArray | None]  # key, score, mass, blind, control


class PlaceQuestions(QuestionSet):
    """All questions of ORDER. Nothing is fitted, so a text can be scored by itself: a row is the mean of its cases."""

    name = "places"

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        super().__init__(visibility)
        self.special_names: dict[str, str] = {}

    def text_of(self, item: HasTokens) -> None:
        """Return None: all that counts of a text is in its row."""

    def source_of(self, item: HasTokens) -> tuple[str, str]:
        """Return the document of the sentence that the tokens are of, or the text alone."""
        sentence, text = getattr(item, "sentence", None), item.tokens.text
        return (text, text) if sentence is None else (sentence.source, sentence.pair or text)

    def observe(
        self, weights: FloatArray, item: HasTokens, visible: BoolArray | None = None
    ) -> Columns | None:
        """Return a row a question (a row a case of an earlier copy): its key and number of cases, the means of the
        score and the mass (row, head), of a blind choice's, and the control (row, head). A blind choice is that of the
        layer where it is right most often. `visible` (layer, query, key): what these layers see, if not all of them."""
        flat = weights.reshape(-1, *weights.shape[-2:])
        pieces = item.tokens.pieces
        own = np.array([not piece.special for piece in pieces])
        if own.sum() < 2:
            return None
        self.special_names |= special_names(item.tokens)
        visible = self.visibility.mask(len(pieces)) if visible is None else visible
        rows = [*self._places(flat, own, visible.sum(-1)), *self._sinks(flat, own, visible, item.tokens)]
        rows += [*_diffuse(weights, own, visible), *_copies(weights, visible, item.tokens)]
        if not rows:
            return None
        nothing = np.full(len(flat), np.nan)
        return {
            "key": np.array([key for key, *_ in rows]),
            "n": np.array([len(score) for _, score, *_ in rows], dtype=float),
            "score": np.array([score.mean(0, dtype=np.float64) for _, score, *_ in rows]),
            "mass": np.array([mass.mean(0, dtype=np.float64) for _, _, mass, *_ in rows]),
            "blind": np.array([float(blind.mean()) for *_, blind, _ in rows]),
            "control": np.array([nothing if control is None else control for *_, control in rows]),
        }

    def _places(self, flat: FloatArray, own: BoolArray, n_visible: IntArray) -> Iterator[Row]:
        peak, blind = flat.argmax(-1), 1 / n_visible.min(0)
        for key, step in STEPS.items():
            if step > 0 and self.is_causal:
                continue
            rows = np.flatnonzero(own)
            rows = rows[(rows + step >= 0) & (rows + step < len(own))]
            rows = rows[own[rows + step] & (n_visible[:, rows] > 1).any(0)]
            if len(rows):
                score, mass = peak[:, rows] == rows + step, flat[:, rows, rows + step]
                yield key, score.T.astype(np.float32), mass.T, blind[rows], None

    def _sinks(self, flat: FloatArray, own: BoolArray, visible: BoolArray, tokens: Tokens) -> Iterator[Row]:
        pieces = tokens.pieces
        marks, first = np.array([is_mark(piece) for piece in pieces]), np.arange(len(pieces)) == 0
        places = {key: np.array([piece.role == role for piece in pieces]) for key, role in SPECIAL.items()}
        places = {"sink-first": first} if self.is_causal else places | {"sink-punctuation": marks}
        rows = own & ~marks & ~first
        for key, place in places.items():
            if rows.any() and (place.any() or key == "sink-punctuation"):
                mass = flat[:, rows][..., place].sum(-1).T
                blind = visible[:, rows][..., place].sum(-1) / visible[:, rows].sum(-1)
                yield key, mass, mass, blind.max(0), None

    def scored(self, frame: Frame, corpus: str) -> Iterator[ScoredCases]:
        """Yield every question that has cases."""
        columns = frame.columns
        for key in self.order(dict.fromkeys(columns["key"].tolist() if columns else (), 1)):
            rows = np.flatnonzero(columns["key"] == key)
            n, texts = columns["n"][rows], frame.text[rows]
            blind = constant(BLIND, columns["blind"][rows])
            yield ScoredCases(
                self.question(key, corpus),
                columns["score"][rows],
                frame.documents[texts],
                frame.halves[texts],
                (Baseline(MIDDLE, "", None) if key == "diffuse" else blind,),
                columns["control"][rows] if key == "copy" else None,
                mass=n @ columns["mass"][rows] / n.sum(),
                binary=key in STEPS or key == "copy",
                weight=n,
            )

    def order(self, n: Mapping[str, int]) -> list[str]:
        """Return places first, then sinks."""
        return [key for key in ORDER if key in n]

    def question(self, key: str, corpus: str) -> Question:
        """Return the question of a key, special tokens by their names."""
        if key in STEPS:
            title = {"previous": "previous token", "next": "next token", "self": "same token"}[key]
            asks = f"Does a token look most at {WHERE[key]}?"
            return Question(key, key, title, f"looks at {WHERE[key]}", asks, corpus)
        if key.startswith("sink"):
            name = {"sink-first": "the first token", "sink-punctuation": "punctuation"}.get(key)
            name = name or self.special_names.get(SPECIAL[key], SPECIAL[key])
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


def _diffuse(weights: FloatArray, own: BoolArray, visible: BoolArray) -> Iterator[Row]:
    rows = own & (visible.sum(-1) > 1).all(0)
    even = entropy(weights, visible[:, None])[..., rows] / np.log(visible.sum(-1)[:, None, rows])
    even = even.reshape(-1, even.shape[-1]).T
    yield "diffuse", even, even, np.zeros(len(even)), None


def _copies(weights: FloatArray, visible: BoolArray, tokens: Tokens) -> Iterator[Row]:
    """Yield every content word that sees an earlier copy; the control are other rows that could see that copy too."""
    own = np.array([i for i, piece in enumerate(tokens.pieces) if not piece.special], dtype=np.intp)
    ids = np.array([tokens.pieces[i].id for i in own])
    content = np.array([is_content(tokens.pieces[i]) for i in own])
    earlier = visible[:, own[:, None], own] & np.tri(len(ids), k=-1, dtype=bool)  # (layer, query, key)
    same = (ids[:, None] == ids) & earlier.any(0)
    queries = np.flatnonzero(same.any(-1) & content)
    if not len(queries):
        return
    small = weights[..., own[:, None], own]
    peak = np.where(earlier[:, None], small, -1.0).argmax(-1).reshape(-1, len(ids))
    for query in queries:
        copies = np.flatnonzero(same[query])
        others = np.flatnonzero(earlier[..., copies].any((0, 2)) & (ids != ids[query]))
        score = np.isin(peak[:, query], copies)[None].astype(np.float32)
        control = np.isin(peak[:, others], copies).mean(-1) if len(others) else np.full(len(peak), np.nan)
        mass = small[:, :, query, copies].sum(-1).reshape(1, -1)
        blind = earlier[:, query, copies].sum(-1) / np.maximum(earlier[:, query].sum(-1), 1)
        yield "copy", score, mass, blind.max(keepdims=True), control


def is_mark(piece: Token) -> bool:
    """Return whether a token is a punctuation mark of the text."""
    return piece.bare in MARKS and not piece.special


def special_names(tokens: Tokens) -> dict[str, str]:
    """Return what the tokenizer calls the special tokens before a text and between texts, by their role."""
    return {str(piece.role): piece.text for piece in tokens.pieces if piece.role in SPECIAL.values()}


def is_content(piece: Token) -> bool:
    """Return whether the token is a whole word of letters that is no function word."""
    whole = not piece.special and not piece.continues and piece.bare.isalpha()
    return whole and piece.bare.lower() not in FUNCTION_WORDS
