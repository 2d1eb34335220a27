"""Contexts of records, as a page would find them: the grid and the text are the record's unless given."""

from typing import Any

from mha_core import AttentionRecord, Grid
from pages.parts.frame.context import NOTHING, Context
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection


def context_of(
    record: AttentionRecord,
    selection: Selection = NOTHING,
    request: Request | None = None,
    grid: Grid | None = None,
    model: Any = None,
) -> Context:
    request = request or Request(record.tokens.text, pair=record.tokens.pair)
    return Context(request, model, record, record.grid() if grid is None else grid, selection)
