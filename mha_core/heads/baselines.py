"""Baselines: the simple rules that a head has to beat, the same for every question.

In: cases, that is units of a text (words, names), the one that is given, and the candidates. Out: for every rule the
candidates that it chooses in every case. What has to be fitted is fitted on one half of the texts and scored on the
other. A new baseline is a `fit_...` that takes cases and returns a `FittedBaseline`, with an entry for what it chooses
beside the others' at the end of this file; a question names those it is asked beside in its `fits`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.display_names import always
from mha_core.heads.cases import Baseline, Case, agreement
from mha_core.heads.corpora import PronounCase, Sentence
from mha_core.heads.surface import boosted_trees, fit_folds, fold_of, logistic_model, mentions, surface
from mha_core.heads.word_weights import BoolArray

MAX_DISTANCE = 10
MAX_TAGS = 3
MAX_CACHED = 1 << 16  # sentences whose places by tag are kept
MAX_PRONOUNS = 1 << 13  # whose likelier names are kept
NONE = -2  # in the place of an answer, where a rule has none
NOUNS = ("NOUN", "PROPN")
TAG_NAMES = {
    "NOUN": "noun", "PROPN": "name", "PRON": "pronoun", "VERB": "verb", "AUX": "auxiliary", "ADJ": "adjective",
    "ADV": "adverb", "ADP": "preposition", "DET": "determiner", "NUM": "number", "CCONJ": "conjunction",
    "SCONJ": "subordinator", "PART": "particle", "INTJ": "interjection", "SYM": "symbol", "PUNCT": "punctuation mark",
    "X": "unsorted word",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """A rule: its name, and what a head that follows it looks at (`does`: "the next noun").

    `rule` is a key of SCORES, GUESSES or MODELS, and `learned` what was fitted, so that a rule is data. `by_place`: it
    does not know the parts of speech. `side`: 1 where it looks ahead, -1 where it looks back, 0 where both.
    `has_answer`: what it chooses is an answer that a head can follow, not chance alone.
    """

    name: str
    does: str
    rule: str
    learned: Mapping[str, Any] = field(default_factory=dict)
    by_place: bool = True
    side: int = 0
    has_answer: bool = True

    def guess(self, case: Case) -> Sequence[int]:
        """Return the units that it chooses in a case: one, none, or several where it prefers them alike."""
        if self.rule in MODELS:
            return _likelier(self, cast("PronounCase", case.units.source))
        if self.rule in GUESSES:
            return GUESSES[self.rule](case, self)
        score = SCORES[self.rule]
        scores = [score(case, unit, self.learned) for unit in case.candidates]
        largest = max(scores)
        return [unit for unit, each in zip(case.candidates, scores, strict=True) if each == largest]

    def score(self, cases: Sequence[Case]) -> float:
        """Return the share of cases that it gets right."""
        return float(np.mean([_hit(self.guess(case), case.answer) for case in cases]))

    @cached_property
    def models(self) -> dict[int, Any]:
        """Models of two candidates' surface features, each fitted on all folds but its own."""
        return fit_folds(MODELS[self.rule], **self.learned)


Fit = Callable[[Sequence[Case]], FittedBaseline | None]
# A rule as fitted on all cases, on the first half, and on the second.
Fitted = tuple[FittedBaseline, FittedBaseline, FittedBaseline]


def fit_on_halves(
    fits: Sequence[Fit], cases: Sequence[Case], second: Sequence[bool] | BoolArray
) -> tuple[Fitted, ...]:
    """Return every rule that can be fitted on all cases and on each half; none where a half has no case."""
    halves = [
        [case for case, late in zip(cases, second, strict=True) if late == half] for half in (False, True)
    ]
    if not all(halves):
        return ()
    every = ((fit(cases),) * 3 if fit in CROSS_FITTED else (fit(cases), *map(fit, halves)) for fit in fits)
    return tuple((a, b, c) for a, b, c in every if a is not None and b is not None and c is not None)


