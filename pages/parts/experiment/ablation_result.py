"""Effect of an intervention on one text, computed once for all users.

In: a request and interventions. Out: a frozen `AblationResult`. No Streamlit here.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from mha_core import AttentionRecord, Model, NextToken
from mha_core.arrays import FloatArray
from mha_core.causal import (
    EmbeddingCosine,
    Intervention,
    LogitDifference,
    attention_shift,
    measure,
    next_words,
    predicted_labels,
    state_cosines,
    trace_with_interventions,
)
from mha_core.display_names import Head
from mha_core.models.prediction import Label
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve.jobs import MODEL

T = TypeVar("T")

N_SHOWN = 5  # likeliest tokens without the intervention, and as many with it
N_KNOWN = 2_000  # likeliest tokens whose probability is computed
MIN_SHIFT = 0.05  # share of its attention that a later head has to move


class NextWord(NamedTuple):
    """A token that may come next, or a label, and its probability (of a regression its output) without and with the
    intervention."""

    id: int
    text: str
    before: float
    after: float


class MovedHead(NamedTuple):
    """A later head: the mean share of attention that moved, and the query where most did."""

    head: Head
    share: float
    query: int


@dataclass(frozen=True)
class AblationResult:
    """Next words or labels, likeliest before first; where the model predicts none `cosines` (token + 1,) of each last
    state with itself before, and last of the whole text's embedding. `moved`: later heads whose attention shifts, most
    first. `is_share`: False for a regression. `logits`: a label's logit, or its difference with another's, without and
    with the intervention."""

    words: tuple[NextWord, ...]
    cosines: FloatArray
    moved: tuple[MovedHead, ...]
    is_share: bool = True
    logits: tuple[float, ...] = ()


def ablation_result(
    request: Request,
    record: AttentionRecord,
    model: Model,
    changes: tuple[Intervention, ...],
    word: str | None = None,
    outcome: LogitDifference | None = None,
) -> AblationResult:
    """Measure interventions on the text of a record; `word` is among the next words however unlikely it is.

    `outcome`: of the `logits`.
    """

    def cached(kind: Hashable, changes: tuple[Intervention, ...], compute: Callable[[], T]) -> T:
        def compute_alone() -> T:
            with MODEL:
                return compute()

        return cache.of_run(replace(request.run, interventions=changes), model, kind, compute_alone)

    def predicted(changes: tuple[Intervention, ...]) -> tuple[Label | NextToken, ...]:
        if model.label_head is not None:
            return cached("labels", changes, lambda: predicted_labels(record.tokens, model, changes))
        n_known = min(N_KNOWN, model.tokenizer.vocab_size)
        return cached("next words", changes, lambda: next_words(record.tokens, model, changes, k=n_known))

    def logit(outcome: LogitDifference, changes: tuple[Intervention, ...]) -> float:
        return cached(outcome, changes, lambda: measure(record.tokens, model, outcome, changes)[0])

    moved: tuple[MovedHead, ...] = ()
    if changes:
        after = cached("changed", changes, lambda: trace_with_interventions(record.tokens, model, changes))
        moved = moved_heads(record, after)
    if predicts_words(record, model):
        words = paired_words(predicted(()), predicted(changes), word)
        is_share = model.label_head is None or model.label_head.scale != "none"
        logits = () if outcome is None else (logit(outcome, ()), logit(outcome, changes))
        return AblationResult(words, np.ones(0, np.float32), moved, is_share, logits)
    return AblationResult((), cached("cosines", changes, lambda: cosines(record, model, changes)), moved)


def predicts_words(record: AttentionRecord, model: Model) -> bool:
    """Return whether the model predicts a word of this text, the next one or a masked one, or its label."""
    masked = any(token.id == model.tokenizer.mask_id for token in record.tokens.pieces)
    head = model.next_head or model.label_head
    return head is not None or (model.masked_head is not None and masked)


def paired_words(
    before: Sequence[Label | NextToken], after: Sequence[Label | NextToken], word: str | None
) -> tuple[NextWord, ...]:
    """Return the likeliest tokens or labels of both sides and `word`, likeliest before first; an unknown probability
    is at most the least known one.

    A `word` that is none of the likeliest as typed is the one with a space before it, where that is known.
    """
    sides = [
        {each.id: each.logit if each.probability is None else each.probability for each in side}
        for side in (before, after)
    ]
    text_of = {token.id: token.text for token in (*after, *before)}
    shown = dict.fromkeys(token.id for token in (*before[:N_SHOWN], *after[:N_SHOWN]))
    if word and word not in map(text_of.get, shown) and f" {word}" in text_of.values():
        word = f" {word}"
    shown |= dict.fromkeys(i for i, text in text_of.items() if text == word)
    least = [min(side.values()) for side in sides]
    words = [
        NextWord(i, text_of[i], *(side.get(i, low) for side, low in zip(sides, least, strict=True)))
        for i in shown
    ]
    return tuple(sorted(words, key=lambda each: -each.before))


def moved_heads(before: AttentionRecord, after: AttentionRecord) -> tuple[MovedHead, ...]:
    """Return the heads that shift at least MIN_SHIFT of their attention, most first."""
    shares = np.asarray(attention_shift(before, after))  # (layer, head, query)
    mean = shares.mean(-1)
    order = np.argsort(-mean, axis=None, kind="stable")[: (mean >= MIN_SHIFT).sum()]
    heads = [divmod(int(i), mean.shape[1]) for i in order]
    return tuple(MovedHead(head, float(mean[head]), int(shares[head].argmax())) for head in heads)


def cosines(record: AttentionRecord, model: Model, changes: tuple[Intervention, ...]) -> FloatArray:
    """Return the cosines (token + 1,) of `AblationResult`."""
    whole = measure(record.tokens, model, EmbeddingCosine(), changes)[0] if changes else 1.0
    return np.append(state_cosines(record.tokens, model, changes)[-1], whole).astype(np.float32)
