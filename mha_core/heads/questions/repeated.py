"""Random tokens said twice, and rare words: questions that no treebank answers.

In: a model. Out: `ScoredCases` for the earlier copy of a token (duplicate), for what came after it there (induction),
and for the built-in sentences' rarest word.

Texts of N_TOKENS random tokens are said twice; each has a twin whose second copy is shuffled. There is nothing to
understand in such a text: who finds the copy has matched the token, and who finds what came after it has done
induction. A case is one token said again, for all are drawn independently. The copy always is as far back, so a head
that goes by distance finds it too: in the twins the same distance leads nowhere (the control), and the best distance of
all is one rule to beat. An encoder's row sees all of the text: there the copy must win over itself and over what comes
later too.

The tokenizer says which tokens can be drawn: pairs of bytes and SentencePiece's pieces spell something in any order, of
WordPiece's only whole words do. What is put around every text stands around these too.

Sources: Olsson et al. 2022 (prefix matching on repeated random tokens); Voita et al. 2019, section 5.2.3 (rare tokens).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from mha_core.arrays import FloatArray, IntArray
from mha_core.engine.visibility import EVERYTHING, Visibility
from mha_core.heads.baselines import constant, fit_first_noun, fit_longest, fit_longest_noun
from mha_core.heads.builtin import BuiltIn, word_at
from mha_core.heads.cases import Baseline, Case, ScoredCases, Units
from mha_core.heads.cluster_stats import half_of
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.syntax import Tree
from mha_core.heads.word_weights import word_bounds
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

N_TEXTS, N_TOKENS, SEED = 8, 40, 0
IN_ORDER, SHUFFLED = "repeated", "shuffled"
# Where the answer stands, from the earlier copy on.
AFTER = {"duplicate": 0, "induction": 1}
CONTROL = "once the second copy is shuffled it still looks just as far back"
IN_PIECES = "with an everyday word in pieces in the place of the rare one it looks there"
BLIND = "looking everywhere alike"


@dataclass(frozen=True)
class Repeated:
    """A text of random tokens, `n` of which are said again; `role`: in order, or shuffled."""

    role: str
    number: int
    tokens: Tokens
    n: int


@dataclass(frozen=True)
class Copies:
    """The rows of one text: (row,) each token said again, and where it stood the first time. `as_far`: where it would
    have stood, had the second copy been in order."""

    rows: IntArray
    first: IntArray
    as_far: IntArray


def repeated_texts(model: Model) -> Iterator[Repeated]:
    """Yield the texts and their twins; none for a model whose tokenizer has no ordinary tokens to draw from."""
    tokenizer, random = model.tokenizer, torch.Generator().manual_seed(SEED)
    ordinary = tokenizer.ordinary()
    if not ordinary:
        return
    room = min(N_TOKENS, (model.max_tokens - len(tokenizer.special_names)) // 2)
    drawn = torch.randint(len(ordinary), (N_TEXTS, room), generator=random)
    for number, row in enumerate(drawn.tolist(), start=1):
        half = [ordinary[i] for i in row]
        other = [half[i] for i in torch.randperm(room, generator=random).tolist()]
        for role, second in ((IN_ORDER, half), (SHUFFLED, other)):
            yield Repeated(role, number, tokenizer.from_ids([*half, *second]), room)


def copies(item: Repeated) -> Copies:
    """Return where every token that is said again stands, and where it stood before."""
    pieces = item.tokens.pieces
    start = len(pieces) - 2 * item.n - pieces[-1].special
    ids = np.array(item.tokens.ids)[start : start + 2 * item.n]
    rows = np.arange(start + item.n, start + 2 * item.n)
    as_far = rows - item.n
    if item.role == IN_ORDER:
        return Copies(rows, as_far, as_far)
    # Of a token that happens to have been drawn twice, its first place.
    return Copies(rows, start + (ids[None, : item.n] == ids[item.n :, None]).argmax(1), as_far)


def peaks_at(flat: FloatArray, rows: IntArray, targets: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return whether each row's largest weight is on its target, and the weight there: (row, head) both."""
    weights = flat[:, rows]
    mass = np.take_along_axis(weights, targets[None, :, None], -1)[..., 0]
    return (weights.argmax(-1) == targets).T.astype(np.float32), mass.T