def answers_of(
    rules: Sequence[Fitted], cases: Sequence[Case], second: BoolArray, looks: IntArray
) -> tuple[Baseline, ...]:
    """Return every rule on every case, fitted on the half that the case is not in; looks (case, head).

    It is called by what is fitted on all cases and, where the halves give others, a rule like that.
    """
    answers = np.array([case.answer for case in cases])
    baselines = []
    for whole, first_half, second_half in rules:
        halves = first_half.name == second_half.name == whole.name
        name = whole.name if halves else f"a rule like “{whole.name}”"
        by_half = (whole, whole) if whole.rule in MODELS else (second_half, first_half)
        guesses = [by_half[late].guess(case) for case, late in zip(cases, second.tolist(), strict=True)]
        hits = np.array(
            [_hit(guess, answer) for guess, answer in zip(guesses, answers.tolist(), strict=True)]
        )
        places = np.array([guess[0] if len(guess) else NONE for guess in guesses])
        several = np.array([len(guess) > 1 for guess in guesses])
        same = np.where(several[:, None], np.float32(np.nan), agreement(looks, places))
        baselines.append(Baseline(name, whole.does, hits, whole.by_place, same if whole.has_answer else None))
    return tuple(baselines)


def _hit(guess: Sequence[int], answer: int) -> float:
    return float(answer in guess) / len(guess) if len(guess) else 0.0


def constant(name: str, hits: FloatArray | float, n: int = 0) -> Baseline:
    """Return a baseline that has a chance in every case (case,) and no answer of its own."""
    return Baseline(name, "", np.full(n, hits) if isinstance(hits, float) else hits)


# By place


def fit_offset(cases: Sequence[Case]) -> FittedBaseline:
    """Return the distance that most cases have."""
    best = _commonest(_offsets(cases))
    return FittedBaseline(always(best), _at(best), "offset", {"offset": best}, side=1 if best > 0 else -1)


def fit_form(cases: Sequence[Case]) -> FittedBaseline:
    """Return the distance that most cases of the very same word have; of all words for a new one."""
    by_form: dict[str, Counter[int]] = defaultdict(Counter)
    for case in cases:
        by_form[_form(case, case.query)][case.answer - case.query] += 1
    learned = {
        "usual": {form: _top(counts) for form, counts in by_form.items()},
        "rest": _commonest(_offsets(cases)),
    }
    name = "the distance that this word has most often"
    return FittedBaseline(name, "its usual distance", "form", learned)


def fit_usual_place(cases: Sequence[Case]) -> FittedBaseline:
    """Return the candidate at the distance that most cases have."""
    counts = {str(offset): n for offset, n in Counter(_offsets(cases)).items()}
    name = "the place where such a word stands most often"
    return FittedBaseline(name, name, "usual place", counts)


def fit_nearest(cases: Sequence[Case]) -> FittedBaseline:
    """Return the candidate nearest to the unit that is given."""
    return _preference("nearest", f"the nearest {_noun(cases)}")


def fit_first(cases: Sequence[Case]) -> FittedBaseline:
    """Return the first candidate of the text."""
    return _preference("first", f"the first {_noun(cases)}")


def fit_last(cases: Sequence[Case]) -> FittedBaseline:
    """Return the last candidate of the text."""
    return _preference("last", f"the last {_noun(cases)}")


def fit_blind(cases: Sequence[Case]) -> FittedBaseline:
    """Return all candidates alike, as chance."""
    del cases
    return FittedBaseline("a blind choice", "", "blind", has_answer=False)


def fit_longest(cases: Sequence[Case]) -> FittedBaseline:
    """Return the candidate with the most letters."""
    return _preference("longest", f"the longest {_noun(cases)}")


# By how often a word occurs


def fit_frequent(cases: Sequence[Case]) -> FittedBaseline:
    """Return the candidate that is most frequent in texts with cases."""
    return _preference("frequent", f"the most frequent {_noun(cases)}", _word_counts(cases))


def fit_rarest(cases: Sequence[Case]) -> FittedBaseline:
    """Return the candidate that is rarest in texts with cases."""
    return _preference("rarest", f"the rarest {_noun(cases)}", _word_counts(cases))


def fit_most_mentioned(cases: Sequence[Case]) -> FittedBaseline:
    """Return the candidate that its own text mentions most often, of equals the nearest."""
    return _preference("most mentioned", f"the most frequent {_noun(cases)}")


def fit_same_word(cases: Sequence[Case]) -> FittedBaseline:
    """Return the nearest other candidate of the same form; the nearest one where none is."""
    del cases
    return _preference("same word", "the nearest same word")


def fit_first_same_word(cases: Sequence[Case]) -> FittedBaseline:
    """Return the first other candidate of the same form; the first one where none is."""
    del cases
    return _preference("first same word", "the first same word")


# By part of speech


def fit_first_noun(cases: Sequence[Case]) -> FittedBaseline:
    """Return the first noun or name among the candidates."""
    del cases
    return _preference("first noun", "the first noun or name", by_place=False)


def fit_longest_noun(cases: Sequence[Case]) -> FittedBaseline:
    """Return the noun or name with the most letters."""
    del cases
    return _preference("longest noun", "the longest noun or name", by_place=False)


