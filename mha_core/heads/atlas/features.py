"""What a pair of tokens (one that looks, one that is looked at) can be said to be: yes or no, fixed beforehand.

In: tokens. Out: for every feature a matrix (query, key), and how often it is true of pairs at each distance. A
description of a head is one of these features or none; nothing is made up afterwards.
"""

from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np

from mha_core.heads.atlas.classes import WORDS, classes
from mha_core.heads.words import seen
from mha_core.heads.words import BoolArray, FloatArray, IntArray
from mha_core.tokens import Tokens

# A form of the same word: so many letters at the beginning are the same, and so large a part of the longer one.
SAME_LETTERS, SAME_PART = 4, 0.6
NEAR_LETTERS = 3  # two tokens that are near copies begin with the same letters
# The second half of a pair of joining words, and its first.
PAIRS = {
    "or": {"either", "whether"}, "nor": {"neither"}, "and": {"both", "between"}, "then": {"if", "when"},
    "to": {"from"}, "as": {"such", "as", "same"}, "that": {"so", "such"}, "but": {"not"},
    "than": {"more", "less", "rather", "fewer", "better", "other"},
}  # fmt: skip


@dataclass(frozen=True)
class Feature:
    """`kind`: position (said by the distance alone), link (what the two have to do with each other), from or to
    (what one of them is). `words` completes the sentence "it looks ..."."""

    key: str
    kind: str
    words: str
    distance: tuple[int, int] | None = None  # of a position: from, to, in tokens back (negative: further on)

    @property
    def name(self) -> str:
        """A few words for it, without its examples."""
        return self.words.removeprefix("at ").split(" (")[0].replace("`", "")


FAR = 10_000
POSITIONS = (
    Feature("itself", "position", "at itself", (0, 0)),
    Feature("one back", "position", "one token back", (1, 1)),
    Feature("two back", "position", "two tokens back", (2, 2)),
    Feature("1 to 3 back", "position", "one to three tokens back", (1, 3)),
    Feature("3 to 6 back", "position", "three to six tokens back", (3, 6)),
    Feature("7 to 16 back", "position", "seven to sixteen tokens back", (7, 16)),
    Feature("over 16 back", "position", "more than sixteen tokens back", (17, FAR)),
)
ONWARDS = (
    Feature("one on", "position", "one token further on", (-1, -1)),
    Feature("two on", "position", "two tokens further on", (-2, -2)),
    Feature("1 to 3 on", "position", "one to three tokens further on", (-3, -1)),
    Feature("3 to 6 on", "position", "three to six tokens further on", (-6, -3)),
    Feature("over 6 on", "position", "more than six tokens further on", (-FAR, -7)),
)
LINKS = (
    Feature("same token", "link", "at another copy of the same token"),
    Feature("another form", "link", "at the same word in another form"),
    Feature("after a copy", "link", "at what came after an earlier copy of the token"),
    Feature("after a near copy", "link", "at what came after a similar token"),
    Feature("within a word", "link", "at another piece of the same word"),
    Feature("pair of joining words", "link", "from the second half of a pair such as `either` ... `or` to its first"),
)  # fmt: skip


@cache
def features(is_causal: bool) -> tuple[Feature, ...]:
    """All features, in the order of the matrices; a decoder's tokens do not look further on."""
    kinds = [Feature(f"from {key}", "from", f"from {words}") for key, words in WORDS.items()]
    kinds += [Feature(f"to {key}", "to", f"to {words}") for key, words in WORDS.items()]
    return (*POSITIONS, *(() if is_causal else ONWARDS), *LINKS, *kinds)


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """One passage's. `of` (feature, query, key); `pairs` (distance,) and `counts` (feature, distance): how many
    pairs there are at each distance and of how many each feature is true, distances from 1 - n to n - 1 back;
    `rows` (feature, query): of how many of the keys that a query may look at it is true, as a share."""

    of: BoolArray
    pairs: IntArray
    counts: IntArray
    rows: FloatArray


