"""Does a head find the word that another depends on, and would a simple rule?

In: weights (layer, head, query, key) of sentences with gold relations. Out: a `Measured` for every relation with
enough cases, in each direction. Row: the word that a dependent looks at most is its head. Back: the word that looks
most at the dependent is its head; in a decoder, where no later word can be looked at, the head's own row peaks at a
dependent before it. The word itself and special tokens are no candidates.

Control: the same head from the other words of the sentence that do not depend on the same word. `others`: from the
other dependents of that word: a head that finds it from them as well ties words to it, not this relation.

Source: Clark et al. 2019, section 4.2; Voita et al. 2019 for the offset that a syntactic head must beat.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nsmallest
from operator import itemgetter

import numpy as np

from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.base import BACK, Baseline, Measured, Question
from mha_core.heads.questions.relation_names import named
from mha_core.heads.questions.rules import LEARNERS, Cases, Rule
from mha_core.heads.stats import digests_of, half_of
from mha_core.heads.words import BoolArray, FloatArray, IntArray, merge_words, visible_words, word_bounds
from mha_core.tokens import Tokens
from mha_core.visibility import EVERYTHING, Visibility

# A relation is asked for from so many cases on: with fewer, what is left of a score after correction says nothing.
MIN_RELATION = 100
MOST_LEARNT = 4096
NOT_ASKED = ("root", "punct", "_")  # the last: a word of which no gold is known
CONTROL = "other words of the sentence look at the same word"
SIBLINGS = "other dependents of the same word"


@dataclass(frozen=True)
class Tree:
    """A sentence with gold, and its tokens; `whole`: so many of its words the model reads."""

    sentence: Sentence
    tokens: Tokens

    @property
    def whole(self) -> int:
        """The last word of a text that was cut may have lost its end."""
        return len(self.tokens.words) - bool(self.tokens.n_cut)


@dataclass(frozen=True)
class Looks:
    """One sentence: `at` (direction, head, word), the word that a word looks at most, and by which it is looked at
    most; `candidates` (direction, word), among how many, in the layer that sees fewest."""

    sentence: Sentence
    at: IntArray
    candidates: IntArray

    @cached_property
    def heads(self) -> IntArray:
        """The position of each word's head, -1 for the root and for one that the model does not read, (word,)."""
        n = self.at.shape[-1]
        found = np.array(self.sentence.heads[:n], dtype=np.intp)
        return np.where(found < n, found, -1)

    @cached_property
    def relations(self) -> np.ndarray:
        """The relation of each word to its head, (word,)."""
        return np.array(self.sentence.relations[: self.at.shape[-1]])


class LooksLog:
    """Keeps what every word of every sentence looks at, for every head: two bytes a head and word."""

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility = visibility
        self.found: list[Looks] = []

    def add(self, weights: FloatArray, item: Tree) -> None:
        """Keep one sentence; weights (layer, head, query, key) over its tokens."""
        whole = item.whole
        if whole < 2:
            return
        bounds = word_bounds(item.tokens)[:whole]
        visible = visible_words(self.visibility.mask(len(item.tokens)), bounds) & ~np.eye(whole, dtype=bool)
        flat = np.where(visible[:, None], merge_words(weights, bounds), -1.0).reshape(-1, whole, whole)
        axes = (-1,) if self.visibility.is_causal else (-1, -2)
        at, candidates = ([each(axis) for axis in axes] for each in (flat.argmax, visible.sum))
        fewest = np.array(candidates, dtype=np.int16).min(1)
        self.found.append(Looks(item.sentence, np.array(at, dtype=np.int16), fewest))


# A rule as it was learnt on all cases, on the first half, and on the second.
Learnt = tuple[Rule, Rule, Rule]


@dataclass(frozen=True)
class Asked:
    """A relation in one direction, its cases, and which of the two readings of a head answers them. `from_dependent`:
    the dependent is given and its head is looked for; in a decoder it can be the other way round. `rules`: what was
    learnt on more cases than these."""

    question: Question
    cases: Cases
    way: int
    from_dependent: bool = True
    is_causal: bool = False
    rules: tuple[Learnt, ...] | None = None


class Relations:
    """Which relations there are, and the cases that rules are learnt from, read sentence by sentence.

    Rules are learnt from all cases of a relation or, where there are more than MOST_LEARNT, from so many, drawn by the
    digest of their sentences.
    """

    def __init__(self, is_causal: bool = False) -> None:
        self.is_causal = is_causal
        self.n: Counter[tuple[str, bool]] = Counter()
        self.drawn: dict[str, list[tuple[int, int, int, Sentence]]] = defaultdict(list)

    def read(self, looks: Sequence[Looks]) -> None:
        """Count the relations of some sentences."""
        keys = digests_of([one.sentence.text for one in looks]).tolist()
        for relation, pairs in _pairs(looks).items():
            if relation in NOT_ASKED:
                continue
            self.n.update((relation, head < dependent) for _, dependent, head in pairs)
            new = [(keys[number], *ends, looks[number].sentence) for number, *ends in pairs]
            self.drawn[relation] = nsmallest(MOST_LEARNT, self.drawn[relation] + new, key=itemgetter(0, 1, 2))

    def questions(self, corpus: str) -> Iterator[Asked]:
        """Yield every relation with enough cases, the most frequent first, in both directions, its rules learnt."""
        n = {relation: self.n[relation, True] + self.n[relation, False] for relation in self.drawn}
        for relation in sorted(n, key=lambda name: (-n[name], name)):
            if n[relation] < MIN_RELATION:
                continue
            pairs = [(number, *one[1:3]) for number, one in enumerate(self.drawn[relation])]
            sentences = [one[3] for one in self.drawn[relation]]
            for back in (False, True):
                if self.is_causal and self.n[relation, not back] < MIN_RELATION:
                    continue
                way, forward = int(back and not self.is_causal), not (back and self.is_causal)
                cases = _cases(sentences, pairs, self.is_causal, forward)
                asked = Asked(_question(relation, corpus, back), cases, way, forward, self.is_causal)
                yield replace(asked, rules=_learnt(cases, _halves(sentences)[cases.sentence]))


