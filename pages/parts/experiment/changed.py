"""What a model does as it is and with heads switched: computed once for all readers, kept under the intervention.

In: a request and interventions. Out: a frozen `Changed`. No Streamlit here; models are those that are loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mha_core import AttentionRecord, Model, NextToken
from mha_core.arrays import FloatArray
from mha_core.causal import (
    EmbeddingCosine,
    Intervention,
    attention_shift,
    measure,
    next_words,
    state_cosines,
    trace_with_interventions,
)
from mha_core.display_names import Head
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve.jobs import MODEL

SHOWN = 5  # of the likeliest words before, and as many after
KNOWN = 2_000  # words whose probability is kept: the others have next to none
WORTH_SAYING = 0.05


@dataclass(frozen=True)
class Guess:
    """One word that may come next, with its probability before and after."""

    id: int
    text: str
    before: float
    after: float


@dataclass(frozen=True)
class Moved:
    """A later head that looks elsewhere: the share of its rows that moved on average, and where it moved most."""

    head: Head
    share: float
    query: int
    there: float


@dataclass(frozen=True)
class Changed:
    """What an intervention did to one text. Where the model says no word `words` is empty, and `cosines`
    (token + 1,) are those of the last states with what they were; the last of them is the whole text's, of the
    mean of its last states."""

    words: tuple[Guess, ...]
    cosines: FloatArray
    moved: tuple[Moved, ...]


def says_words(record: AttentionRecord, used: Model) -> bool:
    """Does this model say a word of this text: the next one, or a masked one?"""
    if used.next_head is not None:
        return True
    masked = any(piece.id == used.tokenizer.mask_id for piece in record.tokens.pieces)
    return used.masked_head is not None and masked


def likeliest(
    request: Request, record: AttentionRecord, used: Model, how: tuple[Intervention, ...]
) -> tuple[NextToken, ...]:
    """The likeliest words with heads switched, best first."""
    known = min(KNOWN, used.tokenizer.vocab_size)

    def make() -> tuple[NextToken, ...]:
        with MODEL:
            return next_words(record.tokens, used, how, k=known)

    return cache.of_run(replace(request.run, interventions=how), used, "next words", make)


def changed_by(
    request: Request,
    record: AttentionRecord,
    used: Model,
    how: tuple[Intervention, ...],
    word: str | None = None,
) -> Changed:
    """What the intervention does to the text of the record; `word` is shown however unlikely it is."""
    after = _record(request, record, used, how) if how else record
    moved = _moved(record, after) if how else ()
    if says_words(record, used):
        before, now = (likeliest(request, record, used, each) for each in ((), how))
        return Changed(guesses(before, now, word), np.ones(0, np.float32), moved)
    return Changed((), _cosines(request, record, used, how), moved)


def guesses(before: Sequence[NextToken], after: Sequence[NextToken], word: str | None) -> tuple[Guess, ...]:
    """The likeliest words of both, the likeliest before first; of a word that is not known, what it has at most.

    A `word` that is none of the likeliest as it is typed is the one with a space before it, where that is known.
    """
    then, now = ({token.id: token.probability for token in side} for side in (before, after))
    named = {token.id: token.text for token in (*after, *before)}
    wanted = dict.fromkeys(token.id for token in (*before[:SHOWN], *after[:SHOWN]))
    if word and word not in (named[i] for i in wanted) and f" {word}" in named.values():
        word = f" {word}"
    wanted |= dict.fromkeys(i for i, text in named.items() if text == word)
    least_then, least_now = before[-1].probability, after[-1].probability
    found = [Guess(i, named[i], then.get(i, least_then), now.get(i, least_now)) for i in wanted]
    return tuple(sorted(found, key=lambda guess: -guess.before))


def _record(
    request: Request, record: AttentionRecord, used: Model, how: tuple[Intervention, ...]
) -> AttentionRecord:
    def make() -> AttentionRecord:
        with MODEL:
            return trace_with_interventions(record.tokens, used, how)

    return cache.of_run(replace(request.run, interventions=how), used, "changed", make)


def _moved(before: AttentionRecord, after: AttentionRecord) -> tuple[Moved, ...]:
    """The heads that look elsewhere, most of all first."""
    shares = np.asarray(attention_shift(before, after))
    mean = shares.mean(-1)
    order = np.argsort(-mean, axis=None, kind="stable")
    found = []
    for layer, head in (divmod(int(i), mean.shape[1]) for i in order):
        if mean[layer, head] < WORTH_SAYING:
            break
        query = int(shares[layer, head].argmax())
        found.append(Moved((layer, head), float(mean[layer, head]), query, float(shares[layer, head, query])))
    return tuple(found)


def _cosines(
    request: Request, record: AttentionRecord, used: Model, how: tuple[Intervention, ...]
) -> FloatArray:
    def make() -> FloatArray:
        with MODEL:
            states = state_cosines(record.tokens, used, how)[-1]
        return np.append(states, embedding_cosine(record, used, how)).astype(np.float32)

    return cache.of_run(replace(request.run, interventions=how), used, "cosines", make)


def embedding_cosine(record: AttentionRecord, used: Model, how: tuple[Intervention, ...]) -> float:
    """The cosine of the text's embedding with what it is without the intervention."""
    return measure(record.tokens, used, EmbeddingCosine(), how)[0] if how else 1.0
