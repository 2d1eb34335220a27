"""Inside one layer: every number from X to the output, what each head adds, and what it costs."""

from mha_core.engine.edits import CellEdit, Edits, ScoreEdit
from mha_core.layer.ablation import Without, ablate_in_layer
from mha_core.layer.costs import (
    CONFIGURATIONS,
    Configuration,
    explain_division,
    kv_cache_bytes,
    measured_operations,
    operations,
    parameters,
    weights_bytes,
)
from mha_core.layer.follow import QuerySteps, Shares, Spread, one_token, query_steps, shares, spread
from mha_core.layer.growth import Growth, growth
from mha_core.layer.one_or_many import (
    Bilinear,
    HullDistance,
    Plane,
    as_one_head,
    bilinear,
    convex_hull,
    distance_to_hull,
    plane,
    sum_of_heads,
    unsplit,
)
from mha_core.layer.origin import SUMS, DotProduct, origin, table_of
from mha_core.layer.parity import Parity, equal_to_torch, torch_layer
from mha_core.layer.rerun import edited, run_layer, with_cells
from mha_core.layer.rotation import Turn, product_at, turn, turned
from mha_core.layer.variants import Variant, group_choices, middle_groups, pooled, repeated, variants
from mha_core.layer.worked import Example, example

__all__ = [
    "CONFIGURATIONS",
    "SUMS",
    "Bilinear",
    "CellEdit",
    "Configuration",
    "DotProduct",
    "Edits",
    "Example",
    "Growth",
    "HullDistance",
    "Parity",
    "Plane",
    "QuerySteps",
    "ScoreEdit",
    "Shares",
    "Spread",
    "Turn",
    "Variant",
    "Without",
    "ablate_in_layer",
    "as_one_head",
    "bilinear",
    "convex_hull",
    "distance_to_hull",
    "edited",
    "equal_to_torch",
    "example",
    "explain_division",
    "group_choices",
    "growth",
    "kv_cache_bytes",
    "measured_operations",
    "middle_groups",
    "one_token",
    "operations",
    "origin",
    "parameters",
    "plane",
    "pooled",
    "product_at",
    "query_steps",
    "repeated",
    "run_layer",
    "shares",
    "spread",
    "sum_of_heads",
    "table_of",
    "torch_layer",
    "turn",
    "turned",
    "unsplit",
    "variants",
    "weights_bytes",
    "with_cells",
]
