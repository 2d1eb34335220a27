"""Which measure a picture draws: the switch above the matrix.

In: what is asked for and a model. Out: what the picture's switch says; why one is refused is `cache.grid`'s to say.
"""

from typing import Any

from mha_core import AttentionRecord, Grid, Model
from mha_core.heads import measures
from mha_core.heads.notices import differing_rows
from pages.parts.frame.request import Request


def offered(record: AttentionRecord, used: Model, *others: Model) -> list[tuple[str, str]]:
    """The measures that all of these models can be asked for, the first one of this text, with their names."""
    keys = [{each.key for each in measures.available(used, record.tokens)}]
    keys += [{each.key for each in measures.available(model)} for model in others]
    return [(each.key, each.label) for each in measures.MEASURES if all(each.key in have for have in keys)]


def switch(
    request: Request, used: Model, *others: Model, record: AttentionRecord, grid: Grid
) -> dict[str, Any]:
    """What the switch says: what may be chosen, what is, and in how many rows of a head that disagrees with the raw
    weights: the sentence, and the number of every head."""
    said, differing = differing_rows(record, grid, request.measure)
    shown = {"chosen": request.measure, "offered": offered(record, used, *others), "said": said}
    return shown | ({"differing": differing} if said else {})
