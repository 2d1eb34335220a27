"""Small sentences and attention made by hand, so that every score can be worked out on paper."""

from collections.abc import Sequence

import numpy as np

from mha_core.text.tokens import Token, Tokens, Word


def tokens_of(words: Sequence[str | Sequence[str]]) -> Tokens:
    """[CLS], the words (one given as a list is split into these pieces), [SEP]. Ids follow the spelling."""
    pieces, spelled = [Token("[CLS]", 101, 0, 0, 0, None, True, "begin")], []
    text = " ".join(word if isinstance(word, str) else "".join(word) for word in words)
    place = 0
    for number, word in enumerate(words):
        parts = [word] if isinstance(word, str) else list(word)
        start, first = place, len(pieces)
        for part in parts:
            mark = "" if part is parts[0] else "##"
            name = mark + part
            identity = 1000 + sum(ord(c) * 31**i for i, c in enumerate(name)) % 20000
            pieces.append(Token(name, identity, place, place + len(part), 0, number, False, None, mark))
            place += len(part)
        spelled.append(Word("".join(parts), start, place, 0, first, len(pieces)))
        place += 1
    pieces.append(Token("[SEP]", 102, 0, 0, 0, None, True, "separator"))
    return Tokens(text, None, tuple(pieces), tuple(spelled))


def looking(n: int, targets: dict[int, int], strength: float = 0.9) -> np.ndarray:
    """(n, n): row i gives `strength` to targets[i] and shares the rest; a row without a target is uniform."""
    found = np.full((n, n), 1 / n, dtype=np.float32)
    for row, target in targets.items():
        found[row] = (1 - strength) / (n - 1)
        found[row, target] = strength
    return found


def random_attention(seed: int, layers: int, heads: int, n: int) -> np.ndarray:
    """Rows that sum to one and are all different."""
    raw = np.random.default_rng(seed).exponential(size=(layers, heads, n, n)) ** 2
    return (raw / raw.sum(-1, keepdims=True)).astype(np.float32)
