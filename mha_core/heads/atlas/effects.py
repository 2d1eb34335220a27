"""What a decoder's head writes at its top examples makes more and less likely as the next token.

Direct logit attribution (Elhage et al. 2021): the head's output at that query, through the final norm with the scale
of the whole run, times the unembedding. What later layers make of it is left out.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.models.trace import every_step
from mha_core.text.tokens import Tokens

Place = tuple[int, int, int]  # layer, head, query, all from 0


class TokenEffect(NamedTuple):
    """A token (`text` as one types it) and the change of its logit, against the mean token."""

    text: str
    logits: float


class Effect(NamedTuple):
    """The tokens that a head's output raises and lowers most, the strongest first."""

    raises: tuple[TokenEffect, ...]
    lowers: tuple[TokenEffect, ...]


def effects(tokens: Tokens, model: Model, places: Sequence[Place], k: int = 10) -> list[Effect]:
    """Return for each place the k tokens raised most and the k lowered most.

    Raises InputError for a model that predicts no next token.
    """
    if model.next_head is None or not model.is_causal:
        raise InputError(f"{model.title} predicts no next token. Choose a decoder such as SmolLM2.")
    if not places:
        return []
    written, final = _outputs(tokens, model, places)
    identities = model.tokenizer.identities
    with torch.inference_mode():
        scores = model.next_head(_through_norm(written, final, model)).float()[:, identities]
        scores = scores - scores.mean(-1, keepdim=True)
        signed = [(scores * sign).topk(k) for sign in (1, -1)]
    up, down = (
        [
            tuple(
                TokenEffect(model.tokenizer.typed(identities[i]), sign * size)
                for i, size in zip(ids, sizes, strict=True)
            )
            for ids, sizes in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        for best, sign in zip(signed, (1, -1), strict=True)
    )
    return [Effect(*both) for both in zip(up, down, strict=True)]


def _outputs(tokens: Tokens, model: Model, places: Sequence[Place]) -> tuple[Tensor, Tensor]:
    """Return what each place's head writes there, and the last layer's states there: (place, d_model) each."""
    by_layer = defaultdict(list)
    for i, (layer, _, _) in enumerate(places):
        by_layer[layer].append(i)
    written: dict[int, Tensor] = {}
    for step in every_step([tokens], model, need_weights=True):
        final = step.hidden[0]
        if step.index not in by_layer:
            continue
        if step.weights is None:
            raise InputError(f"{model.title} gives no weights.")
        attention = model.encoder.layer(step.index).attention
        with torch.inference_mode():
            v = attention.W_v(step.attention_input)[0]
            v = v.view(len(v), attention.n_kv_heads, attention.d_v).transpose(0, 1)
            v = v.repeat_interleave(attention.n_heads // attention.n_kv_heads, dim=0)
            output = attention.contributions(step.weights[0] @ v)
        written |= {i: output[places[i][1:]] for i in by_layer[step.index]}
    return torch.stack([written[i] for i in range(len(places))]), final[[query for *_, query in places]]


def _through_norm(parts: Tensor, final: Tensor, model: Model) -> Tensor:
    """Parts of the last states as the final norm passes them on, its scale that of the whole `final`."""
    norm = model.encoder.norm
    if norm is None:
        return parts
    if isinstance(norm, nn.RMSNorm):
        eps = norm.eps or torch.finfo(final.dtype).eps
        scale = (final.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    elif isinstance(norm, nn.LayerNorm):
        parts = parts - parts.mean(-1, keepdim=True)
        scale = (final.var(-1, unbiased=False, keepdim=True) + norm.eps).rsqrt()
    else:
        raise InputError(f"{model.title} ends in a norm that parts cannot be sent through.")
    return parts * scale * norm.weight
