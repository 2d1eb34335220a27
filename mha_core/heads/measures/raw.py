"""The weights as the model computes them."""

from mha_core.arrays import FloatArray
from mha_core.heads.measures.base import Measure
from mha_core.models.model import Model
from mha_core.models.trace import trace_tokens
from mha_core.text.tokens import Tokens


def raw(tokens: Tokens, model: Model) -> FloatArray:
    """The weights, (layer, head, query, key)."""
    return trace_tokens(tokens, model).weights


RAW = Measure("raw", "Raw attention", "the weights as the softmax gives them", raw)
