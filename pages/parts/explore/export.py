"""What a reader takes away: numbers as CSV and JSON, and the Python lines that make the picture again.

In: a record, what was asked for, and what is chosen. Out: text. No Streamlit here.
"""

import re
from collections.abc import Sequence

from mha_core import Grid, Record
from mha_core.export import weights_csv, weights_json
from mha_core.wording import Head, head_name
from pages.parts.frame.links import with_params
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection


def csv_of(grid: Grid, heads: Sequence[Head]) -> str:
    """One row a weight: layer and head from 1, positions from 0; cells that a spreadsheet would run are quoted."""
    return weights_csv(grid, heads)


def json_of(record: Record, grid: Grid, request: Request, selection: Selection, heads: Sequence[Head]) -> str:
    """The same numbers with all that is needed to get them again: text, model and its digest, options, versions.

    `heads` are all heads or one.
    """
    layers, columns = (slice(min(axis), max(axis) + 1) for axis in zip(*heads, strict=True))
    chosen = {
        "measure": request.measure,
        "head": head_name(selection.head),
        "pinned": list(selection.pins),
    }
    return weights_json(record, grid, layers, columns, **chosen)


def python_of(request: Request, selection: Selection) -> str:
    """Lines that print the rows on the screen, from mha_core alone."""
    load = [repr(request.model)] + ([] if request.trained else ["trained=False"])
    trace = [ascii(request.text), "model"] + ([f"pair={request.pair!a}"] if request.pair else [])
    options = ([] if not request.words else ["words=True"]) + (
        [] if request.specials == "shown" else [f'specials="{request.specials}"']
    )
    layer, head = selection.head
    queries = list(selection.pins) or [0]
    if request.raw:
        imports = "from mha_core import load_model, trace"
        grid = f"record.grid({', '.join(options)})"
    else:
        imports = (
            "from mha_core import grid_of, load_model, trace\nfrom mha_core.heads.measures import importance"
        )
        measured = f'importance(record.tokens, model, "{request.measure}").weights'
        grid = f"grid_of({', '.join(['record.tokens', measured, *options])})"
    return f"""{imports}

model = load_model({", ".join(load)})
record = trace({", ".join(trace)})
grid = {grid}

weights = grid.weights[{layer}, {head}]  # head {head_name(selection.head)}: row = query, looks at column = key
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
