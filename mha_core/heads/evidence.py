"""The built-in sentences as cases, one for each thing a head could look at: which head does which job, and
where?

In: weights (layer, head, query, key) of one sentence at a time, and its gold spans. Out: for every job the
share of cases each head gets right, its Wilson interval, the baseline it must beat, a verdict, and the cases
themselves, so that a reader can go and look.

A case is a sentence. Where a job has many rows in a sentence (previous token, separators, rare words) the
case counts as the share of its rows that are right: rows of one sentence are not independent, so they do not
add to n. The largest weight of a row decides; in the relations and for rare and repeated words [CLS], [SEP]
and the word itself are no candidates.

A verdict is "specialist" only if there are enough cases, the interval is above the baseline even when it is
widened for having picked among all heads and directions (Bonferroni), and the score at least ten points above
it (Voita et al. 2019, section 5.2.2, ask the same of syntactic heads). Besides: for coreference the control
must fall away; for places, separators, copies and rare words more than half must be right (Clark et al. 2019,
section 3); for broad heads four fifths of the possible entropy must be there, as in roles.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mha_core.heads.builtin import AGREEMENT, GOLD, BuiltIn
from mha_core.heads.coreference import ChoiceCase, choice_case, mention_scores
from mha_core.heads.intervals import wilson, z_for_best_of
from mha_core.heads.positions import entropy
from mha_core.heads.words import BoolArray, FloatArray, IntArray, merge_words, word_bounds
from mha_core.tokens import Tokenizer, Tokens

Role = Literal["positional", "syntactic", "coreference", "rare/copy", "separator", "broad"]
Verdict = Literal["specialist", "unsure", "none"]
Span = tuple[int, int]
MARGIN = 0.10
ENOUGH = {"positional": 0.5, "rare/copy": 0.5, "separator": 0.5, "broad": 0.8}
THIN = 30
MARKS = frozenset(".,;:?!")


@dataclass(frozen=True)
class Job:
    """Something a head may be for. `does` completes "this head's words look at ...", `direction` is the
    reading.
    """

    name: str
    role: Role
    title: str
    does: str
    direction: Literal["row", "column"] = "row"


def _relation_jobs() -> tuple[Job, ...]:
    said = {
        "determiner": ("determiner", "its noun"),
        "subject-verb": ("subject", "its verb"),
        "object": ("object", "its verb"),
        "possessive": ("possessor", "what it owns"),
    }
    jobs = []
    for role, (dependent, head) in said.items():
        jobs += [
            Job(f"{role}", "syntactic", f"{dependent} → {head}", f"the {dependent} looks most at {head}"),
            Job(
                f"{role}, back",
                "syntactic",
                f"{head.removeprefix('its ')} → its {dependent}",
                f"of all words, {head.removeprefix('its ')} looks most at the {dependent}",
                "column",
            ),
        ]
    return tuple(jobs)


def _choice_jobs() -> tuple[Job, ...]:
    said = {
        "coreference": ("antecedent", "told by the meaning alone"),
        "agreement": ("antecedent by gender or number", "told by he or she, it or they"),
    }
    jobs = []
    for name, (what, how) in said.items():
        jobs += [
            Job(
                name,
                "coreference",
                f"pronoun → {what}",
                f"of two candidates, {how}, the pronoun looks more at the right one",
            ),
            Job(
                f"{name}, back",
                "coreference",
                f"{what} → pronoun",
                f"of two candidates, {how}, the right one looks more at the pronoun",
                "column",
            ),
        ]
    return tuple(jobs)


JOBS: tuple[Job, ...] = (
    Job("previous", "positional", "previous token", "a token looks most at the one before it"),
    Job("next", "positional", "next token", "a token looks most at the one after it"),
    Job("self", "positional", "itself", "a token looks most at itself"),
    *_relation_jobs(),
    *_choice_jobs(),
    Job("rare", "rare/copy", "rarest word", "a token looks most at the rarest word"),
    Job("copy", "rare/copy", "earlier copy", "a repeated word looks most at its earlier copy"),
    Job("separator", "separator", "separators", "a token looks most at [CLS], [SEP] or punctuation"),
    Job("broad", "broad", "broad", "a token spreads its attention evenly"),
)  # fmt: skip
ROLES: tuple[Role, ...] = ("positional", "syntactic", "coreference", "rare/copy", "separator", "broad")


@dataclass(frozen=True)
class Sample:
    """A built-in sentence, tokenised; `choice` is there for coreference."""

    sentence: BuiltIn
    tokens: Tokens
    choice: ChoiceCase | None

    @property
    def family(self) -> str:
        """The same for the two versions of a minimal pair."""
        pair = self.sentence.choice.pair if self.sentence.choice else None
        return pair or self.sentence.id


def sample(sentence: BuiltIn, tokenizer: Tokenizer) -> Sample:
    """A sentence ready to be fed to an `EvidenceLog`, or to any measure of whole texts."""
    choice = None if sentence.choice is None else choice_case(sentence.choice, tokenizer)
    return Sample(sentence, tokenizer.encode(sentence.text), choice)


@dataclass(frozen=True)
class Look:
    """One row to go and see: which pieces look, at which they should, and the share that lies there."""

    sample: Sample
    query: tuple[int, ...]
    target: tuple[int, ...]
    share: float
    right: bool


@dataclass(frozen=True)
class JobTable:
    """One job, all heads: `right` and `mass` on the target (case, layer, head) from 0 to 1, `rows` (case, 2,
    layer, head) the row of each case that shows it best and the one that shows it worst; the rest (layer,
    head).
    """

    job: Job
    cases: tuple[Sample, ...]
    right: FloatArray
    mass: FloatArray
    rows: IntArray
    score: FloatArray
    low: FloatArray
    high: FloatArray
    sure_low: FloatArray
    baseline: float
    baseline_name: str
    control: FloatArray | None

    @property
    def n(self) -> int:
        return len(self.cases)

    @property
    def thin(self) -> bool:
        """Too few cases to say more than a guess."""
        return self.n < THIN

    def verdict(self, layer: int, head: int) -> Verdict:
        """Whether a head does the job, on this evidence; layer and head from 0."""
        score = float(self.score[layer, head])
        if self.low[layer, head] <= self.baseline:
            return "none"
        specific = self.control is None or self.control[layer, head] - 0.5 <= (score - 0.5) / 2
        least = max(self.baseline + MARGIN, ENOUGH.get(self.job.role, 0.0))
        sure = self.sure_low[layer, head] > self.baseline and score >= least
        return "specialist" if sure and specific and not self.thin else "unsure"

    def order(self) -> list[tuple[int, int]]:
        """All heads, the best first; equal scores by the mass on the target."""
        flat = np.lexsort((-self.mass.mean(0).ravel(), -self.score.ravel()))
        n_heads = self.score.shape[1]
        return [(int(i) // n_heads, int(i) % n_heads) for i in flat]

    def rank(self, layer: int, head: int) -> int:
        """The place of a head among all, from 1."""
        return self.order().index((layer, head)) + 1

    def examples(self, layer: int, head: int, count: int = 3, *, right: bool = True) -> tuple[Look, ...]:
        """Where the head works best, or with `right=False` where it fails worst; fewer if there are fewer."""
        works, mass = self.right[:, layer, head], self.mass[:, layer, head]
        order = np.lexsort((-mass, -works)) if right else np.lexsort((mass, works))
        kept: dict[str, int] = {}
        for i in order:
            if (works[i] >= 0.5) == right:
                # Of a minimal pair one is enough.
                kept.setdefault(self.cases[i].family, int(i))
        return tuple(self._look(i, layer, head, right) for i in list(kept.values())[:count])

    def _look(self, case: int, layer: int, head: int, right: bool) -> Look:
        item = self.cases[case]
        row = int(self.rows[case, 0 if right else 1, layer, head])
        query, target = _ends(item, self.job, row)
        return Look(item, query, target, float(self.mass[case, layer, head]), right)


@dataclass
class _Log:
    cases: list[Sample] = field(default_factory=list)
    right: list[FloatArray] = field(default_factory=list)
    mass: list[FloatArray] = field(default_factory=list)
    rows: list[IntArray] = field(default_factory=list)
    control: list[FloatArray] = field(default_factory=list)
    chance: list[float] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


class EvidenceLog:
    """Remembers every case: right or wrong for each head, and the mass on the target. For some hundred
    sentences.
    """

    def __init__(self, n_layers: int, n_heads: int) -> None:
        self.shape = (n_layers, n_heads)
        self.logs = {job.name: _Log() for job in JOBS}

    def add(self, weights: FloatArray, item: Sample) -> None:
        """Count one sentence for every job it has cases of; weights (layer, head, query, key) over its
        pieces.
        """
        flat = weights.reshape(-1, *weights.shape[-2:])
        for job in JOBS:
            found = _SCORERS[job.role](flat, item, job)
            if found is None:
                continue
            log = self.logs[job.name]
            log.cases.append(item)
            log.right.append(found.right)
            log.mass.append(found.mass)
            log.rows.append(found.rows if found.rows is not None else np.zeros((2, flat.shape[0]), np.int16))
            log.chance.append(found.chance)
            log.control += [] if found.control is None else [found.control]
            log.offsets += [] if found.offset is None else [found.offset]

    def result(self) -> dict[str, JobTable]:
        """A table for every job that has cases, by the job's name."""
        return {job.name: self._table(job) for job in JOBS if self.logs[job.name].cases}

    def _table(self, job: Job) -> JobTable:
        log, n = self.logs[job.name], len(self.logs[job.name].cases)
        right = np.array(log.right, dtype=np.float32).reshape(n, *self.shape)
        score = right.mean(0, dtype=np.float64)
        low, high = wilson(score * n, n)
        baseline, name = _baseline(job, log, score)
        control = np.array(log.control).mean(0).reshape(self.shape) if log.control else None
        mass = np.array(log.mass, dtype=np.float32).reshape(n, *self.shape)
        # The best of all heads in both directions: so many chances to be lucky.
        sure_low, _ = wilson(score * n, n, z_for_best_of(2 * score.size))
        rows = np.array(log.rows, dtype=np.int16).reshape(n, 2, *self.shape)
        return JobTable(
            job, tuple(log.cases), right, mass, rows, score, low, high, sure_low, baseline, name, control
        )


