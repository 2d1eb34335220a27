"""Random tokens said twice: does a head find the earlier copy of a token, or what came after it there?

In: a model. Out: texts of N_TOKENS random tokens, each said twice, and for each a twin whose second copy is
shuffled; and, of weights (head, query, key) over one of them, what every head does in each repeated token's row.
There is nothing to understand in such a text: who finds the copy has matched the token, and who finds what came
after it has done induction. A case is one token said again, for all are drawn independently.

In these texts the copy always is as far back, so a head that goes by distance finds it too. Hence the twins: there
the same distance leads nowhere (the control), and the best distance of all is one rule to beat (the baseline).

The tokenizer says which tokens can be drawn: pairs of bytes and SentencePiece's pieces spell something in any order, of
WordPiece's only whole words do. What is put around every text stands around these too. An encoder's row sees all of the
text: there the copy must win over itself and over what comes later too.

Source: Olsson et al. 2022 (prefix matching on repeated random tokens).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from mha_core.heads.builtin import BuiltIn
from mha_core.heads.samples import Sample
from mha_core.heads.words import FloatArray, IntArray
from mha_core.model import Model

N_TEXTS, N_TOKENS, SEED = 8, 40, 0
IN_ORDER, SHUFFLED = "repeated", "shuffled"
# Where the answer stands, from the earlier copy on.
AFTER = {"duplicate": 0, "induction": 1}


@dataclass(frozen=True)
class Copies:
    """The rows of one text: (row,) each token said again, and where it stood the first time. `as_far`: where it
    would have stood, had the second copy been in order.
    """

    rows: IntArray
    first: IntArray
    as_far: IntArray


def repeated_samples(model: Model) -> Iterator[Sample]:
    """The texts and their twins; none for a model whose tokenizer has no ordinary tokens to draw from."""
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
            tokens = tokenizer.from_ids([*half, *second])
            sentence = BuiltIn(f"{role}-{number}", role, None, tokens.text, {}, None)
            yield Sample(sentence, tokens, None, said_twice=room)


def copies(item: Sample) -> Copies:
    """Where every token that is said again stands, and where it stood before."""
    n, pieces = item.said_twice, item.tokens.pieces
    start = len(pieces) - 2 * n - pieces[-1].special
    ids = np.array(item.tokens.ids)[start : start + 2 * n]
    rows = np.arange(start + n, start + 2 * n)
    as_far = rows - n
    if item.sentence.role == IN_ORDER:
        return Copies(rows, as_far, as_far)
    # Of a token that happens to have been drawn twice, its first place.
    return Copies(rows, start + (ids[None, :n] == ids[n:, None]).argmax(1), as_far)


def found_in(flat: FloatArray, rows: IntArray, targets: IntArray) -> tuple[FloatArray, FloatArray]:
    """Whether each row's largest weight is on its target, and the weight there: (row, head) both."""
    looks = flat[:, rows]
    mass = np.take_along_axis(looks, targets[None, :, None], -1)[..., 0]
    return (looks.argmax(-1) == targets).T.astype(np.float32), mass.T


class RepeatedSums:
    """Sums over the texts that are in order: mean mass on a place, all heads."""

    def __init__(self) -> None:
        self.n_texts = 0
        self.total: FloatArray = np.zeros(())

    def add(self, weights: FloatArray, item: Sample) -> None:
        """Count one text; weights (layer, head, query, key) over its pieces."""
        self.count(weights, copies(item))

    def count(self, weights: FloatArray, where: Copies) -> None:
        """Count one text of which it is known where its copies stand."""
        before = np.arange(1, weights.shape[-1])
        places = (
            weights[..., before, before - 1],
            weights[..., before, 0],
            *(weights[..., where.rows, where.first + after] for after in AFTER.values()),
        )
        self.total = self.total + np.stack([place.mean(-1, dtype=np.float64) for place in places])
        self.n_texts += 1

    def result(self) -> "RepeatedTable":
        """The means so far."""
        return RepeatedTable(self.n_texts, *(self.total / max(self.n_texts, 1)))


@dataclass(frozen=True)
class RepeatedTable:
    """Mean mass (layer, head) over `n_texts` texts: of every token on the one before it and on the first, of those
    said again on their earlier copy and on what came after it.
    """

    n_texts: int
    previous: FloatArray
    first: FloatArray
    duplicate: FloatArray
    induction: FloatArray


def is_repeated(item: Sample) -> bool:
    """Is it random tokens said twice, in order?"""
    return item.sentence.role == IN_ORDER