def fit_own_tag(cases: Sequence[Case]) -> FittedBaseline:
    """Return the nearest candidate of the same part of speech; the nearest where none is."""
    return _preference("own tag", f"the nearest {_noun(cases)} of its own part of speech", by_place=False)


def fit_own_tag_before(cases: Sequence[Case]) -> FittedBaseline | None:
    """Return the last unit of the same part of speech before the one that is given; the one before it without any."""
    return _own_tag(cases, "the last word of its own part of speech", -1)


def fit_own_tag_after(cases: Sequence[Case]) -> FittedBaseline | None:
    """Return the next unit of the same part of speech, the next one without any."""
    return _own_tag(cases, "the next word of its own part of speech", 1)


def _own_tag(cases: Sequence[Case], name: str, side: int) -> FittedBaseline | None:
    return (
        FittedBaseline(name, name, "own tag beside", by_place=False, side=side)
        if _common_tags(cases)
        else None
    )


def fit_tags(cases: Sequence[Case]) -> FittedBaseline | None:
    """Return the best of: the nearest unit of one to three parts of speech, or the far end of the nearest run of them,
    to either side. None where the corpus has no parts of speech."""
    common = _common_tags(cases)
    if not common:
        return None
    rules = [
        _tag_rule(tuple(common[:n]), side, run)
        for n in range(1, len(common) + 1) for side in (1, -1, 0) for run in (False, True) if side or not run
    ]  # fmt: skip
    return max(rules, key=lambda rule: rule.score(cases))


def _common_tags(cases: Sequence[Case]) -> list[str]:
    """Return the commonest parts of speech of right answers; none where the corpus has no parts of speech."""
    counts = Counter(case.units.tags[case.answer] for case in cases if case.units.tags)
    common = [tag for tag, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_TAGS]]
    return [] if set(common) == {"_"} else common


def _tag_rule(tags: tuple[str, ...], side: int, run: bool) -> FittedBaseline:
    names = [TAG_NAMES.get(tag, tag) for tag in tags]
    name, plural = _or(names), _or([_plural(each) for each in names])
    does = {1: f"the next {name}", -1: f"the last {name} before it", 0: f"the nearest {name}"}[side]
    end = {1: f"the end of the next run of {plural}", -1: f"the start of the run of {plural} before it"}
    learned = {"tags": tags, "run": run}
    return FittedBaseline(end[side] if run else does, does, "tags", learned, by_place=False, side=side)


def _place(case: Case, wanted: tuple[str, ...], side: int, run: bool) -> tuple[int, ...]:
    """Return the place that a rule by part of speech names in a case, or none."""
    place = _places(tuple(case.units.tags), wanted, side, run)[case.query]
    return (place,) if place >= 0 else ()


@lru_cache(MAX_CACHED)
def _places(tags: tuple[str, ...], wanted: tuple[str, ...], side: int, run: bool) -> tuple[int, ...]:
    """Return for every unit the place that the rule names, -1 where there is none."""
    n = len(tags)
    fitting = [i for i in range(n) if tags[i] in wanted]
    places = []
    for query in range(n):
        ahead = next((i for i in fitting if i > query), -1)
        before = next((i for i in reversed(fitting) if i < query), -1)
        if side:
            place = ahead if side > 0 else before
            while run and place >= 0 and 0 <= place + side < n and tags[place + side] in wanted:
                place += side
        elif ahead >= 0 and before >= 0:
            place = ahead if ahead - query < query - before else before
        else:
            place = max(ahead, before)
        places.append(place)
    return tuple(places)


# By all that can be seen of two names without reading


def fit_logistic(cases: Sequence[Case]) -> FittedBaseline:
    """Return a logistic model of surface features."""
    return _surface_rule(cases, "logistic", "a logistic model of surface features")


def fit_trees(cases: Sequence[Case]) -> FittedBaseline:
    """Return boosted trees on surface features, which also find what only some of them together tell."""
    return _surface_rule(cases, "trees", "boosted trees on surface features")


def _surface_rule(cases: Sequence[Case], rule: str, name: str) -> FittedBaseline:
    """Return a model of two candidates' surface features: the views that it is fitted on, fold by fold."""
    sources = [cast("PronounCase", case.units.source) for case in cases]
    learned = {
        "views": np.array([surface(source) for source in sources]),
        "first_is_right": np.array([case.answer == 0 for case in cases]),
        "folds": np.array([fold_of(source) for source in sources]),
    }
    return FittedBaseline(name, f"the likelier {_noun(cases)}", rule, learned)


