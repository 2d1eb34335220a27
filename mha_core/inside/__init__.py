"""Inside one layer: every number from X to the output, what each head adds, and what it costs."""

from mha_core.inside.costs import (
    CONFIGURATIONS,
    Configuration,
    explain_division,
    kv_cache_bytes,
    measured_operations,
    measured_seconds,
    operations,
    parameters,
    weights_bytes,
)
from mha_core.inside.follow import Follow, Shares, Spread, follow, one_token, shares, spread
from mha_core.inside.many import (
    Bilinear,
    Outside,
    Plane,
    as_one_head,
    bilinear,
    convex_hull,
    distance_to_hull,
    plane,
    sum_of_heads,
)
from mha_core.inside.parity import Parity, equal_to_torch, torch_layer
from mha_core.inside.variants import Variant, middle_groups, pooled, variants
from mha_core.inside.walk import CellEdit, Edits, HeadWeights, ScoreEdit, Walk, walk, weights_from, with_cells
from mha_core.inside.worked import Example, example

__all__ = [
    "CONFIGURATIONS",
    "Bilinear",
    "CellEdit",
    "Configuration",
    "Edits",
    "Example",
    "Follow",
    "HeadWeights",
    "Outside",
    "Parity",
    "Plane",
    "ScoreEdit",
    "Shares",
    "Spread",
    "Variant",
    "Walk",
    "as_one_head",
    "bilinear",
    "convex_hull",
    "distance_to_hull",
    "equal_to_torch",
    "example",
    "explain_division",
    "follow",
    "kv_cache_bytes",
    "measured_operations",
    "measured_seconds",
    "middle_groups",
    "one_token",
    "operations",
    "parameters",
    "plane",
    "pooled",
    "shares",
    "spread",
    "sum_of_heads",
    "torch_layer",
    "variants",
    "walk",
    "weights_bytes",
    "weights_from",
    "with_cells",
]
