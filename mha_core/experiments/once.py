"""One run with interventions: its record, its outcome, its next words, and what moved against the plain run."""

from collections.abc import Sequence

import numpy as np
import torch

from mha_core.errors import SizeError
from mha_core.experiments.changes import changes_of
from mha_core.experiments.interventions import (
    Factor,
    Intervention,
    MeanAblation,
    PatchHeads,
    heads_from,
    same_length,
)
from mha_core.experiments.kept import kept_of
from mha_core.experiments.outcomes import Outcome, bind, place_of, scores_of
from mha_core.grid import Array
from mha_core.heads.word_weights import FloatArray
from mha_core.model import Model
from mha_core.prediction import NextToken, likeliest
from mha_core.record import AttentionRecord
from mha_core.tokens import Tokens
from mha_core.trace import run, to_numpy, versions


def ablate(
    text: str, model: Model, heads: str, *, factor: float = 0.0, mean: bool = False
) -> AttentionRecord:
    """Trace a text without these heads ("24-4,2-6", from 1): what each mixed times `factor` (0: zero ablation), or
    with `mean` mean-ablated. `record.interventions` goes on to `next_words` and `measure`.

    Raises InputError for heads that are not there.
    """
    chosen = heads_from(heads, model.n_layers, model.n_heads)
    change: Intervention = MeanAblation(chosen) if mean else Factor(chosen, factor)
    return trace_changed(model.tokenizer.encode(text), model, (change,))


def patch(source: str, into: str, model: Model, heads: str) -> AttentionRecord:
    """Trace the text `into` with what these heads ("24-4,2-6", from 1) mixed in a run of `source`.

    Raises InputError for heads that are not there, and texts of unequally many tokens.
    """
    tokens = model.tokenizer.encode(into)
    same_length(model.tokenizer.encode(source), tokens)
    chosen = heads_from(heads, model.n_layers, model.n_heads)
    return trace_changed(tokens, model, (PatchHeads(chosen, source),))


def trace_changed(tokens: Tokens, model: Model, interventions: Sequence[Intervention]) -> AttentionRecord:
    """The record of a run with interventions: every head's weights after them.

    Raises InputError for interventions that do not fit the text or the model.
    """
    output = run([tokens], model, change=changes_of(interventions, tokens, model))
    weights = to_numpy(output.weights[:, 0])
    return AttentionRecord(model.info, tokens, weights, versions(), interventions=tuple(interventions))


def measure(
    tokens: Tokens, model: Model, outcome: Outcome, interventions: Sequence[Intervention] = ()
) -> tuple[float, ...]:
    """The numbers of an outcome, as `bind(outcome, tokens, model).names` names them; the first is the outcome."""
    bound = bind(outcome, tokens, model)
    hidden = run([tokens], model, need_weights=False, change=changes_of(interventions, tokens, model)).hidden
    with torch.inference_mode():
        return tuple(bound.of(hidden)[0].tolist())


def next_words(
    tokens: Tokens,
    model: Model,
    interventions: Sequence[Intervention] = (),
    k: int = 10,
    position: int | None = None,
) -> tuple[NextToken, ...]:
    """The k likeliest words where the model predicts one: next in a decoder, at the first [MASK] of an encoder."""
    place = place_of(position, tokens, model)
    hidden = run([tokens], model, need_weights=False, change=changes_of(interventions, tokens, model)).hidden
    with torch.inference_mode():
        return likeliest(to_numpy(scores_of(hidden[0, place], model)), model, k)


def moved_heads(before: AttentionRecord, after: AttentionRecord) -> FloatArray:
    """The share of each row's weight that went elsewhere, (layer, head, query), 0 to 1: half of the summed absolute
    differences. Raises SizeError for records of other shapes.
    """
    if before.weights.shape != after.weights.shape:
        raise SizeError(f"Weights of {before.weights.shape} and {after.weights.shape} cannot be compared.")
    moved: FloatArray = np.abs(before.weights - after.weights).sum(-1, dtype=np.float64) / 2
    return moved


def state_cosines(tokens: Tokens, model: Model, interventions: Sequence[Intervention]) -> Array:
    """How far every state is from that of the plain run: cosines (n_layers + 1, n), the embedding first."""
    plain, changed = (
        torch.stack([state[0].double() for state in kept_of([tokens], model, change).states])
        for change in (None, changes_of(interventions, tokens, model))
    )
    return to_numpy(torch.cosine_similarity(plain, changed, dim=-1))
