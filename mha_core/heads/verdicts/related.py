"""Does a word look at the content word of its sentence that is most related to it in meaning?

In: what content words look at, and how alike they are (meaning.py). Out: a `Measured` for all cases, and for those
alone in which the two words are neither tied in the tree nor side by side. A case is a content word of which another
one is related to it (RELATED). Control: the sentence's other content words that are not most related to the same one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mha_core.heads.verdicts.halves import half_of
from mha_core.heads.verdicts.meaning import Kept
from mha_core.heads.verdicts.measured import APART, RELATED_BY, SEMANTIC, Measured, Question, RuleHits
from mha_core.heads.words import BoolArray, FloatArray, IntArray

OTHER_WORDS = "other content words look most at the same word in"
SAME_KIND = "the nearest content word of its own part of speech"
TRIES = 20  # draws of a distance until one fits
Prefers = Callable[[Kept, int, IntArray], FloatArray]


@dataclass(frozen=True)
class _Case:
    """A word (`row`) of a sentence, and the one it should look at (`answer`), as places among the content words."""

    number: int
    row: int
    answer: int


def related_measured(
    found: Sequence[Kept], corpus: str, shuffled: np.random.Generator | None = None
) -> Iterator[Measured]:
    """Both questions, where there are cases on both halves; with `shuffled` gold every word has as partner the
    candidate that stands where the partner of another case stands."""
    for key in (SEMANTIC, APART):
        cases = [
            _Case(number, row, int(one.partner[row]))
            for number, one in enumerate(found)
            for row in one.asked
            if key == SEMANTIC or one.apart(row)
        ]
        if shuffled is not None:
            cases = _shuffled(cases, found, shuffled)
        halves = np.array([half_of(found[case.number].sentence.text) for case in cases], dtype=bool)
        if len(np.unique(halves)) == 2:
            yield _measured(key, corpus, cases, found, halves)


def _shuffled(cases: list[_Case], found: Sequence[Kept], random: np.random.Generator) -> list[_Case]:
    steps = np.array([case.answer - case.row for case in cases])

    def other(case: _Case) -> _Case:
        allowed = set(np.flatnonzero(found[case.number].likeness[case.row] > -1).tolist())
        drawn = (case.row + int(step) for step in random.choice(steps, TRIES))
        return _Case(case.number, case.row, next((place for place in drawn if place in allowed), case.answer))

    return [other(case) for case in cases]


def _measured(
    key: str, corpus: str, cases: list[_Case], found: Sequence[Kept], halves: BoolArray
) -> Measured:
    title = "word → the word most related in meaning"
    asks = "Of the other content words of a sentence, does a word look most at the one most related to it in meaning"
    asks += f" ({RELATED_BY})"
    if key == APART:
        title += ", apart"
        asks += ", where neither depends on the other nor stands beside it"
    answers = [_answered(found[case.number], case) for case in cases]
    right, control = (np.array(each, dtype=np.float32) for each in zip(*answers, strict=True))
    return Measured(
        Question(key, "semantic", title, f"{asks}?", corpus, control_name=OTHER_WORDS),
        right,
        np.array([case.number for case in cases]),
        halves,
        _rules(cases, found, halves),
        control,
    )


def _answered(one: Kept, case: _Case) -> tuple[FloatArray, FloatArray]:
    """(head,) both: right, and how many of the other words that have another partner look there as well."""
    hits = (one.at == case.answer).astype(np.float32)
    free = (one.likeness[:, case.answer] > -1) & (one.partner != case.answer)
    free[case.row] = False
    return hits[:, case.row], hits[:, free].mean(-1) if free.any() else np.full(len(hits), np.nan)


def _rules(cases: list[_Case], found: Sequence[Kept], halves: BoolArray) -> tuple[RuleHits, ...]:
    """Every simple rule on every case; what has to be learnt is learnt on the other half."""
    learnt = [_learnt([case for case, half in zip(cases, halves, strict=True) if half != mine], found)
              for mine in (False, True)]  # fmt: skip
    made = []
    for name, by_place in ((name, name != SAME_KIND) for name in learnt[0]):
        hits = [
            _hit(found[case.number], case, learnt[int(half)][name])
            for case, half in zip(cases, halves, strict=True)
        ]
        made.append(RuleHits(name, name, np.array(hits), by_place))
    return tuple(sorted(made, key=lambda rule: -rule.score))


def _learnt(cases: list[_Case], found: Sequence[Kept]) -> dict[str, Prefers]:
    """By name, what each rule prefers: of a sentence, a word and its candidates the one with the largest number."""
    steps = Counter(case.answer - case.row for case in cases)
    known = {id(found[case.number]): found[case.number].sentence for case in cases}
    counts = Counter(word.lower() for sentence in known.values() for word in sentence.words)

    def often(one: Kept, among: IntArray) -> FloatArray:
        return np.array([counts[one.sentence.words[one.places[i]].lower()] for i in among], dtype=float)

    def alike(one: Kept, row: int, among: IntArray) -> FloatArray:
        tags = [one.sentence.tags[one.places[i]] for i in among]
        same = np.array([tag == one.sentence.tags[one.places[row]] for tag in tags])
        return np.where(same, 0.0, -1e6) - _away(one, row, among)

    return {
        "the nearest content word": lambda one, row, among: -_away(one, row, among),
        "the first content word": lambda _, __, among: -among.astype(float),
        "the last content word": lambda _, __, among: among.astype(float),
        "the place where such a word stands most often": lambda _, row, among: np.array(
            [steps[int(i) - row] for i in among], dtype=float
        ),
        "the most frequent content word": lambda one, _, among: often(one, among),
        "the rarest content word": lambda one, _, among: -often(one, among),
        "a blind choice": lambda _, __, among: np.zeros(len(among)),
        SAME_KIND: alike,
    }


def _away(one: Kept, row: int, among: IntArray) -> FloatArray:
    away: FloatArray = np.abs(one.places[among] - one.places[row]).astype(float)
    return away


def _hit(one: Kept, case: _Case, prefers: Prefers) -> float:
    """Is the candidate that a rule prefers the right one? Of several that it prefers alike, a share."""
    among = np.flatnonzero(one.likeness[case.row] > -1)
    scores = prefers(one, case.row, among)
    best = among[scores == scores.max()]
    return float(case.answer in best) / len(best)