@lru_cache(MAX_PRONOUNS)
def _likelier(rule: FittedBaseline, source: PronounCase) -> tuple[int, ...]:
    """Return the candidate that the model prefers that was fitted without the pronoun's document."""
    model = rule.models.get(fold_of(source))
    first, second = (0.0, 0.0) if model is None else model.decision_function(surface(source)).tolist()
    return (0, 1) if first == second else (0,) if first > second else (1,)


CROSS_FITTED: tuple[Fit, ...] = (fit_logistic, fit_trees)


# What rules choose: a model's candidate, a unit of its own, or the candidates with the largest score

MODELS: Mapping[str, Callable[[], Any]] = {"logistic": logistic_model, "trees": boosted_trees}
GUESSES: Mapping[str, Callable[[Case, FittedBaseline], Sequence[int]]] = {
    "offset": lambda case, rule: (case.query + rule.learned["offset"],),
    "form": lambda case, rule: (
        case.query + rule.learned["usual"].get(_form(case, case.query), rule.learned["rest"]),
    ),
    "blind": lambda case, _: case.candidates,
    "own tag beside": lambda case, rule: (
        _place(case, (case.units.tags[case.query],), rule.side, run=False) or (case.query + rule.side,)
    ),
    "tags": lambda case, rule: _place(case, rule.learned["tags"], rule.side, rule.learned["run"]),
}
SCORES: Mapping[str, Callable[[Case, int, Mapping[str, Any]], Any]] = {
    "usual place": lambda case, unit, counts: counts.get(str(unit - case.query), 0),
    "nearest": lambda case, unit, _: -case.units.distance(case.query, unit),
    "first": lambda case, unit, _: -case.units.start[unit],
    "last": lambda case, unit, _: case.units.start[unit],
    "longest": lambda case, unit, _: len(case.units.words[unit]),
    "frequent": lambda case, unit, counts: counts.get(_form(case, unit), 0),
    "rarest": lambda case, unit, counts: -counts.get(_form(case, unit), 0),
    "most mentioned": lambda case, unit, _: (
        mentions(case.units.source.text, case.units.words[unit]),
        -case.units.distance(case.query, unit),
    ),
    "same word": lambda case, unit, _: (
        *_is_same_word(case, unit),
        -case.units.distance(case.query, unit),
    ),
    "first same word": lambda case, unit, _: (*_is_same_word(case, unit), -case.units.start[unit]),
    "first noun": lambda case, unit, _: (case.units.tags[unit] in NOUNS, -case.units.start[unit]),
    "longest noun": lambda case, unit, _: (case.units.tags[unit] in NOUNS, len(case.units.words[unit])),
    "own tag": lambda case, unit, _: (
        case.units.tags[unit] == case.units.tags[case.query],
        -case.units.distance(case.query, unit),
    ),
}


def _is_same_word(case: Case, unit: int) -> tuple[bool, bool]:
    return unit != case.query, _form(case, unit) == _form(case, case.query)


def _preference(
    rule: str, name: str, learned: Mapping[str, Any] | None = None, by_place: bool = True
) -> FittedBaseline:
    """Return the rule that chooses the candidates with the largest score."""
    return FittedBaseline(name, name, rule, learned or {}, by_place)


def _noun(cases: Sequence[Case]) -> str:
    return cases[0].units.noun


def _form(case: Case, unit: int) -> str:
    return case.units.words[unit].lower()


def _word_counts(cases: Sequence[Case]) -> Counter[str]:
    """Count the words of the sentences that cases are of, each sentence once."""
    sources = {id(case.units.source): case.units.source for case in cases}.values()
    texts = (source.words if isinstance(source, Sentence) else source.text.split() for source in sources)
    return Counter(word.lower() for words in texts for word in words)


def _offsets(cases: Sequence[Case]) -> list[int]:
    return [case.answer - case.query for case in cases]


def _commonest(offsets: Sequence[int]) -> int:
    near = [offset for offset in offsets if abs(offset) <= MAX_DISTANCE]
    return _top(Counter(near)) if near else 1


def _top(counts: Counter[int]) -> int:
    """Return the commonest; of equals the one nearest, then the one ahead."""
    return min(counts, key=lambda offset: (-counts[offset], abs(offset), -offset))


def _at(offset: int) -> str:
    if abs(offset) == 1:
        return "the next word" if offset > 0 else "the word before it"
    return f"the word {abs(offset)} {'further on' if offset > 0 else 'before it'}"


def _plural(word: str) -> str:
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


def _or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
