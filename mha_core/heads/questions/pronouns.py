"""Of a pronoun and two mentions, which one does a head choose, and is it the pronoun that makes it choose so?

In: weights (layer, head, query, key) over the tokens of a text, with its pronoun and mentions. Out: a `Measured` for
all cases, and for those in which both names are equally frequent, in both directions.

Pronoun to mention: the score of a mention is the sum over its tokens of the pronoun's row (the mean over the rows of a
pronoun of several tokens). Back: the same with rows and columns exchanged. The larger score is the choice; a tie counts
one half. Control: the same comparison from every other row of the text (back: every other column). A head that prefers
the right name from there as well has a favourite name, no antecedent. In a decoder only pronoun to mention is asked,
where both mentions came before the pronoun, and the control's rows are those that have seen both.

Sources: Clark et al. 2019, section 4.3; Webster et al. 2018 (GAP) for the rules; a logistic model of twelve surface
features stands beside them, since one rule alone is a weak opponent.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from operator import itemgetter

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.corpora import PronounCase, Span
from mha_core.heads.questions.base import BACK, Baseline, Measured, Question, binary_baseline
from mha_core.heads.stats import digests_of, group_of, half_of
from mha_core.heads.words import BoolArray, FloatArray, IntArray
from mha_core.tokens import Tokenizer, Tokens, clean_text
from mha_core.visibility import EVERYTHING, Visibility

RULES = ("nearest", "first", "most frequent")
SHRINK = 0.8
LONGEST_PIECE = 16  # characters a token, in the most generous estimate of what a model can read
SURFACE = "a logistic model of twelve surface features"
FOLDS = 10
MOST_LEARNT = 8192
CONTROL = "the text's other rows prefer the right name"
EVEN = "even"


@dataclass(frozen=True, eq=False)
class Choice:
    """One text: the mention that each head prefers (direction, head), 1 for the second, -1 for the first, 0 for
    neither, and the mean preference of other rows (direction, head), nan where there are none. `answer` and `rules` as
    of a ChoiceCase."""

    source: PronounCase
    answer: int
    rules: tuple[float, ...]
    prefers: IntArray
    others: FloatArray


@dataclass(frozen=True)
class ChoiceCase:
    """A choice in tokens: which belong to the pronoun and to each mention. `rules`: is each of RULES right, 1 or 0,
    0.5 in a tie. `is_cut`: only a window of the text is read.
    """

    tokens: Tokens
    pronoun: IntArray
    candidates: tuple[IntArray, IntArray]
    answer: int
    source: PronounCase
    rules: tuple[float, ...]
    is_cut: bool = False


def choice_case(choice: PronounCase, tokenizer: Tokenizer) -> ChoiceCase:
    """A choice tokenised; a text beyond the model's limit is cut to a window around the three mentions.

    Raises InputError where even the stretch between them is too long, and where the pieces of a mention do not
    spell it: it has none, or the tokenizer took the text for another (a special token at its beginning).
    """
    text, spans, tokens = _window(choice, tokenizer.encode, tokenizer.max_tokens)
    found = [_pieces(tokens, span) for span in spans]
    for span, pieces in zip(spans, found, strict=True):
        if not len(pieces):
            raise InputError("a mention has no token of its own.")
        _check_spelling(tokens, pieces, text[slice(*span)])
    pronoun, a, b = found
    is_cut = len(text) < len(choice.text)
    return ChoiceCase(tokens, pronoun, (a, b), choice.answer, choice, _rules_right(choice), is_cut)


def _check_spelling(tokens: Tokens, pieces: IntArray, mention: str) -> None:
    """Raise InputError unless the pieces spell the mention; a sign beside it may be part of its last piece."""
    first, last = tokens.pieces[pieces[0]], tokens.pieces[pieces[-1]]
    spelled = tokens.text[first.start : last.end]
    if _bare(spelled) != _bare(clean_text(mention)):
        raise InputError(f"the tokens at the place of {mention[:30]!r} spell {spelled[:30]!r}.")


def _bare(text: str) -> str:
    return re.sub(r"^\W+|\W+$", "", text)


def _pieces(tokens: Tokens, span: Span) -> IntArray:
    inside = [
        i
        for i, piece in enumerate(tokens.pieces)
        if not piece.special and piece.segment == 0 and piece.start < span[1] and span[0] < piece.end
    ]
    return np.array(inside, dtype=np.intp)


def _window(
    choice: PronounCase, encode: Callable[[str], Tokens], max_tokens: int
) -> tuple[str, tuple[Span, ...], Tokens]:
    """The text, or the longest stretch tried around the mentions that the model can read whole; with its tokens."""
    spans = (choice.pronoun, *choice.candidates)
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    most = max_tokens * LONGEST_PIECE
    if last - first > most or encode(choice.text[first:last]).n_cut:
        raise InputError("the mentions are further apart than the model can read.")
    margin = max(first, len(choice.text) - last)
    start, stop = 0, len(choice.text)
    if margin > most:
        margin = most
        start, stop = _at_a_space(choice.text, first, -margin), _at_a_space(choice.text, last, margin)
    while (tokens := encode(choice.text[start:stop])).n_cut:
        share = len(tokens) / (len(tokens) + tokens.n_cut)
        # Far beyond the limit, not through all the steps between.
        margin = int(margin * min(SHRINK, 2 * share))
        start, stop = _at_a_space(choice.text, first, -margin), _at_a_space(choice.text, last, margin)
    return choice.text[start:stop], tuple((a - start, b - start) for a, b in spans), tokens


def _at_a_space(text: str, place: int, margin: int) -> int:
    """The border of words furthest from `place`, at most `margin` characters away (negative: to the left)."""
    if margin <= 0:
        start = max(place + margin, 0)
        return start if start == 0 else text.find(" ", start, place) + 1 or place
    stop = min(place + margin, len(text))
    found = text.rfind(" ", place, stop)
    return stop if stop == len(text) else place if found < 0 else found


def _rules_right(choice: PronounCase) -> tuple[float, ...]:
    """Are the nearest mention, the first, the one named most often (of two, the nearer) right?"""
    a, b = choice.candidates
    gaps = [max(span[0] - choice.pronoun[1], choice.pronoun[0] - span[1]) for span in (a, b)]
    near = _right(-gaps[0], -gaps[1], choice.answer)
    counts = [_count(choice.text, choice.text[slice(*span)]) for span in (a, b)]
    frequent = near if counts[0] == counts[1] else _right(counts[0], counts[1], choice.answer)
    return (near, _right(-a[0], -b[0], choice.answer), frequent)


def _count(text: str, name: str) -> int:
    """How often the text has the last word of the name (a person's surname)."""
    return len(re.findall(rf"(?<!\w){re.escape(name.split()[-1])}(?!\w)", text))


def _right(a: float, b: float, answer: int) -> float:
    return 0.5 if a == b else float((a < b) == bool(answer))


def mention_scores(weights: FloatArray, item: ChoiceCase) -> FloatArray:
    """(direction, head, row, mention): what every piece gives to a mention, or gets from it.

    The rows of the pronoun's pieces all hold the pronoun's own score: the mean over them when the pronoun
    looks, their sum when it is looked at.
    """
    flat = weights.reshape(-1, *weights.shape[-2:])
    n = flat.shape[-1]
    inside = np.zeros((n, 2), dtype=flat.dtype)
    for mention, pieces in enumerate(item.candidates):
        inside[pieces, mention] = 1
    given = (flat.reshape(-1, n) @ inside).reshape(-1, n, 2)
    received = np.swapaxes((inside / inside.sum(0)).T @ flat, 1, 2)
    given[:, item.pronoun] = given[:, item.pronoun].mean(1, keepdims=True)
    received[:, item.pronoun] = received[:, item.pronoun].sum(1, keepdims=True)
    return np.stack([given, received])


def sees_both(item: ChoiceCase, visibility: Visibility) -> BoolArray:
    """Return which pieces see both mentions whole, (layer, piece)."""
    mentions = visibility.mask(len(item.tokens))[..., np.concatenate(item.candidates)]
    visible: BoolArray = np.logical_and.reduce(mentions, axis=-1)
    return visible


def other_rows(item: ChoiceCase) -> IntArray:
    """The pieces of the text that are neither the pronoun, nor a mention, nor inserted."""
    taken = {int(i) for pieces in (item.pronoun, *item.candidates) for i in pieces}
    rows = [i for i, piece in enumerate(item.tokens.pieces) if not piece.special and i not in taken]
    return np.array(rows, dtype=np.intp)


class ChoiceLog:
    """Keeps for every text which mention each head prefers: neither, in a layer that does not see both."""

    def __init__(self, visibility: Visibility = EVERYTHING) -> None:
        self.visibility = visibility
        self.found: list[Choice] = []

    def add(self, weights: FloatArray, item: ChoiceCase) -> None:
        """Keep one text; weights (layer, head, query, key) over its tokens."""
        sees = sees_both(item, self.visibility)
        if not sees[:, item.pronoun[0]].any():
            return
        scores = mention_scores(weights, item).reshape(2, *weights.shape[:3], 2)
        prefers = np.sign(scores[..., 1] - scores[..., 0]) * sees[:, None]
        prefers = prefers.reshape(2, -1, prefers.shape[-1])
        rows = other_rows(item)
        rows = rows[sees[:, rows].any(0)]
        here = prefers[:, :, rows].mean(-1) if len(rows) else np.full(prefers.shape[:2], np.nan)
        own = prefers[:, :, item.pronoun[0]].astype(np.int8)
        self.found.append(Choice(item.source, item.answer, item.rules, own, here.astype(np.float32)))


class Choices:
    """What the logistic model learns from: all texts, or MOST_LEARNT of them, drawn by their digest."""

    def __init__(self, is_causal: bool = False) -> None:
        self.is_causal = is_causal
        self.drawn: list[tuple[int, PronounCase]] = []

    def read(self, found: Sequence[Choice]) -> None:
        """Draw some texts."""
        keys = digests_of([f"{one.source.pronoun} {one.source.text}" for one in found]).tolist()
        new = [(key, one.source) for key, one in zip(keys, found, strict=True)]
        self.drawn = nsmallest(MOST_LEARNT, self.drawn + new, key=itemgetter(0))

    @cached_property
    def surface(self) -> "Surface":
        """The model; asked for when all texts are read."""
        return Surface(*_surfaces([source for _, source in self.drawn]))

    def measured(self, found: Sequence[Choice], corpus: str) -> Iterator[Measured]:
        """Yield every question there is for some texts."""
        answers = np.array([one.answer for one in found])
        sources = [one.source for one in found]
        second = np.array([half_of(one.pair or one.text) for one in sources], dtype=bool)
        clusters = digests_of([one.source for one in sources])
        rules = self._rules(found, answers)
        counts = np.array(
            [[_count(one.text, one.text[slice(*span)]) for span in one.candidates] for one in sources]
        )
        even = np.maximum(counts, 1)[:, 0] == np.maximum(counts, 1)[:, 1]
        side = np.where(answers == 1, 1.0, -1.0)[:, None]
        for subset, kept in (("", np.ones(len(even), dtype=bool)), (EVEN, even)):
            if not kept.any():
                continue
            for way in range(1 if self.is_causal else 2):
                right, others = (
                    (1 + np.array([each[way] for each in values])[kept] * side[kept]) / 2
                    for values in ([one.prefers for one in found], [one.others for one in found])
                )
                made = [binary_baseline(name, does, hits[kept], right) for name, does, hits in rules]
                yield Measured(
                    _question(subset, corpus, bool(way)),
                    right,
                    clusters[kept],
                    second[kept],
                    (*made, Baseline("a coin", "", np.full(len(right), 0.5))),
                    others,
                    chance=np.full(int(kept.sum()), 0.5),
                )

    def _rules(self, found: Sequence[Choice], answers: np.ndarray) -> list[tuple[str, str, FloatArray]]:
        """The simple rules, and the logistic model of everything they go by: name, what it looks at, right or not."""
        known = np.array([one.rules for one in found])
        rules = [(f"the {name} name", f"the {name} name", known[:, i]) for i, name in enumerate(RULES)]
        rules.append(("the last name", "the last name", 1 - known[:, RULES.index("first")]))
        features, _, folds = _surfaces([one.source for one in found])
        return [*rules, (SURFACE, "the likelier name", self.surface.right(features, answers == 1, folds))]


def _surfaces(sources: Sequence[PronounCase]) -> tuple[FloatArray, np.ndarray, IntArray]:
    """Features (case, feature), whether the second is right (case,), and the fold of each (case,)."""
    features = np.array([surface(one) for one in sources])
    folds = np.array([group_of(one.pair or one.text) % FOLDS for one in sources])
    return features, np.array([one.answer == 1 for one in sources]), folds


def _question(subset: str, corpus: str, back: bool) -> Question:
    title = "antecedent → its pronoun" if back else "pronoun → its antecedent"
    asks = "Does the right one of two names look more at a pronoun?" if back else (
        "Of two names, does a pronoun look more at the one it stands for?"
    )  # fmt: skip
    does = "looks from a name to its pronoun" if back else "looks from a pronoun to the name it stands for"
    key = "antecedent" + (f"-{subset}" if subset else "") + (BACK if back else "")
    if subset:
        title += ", names equally frequent"
        asks = asks[:-1] + ", where both names occur equally often?"
    return Question(key, "coreference", title, does, asks, corpus, control=CONTROL)


def held_out_choices(features: FloatArray, second_is_right: np.ndarray, folds: IntArray) -> FloatArray:
    """Return right (1) or wrong (0) in every case by a logistic model learnt on the other folds; 0.5 in a tie.

    `features` (case, feature): of the first candidate minus those of the second. No constant, since the candidates'
    order means nothing.
    """
    return Surface(features, second_is_right, folds).right(features, second_is_right, folds)


class Surface:
    """The logistic models of `held_out_choices`, one a fold, learnt from what lies in no other."""

    def __init__(self, features: FloatArray, second_is_right: np.ndarray, folds: IntArray) -> None:
        from sklearn.linear_model import LogisticRegression

        scale = np.sqrt((features**2).mean(0))
        self.scale = np.where(scale > 0, scale, 1.0)
        self.fitted = dict[int, LogisticRegression]()
        for fold in range(FOLDS):
            rest = folds != fold
            if len(np.unique(second_is_right[rest])) == 2:
                learner = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=1000)
                self.fitted[fold] = learner.fit(features[rest] / self.scale, ~second_is_right[rest])

    def right(self, features: FloatArray, second_is_right: np.ndarray, folds: IntArray) -> FloatArray:
        """Return right or wrong in every case."""
        right = np.full(len(features), 0.5)
        for fold, learner in self.fitted.items():
            here = folds == fold
            if here.any():
                first = (1 + np.sign(learner.decision_function(features[here] / self.scale))) / 2
                right[here] = np.where(second_is_right[here], 1 - first, first)
        return right


def surface(choice: PronounCase) -> FloatArray:
    """Twelve things that can be seen of the two names without reading: those of A minus those of B."""
    a, b = (np.array(_seen(choice, span)) for span in choice.candidates)
    found: FloatArray = a - b
    return found


def _seen(choice: PronounCase, span: Span) -> tuple[float, ...]:
    text, (start, stop) = choice.text, choice.pronoun
    between = text[span[1] : start] if span[1] <= start else text[stop : span[0]]
    away, comes_first = len(between.split()), span[1] <= start
    count = max(1, _count(text, text[slice(*span)]))
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
