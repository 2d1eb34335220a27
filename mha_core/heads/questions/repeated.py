"""Random tokens said twice, and rare words: questions that no treebank answers.

In: a model. Out: a `Measured` for the earlier copy of a token (duplicate), for what came after it there (induction),
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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from mha_core.heads.builtin import BuiltIn, pieces_of
from mha_core.heads.questions.base import Baseline, Measured, Question
from mha_core.heads.stats import half_of
from mha_core.heads.words import FloatArray, IntArray
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.visibility import EVERYTHING, Visibility

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


def found_in(flat: FloatArray, rows: IntArray, targets: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return whether each row's largest weight is on its target, and the weight there: (row, head) both."""
    looks = flat[:, rows]
    mass = np.take_along_axis(looks, targets[None, :, None], -1)[..., 0]
    return (looks.argmax(-1) == targets).T.astype(np.float32), mass.T


class RepeatedLog:
    """Keeps what every head does with each token said again."""

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility = visibility
        self.right: dict[str, list[FloatArray]] = {name: [] for name in AFTER}
        self.mass: dict[str, list[FloatArray]] = {name: [] for name in AFTER}
        self.control: dict[str, list[FloatArray]] = {name: [] for name in AFTER}
        self.offsets: dict[str, list[int]] = {name: [] for name in AFTER}
        self.chance: list[float] = []
        self.number: list[int] = []

    def add(self, weights: FloatArray, item: Repeated) -> None:
        """Keep one text; weights (layer, head, query, key) over its tokens."""
        flat, where = weights.reshape(-1, *weights.shape[-2:]), copies(item)
        for name, after in AFTER.items():
            if item.role == SHUFFLED:
                self.control[name].append(found_in(flat, where.rows, where.as_far + after)[0])
                self.offsets[name] += (where.first + after - where.rows).tolist()
                continue
            right, mass = found_in(flat, where.rows, where.first + after)
            self.right[name].append(right)
            self.mass[name].append(mass)
        if item.role == IN_ORDER:
            n_visible = self.visibility.mask(flat.shape[-1]).sum(-1).min(0)
            self.chance += (1 / n_visible[where.rows]).tolist()
            self.number += [item.number] * len(where.rows)

    def measured(self, corpus: str) -> Iterator[Measured]:
        """Yield both questions."""
        for name in AFTER if self.number else ():
            right, chance = np.concatenate(self.right[name]), np.array(self.chance)
            offset, hits = max(
                ((o, self.offsets[name].count(o)) for o in set(self.offsets[name])), key=lambda pair: pair[1]
            )
            share = hits / len(self.offsets[name])
            fixed = Baseline(f"always {abs(offset)} tokens back", "", np.full(len(right), share))
            yield Measured(
                _question(name, corpus),
                right,
                np.arange(len(right)),  # every token was drawn by itself
                np.array(self.number) % 2 == 1,
                (Baseline(BLIND, "", chance), fixed),
                np.concatenate(self.control[name]),
                mass=np.concatenate(self.mass[name]).mean(0, dtype=np.float64),
            )


def _question(name: str, corpus: str) -> Question:
    if name == "induction":
        title, where = "token → what followed its earlier copy", "what came after it the first time"
        does = "looks from a repeated token to what followed it before"
    else:
        title, where = "token → its earlier copy", "its earlier copy"
        does = "looks from a repeated token to its earlier copy"
    asks = f"Of random tokens said twice, does a token said again look most at {where}?"
    return Question(name, name, title, does, asks, corpus, control=CONTROL)


@dataclass(frozen=True)
class RareWord:
    """A built-in sentence with its rarest word, or its twin with an everyday word of several tokens there."""

    sentence: BuiltIn
    tokens: Tokens


class RareLog:
    """Keeps how many rows of a text look most at its rarest word."""

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility = visibility
        self.right: dict[str, FloatArray] = {}
        self.control: dict[str, FloatArray] = {}
        self.chance: dict[str, float] = {}

    def add(self, weights: FloatArray, item: RareWord) -> None:
        """Keep one text; weights (layer, head, query, key) over its tokens."""
        flat, pieces = weights.reshape(-1, *weights.shape[-2:]), item.tokens.pieces
        own = np.array([not piece.special for piece in pieces])
        rare = np.zeros(len(pieces), bool)
        rare[pieces_of(item.tokens, item.sentence.spans["rare"])] = True
        visible = self.visibility.mask(len(pieces))
        rows = np.flatnonzero(own & ~rare & visible[..., rare].all(-1).any(0))
        if not len(rows):
            return
        allowed = visible[:, rows] & own  # (layer, row, key)
        allowed[:, np.arange(len(rows)), rows] = False
        peak = np.where(allowed[:, None], weights[:, :, rows], -1.0).argmax(-1).reshape(len(flat), -1)
        kept = self.right if item.sentence.kind == "unsplit" else self.control
        kept[item.sentence.cluster] = rare[peak].mean(-1).astype(np.float32)
        if item.sentence.kind == "unsplit":
            blind = ((allowed & rare).sum(-1) / np.maximum(allowed.sum(-1), 1)).max(0)
            self.chance[item.sentence.cluster] = float(blind.mean())

    def measured(self, corpus: str) -> Iterator[Measured]:
        """Yield the question where there are cases."""
        if not self.right:
            return
        right = np.array(list(self.right.values()))
        nothing = np.full(right.shape[1], np.nan)
        asks = "Does a token look most at the rarest word?"
        yield Measured(
            Question("rare", "rare", "token → the rarest word", "looks at the rarest word", asks, corpus,
                     control=IN_PIECES),
            right,
            np.arange(len(right)),
            np.array([half_of(pair) for pair in self.right], dtype=bool),
            (Baseline(BLIND, "", np.array(list(self.chance.values()))),),
            np.array([self.control.get(pair, nothing) for pair in self.right]),
            binary=False,
        )  # fmt: skip
