"""Every head switched off in turn, by the sweep: how far the text's embedding moves, 1 - cosine, (layer, head)."""

from mha_core.experiments.outcomes import Cosine
from mha_core.experiments.parts import last
from mha_core.experiments.sweep import every_head
from mha_core.heads.word_weights import FloatArray
from mha_core.model import Model
from mha_core.tokens import Tokens


def ablate_each(tokens: Tokens, model: Model) -> FloatArray:
    """The effect of every head on the embedding of one text."""
    return -last(every_head(tokens, model, Cosine())).effect
