"""Sentences in which a head does its job, and one in which it fails: what a reader should look at.

In: the role of a head, items, a model. Out: Examples, the surest successes and the surest failure among the
first texts that could show either. Spans are characters of `text`; None stands for [CLS] and [SEP].
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from mha_core.corpus import Span
from mha_core.heads.builtin import AGREEMENT
from mha_core.heads.copying import is_content
from mha_core.heads.coreference import DIRECTIONS as CHOICE_DIRECTIONS
from mha_core.heads.coreference import ChoiceCase, mention_scores
from mha_core.heads.positions import HasTokens
from mha_core.heads.relations import RelationCases
from mha_core.heads.roles import Role
from mha_core.heads.survey import Options, every_item, survey
from mha_core.heads.words import FloatArray, IntArray, merge_words, word_bounds
from mha_core.models import Model
from mha_core.tokens import Tokens

SCAN = 120


@dataclass(frozen=True)
class Example:
    """One case: the word that looks, what it looks at, what would be right, and the weight between the first
    two.
    """

    text: str
    query: Span | None
    looks_at: Span | None
    expected: Span | None
    weight: float
    right: bool


def find_examples(
    role: Role,
    layer: int,
    head: int,
    items: Iterable[HasTokens],
    model: Model,
    n_right: int = 3,
    n_wrong: int = 1,
) -> tuple[Example, ...]:
    """The clearest successes of a head (from 0) in its role, then failures; none for a head without a task."""
    finder = _Finder(role, layer, head)
    fitting = (item for item in items if _fits(role, item))
    survey(islice(fitting, SCAN), model, [(finder, every_item)], Options())
    good, bad = (
        sorted(
            (example for example in finder.found if example.right == right),
            key=lambda example: (-example.weight, example.text),
        )
        for right in (True, False)
    )
    return (*_different(good)[:n_right], *_different(bad)[:n_wrong])


def _fits(role: Role, item: HasTokens) -> bool:
    """Can the item show the role at all?"""
    if role.key == "syntactic":
        return isinstance(item, RelationCases) and role.detail.split(" ")[0] in item.relations
    if role.key in ("coreference", "agreement"):
        return isinstance(item, ChoiceCase) and (
            item.kind is None or (item.kind in AGREEMENT) == (role.key == "agreement")
        )
    if role.key == "copy":
        return any(True for _ in _repeats(item.tokens))
    return role.key == "positional"


def _different(examples: list[Example]) -> list[Example]:
    """One example a text."""
    return list({example.text: example for example in reversed(examples)}.values())[::-1]


class _Finder:
    """A measure that keeps cases instead of sums: at most a few of each of the first SCAN texts."""

    def __init__(self, role: Role, layer: int, head: int) -> None:
        self.role = role
        self.place = (layer, head)
        self.found: list[Example] = []

    def add(self, weights: FloatArray, item: HasTokens) -> None:
        own = weights[self.place]
        key, detail = self.role.key, self.role.detail
        if key == "syntactic" and isinstance(item, RelationCases):
            relation, direction = detail.split(" ")
            self.found += _relation(own, item, relation, direction == "dep->head")
        elif key in ("coreference", "agreement") and isinstance(item, ChoiceCase):
            self.found.append(_choice(own, item, CHOICE_DIRECTIONS.index(detail)))
        elif key == "positional":
            self.found.append(_position(own, item.tokens, int(detail)))
        elif key == "copy":
            self.found += _copies(own, item.tokens)


def _relation(own: FloatArray, item: RelationCases, relation: str, from_dependent: bool) -> list[Example]:
    words = merge_words(own, word_bounds(item.tokens))
    np.fill_diagonal(words, -1.0)
    spans = [(word.start, word.end) for word in item.tokens.words]
    found = []
    for dependent, head, name in zip(item.dependents, item.heads, item.relations, strict=True):
        if name != relation:
            continue
        line = words[dependent] if from_dependent else words[:, dependent]
        other = int(line.argmax())
        query, seen = (dependent, other) if from_dependent else (other, dependent)
        example = Example(item.tokens.text, spans[query], spans[seen], spans[head], float(line[other]), False)
        found.append(replace(example, right=other == head))
    return found


def _choice(own: FloatArray, item: ChoiceCase, direction: int) -> Example:
    scores = mention_scores(own[None], item)[direction, 0, item.pronoun[0]]
    chosen = int(scores.argmax())
    pronoun, *mentions = (_span(item.tokens, pieces) for pieces in (item.pronoun, *item.candidates))
    query, seen = (pronoun, mentions[chosen]) if direction == 0 else (mentions[chosen], pronoun)
    right = chosen == item.answer and scores[0] != scores[1]
    return Example(item.tokens.text, query, seen, mentions[item.answer], float(scores[chosen]), bool(right))


def _position(own: FloatArray, tokens: Tokens, distance: int) -> Example:
    """The sharpest row of the text whose place at the distance is a piece of the text."""
    n = len(tokens)
    rows = [i for i in range(n) if not tokens.pieces[i].special and 0 <= i + distance < n]
    query = max(rows, key=lambda i: own[i].max(), default=0)
    seen = int(own[query].argmax())
    expected = min(max(query + distance, 0), n - 1)
    spans = [_span(tokens, np.array([i])) for i in (query, seen, expected)]
    return Example(tokens.text, spans[0], spans[1], spans[2], float(own[query, seen]), seen == expected)


def _copies(own: FloatArray, tokens: Tokens) -> list[Example]:
    found = []
    for query, copies in _repeats(tokens):
        earlier = [i for i in range(query) if not tokens.pieces[i].special]
        seen = max(earlier, key=lambda i: own[query, i])
        spans = [_span(tokens, np.array([i])) for i in (query, seen, copies[-1])]
        weight = float(own[query, seen])
        found.append(Example(tokens.text, spans[0], spans[1], spans[2], weight, seen in copies))
    return found


def _repeats(tokens: Tokens) -> Iterator[tuple[int, list[int]]]:
    """Content tokens with an earlier copy, and where the copies stand."""
    for query, piece in enumerate(tokens.pieces):
        if is_content(piece):
            copies = [i for i in range(query) if tokens.pieces[i].id == piece.id]
            if copies:
                yield query, copies


def _span(tokens: Tokens, pieces: IntArray) -> Span | None:
    first, last = tokens.pieces[int(pieces[0])], tokens.pieces[int(pieces[-1])]
    return None if first.special else (first.start, last.end)
