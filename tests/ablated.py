"""Every head switched off in turn, by the sweep: how far the text's embedding moves, 1 - cosine, (layer, head)."""

from mha_core.arrays import FloatArray
from mha_core.causal.outcomes import EmbeddingCosine
from mha_core.causal.partial_results import final_result
from mha_core.causal.sweep import sweep_heads
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens


def ablate_each(tokens: Tokens, model: Model) -> FloatArray:
    """The effect of every head on the embedding of one text."""
    return -final_result(sweep_heads(tokens, model, EmbeddingCosine())).effect
