"""Relevance for a prediction: weights times their gradients where positive, followed through the layers.

In: tokens and a model that predicts. Out: R (query, key) of Chefer et al. 2021, equations 5 and 6, for the likeliest
token: an encoder's at a masked place, a decoder's that comes next. R begins as the identity, so no row is empty.
"""

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import FloatArray
from mha_core.errors import InputError, SizeError
from mha_core.heads.measures.base import Measure, shares
from mha_core.models.model import Model
from mha_core.models.prediction import of_pieces
from mha_core.text.tokens import Tokens


def gradient_weights(tokens: Tokens, model: Model) -> FloatArray:
    """max(0, weight x gradient) for the likeliest token at the first masked place, or the likeliest next one, (layer,
    head, query, key). Raises InputError for a model that predicts nothing, or computes in half precision.
    """
    flaw = predicts_nothing(model)
    if flaw is not None:
        raise InputError(flaw)
    if model.dtype not in (torch.float32, torch.float64):
        kind = str(model.dtype).removeprefix("torch.")
        raise InputError(f"Gradients are taken in float32 or float64; {model.title} computes in {kind}.")
    place = _place(tokens, model)
    ids = torch.tensor([tokens.ids], device=model.device)
    segments = torch.tensor([tokens.segments], device=model.device)
    with torch.enable_grad():
        seen = list[Tensor]()
        for step in model.encoder.steps(ids, segments, differentiable=True):
            if step.weights is None:
                raise SizeError(f"Layer {step.index + 1} gave no weights.")
            seen.append(step.weights)
        gradients = torch.autograd.grad(_prediction(model.encoder.finish(step.hidden)[0], place, model), seen)
    products = [(w * g).clamp(min=0)[0] for w, g in zip(seen, gradients, strict=True)]
    return np.asarray(torch.stack(products).detach().float().cpu().numpy())


def predicts_nothing(model: Model) -> str | None:
    """Why there is nothing to take a gradient of, or None."""
    if model.masked_head is not None or model.next_head is not None:
        return None
    return f"{model.title} predicts no word, so there is nothing to take a gradient of."


def _place(tokens: Tokens, model: Model) -> int:
    """Return the place of the prediction: at the first masked place, or at the end of a decoder's text."""
    if model.masked_head is None:
        return len(tokens) - 1
    flaw = no_place(tokens, model)
    if flaw is not None:
        raise InputError(flaw)
    places = [i for i, piece in enumerate(tokens.pieces) if piece.id == model.tokenizer.mask_id]
    return places[0]


def _prediction(hidden: Tensor, place: int, model: Model) -> Tensor:
    """The score of the likeliest token that the vocabulary has; makers pad the matrix to a round number."""
    head = model.masked_head or model.next_head
    if head is None:
        raise InputError(predicts_nothing(model) or "")
    return of_pieces(head(hidden[place : place + 1]), model).float().max()


def relevance(gradient: FloatArray) -> FloatArray:
    """Chefer's map (query, key) out of gradient weights: R = I, then R + mean over heads · R, layer by layer."""
    result = np.eye(gradient.shape[-1])
    for layer in gradient.mean(axis=1):
        result = result + layer @ result
    return result


def relevance_shares(tokens: Tokens, model: Model) -> FloatArray:
    """R as shares of each row, (1, 1, query, key); the row of the predicted place explains the prediction."""
    return shares(relevance(gradient_weights(tokens, model)))[None, None].astype(np.float32)


def no_place(tokens: Tokens, model: Model) -> str | None:
    """Why there is nothing to predict in a text, or None."""
    if model.masked_head is None or model.tokenizer.mask_id in tokens.ids:
        return None
    return f"The sentence has no {model.tokenizer.mask_name}. Put it where the word to predict stands."


GRADIENT = Measure(
    "gradient",
    "Relevance for the prediction",
    "R of the likeliest masked or next word: weights × gradients where positive, through all layers and heads",
    relevance_shares,
    baseline=None,
    per="model",
    lacks=predicts_nothing,
    misses=no_place,
)
