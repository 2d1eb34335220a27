"""HeadScope's engine: multi-head attention from scratch, real BERT weights in it, and what its heads do."""

from mha_core.attention import causal_mask, masked_softmax, scaled_dot_product_attention
from mha_core.device import choose_device, choose_precision
from mha_core.encoder import Encoder, EncoderConfig, EncoderOutput, MaskedHead
from mha_core.errors import DtypeError, HeadScopeError, InputError, ModelError, SizeError, Unavailable
from mha_core.models import Model, ShelfEntry, load_model, shelf
from mha_core.multihead import AttentionDetails, MultiHeadAttention
from mha_core.packed import PackedLinear, pack
from mha_core.record import Grid, ModelInfo, Record, Unit, grid_of
from mha_core.tokens import Piece, Tokenizer, Tokens, Word
from mha_core.trace import (
    LayerDetails,
    embedding,
    every_layer_details,
    hidden_states,
    layer_details,
    predict_masked,
    trace,
    trace_many,
    trace_tokens,
)

__version__ = "0.1.0"

__all__ = [
    "AttentionDetails",
    "DtypeError",
    "Encoder",
    "EncoderConfig",
    "EncoderOutput",
    "Grid",
    "HeadScopeError",
    "InputError",
    "LayerDetails",
    "MaskedHead",
    "Model",
    "ModelError",
    "ModelInfo",
    "MultiHeadAttention",
    "PackedLinear",
    "Piece",
    "Record",
    "ShelfEntry",
    "SizeError",
    "Tokenizer",
    "Tokens",
    "Unavailable",
    "Unit",
    "Word",
    "causal_mask",
    "choose_device",
    "choose_precision",
    "embedding",
    "every_layer_details",
    "grid_of",
    "hidden_states",
    "layer_details",
    "load_model",
    "masked_softmax",
    "pack",
    "predict_masked",
    "scaled_dot_product_attention",
    "shelf",
    "trace",
    "trace_many",
    "trace_tokens",
]
