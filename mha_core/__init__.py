"""HeadScope's engine: multi-head attention from scratch, real models in it, and what its heads do."""

from mha_core.causal.logit_attribution import logit_attribution
from mha_core.causal.logit_lens import logit_lens
from mha_core.causal.mlp_sources import mlp_sources
from mha_core.causal.why import score_attribution, weight_without_head
from mha_core.draw.notebook import Shown, show
from mha_core.draw.static_site.build import static_site
from mha_core.engine.attention import causal_mask, masked_softmax, scaled_dot_product_attention
from mha_core.engine.device import choose_device, choose_precision
from mha_core.engine.kv_cache import DecoderState, DecodingStep
from mha_core.engine.layer_activations import LayerActivations, Projections
from mha_core.engine.multihead import AttentionDetails, MultiHeadAttention
from mha_core.engine.stack import Stack, StackConfig, StackOutput
from mha_core.errors import DtypeError, HeadScopeError, InputError, ModelError, SizeError, Unavailable
from mha_core.heads.copying import copying_scores
from mha_core.models.external_records import record_from_weights
from mha_core.models.families.bert import Encoder, EncoderConfig, MaskedHead
from mha_core.models.hf import SequenceRecords, TransformersModel, from_transformers
from mha_core.models.load import load_model
from mha_core.models.model import Model
from mha_core.models.model_list import ListedModel, listed_models
from mha_core.models.prediction import NextToken, predict_masked, predict_next
from mha_core.models.trace import (
    embedding,
    every_layer_details,
    hidden_states,
    layer_details,
    projections_of,
    trace,
    trace_many,
    trace_tokens,
)
from mha_core.record.grid import Grid, HeadWeights, Unit
from mha_core.record.record import AttentionRecord, ModelInfo, grid_of
from mha_core.text.tokens import Token, Tokenizer, Tokens, Word
from mha_core.version import __version__

__all__ = [
    "AttentionDetails",
    "AttentionRecord",
    "DecoderState",
    "DecodingStep",
    "DtypeError",
    "Encoder",
    "EncoderConfig",
    "Grid",
    "HeadScopeError",
    "HeadWeights",
    "InputError",
    "LayerActivations",
    "ListedModel",
    "MaskedHead",
    "Model",
    "ModelError",
    "ModelInfo",
    "MultiHeadAttention",
    "NextToken",
    "Projections",
    "SequenceRecords",
    "Shown",
    "SizeError",
    "Stack",
    "StackConfig",
    "StackOutput",
    "Token",
    "Tokenizer",
    "Tokens",
    "TransformersModel",
    "Unavailable",
    "Unit",
    "Word",
    "__version__",
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
    "logit_lens",
    "masked_softmax",
    "mlp_sources",
    "predict_masked",
    "predict_next",
    "projections_of",
    "record_from_weights",
    "scaled_dot_product_attention",
    "score_attribution",
    "show",
    "static_site",
    "trace",
    "trace_many",
    "trace_tokens",
    "weight_without_head",
]
