"""Ablate heads, patch their outputs or states, and measure the effect on the model."""

from mha_core.causal.activation_cache import mean_steps
from mha_core.causal.interventions import (
    Intervention,
    MeanAblation,
    PatchHeads,
    PatchStates,
    ReplaceAttention,
    ScaleHeads,
    heads_from,
)
from mha_core.causal.outcomes import (
    EmbeddingCosine,
    LogitDifference,
    Loss,
    Outcome,
    State,
    answer_id,
    bind,
    default_outcome,
    spaced,
)
from mha_core.causal.partial_results import PartialResult, final_result
from mha_core.causal.path_patching import sweep_receivers
from mha_core.causal.prompt_sweep import METHODS, Method, PromptEffects, sweep_prompts
from mha_core.causal.prompts import Prompt, read_prompts, with_other_names
from mha_core.causal.shipped_sweep import read_sweep
from mha_core.causal.single_run import (
    ablate,
    attention_shift,
    measure,
    next_words,
    patch,
    predicted_labels,
    state_cosines,
    trace_with_interventions,
)
from mha_core.causal.sweep import (
    SweepResult,
    sweep_head_patches,
    sweep_heads,
    sweep_state_patches,
)

__all__ = [
    "METHODS",
    "EmbeddingCosine",
    "Intervention",
    "LogitDifference",
    "Loss",
    "MeanAblation",
    "Method",
    "Outcome",
    "PartialResult",
    "PatchHeads",
    "PatchStates",
    "Prompt",
    "PromptEffects",
    "ReplaceAttention",
    "ScaleHeads",
    "State",
    "SweepResult",
    "ablate",
    "answer_id",
    "attention_shift",
    "bind",
    "default_outcome",
    "final_result",
    "heads_from",
    "mean_steps",
    "measure",
    "next_words",
    "patch",
    "predicted_labels",
    "read_prompts",
    "read_sweep",
    "spaced",
    "state_cosines",
    "sweep_head_patches",
    "sweep_heads",
    "sweep_prompts",
    "sweep_receivers",
    "sweep_state_patches",
    "trace_with_interventions",
    "with_other_names",
]
