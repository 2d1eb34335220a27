"""What leaves the program: one CSV, one JSON, one way to name a model, for weights and for rows alike.

Numbers are written in full: a weight read back as float32 is the very weight. Text in a CSV cell can
never start a formula. In JSON `units` are the labels of rows and columns, and `unit` says whether they are pieces or
words; layers and heads that are named count from 1, positions from 0.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mha_core.grid import SINK, Grid
from mha_core.record import AttentionRecord, ModelInfo
from mha_core.wording import Head, Per, head_name

if TYPE_CHECKING:
    import pandas as pd

FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r]")
WEIGHT_COLUMNS = ("layer", "head", "query", "key", "query_text", "key_text", "weight")
LONG_COLUMNS = ("text", "pair", "source", "link")
NORMALISED = {
    "shown": "rows sum to 1",
    "hidden": "special tokens left out, rows sum to less than 1",
    "renormalised": "special tokens left out, every row divided by its sum",
}


def safe_cell(text: str) -> str:
    """A spreadsheet cell that is read as text: one that would start a formula gets an apostrophe before it."""
    return "'" + text if FORMULA.match(text) else text


def csv_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Rows as CSV, with `columns` (those of all rows, in order, without) as the first line."""
    rows = list(rows)
    names = columns or list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def rows_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a frame as plain values; what is not known is None."""
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows


def json_of(content: object, indent: int | None = None) -> str:
    """Anything as JSON with a line's end; numbers of NumPy are numbers. nan is refused: JSON knows none."""
    found = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent, default=_plain)
    return found + "\n"


def model_of(model: ModelInfo) -> dict[str, Any]:
    """Which model the numbers belong to."""
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
    grid: Grid, heads: Iterable[Head], said: Mapping[str, str] | None = None, per: Per = "head"
) -> str:
    """One row a weight. A pair of which the query cannot see the key has no row, and neither has a head that is not
    there; what a learned sink took is a row of key -1.

    `said` adds columns that say what the numbers are; those of LONG_COLUMNS stand in the first row only. Where heads
    are mixed (`per`), `head` is empty; where layers are, `layer` too.
    """
    labels = [safe_cell(label) for label in grid.labels]
    keys = [safe_cell(label) for label in grid.key_labels]
    out, said = io.StringIO(), said or {}
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*WEIGHT_COLUMNS, *said])
    again = [safe_cell(text) for text in said.values()]
    later = ["" if name in LONG_COLUMNS else safe_cell(text) for name, text in said.items()]
    for layer, head in heads:
        if not grid.has((layer, head)):
            continue
        place = ["" if per == "model" else layer + 1, head + 1 if per == "head" else ""]
        for (q, k), weight in np.ndenumerate(grid.weights[layer, head]):
            if grid.visible is not None and not grid.visible[layer, q, k]:
                continue
            writer.writerow([*place, q, k, labels[q], keys[k], str(weight), *again])
            again = later
        if grid.sink is not None:
            for q, weight in enumerate(grid.sink[layer, head]):
                writer.writerow([*place, q, -1, labels[q], SINK, str(weight), *again])
    return out.getvalue()


def weights_json(
    record: AttentionRecord,
    grid: Grid,
    layers: slice = slice(None),
    heads: slice = slice(None),
    **more: Any,
) -> str:
    """The weights of some layers and heads, [layer][head][query][key], with all that is needed to get them again.

    They stay one array of numbers; where `causal` is true, entries with a key after the query stand for no weight, and
    `seen` says of other masks, layer by layer, the first and the last key that a query can see. Where heads are mixed
    (`per`), none are named, and no layers where layers are.
    """
    per: Per = more.get("per", "head")
    placed = {
        "layers": [] if per == "model" else [i + 1 for i in range(len(grid.weights))[layers]],
        "heads": [i + 1 for i in range(grid.weights.shape[1])[heads]] if per == "head" else [],
    }
    content = described(record, grid) | placed | {"weights": grid.weights[layers, heads].tolist()}
    if grid.sink is not None:
        content["sink"] = grid.sink[layers, heads].tolist()
    return json_of(content | more)


def described(record: AttentionRecord, grid: Grid) -> dict[str, Any]:
    """What numbers of a grid are, as the JSON of weights says it: all but the numbers. `changed` is there where heads
    were changed on the way. Of cross-attention `tokens` and `units` are those of the rows, `key_tokens` and `key_units`
    those of the columns."""
    tokens, model = record.tokens, record.model
    columns = {}
    if record.keys is not None:
        columns = {
            "key_text": record.keys.text,
            "key_tokens": [piece.text for piece in record.keys.pieces],
            "key_units": list(grid.key_labels),
        }
    return {
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
        **({"changed": list(record.changed)} if record.changed else {}),
        **_without(record, grid),
        **columns,
    }


def _without(record: AttentionRecord, grid: Grid) -> dict[str, Any]:
    """What is not there: layers without attention, heads, and keys outside of a layer's window."""
    said: dict[str, Any] = {}
    if record.without_attention:
        said["layers_without_attention"] = [layer + 1 for layer in record.without_attention]
    if record.heads is not None:
        said["heads_without_weights"] = [head_name((int(la), int(h))) for la, h in np.argwhere(~record.heads)]
    if grid.reach is not None:
        said["seen"] = grid.reach.tolist()
    return said


def _cell(value: object) -> object:
    if isinstance(value, str):
        return safe_cell(value)
    if isinstance(value, list | tuple):
        return safe_cell(" ".join(map(str, value)))
    return value


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(type(value).__name__)
