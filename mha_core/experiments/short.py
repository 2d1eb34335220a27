"""Ablation and patching in one line: texts and the names of heads in, the record of the changed run out."""

from mha_core.experiments.interventions import (
    Factor,
    Intervention,
    MeanOutput,
    PatchHeads,
    heads_from,
    same_length,
)
from mha_core.experiments.once import trace_changed
from mha_core.model import Model
from mha_core.record import AttentionRecord


def ablate(
    text: str, model: Model, heads: str, *, factor: float = 0.0, mean: bool = False
) -> AttentionRecord:
    """The record of a text without these heads ("24-4,2-6", from 1): what each mixed times `factor`, or with `mean` its
    mean over the built-in sentences. `record.interventions` goes on to `next_words` and `measure`.

    Raises InputError for heads that are not there.
    """
    chosen = heads_from(heads, model.n_layers, model.n_heads)
    change: Intervention = MeanOutput(chosen) if mean else Factor(chosen, factor)
    return trace_changed(model.tokenizer.encode(text), model, (change,))


def patch(source: str, into: str, model: Model, heads: str) -> AttentionRecord:
    """The record of the text `into` with what these heads ("24-4,2-6", from 1) mixed in a run of `source`.

    Raises InputError for heads that are not there, and texts of unequally many tokens.
    """
    tokens = model.tokenizer.encode(into)
    same_length(model.tokenizer.encode(source), tokens)
    chosen = heads_from(heads, model.n_layers, model.n_heads)
    return trace_changed(tokens, model, (PatchHeads(chosen, source),))
