"""Predictions of a model: the likeliest pieces for a masked place (an encoder) or the next token (a decoder), and the
labels of a sequence classifier.

In: a text or its tokens. Out: tokens or labels with their probabilities, best first.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mha_core.arrays import Array
from mha_core.display_names import count_noun
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.models.trace import as_tokens, check_model, gate_tensor, run, to_numpy
from mha_core.text.tokens import Tokens


@dataclass(frozen=True)
class NextToken:
    """One token that could come next: `text` as a user would type it, the space before it included."""

    id: int
    text: str
    probability: float
    logit: float


@dataclass(frozen=True)
class Label:
    """One label of a sequence classifier, `id` its number in the config; a regression has no probability."""

    id: int
    text: str
    probability: float | None
    logit: float


def predict_next(
    tokens: Tokens | str, model: Model, position: int = -1, k: int = 10, *, gates: ArrayLike | None = None
) -> tuple[NextToken, ...]:
    """Return the k likeliest tokens after the one at `position` (from 0; negative from the end), best first.

    Raises InputError for a model that predicts no next token, or a position or number outside its range.
    """
    tokens = as_tokens(tokens, model)
    position = position_from_start(position, len(tokens))
    return likeliest(next_logits(tokens, model, gates=gates, position=position), model, k)


def position_from_start(position: int, n_tokens: int) -> int:
    """Return a token's position from 0; a negative one counts from the end. Raises InputError outside the text."""
    if not -n_tokens <= position < n_tokens:
        raise InputError(
            f"Unknown position {position}. The text has {count_noun(n_tokens, 'token')}, counted from 0."
        )
    return position % n_tokens


def likeliest(logits: Array, model: Model, k: int = 10) -> tuple[NextToken, ...]:
    """Return the k likeliest tokens by their scores (vocabulary,), a cached step's for example."""
    check_k(k, model)
    scores = of_pieces(torch.from_numpy(np.array(logits, dtype=np.float32)), model)
    best = scores.softmax(dim=-1).topk(k)
    return tuple(
        NextToken(i, model.tokenizer.typed(i), p, float(scores[i]))
        for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )


def of_pieces(scores: Tensor, model: Model) -> Tensor:
    """Return the scores (..., rows of the head) of the pieces alone, (..., largest number + 1): makers pad the matrix
    to a round number. A number that no piece has scores -inf."""
    scores = scores[..., : model.tokenizer.largest_id + 1]
    if model.tokenizer.left_out:
        scores = scores.clone()
        scores[..., list(model.tokenizer.left_out)] = -torch.inf
    return scores


def next_logits(
    tokens: Tokens, model: Model, *, gates: ArrayLike | None = None, position: int | None = None
) -> Array:
    """Return the scores of every token of the vocabulary after every token of the text, (n, vocabulary), or after one
    `position`, (vocabulary,), which is computed alone. Raises InputError for a model that predicts no next token.
    """
    head = next_head_of(model)
    hidden = run([tokens], model, gates=gate_tensor(gates, model), need_weights=False).hidden[0]
    with torch.inference_mode(), plain_numbers():
        return to_numpy(head(hidden if position is None else hidden[position]))


def next_head_of(model: Model) -> torch.nn.Module:
    """Return the unembedding. Raises InputError for a model that predicts no next token."""
    check_model(model)
    if model.next_head is None:
        raise InputError(f"{model.title} predicts no next word; a decoder such as SmolLM2 does.")
    return model.next_head


def predict_masked(
    text: str, model: Model, k: int = 5, *, pair: str | None = None
) -> list[list[tuple[str, float]]]:
    """Return for every masked place in the text (or pair) the k likeliest pieces with their probabilities, best first.

    Raises InputError for a model without a masked head, or a text in which nothing is masked.
    """
    check_k(k, model)
    mask = model.tokenizer.mask_name
    if model.masked_head is None or mask is None:
        raise InputError(f"{model.title} has no head for predicting {mask or 'a mask'}; BERT base has one.")
    tokens = model.tokenizer.encode(text, pair)
    places = [i for i, piece in enumerate(tokens.pieces) if piece.id == model.tokenizer.mask_id]
    if not places:
        raise InputError(f"The sentence has no {mask}. Put it where the word to predict stands.")
    with torch.inference_mode(), plain_numbers():
        hidden = run([tokens], model, need_weights=False).hidden[0, places]
        scores = of_pieces(model.masked_head(hidden), model)
        best = scores.float().softmax(dim=-1).topk(k)
    return [
        [(model.tokenizer.piece_name(i), p) for i, p in zip(ids, probabilities, strict=True)]
        for ids, probabilities in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def labels_of(state: Tensor, model: Model) -> tuple[Label, ...]:
    """Return all labels by the first token's final state (d_model,), the highest logit first. Raises InputError for no
    sequence classifier."""
    if model.label_head is None:
        raise InputError(f"{model.title} has no labels; a BERT with a head for sequence classification does.")
    logits = model.label_head(state).double()
    probabilities = model.label_head.probabilities(logits)
    shares = [None] * len(logits) if probabilities is None else probabilities.tolist()
    rows = zip(model.label_head.names, shares, logits.tolist(), strict=True)
    labels = [Label(i, *row) for i, row in enumerate(rows)]
    return tuple(sorted(labels, key=lambda label: -label.logit))


def check_k(k: int, model: Model) -> None:
    """Raise InputError for a number of tokens that the vocabulary does not have."""
    if not 1 <= k <= model.tokenizer.vocab_size:
        raise InputError(f"k must be from 1 to {model.tokenizer.vocab_size}, not {k}.")
