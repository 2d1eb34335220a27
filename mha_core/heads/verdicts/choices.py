"""A pronoun and two names: does a head choose the right one, and would the surface of the text tell it as well?

In: weights (layer, head, query, key) of texts with a pronoun and two candidates (coreference.py defines the choice).
Out: a `Measured` in each direction for all texts, and for those alone in which both names occur equally often: there
the rule "the most frequent name" has nothing to go by. Control: the same choice from every other row of the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mha_core.heads.coreference import BASELINES, ChoiceCase, looks_back, mention_scores, other_rows
from mha_core.heads.corpora import PronounCase, Span
from mha_core.heads.intervals import group_of
from mha_core.heads.verdicts.halves import half_of
from mha_core.heads.verdicts.logistic import FOLDS, held_out_choices
from mha_core.heads.verdicts.measured import BACK, Measured, Question, RuleHits
from mha_core.heads.words import FloatArray
from mha_core.tokens import Tokens

SURFACE = "a logistic model of twelve surface features"
OTHER_ROWS = "the text's other rows prefer the right name in"
EVEN = "even"


@dataclass(frozen=True)
class Choice:
    """A choice ready to be fed to the model, with the text that it was read from."""

    case: ChoiceCase
    source: PronounCase

    @property
    def tokens(self) -> Tokens:
        """What the model reads."""
        return self.case.tokens


class ChoiceLog:
    """Remembers for every text which name each head prefers: 1 for the second, -1 for the first, 0 for neither."""

    def __init__(self, is_causal: bool = False) -> None:
        self.is_causal = is_causal
        self.choices: list[Choice] = []
        self.prefers: list[FloatArray] = []
        self.others: list[FloatArray] = []

    def add(self, weights: FloatArray, item: Choice) -> None:
        """Keep one text; weights (layer, head, query, key) over its pieces."""
        if self.is_causal and not looks_back(item.case):
            return
        scores = mention_scores(weights, item.case)
        prefers = np.sign(scores[..., 1] - scores[..., 0])
        rows = other_rows(item.case, self.is_causal)
        here = prefers[:, :, rows].mean(-1) if len(rows) else np.full(prefers.shape[:2], np.nan)
        self.choices.append(item)
        self.prefers.append(prefers[:, :, item.case.pronoun[0]].astype(np.int8))
        self.others.append(here.astype(np.float32))


def measure_choices(log: ChoiceLog, corpus: str) -> Iterator[Measured]:
    """Every question there is for these texts."""
    if not log.choices:
        return
    answers = np.array([one.case.answer for one in log.choices])
    yield from measured_with(log, corpus, answers)


def measured_with(log: ChoiceLog, corpus: str, answers: np.ndarray) -> Iterator[Measured]:
    """The same for given answers (case,), which a test may have shuffled."""
    side = np.where(answers == 1, 1.0, -1.0)[:, None]
    texts = [one.source.text for one in log.choices]
    clusters = np.unique(texts, return_inverse=True)[1]
    second = np.array([half_of(text) for text in texts], dtype=bool)
    rules = _rules(log, answers)
    even = np.array([_counts(one.source)[0] == _counts(one.source)[1] for one in log.choices])
    ways = range(1 if log.is_causal else 2)
    for subset, kept in (("", np.ones(len(even), dtype=bool)), (EVEN, even)):
        if not (kept & second).any() or not (kept & ~second).any():
            continue
        for way in ways:
            right, others = (
                (1 + np.array([one[way] for one in found]) * side) / 2 for found in (log.prefers, log.others)
            )
            yield Measured(
                _question(subset, corpus, bool(way)),
                right[kept],
                clusters[kept],
                second[kept],
                tuple(sorted((_among(rule, kept) for rule in rules), key=lambda rule: -rule.score)),
                others[kept],
            )


def _among(rule: RuleHits, kept: np.ndarray) -> RuleHits:
    return RuleHits(rule.name, rule.short, rule.hits[kept], rule.by_place)


def _question(subset: str, corpus: str, back: bool) -> Question:
    title = "antecedent → its pronoun" if back else "pronoun → its antecedent"
    asks = "Does the right one of two names look more at a pronoun?" if back else (
        "Of two names, does a pronoun look more at the one it stands for?"
    )  # fmt: skip
    key = "antecedent" + (f"-{subset}" if subset else "") + (BACK if back else "")
    if subset:
        title += ", names as often"
        asks = asks[:-1] + ", where both names occur equally often?"
    return Question(key, "coreference", title, asks, corpus, control_name=OTHER_ROWS)


def _rules(log: ChoiceLog, answers: np.ndarray) -> list[RuleHits]:
    """The simple rules, and the logistic model of everything they go by."""
    flipped = np.array([one.case.answer for one in log.choices]) != answers
    known = np.array([one.case.baselines for one in log.choices])
    known[flipped] = 1 - known[flipped]
    names = {
        "nearest": "the nearest name",
        "first": "the first name",
        "most frequent": "the most frequent name",
    }
    names["uniform"] = "a coin"
    found = [RuleHits(names[name], names[name], known[:, i]) for i, name in enumerate(BASELINES)]
    found.append(RuleHits("the last name", "the last name", 1 - known[:, BASELINES.index("first")]))
    features = np.array([surface(one.source) for one in log.choices])
    folds = np.array([group_of(one.source.text) % FOLDS for one in log.choices])
    hits = held_out_choices(features, answers == 1, folds)
    return [*found, RuleHits(SURFACE, SURFACE, hits)]


def surface(choice: PronounCase) -> FloatArray:
    """Twelve things that can be seen of the two names without reading: those of A minus those of B."""
    a, b = (np.array(_seen(choice, span)) for span in choice.candidates)
    found: FloatArray = a - b
    return found


def _seen(choice: PronounCase, span: Span) -> tuple[float, ...]:
    text, (start, stop) = choice.text, choice.pronoun
    between = text[span[1] : start] if span[1] <= start else text[stop : span[0]]
    away, comes_first = len(between.split()), span[1] <= start
    count = _count(text, text[slice(*span)])
    sentence = text[max((text.rfind(mark, 0, span[0]) for mark in ".!?"), default=0) + 1 : span[0]]
    return (
        float(comes_first),
        float(np.log1p(away)),
        float(comes_first) * float(np.log1p(away)),
        float(len(re.findall(r"[.!?]\s", between))),
        float(not re.search(r"[.!?]\s", between)),
        float(np.log(count)),
        float(count > 1),
        float(len(text[slice(*span)].split())),
        float(len(sentence.split()) < 3),
        float(text[span[1] : span[1] + 2] in ("'s", "’s")),
        float(text[span[1] : span[1] + 1] == ","),
        span[0] / len(text),
    )


def _counts(choice: PronounCase) -> tuple[int, int]:
    a, b = (_count(choice.text, choice.text[slice(*span)]) for span in choice.candidates)
    return a, b


def _count(text: str, name: str) -> int:
    """How often the text has the last word of the name (a person's surname); once at least."""
    return max(1, len(re.findall(rf"(?<!\w){re.escape(name.split()[-1])}(?!\w)", text)))
