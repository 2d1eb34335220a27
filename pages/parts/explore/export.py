"""What a reader takes away: numbers as CSV and JSON, and the Python lines that make the picture again.

In: a record, what was asked for, and what is chosen. Out: text. No Streamlit here.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any

from mha_core import Grid, Record
from mha_core.output import safe_cell
from pages.parts.frame.links import with_params
from pages.parts.frame.request import Head, Request, name
from pages.parts.frame.selection import Selection


def csv_of(grid: Grid, heads: Sequence[Head]) -> str:
    """One row a weight: layer and head from 1, positions from 0; cells that a spreadsheet would run are quoted."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["layer", "head", "query position", "query", "key position", "key", "weight"])
    labels = [safe_cell(label) for label in grid.labels]
    for layer, head in heads:
        for q, row in enumerate(grid.weights[layer, head].tolist()):
            writer.writerows(
                [layer + 1, head + 1, q, labels[q], k, labels[k], weight] for k, weight in enumerate(row)
            )
    return out.getvalue()


def json_of(record: Record, grid: Grid, request: Request, selection: Selection, heads: Sequence[Head]) -> str:
    """The same numbers with all that is needed to get them again: text, model and its digest, options, versions."""
    model = record.model
    content: dict[str, Any] = {
        "text": record.tokens.text,
        "pair": record.tokens.pair,
        "model": {
            "name": model.name,
            "title": model.title,
            "trained": model.trained,
            "layers": model.n_layers,
            "heads": model.n_heads,
            "parameters": model.n_parameters,
            "digest": model.digest,
        },
        "drawn": request.measure,
        "units": request.unit,
        "specials": grid.specials,
        "labels": list(grid.labels),
        "axes": "weights[head name] is (query, key); rows look at columns",
        "head": name(selection.head),
        "pinned": list(selection.pins),
        "versions": dict(record.versions),
        "weights": {name(head): grid.weights[head].tolist() for head in heads},
    }
    return json.dumps(content, ensure_ascii=False, indent=None) + "\n"


def python_of(request: Request, selection: Selection) -> str:
    """Lines that print the rows on the screen, from mha_core alone."""
    load = [repr(request.model)] + ([] if request.trained else ["trained=False"])
    trace = [ascii(request.text), "model"] + ([f"pair={request.pair!a}"] if request.pair else [])
    options = ([] if not request.words else ["words=True"]) + (
        [] if request.specials == "shown" else [f'specials="{request.specials}"']
    )
    layer, head = selection.head
    queries = list(selection.pins) or [0]
    if request.measure == "raw":
        imports = "from mha_core import load_model, trace"
        grid = f"record.grid({', '.join(options)})"
    else:
        imports = "from mha_core import grid_of, load_model, trace\nfrom mha_core.heads.importance import importance"
        measured = f'importance(record.tokens, model, "{request.measure}").weights'
        grid = f"grid_of({', '.join(['record.tokens', measured, *options])})"
    return f"""{imports}

model = load_model({", ".join(load)})
record = trace({", ".join(trace)})
grid = {grid}

weights = grid.weights[{layer}, {head}]  # head {name(selection.head)}: row = query, looks at column = key
for query in {queries}:
    row = weights[query]
    for key in row.argsort()[::-1][:5]:
        print(f"{{grid.labels[query]}} looks at {{grid.labels[key]}}: {{row[key]:.1%}}")
"""


def link_of(page: str, request: Request, selection: Selection) -> str:
    """The address that opens this view anywhere, with everything in it, also what is the default today."""
    query = {
        "text": request.text,
        "pair": request.pair or "",
        "model": request.model,
        "weights": "trained" if request.trained else "untrained",
        "unit": request.unit,
        "specials": request.specials,
        "measure": request.measure,
        **selection.as_params(),
    }
    return with_params(page, query)


def file_name(request: Request, ending: str, part: str = "") -> str:
    """A file name of plain letters that says which view it is."""
    words = re.findall(r"[A-Za-z0-9]+", request.text)[:6]
    return "-".join(filter(None, ["headscope", part, *map(str.lower, words)]))[:80] + f".{ending}"
