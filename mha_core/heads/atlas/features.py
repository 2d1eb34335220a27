"""What a pair of tokens, query and key, can be: yes or no, fixed before any head was looked at.

In: tokens. Out: for every feature a matrix (query, key), and how often it is true of pairs at each distance. A head is
described by these features or by none. Word lists are short on purpose.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.engine.visibility import Visibility
from mha_core.heads.atlas.collect import candidates
from mha_core.heads.word_weights import BoolArray
from mha_core.text.tokens import Tokens
from mha_core.wordlists import AUXILIARIES, CLAUSE_OPENERS, DETERMINERS, POSSESSIVES, PREPOSITIONS, PRONOUNS

# A form of the same word: so many letters at the beginning are the same, and so large a part of the longer one.
SAME_LETTERS, SAME_PART = 4, 0.6
NEAR_LETTERS = 3  # two tokens that are near copies begin with the same letters
FAR = 10_000


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
        """A few words for it, without articles and examples."""
        short = self.words.removeprefix("at ").split(" (")[0].replace("`", "")
        return re.sub(r"\b(?:an?|the) ", "", short)


def _words(listed: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(listed))})\b", re.IGNORECASE)


OTHER_PRONOUNS = frozenset(
    "i you we me us myself yourself mine yours someone somebody everyone everybody nobody who whom".split()  # noqa: SIM905
)


# key: (how it reads after "from" or "to", where it is in a text).
TOKEN_KINDS = {
    "determiner": ("a determiner (`the`, `my`, `this`)", _words((DETERMINERS | POSSESSIVES) - {"no"})),
    "preposition": ("a preposition (`of`, `in`, `to`)", _words(PREPOSITIONS | {"to"})),
    "pronoun": ("a pronoun", _words(PRONOUNS | OTHER_PRONOUNS)),
    "auxiliary": ("an auxiliary (`is`, `have`, `will`)", _words(AUXILIARIES)),
    "clause": ("a word that opens a clause (`if`, `that`, `when`)", _words(CLAUSE_OPENERS)),
    "joining": ("`and`, `or`, `but` or a comma", re.compile(r"\b(?:and|or|but|nor)\b|[,&]", re.IGNORECASE)),
    "negation": ("a negation or limit (`not`, `never`, `only`)", re.compile(
        r"\w+n['’]t\b|\b(?:not|no|never|nothing|nobody|nowhere|none|neither|nor|without|cannot|hardly|barely|only|"
        r"just|even)\b", re.IGNORECASE)),
    "number": ("a number", re.compile(r"\d+")),
    "capital": ("a capitalised word", re.compile(r"\b[A-Z]\w*")),
    "punctuation": ("punctuation", re.compile(r"[^\w\s]")),
    "end": ("the end of a sentence", re.compile(r"[.!?](?=[\s\"”)]|$)")),
    "comma": ("a comma", re.compile(r",")),
}  # fmt: skip
OPENING = ("opening", "an opening quotation mark or bracket")
# The second half of a pair of conjunctions, and its first.
PAIRS = {
    "or": {"either", "whether"}, "nor": {"neither"}, "and": {"both", "between"}, "then": {"if", "when"},
    "to": {"from"}, "as": {"such", "as", "same"}, "that": {"so", "such"}, "but": {"not"},
    "than": {"more", "less", "rather", "fewer", "better", "other"},
}  # fmt: skip
POSITIONS = (
    Feature("itself", "position", "at itself", (0, 0)),
    Feature("one back", "position", "at the previous token", (1, 1)),
    Feature("two back", "position", "two tokens back", (2, 2)),
    Feature("1 to 3 back", "position", "1–3 tokens back", (1, 3)),
    Feature("3 to 6 back", "position", "3–6 tokens back", (3, 6)),
    Feature("7 to 16 back", "position", "7–16 tokens back", (7, 16)),
    Feature("over 16 back", "position", "more than 16 tokens back", (17, FAR)),
)
ONWARDS = (
    Feature("one on", "position", "at the next token", (-1, -1)),
    Feature("two on", "position", "two tokens ahead", (-2, -2)),
    Feature("1 to 3 on", "position", "1–3 tokens ahead", (-3, -1)),
    Feature("3 to 6 on", "position", "3–6 tokens ahead", (-6, -3)),
    Feature("over 6 on", "position", "more than 6 tokens ahead", (-FAR, -7)),
)
LINKS = (
    Feature("same token", "link", "at a duplicate token"),
    Feature("another form", "link", "at another form of the same word"),
    Feature("after a copy", "link", "at the token after an earlier copy (induction)"),
    Feature("after a near copy", "link", "at the token after a similar one (fuzzy induction)"),
    Feature("within a word", "link", "at another token of the same word"),
    Feature("pair of joining words", "link", "from the second to the first of a word pair (`either` … `or`)"),
)  # fmt: skip


@cache
def features(is_causal: bool) -> tuple[Feature, ...]:
    """Return all features, in the order of the matrices; a decoder's tokens do not look ahead."""
    kinds = {key: words for key, (words, _) in TOKEN_KINDS.items()} | dict([OPENING])
    ends = [Feature(f"{end} {key}", end, f"{end} {kinds[key]}") for end in ("from", "to") for key in kinds]
    return (*POSITIONS, *(() if is_causal else ONWARDS), *LINKS, *ends)


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """One passage's. `holds` (feature, query, key); `pairs` (distance,) and `counts` (feature, distance): how many
    pairs there are at each distance and of how many each feature is true, distances from 1 - n to n - 1 back;
    `rows` (layer, feature, query): the share of the keys that a query may look at of which it is true."""

    holds: BoolArray
    pairs: IntArray
    counts: IntArray
    rows: FloatArray


