"""The weights as the model computes them."""

from mha_core.heads.measures.base import Measure
from mha_core.heads.word_weights import FloatArray
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.trace import trace_tokens


def raw(tokens: Tokens, model: Model) -> FloatArray:
    """The weights, (layer, head, query, key)."""
    return trace_tokens(tokens, model).weights


RAW = Measure(
    "raw", "Raw attention", "Weights are not the whole story.", "the weights as the softmax gives them", raw
)
