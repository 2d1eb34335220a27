"""What a model predicts next, for all readers: the likeliest tokens of a place, and the text longer by one of them.

In: a request, a place or a token. Out: tokens with their probabilities, or the longer text, whose record is kept by
then: it cost one cached step. No Streamlit here; models are those that are loaded.
"""

from dataclasses import dataclass, replace

from mha_core import DecoderState, InputError, Model, NextToken, predict_masked, predict_next
from mha_core.causal import predicted_labels
from mha_core.display_names import visible
from mha_core.models.extended_record import append_token, begin, extended, sample_token
from mha_core.models.prediction import Label, likeliest
from mha_core.record.run import RunSpec
from mha_core.text.tokens import Token
from pages.parts.frame.request import Request
from pages.parts.serve import cache, store
from pages.parts.serve.cache import MAX_CHARS
from pages.parts.serve.jobs import MODEL

SHOWN = 10


@dataclass(frozen=True)
class Continuation:
    """A text that grew: `text` now, `spelled` what was added, and how many tokens that took."""

    text: str
    spelled: str
    n: int


def keep_state(run: RunSpec, model: Model, state: DecoderState) -> None:
    """Keep a state that has read the text of this run, until somebody takes it."""
    cache.of_run(run, model, "state", lambda: state)


def take_state(run: RunSpec, model: Model) -> DecoderState:
    """The state that has read the text of this run, for one alone: going on changes it. Made anew if it is gone."""
    cached: DecoderState | None = store.STORE.take((run, model.fingerprint, "state"))
    if cached is not None:
        return cached
    record = cache.record_from_weights(run, model)
    with MODEL:
        return begin(record.tokens, model)[1]


def following(request: Request, model: Model, position: int) -> tuple[NextToken, ...]:
    """The likeliest tokens after the one at `position` (from 0)."""
    record = cache.record_from_weights(request.run, model)

    def make() -> tuple[NextToken, ...]:
        if position == len(record.tokens) - 1:
            state = take_state(request.run, model)
            keep_state(request.run, model, state)
            return likeliest(state.logits, model, SHOWN)
        with MODEL:
            return predict_next(record.tokens, model, position, SHOWN)

    return cache.of_run(request.run, model, ("next", position), make)


def append(request: Request, model: Model, identity: int) -> Continuation:
    """The text with one token more. Raises InputError where there is no room, or no such token."""
    record, run = cache.record_from_weights(request.run, model), request.run
    if not model.tokenizer.has(identity):
        raise InputError(
            f"There is no token {identity}; {model.title} has {model.tokenizer.vocab_size}, from 0."
        )
    if record.tokens.n_cut or len(record.tokens) >= model.max_tokens:
        raise InputError(f"The text is full: {model.title} takes {model.max_tokens} tokens at most.")
    if len(run.text) + len(model.tokenizer.typed(identity)) > MAX_CHARS:
        raise InputError(f"The text is full: HeadScope takes {MAX_CHARS:,} characters at most.")
    state = take_state(run, model)
    with MODEL:
        spelled, rows = append_token(state, identity, model)
    longer = replace(run, text=run.text + spelled)
    tokens = model.tokenizer.encode(longer.text)
    # Read again, the text may be cut into other tokens than it was said in: then it is traced afresh when shown.
    if tokens.ids == state.ids:
        cache.of_run(longer, model, "record", lambda: extended(record, tokens, rows))
        keep_state(longer, model, state)
    return Continuation(longer.text, spelled, len(rows))


def chosen(request: Request, model: Model, temperature: float, seed: int) -> int:
    """The id of the token that comes next: the likeliest, or with a temperature one that the seed draws."""
    state = take_state(request.run, model)
    keep_state(request.run, model, state)
    return sample_token(state.logits, model, temperature, seed, len(state.ids))


def spelled_token(text: str) -> str:
    """Return a token as typed, the spaces before it as marks."""
    bare = text.lstrip(" ")
    return "␣" * (len(text) - len(bare)) + (visible(bare) if bare else "")


def masks(request: Request, model: Model) -> tuple[Token, ...]:
    """The masked places of the text, in order."""
    pieces = cache.record_from_weights(request.run, model).tokens.pieces
    return tuple(piece for piece in pieces if piece.id == model.tokenizer.mask_id)


def hidden_words(request: Request, model: Model) -> list[list[tuple[str, float]]]:
    """For every masked place the likeliest pieces with their probabilities."""

    def make() -> list[list[tuple[str, float]]]:
        with MODEL:
            return predict_masked(request.text, model, SHOWN, pair=request.pair)

    return cache.of_run(request.run, model, "masked", make)


def labels(request: Request, model: Model) -> tuple[Label, ...]:
    """Every label of a classifier with its probability, the likeliest first."""
    record = cache.record_from_weights(request.run, model)

    def make() -> tuple[Label, ...]:
        with MODEL:
            return predicted_labels(record.tokens, model)

    return cache.of_run(request.run, model, "labels", make)