def _baseline(job: Job, log: _Log, score: FloatArray) -> tuple[float, str]:
    """The best lazy rule there is for the job, and its name."""
    if job.role == "coreference":
        first = float(np.mean([c.choice is not None and c.choice.answer == 0 for c in log.cases]))
        rules = [(0.5, "a coin"), (first, "the first candidate"), (1 - first, "the nearest candidate")]
        return max(rules, key=lambda rule: rule[0])
    if job.role == "broad":
        return float(np.median(score)), "the middle head"
    chance = (float(np.mean(log.chance)), "a blind choice")
    if not log.offsets:
        return chance
    offset, hits = max(((o, log.offsets.count(o)) for o in set(log.offsets)), key=lambda pair: pair[1])
    return max(chance, (hits / len(log.offsets), _always(offset)))


def _always(offset: int) -> str:
    words = "word" if abs(offset) == 1 else "words"
    return f"always {abs(offset)} {words} {'on' if offset > 0 else 'back'}"


@dataclass(frozen=True)
class _Found:
    right: FloatArray
    mass: FloatArray
    chance: float
    offset: int | None = None
    control: FloatArray | None = None
    rows: IntArray | None = None


def _rows(item: Sample, job: Job) -> tuple[list[int], Callable[[int], list[int]], bool] | None:
    """Which rows count, what each should look at, and whether inserted tokens and the row itself are
    candidates.
    """
    pieces = item.tokens.pieces
    own = [i for i, piece in enumerate(pieces) if not piece.special]
    step = {"previous": -1, "next": 1, "self": 0}.get(job.name)
    if step is not None:
        return [i for i in own if i + step in own], lambda i: [i + step], True
    if job.name == "separator":
        marks = [i for i, piece in enumerate(pieces) if piece.special or piece.text in MARKS]
        return [i for i in own if i not in marks], lambda i: marks, True
    if job.name == "rare" and item.sentence.role == "rare":
        rare = _pieces(item.tokens, item.sentence.spans["rare"])
        return [i for i in own if i not in rare], lambda i: rare, False
    return None


