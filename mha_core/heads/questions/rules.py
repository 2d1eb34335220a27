"""The simple rules that a syntactic head has to beat: where a word's partner stands, without reading the sentence.

In: cases (sentence, anchor, answer), positions of words. Out: for every rule the place that it names in every case,
learnt on one half of the sentences and asked on the other. Rules of place know distances and forms: a fixed distance,
the first word, the last, and the distance that this very word has most often. Rules of parts of speech know the
treebank's own tags: the nearest word of the right kind, or the far end of the nearest run of such words.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mha_core.heads.corpora import Sentence
from mha_core.heads.words import BoolArray, IntArray
from mha_core.wording import always

REACH = 10
MOST_TAGS = 3
MOST_PLACES = 1 << 17  # rules on sentences that are remembered
SAID = {
    "NOUN": "noun", "PROPN": "name", "PRON": "pronoun", "VERB": "verb", "AUX": "auxiliary", "ADJ": "adjective",
    "ADV": "adverb", "ADP": "preposition", "DET": "determiner", "NUM": "number", "CCONJ": "conjunction",
    "SCONJ": "subordinator", "PART": "particle", "INTJ": "interjection", "SYM": "symbol", "PUNCT": "punctuation mark",
    "X": "unsorted word",
}  # fmt: skip
Guess = Callable[[Sentence, int], int]


@dataclass(frozen=True)
class Cases:
    """Words with a partner: for every case the number of its sentence, the word that is given (`anchor`) and its
    partner (`answer`)."""

    sentences: Sequence[Sentence]
    sentence: IntArray
    anchor: IntArray
    answer: IntArray

    def __len__(self) -> int:
        return len(self.anchor)

    def among(self, kept: BoolArray) -> "Cases":
        """Some of them."""
        return Cases(self.sentences, self.sentence[kept], self.anchor[kept], self.answer[kept])

    def each(self) -> Iterator[tuple[Sentence, int, int]]:
        """Sentence, anchor and answer of every case."""
        for number, anchor, answer in zip(self.sentence, self.anchor, self.answer, strict=True):
            yield self.sentences[number], int(anchor), int(answer)


@dataclass(frozen=True)
class Rule:
    """A rule as it was learnt: its name, what it guesses (a position, -1 for none), whether it goes by place alone.

    `does`: what a head that follows it looks at ("the next noun"). `side`: 1 where it looks ahead, -1 where it looks
    back, 0 where both.
    """

    name: str
    does: str
    guess: Guess
    by_place: bool = True
    side: int = 0

    def guesses(self, cases: Cases) -> IntArray:
        """Return the position that it names in every case."""
        return np.array([self.guess(sentence, anchor) for sentence, anchor, _ in cases.each()], dtype=np.intp)

    def score(self, cases: Cases) -> float:
        """Return the share of cases that it gets right."""
        return float((self.guesses(cases) == cases.answer).mean())


def learn_offset(cases: Cases) -> Rule:
    """The distance that most cases have."""
    best = _commonest(cases.answer - cases.anchor)
    return Rule(always(best), _at(best), lambda _, anchor: anchor + best, side=1 if best > 0 else -1)


def learn_form(cases: Cases) -> Rule:
    """The distance that most cases of the very same word have; of all words, where it is a new one."""
    by_form: dict[str, Counter[int]] = defaultdict(Counter)
    for sentence, anchor, answer in cases.each():
        by_form[sentence.words[anchor].lower()][answer - anchor] += 1
    known = {form: _top(counts) for form, counts in by_form.items()}
    rest = _commonest(cases.answer - cases.anchor)

    def guess(sentence: Sentence, anchor: int) -> int:
        return anchor + known.get(sentence.words[anchor].lower(), rest)

    return Rule("the distance that this word has most often", "its usual distance", guess)


def learn_first(cases: Cases) -> Rule:
    """The first word of the sentence."""
    del cases
    return Rule("the first word", "the first word", lambda *_: 0)


def learn_last(cases: Cases) -> Rule:
    """The last word of the sentence."""
    del cases
    return Rule("the last word", "the last word", lambda sentence, _: len(sentence.words) - 1)


def learn_tags(cases: Cases) -> Rule | None:
    """The best of: the nearest word of one to three parts of speech, or the far end of the nearest run of them, to
    either side. None where the treebank tells no parts of speech."""
    counts = Counter(s.tags[answer] for s, _, answer in cases.each() if s.tags)
    common = [tag for tag, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_TAGS]]
    if not common or set(common) == {"_"}:
        return None
    ways = [
        (tuple(common[:n]), side, run)
        for n in range(1, len(common) + 1) for side in (1, -1, 0) for run in (False, True) if side or not run
    ]  # fmt: skip
    rules = [_tag_rule(*way) for way in ways]
    return max(rules, key=lambda rule: rule.score(cases))


LEARNERS: tuple[Callable[[Cases], Rule | None], ...] = (
    learn_offset, learn_form, learn_first, learn_last, learn_tags,
)  # fmt: skip


def _tag_rule(tags: tuple[str, ...], side: int, run: bool) -> Rule:
    one = _or([SAID.get(tag, tag) for tag in tags])
    many = _or([_plural(SAID.get(tag, tag)) for tag in tags])
    short = {1: f"the next {one}", -1: f"the last {one} before it", 0: f"the nearest {one}"}[side]
    said = short
    if run:
        said = (
            f"the end of the next run of {many}" if side == 1 else f"the start of the run of {many} before it"
        )
    wanted = frozenset(tags)

    def guess(sentence: Sentence, anchor: int) -> int:
        return _places(sentence.tags, wanted, side, run)[anchor]

    return Rule(said, short, guess, by_place=False, side=side)


def _at(offset: int) -> str:
    if abs(offset) == 1:
        return "the next word" if offset > 0 else "the word before it"
    return f"the word {abs(offset)} {'further on' if offset > 0 else 'before it'}"


def _plural(word: str) -> str:
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


def _or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@lru_cache(MOST_PLACES)
def _places(tags: tuple[str, ...], wanted: frozenset[str], side: int, run: bool) -> tuple[int, ...]:
    """For every word the place that the rule names, -1 where there is none."""
    n = len(tags)
    there = [i for i in range(n) if tags[i] in wanted]
    found = []
    for anchor in range(n):
        ahead = next((i for i in there if i > anchor), -1)
        before = next((i for i in reversed(there) if i < anchor), -1)
        if side:
            place = ahead if side > 0 else before
            while run and place >= 0 and 0 <= place + side < n and tags[place + side] in wanted:
                place += side
        elif ahead >= 0 and before >= 0:
            place = ahead if ahead - anchor < anchor - before else before
        else:
            place = max(ahead, before)
        found.append(place)
    return tuple(found)


def _commonest(offsets: IntArray) -> int:
    near = offsets[np.abs(offsets) <= REACH]
    return _top(Counter(map(int, near))) if len(near) else 1


def _top(counts: Counter[int]) -> int:
    """The commonest; of equals the one nearest, then the one ahead."""
    return min(counts, key=lambda offset: (-counts[offset], abs(offset), -offset))
