"""One run with interventions: its record, outcome and next words, and its differences from the plain run."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import Array, FloatArray
from mha_core.causal.activation_cache import run_with_cache
from mha_core.causal.intervention_hooks import intervention_hooks
from mha_core.causal.interventions import (
    Intervention,
    MeanAblation,
    PatchHeads,
    ScaleHeads,
    heads_from,
    same_length,
)
from mha_core.causal.outcomes import Outcome, bind, place_of, scores_of
from mha_core.errors import InputError, SizeError
from mha_core.models.model import Model
from mha_core.models.prediction import Label, NextToken, labels_of, likeliest
from mha_core.models.trace import run, to_numpy, versions
from mha_core.record.record import AttentionRecord
from mha_core.text.tokens import Tokens


def ablate(
    text: str, model: Model, heads: str, *, factor: float = 0.0, mean: bool = False
) -> AttentionRecord:
    """Trace a text without these heads ("24-4,2-6", from 1): each output times `factor` (0: zero ablation), or with
    `mean` mean-ablated. Pass `record.interventions` to `next_words` and `measure`.

    Raises InputError for heads that the model does not have.
    """
    places = heads_from(heads, model.n_layers, model.n_heads)
    ablation: Intervention = MeanAblation(places) if mean else ScaleHeads(places, factor)
    return trace_with_interventions(model.tokenizer.encode(text), model, (ablation,))


def patch(source: str, into: str, model: Model, heads: str) -> AttentionRecord:
    """Trace the text `into` with these heads' outputs ("24-4,2-6", from 1) from a run of `source`.

    Raises InputError for heads that the model does not have, and texts of unequally many tokens.
    """
    tokens = model.tokenizer.encode(into)
    same_length(model.tokenizer.encode(source), tokens)
    places = heads_from(heads, model.n_layers, model.n_heads)
    return trace_with_interventions(tokens, model, (PatchHeads(places, source),))


def trace_with_interventions(
    tokens: Tokens, model: Model, interventions: Sequence[Intervention]
) -> AttentionRecord:
    """Return the record of a run with interventions: every head's weights after them.

    Raises InputError for interventions that do not fit the text or the model.
    """
    output = run([tokens], model, hooks=intervention_hooks(interventions, tokens, model))
    weights = to_numpy(output.weights[:, 0])
    return AttentionRecord(model.info, tokens, weights, versions(), interventions=tuple(interventions))


def measure(
    tokens: Tokens, model: Model, outcome: Outcome, interventions: Sequence[Intervention] = ()
) -> tuple[float, ...]:
    """Return the numbers of an outcome, named by `bind(outcome, tokens, model).names`; the first is the outcome."""
    bound = bind(outcome, tokens, model)
    hidden = _final_states(tokens, model, interventions)
    with torch.inference_mode():
        return tuple(bound.measure(hidden)[0].tolist())


def next_words(
    tokens: Tokens,
    model: Model,
    interventions: Sequence[Intervention] = (),
    k: int = 10,
    position: int | None = None,
) -> tuple[NextToken, ...]:
    """Return the k likeliest words at `position`; by default a decoder's next, an encoder's at its first [MASK].

    Raises InputError for a model that predicts none.
    """
    if model.label_head is not None:
        raise InputError(f"{model.title} predicts labels, no word; predicted_labels returns them.")
    place = place_of(position, tokens, model)
    hidden = _final_states(tokens, model, interventions)
    with torch.inference_mode():
        return likeliest(to_numpy(scores_of(hidden[0, place], model)), model, k)


def predicted_labels(
    tokens: Tokens, model: Model, interventions: Sequence[Intervention] = ()
) -> tuple[Label, ...]:
    """Return all labels of a sequence classifier, the highest logit first. Raises InputError for another model."""
    hidden = _final_states(tokens, model, interventions)
    with torch.inference_mode():
        return labels_of(hidden[0, 0], model)


def _final_states(tokens: Tokens, model: Model, interventions: Sequence[Intervention]) -> Tensor:
    """Run a text with interventions; return its states after the final norm, (1, n, d_model)."""
    hooks = intervention_hooks(interventions, tokens, model)
    return run([tokens], model, need_weights=False, hooks=hooks).hidden


def attention_shift(before: AttentionRecord, after: AttentionRecord) -> FloatArray:
    """Return the share of each row's weight that moved, (layer, head, query), 0 to 1: half of the summed absolute
    differences. Raises SizeError for records of other shapes.
    """
    if before.weights.shape != after.weights.shape:
        raise SizeError(f"Weights of {before.weights.shape} and {after.weights.shape} cannot be compared.")
    shift: FloatArray = np.abs(before.weights - after.weights).sum(-1, dtype=np.float64) / 2
    return shift


def state_cosines(tokens: Tokens, model: Model, interventions: Sequence[Intervention]) -> Array:
    """Return the cosine of every state with that of the plain run, (n_layers + 1, n), the embedding first."""
    plain, edited = (
        torch.stack([state[0].double() for state in run_with_cache([tokens], model, hooks).states])
        for hooks in (None, intervention_hooks(interventions, tokens, model))
    )
    return to_numpy(torch.cosine_similarity(plain, edited, dim=-1))
