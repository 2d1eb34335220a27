"""Weight times the gradient of the model's prediction for a [MASK], where it is positive (Chefer et al. 2021,
equations 5 and 6); only for models with a masked head.
"""

import numpy as np
import torch

from mha_core.errors import InputError
from mha_core.heads.measures.base import Measure, shares
from mha_core.heads.words import FloatArray
from mha_core.models import Model
from mha_core.tokens import Tokens


def gradient_weights(tokens: Tokens, model: Model) -> FloatArray:
    """max(0, weight x gradient) for the likeliest piece at the first [MASK], (layer, head, query, key)."""
    head = model.masked_head
    if head is None:
        raise InputError(f"{model.title} predicts no [MASK], so there is nothing to take a gradient of.")
    places = [i for i, piece in enumerate(tokens.pieces) if piece.id == model.tokenizer.mask_id]
    if not places:
        raise InputError("There is no [MASK] in the sentence; put it where the word to predict stands.")
    ids = torch.tensor([tokens.ids], device=model.device)
    segments = torch.tensor([tokens.segments], device=model.device)
    with torch.enable_grad():
        x = model.encoder.embeddings(ids, segments).detach().requires_grad_()
        seen = []
        for index in range(model.n_layers):
            layer = model.encoder.layer(index)
            attended, weights = layer.attention(x)
            seen.append(weights)
            x = layer.feed_forward(x, attended)
        prediction = head(x[0, places[:1]]).float().max()
        gradients = torch.autograd.grad(prediction, seen)
    products = [(w * g).clamp(min=0)[0] for w, g in zip(seen, gradients, strict=True)]
    return np.asarray(torch.stack(products).detach().float().cpu().numpy())


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
    "gradient times weights",
    "Gradient: how much a weight moves the prediction for [MASK] (Chefer et al. 2021), for models that predict one.",
    "each weight times what it moves in the prediction, as a share of its row",
    gradient_shares,
    baseline=None,
    needs_masked_head=True,
)