def allowed(tokens: Tokens, is_causal: bool) -> BoolArray:
    """(query, key): who can look at what, apart from where heads rest: a decoder's first token, specials elsewhere."""
    ordinary = np.array([not piece.special for piece in tokens.pieces])
    if is_causal:
        ordinary[0] = False
    found: BoolArray = seen(len(tokens), is_causal) & ordinary[:, None] & ordinary[None, :]
    return found


def pair_features(tokens: Tokens, is_causal: bool) -> PairFeatures:
    """Every feature of every pair of one passage."""
    n = len(tokens)
    can = allowed(tokens, is_causal)
    back = np.arange(n)[:, None] - np.arange(n)[None, :]
    marks = classes(tokens)
    links = _links(tokens, back, is_causal)
    found = []
    for feature in features(is_causal):
        if feature.distance is not None:
            found.append((back >= feature.distance[0]) & (back <= feature.distance[1]))
        elif feature.kind == "link":
            found.append(links[feature.key])
        else:
            mark = marks[feature.key.split(" ", 1)[1]]
            found.append(np.broadcast_to(mark[:, None] if feature.kind == "from" else mark[None, :], (n, n)))
    of = np.stack(found) & can
    places = (back + n - 1)[can]
    counts = np.stack([np.bincount(places, one[can], 2 * n - 1) for one in of]).astype(np.int32)
    rows = of.sum(-1) / np.maximum(can.sum(-1), 1)
    return PairFeatures(of, np.bincount(places, minlength=2 * n - 1), counts, rows)


def _links(tokens: Tokens, back: IntArray, is_causal: bool) -> dict[str, BoolArray]:
    n = len(tokens)
    ids = np.array(tokens.ids)
    other = back != 0
    same = (ids[:, None] == ids[None, :]) & other
    bare = [piece.bare.lower() for piece in tokens.pieces]
    word = np.array([-1 if piece.word is None else piece.word for piece in tokens.pieces])
    within = (word[:, None] == word[None, :]) & (word >= 0)[:, None]
    near = _alike([_letters(text) for text in bare], NEAR_LETTERS, 0.0) & ~same & other
    whole = [tokens.words[i].text.lower() if i >= 0 else "" for i in word]
    forms = _alike([_letters(text) for text in whole], SAME_LETTERS, SAME_PART) & ~same & ~within
    # What comes after a key's left neighbour is the key: a copy of the query there is a copy before the key.
    after = np.zeros((n, n), bool)
    after[:, 1:] = same[:, :-1]
    after_near = np.zeros((n, n), bool)
    after_near[:, 1:] = near[:, :-1]
    if not is_causal:  # the copy is an earlier one in an encoder, too
        earlier = back > 0
        after, after_near = after & earlier, after_near & earlier
    firsts = {second: np.isin(bare, list(first)) for second, first in PAIRS.items()}
    pairs = np.stack([firsts.get(text, np.zeros(n, bool)) for text in bare]) & (back > 0)
    return {
        "same token": same,
        "another form": forms,
        "after a copy": after & other,
        "after a near copy": after_near & other,
        "within a word": within & other,
        "pair of joining words": pairs,
    }


def _letters(text: str) -> str:
    return text if text.isalpha() else ""


def _alike(texts: list[str], letters: int, part: float) -> BoolArray:
    """Which texts begin with the same letters, at least so many, and so large a part of the longer one."""
    n = len(texts)
    found = np.zeros((n, n), bool)
    order = sorted((i for i in range(n) if len(texts[i]) >= letters), key=lambda i: texts[i][:letters])
    for _, group in groupby(order, key=lambda i: texts[i][:letters]):
        members = list(group)
        for i in members:
            for j in members:
                shared = _shared(texts[i], texts[j])
                found[i, j] = shared >= part * max(len(texts[i]), len(texts[j]))
    return found


def _shared(a: str, b: str) -> int:
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))
