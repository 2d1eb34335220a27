"""Which kinds of token a text has: closed lists of words and signs, fixed before any head was looked at.

In: tokens. Out: for every kind a mark on each piece that overlaps a place in the text where such a word or sign
stands. Word lists are short on purpose; what is in none of them has no kind.
"""

import re

import numpy as np

from mha_core.heads.words import BoolArray
from mha_core.tokens import Tokens


def _words(listed: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(listed.split())})\b", re.IGNORECASE)


# (key, how a reader reads it after "from" or "to", what it is).
KINDS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "determiner", "a determiner (`the`, `my`, `this`)",
        _words("the a an this that these those every each another some any my your his her its our their"),
    ),
    (
        "preposition", "a preposition (`of`, `in`, `to`)",
        _words(
            "of in on at by for with from to into onto over under about between through against during within "
            "without across behind above below near"
        ),
    ),
    (
        "pronoun", "a pronoun",
        _words(
            "i you he she it we they me him us them myself yourself himself herself itself themselves mine yours "
            "someone somebody everyone everybody nobody who whom"
        ),
    ),
    (
        "auxiliary", "an auxiliary (`is`, `have`, `will`)",
        _words(
            "am is are was were be been being have has had having do does did will would shall should can could "
            "may might must"
        ),
    ),
    (
        "clause", "what opens a clause (`if`, `that`, `when`)",
        _words(
            "if that when because while who which what how where why although though since unless whether until "
            "before after as so"
        ),
    ),
    ("joining", "`and`, `or`, `but` or a comma", re.compile(r"\b(?:and|or|but|nor)\b|[,&]", re.IGNORECASE)),
    (
        "negation", "a negation or what limits (`not`, `never`, `only`, `just`)",
        re.compile(
            r"\w+n['’]t\b|\b(?:not|no|never|nothing|nobody|nowhere|none|neither|nor|without|cannot|hardly|barely|only|"
            r"just|even)\b",
            re.IGNORECASE,
        ),
    ),
    ("number", "a number", re.compile(r"\d+")),
    ("capital", "a word with a capital", re.compile(r"\b[A-Z]\w*")),
    ("punctuation", "punctuation", re.compile(r"[^\w\s]")),
    ("end", "the end of a sentence", re.compile(r"[.!?](?=[\s\"”)]|$)")),
    ("comma", "a comma", re.compile(r",")),
)  # fmt: skip
OPENING = ("opening", "an opening quotation mark or bracket")
WORDS = {key: words for key, words, _ in KINDS} | {OPENING[0]: OPENING[1]}


def classes(tokens: Tokens) -> dict[str, BoolArray]:
    """For every kind, which pieces are of it, (n,) each; special tokens are of none."""
    text = tokens.text
    found = {key: _marked(tokens, [match.span() for match in what.finditer(text)]) for key, _, what in KINDS}
    found[OPENING[0]] = _marked(tokens, opening_marks(text))
    return found


def opening_marks(text: str) -> list[tuple[int, int]]:
    """Where an opening bracket or quotation mark stands. Of straight quotation marks every second one opens; a straight
    apostrophe opens between a space and a letter."""
    spans, inside = [], False
    for at, sign in enumerate(text):
        if sign == '"':
            inside = not inside
        single = sign == "'" and not text[at - 1 : at].strip() and text[at + 1 : at + 2].isalpha()
        if sign in "([{<“‘«" or (sign == '"' and inside) or single:
            spans.append((at, at + 1))
    return spans


def _marked(tokens: Tokens, spans: list[tuple[int, int]]) -> BoolArray:
    """Pieces that share a character with one of the spans, which are in order and apart."""
    inside = np.zeros(len(tokens.text) + 1, bool)
    for start, stop in spans:
        inside[start:stop] = True
    before = np.concatenate([[0], inside.cumsum()])
    marks = np.zeros(len(tokens), bool)
    for i, piece in enumerate(tokens.pieces):
        if not piece.special:
            marks[i] = before[piece.end] > before[piece.start]
    return marks
