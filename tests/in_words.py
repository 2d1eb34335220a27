"""What one head does, in one sentence, told apart from the browser: what assets/js/words.js has to write."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mha_core.display_names import Head, head_name, percent, visible
from mha_core.draw.text import indexed, listed, spelled
from mha_core.record.compact_weights import STEPS, quantise
from mha_core.record.grid import Grid
from mha_core.text.tokens import Tokens


def sentence_in_words(grid: Grid, head: Head, pins: Sequence[int], tokens: Tokens | None = None) -> str:
    """What one head does, in one sentence; letter for letter what the browser writes (assets/js/words.js)."""
    names = indexed(spelled(grid, tokens)["names"] if tokens else [visible(label) for label in grid.labels])
    weights = quantise(grid.weights[head]).astype(np.float64)
    number = head_name(head)
    if pins:
        return _row_in_words(number, names, pins, weights)
    words = np.array([unit.is_word for unit in grid.units], dtype=bool)
    words[:1] &= not grid.is_causal  # all others can rest on a decoder's first token
    weights *= np.outer(words, words) & ~np.eye(len(words), dtype=bool)
    links = [(row.max() / STEPS, q, int(row.argmax())) for q, row in enumerate(weights) if row.max() > 0]
    links.sort(key=lambda link: (-link[0], link[1]))
    what = [f"“{names[q]}” looks at “{names[k]}” ({percent(w)})" for w, q, k in links[:3]]
    if not what:
        return f"Head {number}: no link between two words of this text."
    left = dict.fromkeys(names[i].rstrip("₀₁₂₃₄₅₆₇₈₉") for i in np.flatnonzero(~words))
    but = f" ({listed(list(left))} left out)" if left else ""
    return f"Head {number}, its strongest links between words{but}: {listed(what)}."


def _row_in_words(number: str, names: list[str], pins: Sequence[int], weights: NDArray[np.float64]) -> str:
    # Pin by pin: the browser adds in the same order, so that roundings agree.
    row = np.zeros(len(names), dtype=np.float64)
    for pin in pins:
        row += weights[pin] / STEPS / len(pins)
    best = sorted((k for k in range(len(row)) if row[k] > 0 and row[k] >= 0.01), key=lambda k: (-row[k], k))[
        :3
    ]
    who = listed([f"“{names[pin]}”" for pin in pins])
    looks = "look on average" if len(pins) > 1 else "looks"
    what = listed([f"“{names[k]}” ({percent(float(row[k]))})" for k in best]) or "nothing with 1% or more"
    return f"Head {number}: {who} {looks} at {what}."