class RepeatedCollector:
    """Collects what every head does with each token said again: by question, the twin texts' apart."""

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility = visibility
        self.peaks: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
        self.mass: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
        self.offsets: dict[str, Counter[int]] = defaultdict(Counter)
        self.chance: list[float] = []
        self.number: list[int] = []

    def add(self, weights: FloatArray, item: Repeated) -> None:
        """Collect one text; weights (layer, head, query, key) over its tokens."""
        flat, places = weights.reshape(-1, *weights.shape[-2:]), copies(item)
        for key, after in AFTER.items():
            # In a twin the same distance leads nowhere.
            first = places.as_far if item.role == SHUFFLED else places.first
            peaks, mass = peaks_at(flat, places.rows, first + after)
            self.peaks[key, item.role].append(peaks)
            self.mass[key, item.role].append(mass)
            if item.role == SHUFFLED:
                self.offsets[key].update((places.first + after - places.rows).tolist())
        if item.role == IN_ORDER:
            rows = places.rows.tolist()
            self.chance += (1 / self.visibility.mask(flat.shape[-1]).sum(-1).min(0)[rows]).tolist()
            self.number += [item.number] * len(rows)

    def scored(self, corpus: str) -> Iterator[ScoredCases]:
        """Yield both questions."""
        for key in AFTER if self.number else ():
            counts, n_rows = self.offsets[key], len(self.number)
            offset = min(counts, key=lambda offset: (-counts[offset], offset))
            yield ScoredCases(
                _question(key, corpus),
                np.concatenate(self.peaks[key, IN_ORDER]),
                np.arange(n_rows),  # every token was drawn by itself
                np.array(self.number) % 2 == 1,
                (
                    constant(BLIND, np.array(self.chance)),
                    constant(f"always {abs(offset)} tokens back", counts[offset] / counts.total(), n_rows),
                ),
                np.concatenate(self.peaks[key, SHUFFLED]),
                mass=np.concatenate(self.mass[key, IN_ORDER]).mean(0, dtype=np.float64),
            )


def _question(key: str, corpus: str) -> Question:
    if key == "induction":
        title, place = "token → what followed its earlier copy", "what came after it the first time"
        does = "looks from a repeated token to what followed it before"
    else:
        title, place = "token → its earlier copy", "its earlier copy"
        does = "looks from a repeated token to its earlier copy"
    asks = f"Of random tokens said twice, does a token said again look most at {place}?"
    return Question(key, key, title, does, asks, corpus, control=CONTROL)


@dataclass(frozen=True)
class RareWord:
    """A built-in sentence with its rarest word, or its twin with an everyday word of several tokens there."""

    sentence: BuiltIn
    tree: Tree

    @property
    def tokens(self) -> Tokens:
        """The sentence's tokens."""
        return self.tree.tokens


class RareCollector:
    """Collects how many rows of a text look most at each of its words, by the kind of sentence and its cluster."""

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility = visibility
        self.control: dict[str, FloatArray] = {}
        self.cases: dict[str, tuple[Case, FloatArray, float]] = {}

    def add(self, weights: FloatArray, item: RareWord) -> None:
        """Collect one text; weights (layer, head, query, key) over its tokens."""
        pieces, bounds, words = item.tokens.pieces, word_bounds(item.tokens), item.tree.sentence.words
        own, place = np.array([not piece.special for piece in pieces]), np.arange(len(pieces))
        inside = (place >= bounds[:, :1]) & (place < bounds[:, 1:])  # (word, token)
        answer = word_at(item.tokens, item.sentence.spans["rare"], item.sentence.id)
        rare, sees = inside[answer], self.visibility.mask(len(pieces))
        rows = np.flatnonzero(own & ~rare & sees[..., rare].all(-1).any(0))
        if not len(rows):
            return
        visible = sees[:, rows] & own  # (layer, row, key)
        visible[:, np.arange(len(rows)), rows] = False
        peak = np.where(visible[:, None], weights[:, :, rows], -1.0).argmax(-1).reshape(-1, len(rows))
        shares, cluster = inside[:, peak].mean(-1, dtype=np.float32), item.sentence.cluster  # (word, head)
        if item.sentence.kind != "unsplit":
            self.control[cluster] = shares[answer]
            return
        blind = ((visible & rare).sum(-1) / np.maximum(visible.sum(-1), 1)).max(0)
        places = range(len(words))
        units = Units(item.tree.sentence, "word", words, item.tree.sentence.tags, places, places)
        self.cases[cluster] = Case(units, answer, answer, places), shares, float(blind.mean())

    def scored(self, corpus: str) -> Iterator[ScoredCases]:
        """Yield the question where there are cases."""
        if not self.cases:
            return
        cases, shares, chances = zip(*self.cases.values(), strict=True)
        right = np.array([each[case.answer] for case, each in zip(cases, shares, strict=True)])
        chance, nothing = np.array(chances), np.full(right.shape[1], np.nan)
        baselines = [constant(BLIND, chance)]
        for rule in (fit(cases) for fit in (fit_first_noun, fit_longest_noun, fit_longest)):
            guesses = [rule.guess(case) for case in cases]
            hits = np.array(
                [(case.answer in guess) / len(guess) for case, guess in zip(cases, guesses, strict=True)]
            )
            same = np.array([each[list(guess)].mean(0) for each, guess in zip(shares, guesses, strict=True)])
            baselines.append(Baseline(rule.name, rule.does, hits, rule.by_place, same))
        asks = "Does a token look most at the rarest word?"
        yield ScoredCases(
            Question("rare", "rare", "token → the rarest word", "looks at the rarest word", asks, corpus,
                     control=IN_PIECES),
            right,
            np.arange(len(right)),
            np.array([half_of(pair) for pair in self.cases], dtype=bool),
            tuple(baselines),
            np.array([self.control.get(pair, nothing) for pair in self.cases]),
            chance=chance,
            binary=False,
        )  # fmt: skip
