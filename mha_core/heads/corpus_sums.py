"""What is summed up over a corpus: one line a measure, with the items it takes and the rows that it gives.

A measure over a corpus has `add(weights, item)` and `result()`, and `merge` for sums of two parts. Everything that
runs a corpus (studies, the command line, the page) takes its sums from here. Ablation is none of them: it needs the
model again for every head (ablation.py).
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, Protocol

from mha_core.heads import rows
from mha_core.heads.builtin import AGREEMENT
from mha_core.heads.copying import CopySums
from mha_core.heads.coreference import ChoiceCase, CoreferenceSums
from mha_core.heads.positions import PositionSums
from mha_core.heads.relations import RelationCases, RelationCounts
from mha_core.heads.similarity import SimilaritySums
from mha_core.heads.survey import every_item
from mha_core.heads.words import FloatArray, IntArray
from mha_core.model import Model


@dataclass(frozen=True)
class Shape:
    """Layers, heads in each, and whether they see only what came before."""

    n_layers: int
    n_heads: int
    is_causal: bool


def shape_of(model: Model) -> Shape:
    """The shape of a model's heads."""
    return Shape(model.n_layers, model.n_heads, model.is_causal)


class Sums(Protocol):
    """Sums over texts."""

    def add(self, weights: FloatArray, item: Any, /) -> None: ...

    def result(self) -> Any: ...


@dataclass(frozen=True)
class CorpusMeasure:
    """One measure over a corpus. `start(shape, counts)` gives empty sums; `rows(table)` what they say, best first.

    `counts`: (vocabulary,) how often each token occurs, for the measures that `need_counts`.
    """

    key: str
    takes: Callable[[object], bool]
    start: Callable[[Shape, IntArray], Sums]
    rows: Callable[[Any], list[rows.Row]]
    needs_counts: bool = False


CORPUS_MEASURES = (
    CorpusMeasure("positions", every_item, lambda shape, _: PositionSums(*astuple(shape)), rows.place_rows),
    CorpusMeasure(
        "copies",
        every_item,
        lambda shape, n: CopySums(shape.n_layers, shape.n_heads, n, shape.is_causal),
        rows.copy_rows,
        needs_counts=True,
    ),
    CorpusMeasure(
        "relations",
        lambda item: isinstance(item, RelationCases),
        lambda shape, _: RelationCounts(*astuple(shape)),
        rows.relation_rows,
    ),
    CorpusMeasure(
        "coreference",
        lambda item: isinstance(item, ChoiceCase) and item.kind not in AGREEMENT,
        lambda shape, _: CoreferenceSums(*astuple(shape)),
        rows.choice_rows,
    ),
    CorpusMeasure(
        "agreement",
        lambda item: isinstance(item, ChoiceCase) and item.kind in AGREEMENT,
        lambda shape, _: CoreferenceSums(*astuple(shape)),
        rows.choice_rows,
    ),
    CorpusMeasure(
        "similarity",
        every_item,
        lambda shape, _: SimilaritySums(*astuple(shape)),
        rows.similarity_rows,
    ),
)
BY_KEY = {measure.key: measure for measure in CORPUS_MEASURES}