def pair_features(tokens: Tokens, visibility: Visibility) -> PairFeatures:
    """Return every feature of every pair of one passage, pairs that are in sight in any layer."""
    n, is_causal = len(tokens), visibility.is_causal
    by_layer = candidates(tokens, visibility)
    can = by_layer.any(0)
    back = np.subtract.outer(np.arange(n), np.arange(n))
    links = _links(tokens, back, is_causal)
    matrices = []
    for feature in features(is_causal):
        if feature.distance is not None:
            matrices.append((back >= feature.distance[0]) & (back <= feature.distance[1]))
        elif feature.kind == "link":
            matrices.append(links[feature.key])
        else:
            mark = _marked(tokens, feature.key.split(" ", 1)[1])
            matrices.append(np.broadcast_to(mark[:, None] if feature.kind == "from" else mark, (n, n)))
    holds = np.stack(matrices) & can
    places = (back + n - 1)[can]
    counts = np.stack([np.bincount(places, each[can], 2 * n - 1) for each in holds]).astype(np.int32)
    rows = np.stack([(holds & each).sum(-1) / np.maximum(each.sum(-1), 1) for each in by_layer])
    return PairFeatures(holds, np.bincount(places, minlength=2 * n - 1), counts, rows)


def _marked(tokens: Tokens, kind: str) -> BoolArray:
    """Return which tokens share a character with a word or sign of this kind, (n,); special tokens never do."""
    text = tokens.text
    spans = (
        _opening_marks(text)
        if kind == OPENING[0]
        else [m.span() for m in TOKEN_KINDS[kind][1].finditer(text)]
    )
    inside = np.zeros(len(text) + 1, bool)
    for start, stop in spans:
        inside[start:stop] = True
    return np.array([not piece.special and inside[piece.start : piece.end].any() for piece in tokens.pieces])


def _opening_marks(text: str) -> list[tuple[int, int]]:
    """Spans of opening brackets and quotation marks. Of straight quotation marks every second one opens; a straight
    apostrophe opens between a space and a letter."""
    spans, inside = [], False
    for place, sign in enumerate(text):
        if sign == '"':
            inside = not inside
        single = sign == "'" and not text[place - 1 : place].strip() and text[place + 1 : place + 2].isalpha()
        if sign in "([{<“‘«" or (sign == '"' and inside) or single:
            spans.append((place, place + 1))
    return spans


def _links(tokens: Tokens, back: IntArray, is_causal: bool) -> dict[str, BoolArray]:
    n = len(tokens)
    ids = np.array(tokens.ids)
    other = back != 0
    same = (ids[:, None] == ids[None, :]) & other
    bare = [piece.bare.lower() for piece in tokens.pieces]
    word = np.array([-1 if piece.word is None else piece.word for piece in tokens.pieces])
    within = (word[:, None] == word[None, :]) & (word >= 0)[:, None]
    near = _alike(bare, NEAR_LETTERS, 0.0) & ~same & other
    whole = [tokens.words[i].text.lower() if i >= 0 else "" for i in word]
    forms = _alike(whole, SAME_LETTERS, SAME_PART) & ~same & ~within
    # What comes after a key's left neighbour is the key: a copy of the query there is a copy before the key. Of an
    # encoder, too, the copy is an earlier one.
    earlier = np.ones((n, n), bool) if is_causal else back > 0
    after, after_near = (np.pad(each[:, :-1], ((0, 0), (1, 0))) & earlier & other for each in (same, near))
    firsts = {second: np.isin(bare, list(first)) for second, first in PAIRS.items()}
    pairs = np.stack([firsts.get(text, np.zeros(n, bool)) for text in bare]) & (back > 0)
    return {
        "same token": same,
        "another form": forms,
        "after a copy": after,
        "after a near copy": after_near,
        "within a word": within & other,
        "pair of joining words": pairs,
    }


def _alike(texts: list[str], letters: int, part: float) -> BoolArray:
    """Return which texts begin with the same letters, at least so many, and so large a part of the longer one."""
    n = len(texts)
    alike = np.zeros((n, n), bool)
    spelled = [i for i in range(n) if texts[i].isalpha() and len(texts[i]) >= letters]
    spelled.sort(key=lambda i: texts[i][:letters])
    for _, group in groupby(spelled, key=lambda i: texts[i][:letters]):
        members = list(group)
        for i in members:
            for j in members:
                shared = next(
                    (k for k, pair in enumerate(zip(texts[i], texts[j], strict=False)) if len(set(pair)) > 1),
                    min(len(texts[i]), len(texts[j])),
                )
                alike[i, j] = shared >= part * max(len(texts[i]), len(texts[j]))
    return alike
