"""Inside one layer: every number from X to the output, what each head adds, and what it costs."""

from mha_core.engine.edits import CellEdit, Edits, ScoreEdit
from mha_core.layer.ablation import ablate_in_layer
from mha_core.layer.costs import (
    CONFIGURATIONS,
    Configuration,
    kv_cache_bytes,
    measured_operations,
    operations,
    parameters,
    weights_bytes,
)
from mha_core.layer.follow import query_steps, shares, spread
from mha_core.layer.growth import Growth, growth
from mha_core.layer.one_or_many import (
    Bilinear,
    HullDistance,
    as_one_head,
    bilinear,
    convex_hull,
    distance_to_hull,
    merge_heads,
    plane,
    sum_of_heads,
)
from mha_core.layer.origin import SUMS, DotProduct, origin, table_of
from mha_core.layer.parity import Parity, equal_to_torch, torch_layer
from mha_core.layer.rerun import edited, run_layer
from mha_core.layer.rotation import Turn, product_at, rotate_vector, turn
from mha_core.layer.variants import Variant, group_choices, middle_groups, pool_kv_heads, variants
from mha_core.layer.worked import example

__all__ = [
    "CONFIGURATIONS", "SUMS", "Bilinear", "CellEdit", "Configuration", "DotProduct", "Edits", "Growth", "HullDistance",
    "Parity", "ScoreEdit", "Turn", "Variant", "ablate_in_layer", "as_one_head", "bilinear", "convex_hull",
    "distance_to_hull", "edited", "equal_to_torch", "example", "group_choices", "growth",
    "kv_cache_bytes", "measured_operations", "merge_heads", "middle_groups", "operations", "origin", "parameters",
    "plane", "pool_kv_heads", "product_at", "query_steps", "rotate_vector", "run_layer", "shares", "spread",
    "sum_of_heads", "table_of", "torch_layer", "turn", "variants", "weights_bytes",
]  # fmt: skip
