"""Ablate heads, patch their output or a state, and see what the model does then."""

from mha_core.experiments.changes import changes_of
from mha_core.experiments.interventions import (
    Factor,
    Intervention,
    MeanAblation,
    PatchHeads,
    PatchStates,
    Rows,
    check,
    heads_from,
)
from mha_core.experiments.kept import mean_steps
from mha_core.experiments.once import (
    ablate,
    measure,
    moved_heads,
    next_words,
    patch,
    state_cosines,
    trace_changed,
)
from mha_core.experiments.outcomes import (
    Cosine,
    Loss,
    Outcome,
    State,
    Word,
    bind,
    default_outcome,
    spaced,
    token_of,
)
from mha_core.experiments.parts import Part, last
from mha_core.experiments.prompt_sweep import METHODS, Method, PromptEffects, sweep_prompts
from mha_core.experiments.prompts import Prompt, Prompts, prompts, read_prompts, with_other_names
from mha_core.experiments.shipped_sweep import read_sweep
from mha_core.experiments.sweep import Effects, Place, every_head, patch_heads, patch_states

__all__ = [
    "METHODS",
    "Cosine",
    "Effects",
    "Factor",
    "Intervention",
    "Loss",
    "MeanAblation",
    "Method",
    "Outcome",
    "Part",
    "PatchHeads",
    "PatchStates",
    "Place",
    "Prompt",
    "PromptEffects",
    "Prompts",
    "Rows",
    "State",
    "Word",
    "ablate",
    "bind",
    "changes_of",
    "check",
    "default_outcome",
    "every_head",
    "heads_from",
    "last",
    "mean_steps",
    "measure",
    "moved_heads",
    "next_words",
    "patch",
    "patch_heads",
    "patch_states",
    "prompts",
    "read_prompts",
    "read_sweep",
    "spaced",
    "state_cosines",
    "sweep_prompts",
    "token_of",
    "trace_changed",
    "with_other_names",
]
