"""Weight times the gradient of the model's prediction, where it is positive (Chefer et al. 2021, equations 5 and 6):
an encoder's for a masked place, a decoder's for the token that comes next.
"""

import numpy as np
import torch
from torch import Tensor

from mha_core.errors import InputError, SizeError
from mha_core.heads.measures.base import Measure, shares
from mha_core.heads.words import FloatArray
from mha_core.models import Model
from mha_core.tokens import Tokens


def gradient_weights(tokens: Tokens, model: Model) -> FloatArray:
    """max(0, weight x gradient) for the likeliest token at the first masked place, or the likeliest next one, (layer,
    head, query, key).
    """
    flaw = predicts_nothing(model)
    if flaw is not None:
        raise InputError(flaw)
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
    """Where the prediction is made: at the first masked place, or at the end of a decoder's text."""
    if model.masked_head is None:
        return len(tokens) - 1
    places = [i for i, piece in enumerate(tokens.pieces) if piece.id == model.tokenizer.mask_id]
    if not places:
        mask = model.tokenizer.mask_name
        raise InputError(f"There is no {mask} in the sentence; put it where the word to predict stands.")
    return places[0]


def _prediction(hidden: Tensor, place: int, model: Model) -> Tensor:
    """The score of the likeliest token."""
    head = model.masked_head or model.next_head
    if head is None:
        raise InputError(predicts_nothing(model) or "")
    scores: Tensor = head(hidden[place : place + 1])
    return scores.float().max()


def relevance(gradient: FloatArray) -> FloatArray:
    """Chefer's map (query, key) out of gradient weights: R = I, then R + mean over heads · R, layer by layer."""
    found = np.eye(gradient.shape[-1])
    for layer in gradient.mean(axis=1):
        found = found + layer @ found
    return found


def gradient_shares(tokens: Tokens, model: Model) -> FloatArray:
    """The same as shares of each row."""
    return shares(gradient_weights(tokens, model))


GRADIENT = Measure(
    "gradient",
    "Gradient × attention",
    "Gradient: how much a weight moves the prediction of a masked or the next word (Chefer et al. 2021).",
    "each weight × its gradient in the prediction where positive, normalised by row",
    gradient_shares,
    baseline=None,
    lacks=predicts_nothing,
)
