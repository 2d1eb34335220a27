"""One sentence, one job, all heads: which are right, and how much of their mass lies on the target?

In: weights (head, query, key) of one sentence over its pieces, and the sentence as a `Sample`. Out: `Scored`, or
None where the sentence is no case of the job. Where a job has many rows in a sentence (previous token,
separators, rare words) the case counts as the share of its rows that are right. The largest weight of a row
decides; in the relations and for rare and repeated words special tokens and the word itself are no candidates.
In a decoder (`is_causal`) what comes later is no candidate, and a sentence whose answer comes later is no case.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_core.heads.builtin import AGREEMENT, SEMANTIC
from mha_core.heads.coreference import looks_back, mention_scores, other_rows
from mha_core.heads.jobs import STEPS, Job, gold_of, sentence_role
from mha_core.heads.positions import entropy, special_names
from mha_core.heads.repeated import AFTER
from mha_core.heads.samples import Sample, pieces_of, word_of
from mha_core.heads.seen import seen
from mha_core.heads.words import BoolArray, FloatArray, IntArray, merge_words, word_bounds
from mha_core.tokens import Tokens

MARKS = frozenset(".,;:?!")
# The places where a head can rest, in the order of `Scored.rests`.
RESTS = ("begin", "separator", "punctuation")


@dataclass(frozen=True)
class Scored:
    """Every head on one case: `right` and `mass` (head,), the chance of a blind choice, where the target stands.

    `control` (head,): right from the other rows. `rows` (2, head): the row that shows it best, and worst.
    `rests` (3, head): the mass on each of RESTS.
    """

    right: FloatArray
    mass: FloatArray
    chance: float
    offset: int | None = None
    control: FloatArray | None = None
    rows: IntArray | None = None
    rests: FloatArray | None = None


def rest_name(rest: str, tokens: Tokens) -> str:
    """One of RESTS as the model's own tokenizer calls it."""
    return special_names(tokens).get(rest, rest)


def _rows(
    item: Sample, job: Job, is_causal: bool = False
) -> tuple[list[int], Callable[[int], list[int]], bool] | None:
    """Which rows count, what each should look at, and whether inserted tokens and the row itself are
    candidates.
    """
    pieces = item.tokens.pieces
    own = [i for i, piece in enumerate(pieces) if not piece.special]
    step = STEPS.get(job.name)
    if step is not None:
        return [i for i in own if i + step in own], lambda i: [i + step], True
    if job.name == "first":
        return [i for i in own if i > 0], lambda i: [0], True
    if job.name == "separator":
        marks = [i for i, piece in enumerate(pieces) if piece.special or piece.bare in MARKS]
        return [i for i in own if i not in marks], lambda i: marks, True
    if job.name == "rare" and item.sentence.role == "rare":
        rare = pieces_of(item.tokens, item.sentence.spans["rare"])
        rows = [i for i in own if i not in rare and (i > rare[-1] or not is_causal)]
        return rows, lambda i: rare, False
    return None


def _score_rows(flat: FloatArray, item: Sample, job: Job, is_causal: bool) -> Scored | None:
    asked = _rows(item, job, is_causal)
    if asked is None or not asked[0]:
        return None
    rows, target_of, every = asked
    target = _targets(rows, target_of, flat.shape[-1])
    looks = flat[:, rows]
    allowed = seen(flat.shape[-1], is_causal)[rows] & (every | _others(item.tokens, rows))
    peak = np.where(allowed, looks, -1.0).argmax(-1)
    right = target[np.arange(len(rows)), peak]
    chance = float(((target & allowed).sum(-1) / allowed.sum(-1)).mean())
    on_target = (looks * target).sum(-1)
    # The row to show: right and with the most on its target; or wrong and with the least.
    best, worst = (right + on_target).argmax(-1), (right + on_target).argmin(-1)
    shown = np.array(rows, dtype=np.int16)[np.stack([best, worst])]
    rests = _rests(looks, item.tokens) if job.kind == "separator" else None
    return Scored(right.mean(-1), on_target.mean(-1), chance, rows=shown, rests=rests)


def _rests(looks: FloatArray, tokens: Tokens) -> FloatArray:
    """The mass of the rows (head, row, key) on each of RESTS."""
    roles = np.array([piece.role for piece in tokens.pieces], dtype=object)
    marks = np.array([piece.bare in MARKS and not piece.special for piece in tokens.pieces])
    places = (roles == "begin", roles == "separator", marks)
    return np.stack([looks[..., place].sum(-1).mean(-1) for place in places])


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


