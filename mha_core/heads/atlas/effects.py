"""What a decoder's head does to the next token: which ones its own output makes likelier, and what is lost without it.

In: tokens and a model that predicts the next token. Out: for moments, the tokens whose score the head's output at
that place raises most (its direct effect: what later layers make of it is left out); for one layer, how much less
likely the text's own tokens become when one of its heads is taken away (its whole effect, on this text).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mha_core.errors import InputError
from mha_core.heads.words import FloatArray
from mha_core.model import Model
from mha_core.stack import LayerStep
from mha_core.tokens import Tokens
from mha_core.trace import every_step

Place = tuple[int, int, int]  # layer, head, query, all from 0


@dataclass(frozen=True)
class Raised:
    """A token (`text` as one types it) and by how much its score is raised, in logits above the mean token."""

    text: str
    logits: float


def raised(tokens: Tokens, model: Model, places: Sequence[Place], k: int = 10) -> list[tuple[Raised, ...]]:
    """For each place the k tokens that the head's output there raises most through the final norm, whose scale is
    that of the whole run. Raises InputError for a model that predicts no next token."""
    head = _next_head(model)
    by_layer = defaultdict(list)
    for i, (layer, _, _) in enumerate(places):
        by_layer[layer].append(i)
    written: dict[int, Tensor] = {}
    for step in every_step([tokens], model, need_weights=True):
        with torch.inference_mode():
            written |= dict(zip(by_layer[step.index], _written(step, model, places, by_layer), strict=True))
        final = step.hidden[0]
    if not places:
        return []
    with torch.inference_mode():
        queries = [query for _, _, query in places]
        parts = through_norm(torch.stack([written[i] for i in range(len(places))]), final[queries], model)
        identities = model.tokenizer.identities
        scores = head(parts).float()[:, identities]
        scores = scores - scores.mean(-1, keepdim=True)
        best = scores.topk(k)
    return [
        tuple(Raised(model.tokenizer.typed(identities[i]), s) for i, s in zip(ids, values, strict=True))
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def _written(
    step: LayerStep, model: Model, places: Sequence[Place], by_layer: dict[int, list[int]]
) -> list[Tensor]:
    """What the heads wanted of this layer write at their places, (d_model,) each."""
    attention = model.encoder.layer(step.index).attention
    wanted = by_layer[step.index]
    if not wanted:
        return []
    v = attention.W_v(step.attention_input)[0]
    v = v.view(len(v), attention.n_kv_heads, attention.d_v).transpose(0, 1)
    v = v.repeat_interleave(attention.n_heads // attention.n_kv_heads, dim=0)
    if step.weights is None:
        raise InputError(f"{model.title} gives no weights.")
    whole = attention.contributions(step.weights[0] @ v)
    return [whole[places[i][1], places[i][2]] for i in wanted]


def through_norm(parts: Tensor, final: Tensor, model: Model) -> Tensor:
    """Parts of the last states (n, d_model) as the final norm passes them on, its scale that of the whole `final`."""
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


def without_from(
    x: Tensor, tokens: Tokens, model: Model, layer: int, last: Tensor, heads: Sequence[int] | None = None
) -> tuple[FloatArray, FloatArray]:
    """The same from the states (1, n, d_model) that the layer reads and those that the last layer gives; `heads` of
    the layer only, in their order, unless all are wanted."""
    stack, head = model.encoder, _next_head(model)
    targets = torch.tensor(tokens.ids[1:], device=x.device)
    away = torch.tensor(range(model.n_heads) if heads is None else list(heads), device=x.device)
    with torch.inference_mode():
        gates = torch.ones(model.n_layers, len(away), model.n_heads, device=x.device)
        gates[layer, torch.arange(len(away)), away] = 0.0
        hidden = stack.resume(x.expand(len(away), -1, -1), layer, gates=gates)
        whole = _log_probabilities(head, stack.finish(last), targets)[0]
        without = torch.cat([_log_probabilities(head, one[None], targets) for one in hidden])
    return whole.double().cpu().numpy(), without.double().cpu().numpy()


def _log_probabilities(head: nn.Module, hidden: Tensor, targets: Tensor) -> Tensor:
    logits: Tensor = head(hidden[:, :-1]).float()
    at: Tensor = logits.gather(-1, targets.expand(len(logits), -1)[..., None])[..., 0]
    return at - logits.logsumexp(-1)


def _next_head(model: Model) -> nn.Module:
    if model.next_head is None or not model.is_causal:
        raise InputError(f"{model.title} predicts no next word; a decoder such as SmolLM2 does.")
    return model.next_head
