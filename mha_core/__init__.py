"""HeadScope's engine: multi-head attention from scratch, real models in it, and what its heads do."""

from mha_core.attention import causal_mask, masked_softmax, scaled_dot_product_attention
from mha_core.cached import DecoderState, Step
from mha_core.device import choose_device, choose_precision
from mha_core.errors import DtypeError, HeadScopeError, InputError, ModelError, SizeError, Unavailable
from mha_core.external_records import record_of
from mha_core.families.bert import Encoder, EncoderConfig, MaskedHead
from mha_core.grid import Grid, HeadWeights, Unit
from mha_core.heads.copying import copying_scores
from mha_core.hf import SequenceRecords, TransformersModel, from_transformers
from mha_core.layer_run import LayerRun, Projections
from mha_core.load import load_model
from mha_core.logit_attribution import logit_attribution
from mha_core.mlp_sources import mlp_sources
from mha_core.model import Model
from mha_core.model_list import ListedModel, listed_models
from mha_core.multihead import AttentionDetails, MultiHeadAttention
from mha_core.picture.notebook import Shown, show
from mha_core.prediction import NextToken, predict_masked, predict_next
from mha_core.record import AttentionRecord, ModelInfo, grid_of
from mha_core.stack import Stack, StackConfig, StackOutput
from mha_core.static_site.build import static_site
from mha_core.tokens import Piece, Tokenizer, Tokens, Word
from mha_core.trace import (
    embedding,
    every_layer_details,
    hidden_states,
    layer_details,
    projections_of,
    trace,
    trace_many,
    trace_tokens,
)
from mha_core.why import weight_without, why

__version__ = "0.1.0"

__all__ = [
    "AttentionDetails",
    "AttentionRecord",
    "DecoderState",
    "DtypeError",
    "Encoder",
    "EncoderConfig",
    "Grid",
    "HeadScopeError",
    "HeadWeights",
    "InputError",
    "LayerRun",
    "ListedModel",
    "MaskedHead",
    "Model",
    "ModelError",
    "ModelInfo",
    "MultiHeadAttention",
    "NextToken",
    "Piece",
    "Projections",
    "SequenceRecords",
    "Shown",
    "SizeError",
    "Stack",
    "StackConfig",
    "StackOutput",
    "Step",
    "Tokenizer",
    "Tokens",
    "TransformersModel",
    "Unavailable",
    "Unit",
    "Word",
    "causal_mask",
    "choose_device",
    "choose_precision",
    "copying_scores",
    "embedding",
    "every_layer_details",
    "from_transformers",
    "grid_of",
    "hidden_states",
    "layer_details",
    "listed_models",
    "load_model",
    "logit_attribution",
    "masked_softmax",
    "mlp_sources",
    "predict_masked",
    "predict_next",
    "projections_of",
    "record_of",
    "scaled_dot_product_attention",
    "show",
    "static_site",
    "trace",
    "trace_many",
    "trace_tokens",
    "weight_without",
    "why",
]
