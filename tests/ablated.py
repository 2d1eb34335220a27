"""Every head switched off in turn, by the sweep: how far the text's embedding moves, 1 - cosine, (layer, head)."""

from mha_core.experiments.outcomes import EmbeddingCosine
from mha_core.experiments.partial_results import final_result
from mha_core.experiments.sweep import sweep_heads
from mha_core.heads.word_weights import FloatArray
from mha_core.model import Model
from mha_core.tokens import Tokens


def ablate_each(tokens: Tokens, model: Model) -> FloatArray:
    """The effect of every head on the embedding of one text."""
    return -final_result(sweep_heads(tokens, model, EmbeddingCosine())).effect