def _score_rows(flat: FloatArray, item: Sample, job: Job) -> _Found | None:
    if job.name == "copy":
        return _score_copy(flat, item)
    asked = _rows(item, job)
    if asked is None or not asked[0]:
        return None
    rows, target_of, every = asked
    target = _targets(rows, target_of, flat.shape[-1])
    looks = flat[:, rows]
    allowed = np.ones_like(target) if every else _others(item.tokens, rows)
    peak = np.where(allowed, looks, -1.0).argmax(-1)
    right = target[np.arange(len(rows)), peak]
    chance = float((target & allowed).sum(-1).mean() / allowed.sum(-1).mean())
    on_target = (looks * target).sum(-1)
    # The row to show: right and with the most on its target; or wrong and with the least.
    best, worst = (right + on_target).argmax(-1), (right + on_target).argmin(-1)
    shown = np.array(rows, dtype=np.int16)[np.stack([best, worst])]
    return _Found(right.mean(-1), on_target.mean(-1), chance, rows=shown)


def _targets(rows: list[int], target_of: Callable[[int], list[int]], n: int) -> BoolArray:
    target = np.zeros((len(rows), n), dtype=bool)
    for r, row in enumerate(rows):
        target[r, target_of(row)] = True
    return target


def _others(tokens: Tokens, rows: list[int]) -> BoolArray:
    own = np.array([not piece.special for piece in tokens.pieces])
    allowed = np.tile(own, (len(rows), 1))
    allowed[np.arange(len(rows)), rows] = False
    return allowed


