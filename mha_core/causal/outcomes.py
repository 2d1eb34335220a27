"""Outcomes that measure an intervention: frozen values, bound to a text and a model before use.

In: a run's final states, after the final norm, (batch, n, d_model). Out: numbers (batch, measure), named; the first is
the outcome, the others are shown beside it.

Source: Wang et al. 2022, section 2, for the difference of two logits (it does not saturate as a probability does).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.causal.interventions import check_position
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.models.prediction import labels_of, likeliest, of_pieces
from mha_core.models.trace import run, to_numpy
from mha_core.text.tokens import Tokens

N_GUESSES = 50  # likeliest tokens searched for the two default words
MAX_SCORES = 32_000_000  # logits held in memory together
MAX_LISTED = 40  # labels in a sentence


@dataclass(frozen=True)
class LogitDifference:
    """Logit of a word where the model predicts one, or of a classifier's label, less that of another; and their
    probabilities, which a regression does not have.

    The words are one token each, with their leading space where one belongs (" Mary"). `position` defaults to the last
    token of a decoder's text, the first [MASK] of an encoder's; a label has none.
    """

    target: str
    against: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class Loss:
    """Mean loss of a decoder over a text, in nats a token, from the token at `first` on (1: all after the first).
    Of a text repeated once, `first` is where the second copy begins.
    """

    first: int = 1


@dataclass(frozen=True)
class EmbeddingCosine:
    """Cosine of the text's embedding (mean pooling) with that of a plain run: 1 before."""


@dataclass(frozen=True)
class State:
    """Cosine of one token's final state with that of a plain run: 1 before."""

    position: int


Outcome = LogitDifference | Loss | EmbeddingCosine | State


@dataclass(frozen=True, eq=False)
class BoundOutcome:
    """Outcome of one text and model: `measure` takes final states (batch, n, d_model) to numbers (batch, measure)."""

    names: tuple[str, ...]
    measure: Callable[[Tensor], Tensor]


def bind(outcome: Outcome, tokens: Tokens, model: Model) -> BoundOutcome:
    """Bind an outcome to a text and model. Raises InputError for words, positions or a loss that they do not have."""
    if isinstance(outcome, LogitDifference):
        return _word(outcome, tokens, model)
    if isinstance(outcome, Loss):
        return _loss(outcome, tokens, model)
    plain = run([tokens], model, need_weights=False).hidden
    if isinstance(outcome, EmbeddingCosine):
        mean = plain.mean(1)
        return BoundOutcome(("cosine of the embedding",), lambda hidden: _cosine(hidden.mean(1), mean))
    check_position(outcome.position, len(tokens))
    state = plain[:, outcome.position]
    return BoundOutcome(("cosine of the state",), lambda hidden: _cosine(hidden[:, outcome.position], state))


def token_of(word: str, model: Model) -> int:
    """Return the id of the one token that spells this word. Raises InputError if no token does."""
    ids = model.tokenizer.ids_of(word)
    if len(ids) == 1 and not model.tokenizer.is_special(ids[0]):
        return ids[0]
    if not ids:
        raise InputError("The word to predict is empty; give one word.")
    if len(ids) == 1:
        raise InputError(f"'{word[:40]}' is not in the vocabulary of {model.title}. Choose another word.")
    pieces = ", ".join(repr(model.tokenizer.typed(i)) for i in ids[:6])
    spaced = not word.startswith(" ") and len(model.tokenizer.ids_of(f" {word}")) == 1
    advice = f"with a space before it (' {word}') it is one" if spaced else "give a word that is one token"
    raise InputError(f"'{word[:40]}' is {len(ids)} tokens of {model.title} ({pieces}); {advice}.")


def answer_id(answer: str, model: Model) -> int:
    """Return the number of a classifier's label, or the id of the one token that spells a word. Raises InputError for
    neither."""
    if model.label_head is None:
        return token_of(answer, model)
    names = model.label_head.names
    if answer not in names:
        more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
        raise InputError(
            f"{model.title} has no label '{answer[:40]}'. Choose one of: {', '.join(names[:MAX_LISTED])}{more}."
        )
    return names.index(answer)


def spaced(word: str, model: Model) -> str:
    """Return the word with a leading space, " Mary", where that is a token; else as typed, as a label is."""
    with_space = f" {word}"
    is_whole = model.label_head is not None or word.startswith(" ")
    return word if is_whole or len(model.tokenizer.ids_of(with_space)) != 1 else with_space


