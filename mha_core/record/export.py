"""Exports: a frame as CSV or JSON, with all that is needed to get the numbers again.

Numbers are written in full: a weight read back as float32 is the very weight. Text in a CSV cell can
never start a formula. In JSON `units` are the labels of rows and columns, and `unit` says whether they are pieces or
words; layers and heads that are named count from 1, positions from 0.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mha_core.display_names import Head, Per, head_name
from mha_core.record.grid import Grid
from mha_core.record.record import AttentionRecord, ModelInfo

if TYPE_CHECKING:
    import pandas as pd

FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r]")
LONG_COLUMNS = ("text", "pair", "source", "link")
NORMALISED = {
    "shown": "rows sum to 1",
    "hidden": "special tokens left out, rows sum to less than 1",
    "renormalised": "special tokens left out, every row divided by its sum",
}


def safe_cell(text: str) -> str:
    """Return a spreadsheet cell that is read as text: one that would start a formula gets an apostrophe before it."""
    return "'" + text if FORMULA.match(text) else text


def csv_of(table: Any) -> str:
    """Return a frame, or rows, as CSV with a line of headings; unknown values are empty."""
    import pandas as pd

    text: str = pd.DataFrame(table).apply(_safe).to_csv(index=False, lineterminator="\n")
    return text


def rows_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a frame as plain values; unknown ones are None."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


def json_of(content: object) -> str:
    """Return anything as JSON with a line's end: a frame as its rows. nan is refused: JSON knows none."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"


def model_of(model: ModelInfo) -> dict[str, Any]:
    """Return the facts of the model that the numbers belong to."""
    return {
        "name": model.name,
        "title": model.title,
        "trained": model.trained,
        "layers": model.n_layers,
        "heads": model.n_heads,
        "parameters": model.n_parameters,
        "digest": model.digest,
        "files": dict(model.files),
        "pinned": model.pinned,
        "computed_by": model.computed_by,
    }


def weights_csv(
    grid: Grid, heads: Iterable[Head], columns: Mapping[str, str] | None = None, per: Per = "head"
) -> str:
    """Return `Grid.to_frame` of some heads (layer and head from 0) as CSV, head by head.

    `columns`: more of them, on the numbers; those of LONG_COLUMNS stand in the first row only. Where heads are mixed
    (`per`), `head` is empty; where layers are, `layer` too.
    """
    import pandas as pd

    frame = grid.to_frame()
    of_head = dict(iter(frame.groupby(["layer", "head"])))
    parts = [of_head[layer + 1, head + 1] for layer, head in heads if grid.has((layer, head))]
    mixed = {"head": (), "layer": ("head",), "model": ("layer", "head")}[per]
    frame = pd.concat([frame[:0], *parts]).assign(**dict.fromkeys(mixed), **(columns or {}))
    frame.iloc[1:, [i for i, name in enumerate(frame) if name in LONG_COLUMNS]] = ""
    return csv_of(frame)


def weights_data(
    record: AttentionRecord,
    grid: Grid,
    layers: slice = slice(None),
    heads: slice = slice(None),
    **more: Any,
) -> dict[str, Any]:
    """Return the weights of some layers and heads, [layer][head][query][key], with all that is needed to get them
    again.

    They stay one array of numbers. Where `causal` is true, entries with a key after the query stand for no weight; of
    other masks `seen` gives, layer by layer, the first and the last key that a query can see. Where heads are mixed
    (`per`), none are named, and no layers where layers are.
    """
    per: Per = more.get("per", "head")
    content = described(record, grid) | {
        "layers": [] if per == "model" else [i + 1 for i in range(len(grid.weights))[layers]],
        "heads": [i + 1 for i in range(grid.weights.shape[1])[heads]] if per == "head" else [],
        "weights": grid.weights[layers, heads],
    }
    if grid.sink is not None:
        content["sink"] = grid.sink[layers, heads]
    return content | more


def weights_json(record: AttentionRecord, grid: Grid, *chosen: slice, **more: Any) -> str:
    """Return `weights_data` as JSON."""
    return json_of(weights_data(record, grid, *chosen, **more))


def described(record: AttentionRecord, grid: Grid) -> dict[str, Any]:
    """Return the JSON of weights without the numbers. `changed`: heads that were changed in the run. Of cross-attention
    `tokens` and `units` are those of the rows, `key_tokens` and `key_units` those of the columns. Layers without
    attention, heads without weights, and keys outside of a layer's window are listed where there are any."""
    tokens, model = record.tokens, record.model
    content = {
        "model": model.name,
        "trained": model.trained,
        "model_details": model_of(model),
        "text": tokens.text,
        "pair": tokens.pair,
        "tokens": [piece.text for piece in tokens.pieces],
        "words": [word.text for word in tokens.words],
        "word_of_token": [piece.word for piece in tokens.pieces],
        "segments": list(tokens.segments),
        "n_cut": tokens.n_cut,
        "unit": "words" if grid.words else "pieces",
        "units": list(grid.labels),
        "specials": grid.specials,
        "normalisation": NORMALISED[grid.specials],
        "causal": grid.is_causal,
        "n_layers": record.n_layers,
        "n_heads": record.n_heads,
        "versions": dict(record.versions),
    }
    if record.changed:
        content["changed"] = list(record.changed)
    if record.without_attention:
        content["layers_without_attention"] = [layer + 1 for layer in record.without_attention]
    if record.heads is not None:
        missing = np.argwhere(~record.heads)
        content["heads_without_weights"] = [head_name((int(layer), int(head))) for layer, head in missing]
    if grid.reach is not None:
        content["seen"] = grid.reach.tolist()
    if record.keys is not None:
        content["key_text"] = record.keys.text
        content["key_tokens"] = [piece.text for piece in record.keys.pieces]
        content["key_units"] = list(grid.key_labels)
    return content


def _safe(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if column.dtype.kind in "biuf":
        return column
    if column.dtype == "str":  # millions of cells, a few words
        return column.map({text: safe_cell(text) for text in column.dropna().unique()})
    return column.map(_cell, "ignore")


def _cell(value: object) -> object:
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    return safe_cell(value) if isinstance(value, str) else value


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if hasattr(value, "to_dict"):  # a frame, known without an import of pandas
        return rows_of(value)
    raise TypeError(type(value).__name__)
