"""Two runs to compare, lopsided on purpose: of different length, and `it` goes from the dog to the cat.

What is true of them is worked out here from the weights alone; places are counted by hand.
"""

import numpy as np
from alone import grid_of
from drawn import percent

A = ["[CLS]", "the", "dog", "saw", "a", "cat", "and", "it", "ran", ".", "[SEP]"]
B = ["[CLS]", "yesterday", "the", "dog", "saw", "a", "cat", "because", "it", "hid", "too", ".", "[SEP]"]
# Word beside word, by hand; None where one has no counterpart.
PAIRS = [
    (0, 0), (None, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, None), (None, 9), (None, 10),
    (9, 11), (10, 12),
]  # fmt: skip
NAMES = [
    "[CLS]", "yesterday", "the", "dog", "saw", "a", "cat", "and / because", "it", "ran", "hid", "too", ".", "[SEP]",
]  # fmt: skip
BOTH = [column for column, (a, b) in enumerate(PAIRS) if a is not None and b is not None]
CLS, DOG, SAW, CAT, IT, RAN = 0, 3, 4, 6, 8, 9  # columns
LAYERS, HEADS = 2, 3
COREFERENCE = (1, 2)


def _weights(n: int, seed: int, links: dict[tuple[int, int], float]) -> np.ndarray:
    """Random rows that add up to one; in head 2-3 some of them by hand."""
    out = np.random.default_rng(seed).dirichlet(np.full(n, 0.4), size=(LAYERS, HEADS, n))
    for query in {query for query, _ in links}:
        shares = {key: share for (q, key), share in links.items() if q == query}
        rest = np.where([key in shares for key in range(n)], 0, out[1, 2, query])
        out[1, 2, query] = rest / rest.sum() * (1 - sum(shares.values()))
        for key, share in shares.items():
            out[1, 2, query, key] = share
    return out.astype(np.float32)


RUN_A = grid_of(A, _weights(len(A), 3, {(7, 2): 0.7, (7, 5): 0.005, (7, 3): 0.012, (3, 0): 0.15}))
RUN_B = grid_of(B, _weights(len(B), 4, {(8, 6): 0.6, (8, 4): 0.004, (4, 0): 0.83}))
WEIGHTS = (RUN_A[0].weights.astype(float), RUN_B[0].weights.astype(float))
ALL_HEADS = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


def change(head: tuple[int, int]) -> np.ndarray:
    """A minus B between the words that both have."""
    a, b = ([PAIRS[column][side] for column in BOTH] for side in (0, 1))
    return WEIGHTS[0][head][np.ix_(a, a)] - WEIGHTS[1][head][np.ix_(b, b)]


def row(head: tuple[int, int], column: int, side: int) -> np.ndarray:
    """What the word of a column looks at in A (0) or B (1), one number a column; 0 where there is no word."""
    own = WEIGHTS[side][head]
    query = PAIRS[column][side]
    return np.array([0 if query is None or p[side] is None else own[query, p[side]] for p in PAIRS])


def moved(head: tuple[int, int], columns: list[int]) -> float:
    """The share of the look that moved: half of all differences."""
    a, b = (sum(row(head, column, side) for column in columns) / len(columns) for side in (0, 1))
    return float(np.abs(a - b).sum() / 2)


def points(difference: float) -> str:
    """A difference as the picture writes it: whole points, below one with a decimal."""
    text = percent(difference).removesuffix("%")
    return text if text == "0" else f"{'−' if difference < 0 else '+'}{text}"


def named(head: tuple[int, int]) -> str:
    return f"{head[0] + 1}-{head[1] + 1}"
