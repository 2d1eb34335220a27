"""The questions of a treebank: does a head find the word that another depends on, and would a simple rule?

In: what every word looks at (looks.py) and the trees. Out: a `Measured` for every relation with enough cases and each
direction. Row: the word that a dependent looks at most is its head. Back: the word that looks most at the dependent is
its head; in a decoder, where no later word can be looked at, the head's own row peaks at a dependent before it.

Control: the same head from the other words of the sentence that do not depend on the same word. Another control are
the other dependents of that word: a head that finds it from them as well ties words to it, not this relation.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mha_core.heads.relations import NOT_IN_ALL
from mha_core.heads.verdicts.halves import half_of
from mha_core.heads.verdicts.looks import Looks
from mha_core.heads.verdicts.measured import BACK, Measured, Question, RuleHits
from mha_core.heads.verdicts.relation_names import named
from mha_core.heads.verdicts.rules import LEARNERS, Cases
from mha_core.heads.words import BoolArray, FloatArray

# A relation is asked for from so many cases on: with fewer, what is left of a score after correction says nothing.
MIN_RELATION = 100
OTHERS = "other words of the sentence look at the same word in"
SIBLINGS = "other dependents of the same word"


@dataclass(frozen=True)
class Asked:
    """A relation in one direction, its cases, and which of the two readings of a head answers them. `from_dependent`:
    the dependent is given and its head is looked for; in a decoder it can be the other way round."""

    question: Question
    cases: Cases
    way: int
    from_dependent: bool = True


def questions(looks: Sequence[Looks], corpus: str, is_causal: bool) -> Iterator[Asked]:
    """Every relation with enough cases, the most frequent first, in both directions."""
    pairs: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for number, one in enumerate(looks):
        n = one.at.shape[-1]
        for dependent, head in enumerate(one.sentence.heads[:n]):
            if 0 <= head < n:
                pairs[one.sentence.relations[dependent]].append((number, dependent, head))
    sentences = [one.sentence for one in looks]
    for relation in sorted(pairs, key=lambda name: (-len(pairs[name]), name)):
        if relation in NOT_IN_ALL or len(pairs[relation]) < MIN_RELATION:
            continue
        number, dependent, head = np.array(pairs[relation]).T
        for back in (False, True):
            anchor, answer = (head, dependent) if back and is_causal else (dependent, head)
            cases = Cases(sentences, number, anchor, answer)
            if is_causal:
                cases = cases.among(answer < anchor)
            if len(cases) >= MIN_RELATION:
                column = back and not is_causal
                yield Asked(
                    _question(relation, corpus, back, column), cases, int(column), not (back and is_causal)
                )


def _question(relation: str, corpus: str, back: bool, column: bool) -> Question:
    looks, at = reversed(named(relation)) if back else named(relation)
    return Question(
        relation + (BACK if back else ""),
        "syntactic",
        f"{looks} → its {at}",
        _an(f"Does a {looks} look at its {at}?"),
        corpus,
        relation,
        looks,
        at,
        column,
        OTHERS,
    )


def _an(asks: str) -> str:
    return asks.replace("Does a ", "Does an ", 1) if asks[7] in "aeiou" else asks


def measure(asked: Asked, looks: Sequence[Looks]) -> Measured:
    """All heads on the cases of one question."""
    cases = asked.cases
    halves = np.array([half_of(one.sentence.text) for one in looks], dtype=bool)
    answers = [_answered(looks[number], asked.way, a, b) for number, a, b in _numbered(cases)]
    right, control, siblings = (np.array(found, dtype=np.float32) for found in zip(*answers, strict=True))
    second = halves[cases.sentence]
    return Measured(
        asked.question,
        right,
        cases.sentence,
        second,
        _rules(cases, second, column=asked.way == 1),
        control,
        {SIBLINGS: siblings} if asked.from_dependent else {},
    )


def _numbered(cases: Cases) -> Iterator[tuple[int, int, int]]:
    columns = (cases.sentence, cases.anchor, cases.answer)
    return ((int(s), int(a), int(b)) for s, a, b in zip(*columns, strict=True))


def _answered(one: Looks, way: int, anchor: int, answer: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(head,) each: right; the share of other words that give the same answer; the same of its other dependents."""
    hits = (one.at[way] == answer).astype(np.float32)
    heads, names = one.heads, one.relations
    free = names != "punct"
    free[[anchor, answer]] = False
    tied = heads == answer
    unrelated = free & ~tied
    if heads[answer] >= 0:
        unrelated[heads[answer]] = False
    return hits[:, anchor], _mean(hits, unrelated), _mean(hits, free & tied & (names != names[anchor]))


def _mean(hits: FloatArray, kept: BoolArray) -> FloatArray:
    found: FloatArray = hits[:, kept].mean(-1) if kept.any() else np.full(len(hits), np.nan)
    return found


def _rules(cases: Cases, second: BoolArray, *, column: bool) -> tuple[RuleHits, ...]:
    """Every rule, learnt on each half and asked on the other; called as it is when it is learnt on all."""
    first_half, second_half = cases.among(~second), cases.among(second)
    if not len(first_half) or not len(second_half):
        return ()
    found = []
    for learn in LEARNERS:
        whole, one, two = learn(cases), learn(first_half), learn(second_half)
        if whole is None or one is None or two is None:
            continue
        hits = np.zeros(len(cases))
        hits[second], hits[~second] = one.hits(second_half), two.hits(first_half)
        name = whole.column if column else whole.row
        found.append(RuleHits(name, whole.short, hits, whole.by_place, whole.side))
    return tuple(sorted(found, key=lambda rule: -rule.score))