def _score_copy(flat: FloatArray, item: Sample, job: Job, is_causal: bool) -> Scored | None:
    del job, is_causal
    if item.sentence.role != "copy":
        return None
    first, second = (pieces_of(item.tokens, item.sentence.spans[name]) for name in ("first", "second"))
    earlier = [i for i in range(second[0]) if not item.tokens.pieces[i].special]
    row = flat[:, second].mean(1)
    peak = np.array(earlier)[row[:, earlier].argmax(-1)]
    return Scored(np.isin(peak, first).astype(np.float32), row[:, first].sum(-1), len(first) / len(earlier))


def _score_relation(flat: FloatArray, item: Sample, job: Job, is_causal: bool) -> Scored | None:
    spans = item.sentence.gold.get(sentence_role(job))
    if spans is None:
        return None
    dependent, head = (word_of(item.tokens, spans[name]) for name in gold_of(job)[1:])
    if is_causal:
        return _look_back(flat, item, *((head, dependent) if job.from_head else (dependent, head)))
    words = merge_words(flat, word_bounds(item.tokens))
    line = words[:, dependent] if job.direction == "row" else words[:, :, dependent]
    others = line.copy()
    others[:, dependent] = -1.0
    n = len(item.tokens.words)
    away = head - dependent if job.direction == "row" else dependent - head
    return Scored((others.argmax(-1) == head).astype(np.float32), line[:, head], 1 / (n - 1), away)


def _look_back(flat: FloatArray, item: Sample, looker: int, target: int) -> Scored | None:
    """The row of a word that can only see the words before it; None where its target is not one of them."""
    if target >= looker:
        return None
    line = merge_words(flat, word_bounds(item.tokens))[:, looker, :looker]
    return Scored(
        (line.argmax(-1) == target).astype(np.float32), line[:, target], 1 / looker, target - looker
    )


def _score_choice(flat: FloatArray, item: Sample, job: Job, is_causal: bool) -> Scored | None:
    if item.choice is None or job.kind != _kind_of_choice(item):
        return None
    case, direction = item.choice, 0 if job.direction == "row" else 1
    if is_causal and not looks_back(case):
        return None
    scores = mention_scores(flat, case)[direction]
    right = (1 + np.sign(scores[..., case.answer] - scores[..., 1 - case.answer])) / 2
    rows = [int(i) for i in other_rows(case, is_causal)]
    pronoun = int(case.pronoun[0])
    share = scores[:, pronoun, case.answer] / np.maximum(scores[:, pronoun].sum(-1), 1e-12)
    control = right[:, rows].mean(-1) if rows else None
    return Scored(right[:, pronoun], share, 0.5, control=control)


def _kind_of_choice(item: Sample) -> str:
    """The kind of job that a choice between two candidates belongs to."""
    if item.sentence.role == SEMANTIC:
        return SEMANTIC
    return "agreement" if item.sentence.kind in AGREEMENT else "coreference"


def _score_broad(flat: FloatArray, item: Sample, job: Job, is_causal: bool) -> Scored | None:
    del item, job
    can = seen(flat.shape[-1], is_causal)
    even = entropy(flat, can).sum(-1) / max(float(np.log(can.sum(-1)).sum()), 1e-9)
    return Scored(even, even, 1.0)


def score_case(flat: FloatArray, item: Sample, job: Job, is_causal: bool = False) -> Scored | None:
    """One job on one sentence; None where the sentence is no case of it."""
    return None if job.repeated else _SCORERS[job.kind](flat, item, job, is_causal)


_SCORERS: dict[str, Callable[[FloatArray, Sample, Job, bool], Scored | None]] = {
    "positional": _score_rows,
    "separator": _score_rows,
    "rare": _score_rows,
    "sink": _score_rows,
    "copy": _score_copy,
    "syntactic": _score_relation,
    "semantic": _score_choice,
    "coreference": _score_choice,
    "agreement": _score_choice,
    "broad": _score_broad,
}


def ends(item: Sample, job: Job, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Who looks and at what it should, in pieces; `row` matters where a sentence has many rows."""
    tokens = item.tokens
    if job.repeated:
        return (row,), (row - item.said_twice + AFTER[job.name],)
    asked = _rows(item, job)
    if asked is not None:
        return (row,), tuple(asked[1](row))
    if job.kind == "broad":
        return (1,), ()
    if item.choice is not None:
        right = item.choice.candidates[item.choice.answer]
        found = tuple(map(int, item.choice.pronoun)), tuple(map(int, right))
    else:
        copied = job.kind == "copy"
        names = ("second", "first") if copied else gold_of(job)[1:]
        spans = item.sentence.spans if copied else item.sentence.gold[sentence_role(job)]
        found = tuple(pieces_of(tokens, spans[names[0]])), tuple(pieces_of(tokens, spans[names[1]]))
    return found if job.direction == "row" and not job.from_head else (found[1], found[0])
