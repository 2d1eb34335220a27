"""Facts about the numbers of a picture, as the picture says them and as every file does.

In: a record and its grid. Out: plain values.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from mha_core.display_names import Per
from mha_core.record.export import NORMALISED
from mha_core.record.grid import Grid
from mha_core.record.record import AttentionRecord
from mha_core.record.summary import layers_without


class Measure(Protocol):
    """A measure that is drawn: its key in links and files, its name for people, and what one picture belongs to."""

    @property
    def key(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def per(self) -> Per: ...


@dataclass(frozen=True)
class Weights:
    """The weights themselves."""

    key: str = "raw"
    label: str = "Raw attention"
    per: Per = "head"


RAW = Weights()


def normalised(grid: Grid, measure: str = RAW.key) -> str:
    """Return the words for how a row's numbers add up."""
    return NORMALISED[grid.specials] + ("" if measure == RAW.key else ", shares of the row")


def columns(record: AttentionRecord, grid: Grid, measure: str = RAW.key) -> dict[str, str]:
    """Return the columns of a CSV that say what its numbers are; a link comes with what is chosen."""
    tokens = record.tokens
    facts = {
        "measure": measure,
        "unit": "words" if grid.words else "pieces",
        "specials": grid.specials,
        "normalisation": normalised(grid, measure),
        "model": record.model.title,
        "digest": record.model.short_digest,
        "text": tokens.text,
    }
    if not record.model.is_ours:
        facts["computed_by"] = record.model.computed_by
    if record.changed:
        facts["changed"] = "; ".join(record.changed)
    if record.keys is not None:
        return facts | {"source": record.keys.text}
    return facts | ({"pair": tokens.pair} if tokens.pair else {})


def title_of(record: AttentionRecord) -> str:
    """Return the model's name, and who computed the numbers if this engine did not."""
    model = record.model
    return model.title if model.is_ours else f"{model.title}, computed by {model.computed_by}"


def about(record: AttentionRecord, grid: Grid, measure: Measure = RAW) -> dict[str, Any]:
    """Return the facts that the picture has of these numbers: see `record_payload`."""
    return {
        "measureSaid": measure.label,
        "per": measure.per,
        "digest": record.model.short_digest,
        "normalised": normalised(grid, measure.key),
        **({"without": without} if (without := layers_without(record)) else {}),
    }