def default_outcome(
    tokens: Tokens, model: Model, target: str | None = None, against: str | None = None
) -> Outcome:
    """Return the outcome of this target, or by default: the likeliest word or label against the second; the likeliest
    label alone where labels do not share one softmax; the cosine of the embedding where the model predicts neither.
    """
    if target is not None:
        return LogitDifference(target, against)
    if against is not None:
        raise InputError("`against` needs a target. Give the target word too.")
    mask = model.tokenizer.mask_id
    heads = model.next_head, model.label_head
    if not any(heads) and (model.masked_head is None or mask not in tokens.ids):
        return EmbeddingCosine()
    hidden = run([tokens], model, need_weights=False).hidden[0, place_of(None, tokens, model)]
    with torch.inference_mode():
        if model.label_head is not None:
            first, *others = labels_of(hidden, model)
            share = others and model.label_head.scale == "softmax"
            return LogitDifference(first.text, others[0].text if share else None)
        guesses = likeliest(
            to_numpy(scores_of(hidden, model)), model, min(N_GUESSES, model.tokenizer.vocab_size)
        )
    # A part of a character or word has no spelling that encodes to it alone.
    words = [guess.text for guess in guesses if model.tokenizer.ids_of(guess.text) == (guess.id,)]
    if not words:
        raise InputError("What the model holds likeliest here are parts of words; give the word to predict.")
    return LogitDifference(words[0], words[1] if len(words) > 1 else None)


def place_of(position: int | None, tokens: Tokens, model: Model) -> int:
    """Return the position where the model predicts a word, or a label. Raises InputError where it predicts none."""
    if model.label_head is not None:
        if position is not None:
            raise InputError("A label belongs to the whole text. Leave out the position.")
        return 0
    if position is not None:
        check_position(position, len(tokens))
        return position
    if model.next_head is not None:
        return len(tokens) - 1
    mask = model.tokenizer.mask_id
    if model.masked_head is None:
        raise InputError(f"{model.title} predicts no word; its outcome is the embedding.")
    if mask is None or mask not in tokens.ids:
        name = model.tokenizer.mask_name or "mask"
        raise InputError(f"The sentence has no {name}. Put it where the word to predict stands.")
    return tokens.ids.index(mask)


def scores_of(hidden: Tensor, model: Model) -> Tensor:
    """Return the logit of every token of the vocabulary, or of every label, at final states (..., d_model), float32 at
    least."""
    head = model.next_head or model.masked_head
    if model.label_head is not None:
        scores: Tensor = model.label_head(hidden)
    elif head is not None:
        scores = of_pieces(head(hidden), model)
    else:
        raise InputError(f"{model.title} predicts no word; its outcome is the embedding.")
    return scores if scores.dtype == torch.float64 else scores.float()


def _word(outcome: LogitDifference, tokens: Tokens, model: Model) -> BoundOutcome:
    place = place_of(outcome.position, tokens, model)
    words = [outcome.target, *([] if outcome.against is None else [outcome.against])]
    ids = [answer_id(word, model) for word in words]
    name = "logit" if outcome.against is None else "logit difference"
    head = model.label_head

    def measure(hidden: Tensor) -> Tensor:
        scores = scores_of(hidden[:, place], model)
        logits = scores[:, ids]
        first = logits[:, 0] - logits[:, 1] if len(ids) == 2 else logits[:, 0]
        probabilities = scores.softmax(-1) if head is None else head.probabilities(scores)
        shares = [] if probabilities is None else [probabilities[:, ids]]
        return torch.cat([first[:, None], *shares], 1)

    named = words if head is None or head.scale != "none" else []
    return BoundOutcome((name, *(f"probability of '{word}'" for word in named)), measure)


def _loss(outcome: Loss, tokens: Tokens, model: Model) -> BoundOutcome:
    if model.next_head is None:
        raise InputError(f"{model.title} predicts no next word, so a text has no loss under it.")
    if len(tokens) < 2 or not 1 <= outcome.first < len(tokens):
        raise InputError(
            f"The loss is counted from token {outcome.first} on; of {len(tokens)} tokens it can begin at 1 "
            f"to {len(tokens) - 1}."
        )
    first, ids = outcome.first, torch.tensor(tokens.ids, device=model.device)

    def measure(hidden: Tensor) -> Tensor:
        return torch.stack([losses(states, ids, model)[first - 1 :].mean() for states in hidden])[:, None]

    return BoundOutcome(("loss",), measure)


def losses(hidden: Tensor, ids: Tensor, model: Model) -> Tensor:
    """Return the loss (-log probability, nats) of all tokens but the first: (n, d_model), (n,) to (n - 1,)."""
    losses_of_steps = list[Tensor]()
    step = max(1, MAX_SCORES // model.tokenizer.vocab_size)
    for start in range(0, len(ids) - 1, step):
        stop = min(start + step, len(ids) - 1)
        scores = scores_of(hidden[start:stop], model)
        right = scores.gather(1, ids[start + 1 : stop + 1, None])[:, 0]
        losses_of_steps.append(scores.logsumexp(-1) - right)
    return torch.cat(losses_of_steps)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    """Return cosines of (batch, width) with (1, width), as (batch, 1), in double precision."""
    return torch.cosine_similarity(a.double(), b.double(), dim=-1)[:, None]
