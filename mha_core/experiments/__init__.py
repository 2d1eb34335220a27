"""Take heads away, or let them do something else, and see what the model does then."""

from mha_core.experiments.changes import changes_of
from mha_core.experiments.effects import Effects, Place
from mha_core.experiments.interventions import (
    Factor,
    Intervention,
    MeanOutput,
    PatchHeads,
    PatchStates,
    Rows,
    check,
    heads_from,
)
from mha_core.experiments.means import mean_steps
from mha_core.experiments.once import measure, moved_heads, next_words, state_cosines, trace_changed
from mha_core.experiments.outcomes import Cosine, Loss, Outcome, State, Word, bind, default_outcome, token_of
from mha_core.experiments.parts import Part, last
from mha_core.experiments.prompts import Prompt, Prompts, prompts
from mha_core.experiments.pruning import (
    Curve,
    order_by_effect,
    order_by_gradient,
    order_greedy,
    order_random,
    prune_curve,
    pruning_texts,
)
from mha_core.experiments.selective import Selectivity, selective
from mha_core.experiments.short import ablate, patch
from mha_core.experiments.sweep import every_head, patch_heads, patch_states
from mha_core.experiments.tasks import TASKS, Task

__all__ = [
    "TASKS",
    "Cosine",
    "Curve",
    "Effects",
    "Factor",
    "Intervention",
    "Loss",
    "MeanOutput",
    "Outcome",
    "Part",
    "PatchHeads",
    "PatchStates",
    "Place",
    "Prompt",
    "Prompts",
    "Rows",
    "Selectivity",
    "State",
    "Task",
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
    "order_by_effect",
    "order_by_gradient",
    "order_greedy",
    "order_random",
    "patch",
    "patch_heads",
    "patch_states",
    "prompts",
    "prune_curve",
    "pruning_texts",
    "selective",
    "state_cosines",
    "token_of",
    "trace_changed",
]