def _score_copy(flat: FloatArray, item: Sample) -> _Found | None:
    if item.sentence.role != "copy":
        return None
    first, second = (_pieces(item.tokens, item.sentence.spans[name]) for name in ("first", "second"))
    earlier = [i for i in range(second[0]) if not item.tokens.pieces[i].special]
    row = flat[:, second].mean(1)
    peak = np.array(earlier)[row[:, earlier].argmax(-1)]
    return _Found(np.isin(peak, first).astype(np.float32), row[:, first].sum(-1), len(first) / len(earlier))


def _score_relation(flat: FloatArray, item: Sample, job: Job) -> _Found | None:
    role = job.name.removesuffix(", back")
    if item.sentence.role != role:
        return None
    dependent, head = (_word(item.tokens, item.sentence.spans[name]) for name in GOLD[role][1:])
    words = merge_words(flat, word_bounds(item.tokens))
    line = words[:, dependent] if job.direction == "row" else words[:, :, dependent]
    others = line.copy()
    others[:, dependent] = -1.0
    n = len(item.tokens.words)
    return _Found(
        (others.argmax(-1) == head).astype(np.float32), line[:, head], 1 / (n - 1), head - dependent
    )


def _score_choice(flat: FloatArray, item: Sample, job: Job) -> _Found | None:
    form = item.sentence.kind in AGREEMENT
    if item.choice is None or form != job.name.startswith("agreement"):
        return None
    case, direction = item.choice, 0 if job.direction == "row" else 1
    scores = mention_scores(flat, case)[direction]
    right = (1 + np.sign(scores[..., case.answer] - scores[..., 1 - case.answer])) / 2
    taken = {int(i) for pieces in (case.pronoun, *case.candidates) for i in pieces}
    rows = [i for i, piece in enumerate(item.tokens.pieces) if not piece.special and i not in taken]
    pronoun = int(case.pronoun[0])
    share = scores[:, pronoun, case.answer] / np.maximum(scores[:, pronoun].sum(-1), 1e-12)
    return _Found(right[:, pronoun], share, 0.5, control=right[:, rows].mean(-1))


def _score_broad(flat: FloatArray, item: Sample, job: Job) -> _Found | None:
    del job
    even = entropy(flat).mean(-1) / np.log(flat.shape[-1])
    return _Found(even, even, 1.0)


_SCORERS: dict[Role, Callable[[FloatArray, Sample, Job], _Found | None]] = {
    "positional": _score_rows,
    "separator": _score_rows,
    "rare/copy": _score_rows,
    "syntactic": _score_relation,
    "coreference": _score_choice,
    "broad": _score_broad,
}


def _ends(item: Sample, job: Job, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Who looks and at what it should, in pieces; `row` matters where a sentence has many rows."""
    tokens, spans, role = item.tokens, item.sentence.spans, job.name.removesuffix(", back")
    asked = _rows(item, job)
    if asked is not None:
        return (row,), tuple(asked[1](row))
    if job.role == "broad":
        return (1,), ()
    if item.choice is not None:
        ends = (
            tuple(map(int, item.choice.pronoun)),
            tuple(map(int, item.choice.candidates[item.choice.answer])),
        )
    else:
        names = ("second", "first") if role == "copy" else GOLD[role][1:]
        ends = tuple(_pieces(tokens, spans[names[0]])), tuple(_pieces(tokens, spans[names[1]]))
    return ends if job.direction == "row" else (ends[1], ends[0])


def _pieces(tokens: Tokens, span: Span) -> list[int]:
    return [
        i
        for i, piece in enumerate(tokens.pieces)
        if not piece.special and piece.start < span[1] and span[0] < piece.end
    ]


def _word(tokens: Tokens, span: Span) -> int:
    return next(i for i, word in enumerate(tokens.words) if word.start < span[1] and span[0] < word.end)