def _pairs(looks: Sequence[Looks]) -> dict[str, list[tuple[int, int, int]]]:
    """By relation the number of the sentence, dependent and head."""
    pairs: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for number, one in enumerate(looks):
        n = one.at.shape[-1]
        for dependent, head in enumerate(one.sentence.heads[:n]):
            if 0 <= head < n:
                pairs[one.sentence.relations[dependent]].append((number, dependent, head))
    return pairs


def _cases(
    sentences: Sequence[Sentence], pairs: list[tuple[int, int, int]], is_causal: bool, from_dependent: bool
) -> Cases:
    number, dependent, head = np.array(pairs, dtype=np.intp).reshape(-1, 3).T
    anchor, answer = (dependent, head) if from_dependent else (head, dependent)
    cases = Cases(sentences, number, anchor, answer)
    return cases.among(answer < anchor) if is_causal else cases


def among(asked: Sequence[Asked], looks: Sequence[Looks]) -> Iterator[Asked]:
    """Yield the questions with the cases of these sentences, those that have any."""
    pairs, sentences = _pairs(looks), [one.sentence for one in looks]
    for one in asked:
        cases = _cases(sentences, pairs[one.question.relation], one.is_causal, one.from_dependent)
        if len(cases):
            yield replace(one, cases=cases)


def questions(looks: Sequence[Looks], corpus: str, is_causal: bool) -> Iterator[Asked]:
    """Yield every relation with enough cases in these sentences."""
    known = Relations(is_causal)
    known.read(looks)
    yield from (replace(one, rules=None) for one in among(list(known.questions(corpus)), looks))


def _question(relation: str, corpus: str, back: bool) -> Question:
    looks, at = reversed(named(relation)) if back else named(relation)
    article = "an" if looks[0] in "aeiou" else "a"
    return Question(
        relation + (BACK if back else ""),
        "syntactic",
        f"{looks} → its {at}",
        f"looks from {article} {looks} to its {at}",
        f"Does {article} {looks} look at its {at}?",
        corpus,
        relation,
        CONTROL,
    )


def measure(asked: Asked, looks: Sequence[Looks]) -> Measured:
    """Measure all heads on the cases of one question."""
    cases = asked.cases
    halves = _halves(cases.sentences)
    answers = [_answered(looks[number], asked.way, a, b) for number, a, b in _numbered(cases)]
    right, control, siblings = (np.array(found, dtype=np.float32) for found in zip(*answers, strict=True))
    at = np.array([looks[number].at[asked.way, :, anchor] for number, anchor, _ in _numbered(cases)])
    documents = digests_of([one.sentence.source for one in looks])
    candidates = np.array([looks[number].candidates[asked.way, a] for number, a, _ in _numbered(cases)])
    return Measured(
        asked.question,
        right,
        documents[cases.sentence],
        halves[cases.sentence],
        _baselines(asked, halves[cases.sentence], at),
        control,
        {SIBLINGS: siblings} if asked.from_dependent else {},
        chance=1 / np.maximum(candidates, 1),
        steps=(cases.answer - cases.anchor, at - cases.anchor[:, None]),
    )


def _halves(sentences: Sequence[Sentence]) -> BoolArray:
    """Which of the sentences lie in the second half."""
    return np.array([half_of(one.pair or one.text) for one in sentences], dtype=bool)


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


def _baselines(asked: Asked, second: BoolArray, at: IntArray) -> tuple[Baseline, ...]:
    """Every rule, learnt on each half and asked on the other. It is called by what is learnt on all, and where the
    halves learn others, a rule like that. `at` (case, head): what every head answers."""
    cases = asked.cases
    first_half, second_half = cases.among(~second), cases.among(second)
    found = []
    for whole, one, two in _learnt(cases, second) if asked.rules is None else asked.rules:
        guess = np.zeros(len(cases), dtype=np.intp)
        guess[second], guess[~second] = one.guesses(second_half), two.guesses(first_half)
        same = (at == guess[:, None]).astype(np.float32)
        name, does = _said(whole, asked)
        name = name if one.name == two.name == whole.name else f"a rule like “{name}”"
        found.append(Baseline(name, does, (guess == cases.answer).astype(float), whole.by_place, same))
    return tuple(found)


def _learnt(cases: Cases, second: BoolArray) -> tuple[Learnt, ...]:
    """Every rule that can be learnt; none where a half has no case."""
    if second.all() or not second.any():
        return ()
    found = ((learn(cases), learn(cases.among(~second)), learn(cases.among(second))) for learn in LEARNERS)
    return tuple((a, b, c) for a, b, c in found if a is not None and b is not None and c is not None)


def _said(rule: Rule, asked: Asked) -> tuple[str, str]:
    """A rule's name, and what a head that follows it looks at: in a column the word that is given."""
    if not asked.way:
        return rule.name, rule.does
    side = {1: "before it", -1: "after it", 0: "near it"}[rule.side]
    return f"{rule.name}, from the other word", f"the {named(asked.question.relation)[0]} {side}"
