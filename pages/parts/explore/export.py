"""What a reader takes away: numbers as CSV and JSON, and the Python lines that make the picture again.

In: a record, what was asked for, and what is chosen. Out: text. No Streamlit here.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from mha_core import AttentionRecord, Grid
from mha_core.display_names import Head, head_name, place_name, short_name
from mha_core.draw import about as numbers
from mha_core.heads import measures
from mha_core.record.export import weights_csv, weights_json
from pages.parts.frame.links import with_params
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.selection import Selection

FIGURE = "from mha_core.draw.figures.attention import figure"
SHOW = '# A notebook draws `picture`; picture.write_html("figure.html") saves it.'
LINE = "\n"


def about(record: AttentionRecord, grid: Grid, request: Request) -> dict[str, Any]:
    """What the picture says of these numbers: see `record_payload`."""
    return numbers.about(record, grid, measures.BY_KEY[request.measure])


def csv_of(record: AttentionRecord, grid: Grid, request: Request, heads: Sequence[Head], link: str) -> str:
    """One row a weight: layer and head from 1, positions from 0; cells that a spreadsheet would run are quoted."""
    return weights_csv(
        grid, heads, {**numbers.columns(record, grid, request.measure), "link": link}, request.per
    )


def json_of(
    record: AttentionRecord,
    grid: Grid,
    request: Request,
    selection: Selection,
    heads: Sequence[Head],
    link: str = "",
) -> str:
    """The same numbers with all that is needed to get them again: text, model and its digest, options, versions.

    `heads` are all heads or one.
    """
    layers, columns = (slice(min(axis), max(axis) + 1) for axis in zip(*heads, strict=True))
    chosen = {
        "measure": request.measure,
        "per": request.per,
        "normalisation": numbers.normalised(grid, request.measure),
        "head": short_name(selection.head, request.per),
        "pinned": list(selection.pins),
        "to": selection.to,
        "link": link,
    }
    return weights_json(record, grid, layers, columns, **chosen)


def python_of(
    grid: Grid,
    request: Request,
    selection: Selection,
    link: str,
    kind: str,
    width: float,
    also: Sequence[Head] = (),
) -> str:
    """Return lines that print the rows on the screen and draw the figure, from mha_core alone; the figure has the heads
    `also` beside the chosen one."""
    heads = [selection.head, *also]
    layer, head = selection.head
    place = place_name(selection.head, request.per)
    words = [_word(grid, pin) for pin in selection.pins]
    plotted = request.raw and None not in words
    drawn = (
        plot_line(request, kind, heads, words, width)
        if plotted
        else figure_line("grid", kind, heads, selection.pins, width)
    )
    return f"""{heading(request, selection, link)}
{LINE.join(imports(request) + ([] if plotted else [FIGURE]))}

{LINE.join(grid_lines(request, "grid"))}

weights = grid.weights[{layer}, {head}]  # {place}: row = query, looks at column = key
for query in {list(selection.pins) or [0]}:
    row = weights[query]
    for key in [key for key in row.argsort()[::-1][:5] if row[key]]:
        print(f"{{grid.labels[query]}} looks at {{grid.key_labels[key]}}: {{row[key]:.1%}}")

{drawn}
"""


def _word(grid: Grid, at: int) -> str | None:
    """How `record.plot` names a word: "it#2" is the second; None where it cannot."""
    spelt = grid.units[at].bare
    places = grid.find(spelt)
    if at not in places:
        return None
    return spelt if len(places) == 1 and "#" not in spelt else f"{spelt}#{places.index(at) + 1}"


def plot_line(
    request: Request, kind: str, heads: Sequence[Head], words: Sequence[str | None], width: float
) -> str:
    """Return the lines that draw a figure of raw weights."""
    names = ", ".join(f'"{head_name(head)}"' for head in heads)
    options = [
        f'"{kind}"',
        names if len(heads) == 1 else f"[{names}]",
        *([ascii(words)] if words else []),
        f"width_cm={width:g}",
    ]
    options += ['unit="words"'] if request.words else []
    options += [] if request.specials == "shown" else [f'specials="{request.specials}"']
    return f"picture = record.plot({', '.join(options)})\n{SHOW}"


def heading(request: Request, selection: Selection, link: str) -> str:
    """Return comments that say what the lines are of."""
    facts = [
        title_of(request.model) + ("" if request.trained else ", untrained"),
        place_name(selection.head, request.per),
        measures.BY_KEY[request.measure].label,
        f"{'words' if request.words else 'pieces'}, special tokens {request.specials}",
    ]
    return LINE.join(
        [
            "# Runs where HeadScope is installed: in its folder, or anywhere after `pip install .` there.",
            f"# {' · '.join(facts)}",
            f"# {link}",
        ]
    )


def imports(request: Request) -> list[str]:
    """Return what `grid_lines` import."""
    if request.raw:
        return ["from mha_core import load_model, trace"]
    return [
        "from mha_core import grid_of, load_model, trace",
        "from mha_core.heads.measures import importance",
    ]


def grid_lines(request: Request, name: str) -> list[str]:
    """Return lines that make the grid of a request under that name."""
    second = "pair" if request.attention == "encoder" else "target"
    load = [repr(request.model)] + ([] if request.trained else ["trained=False"])
    trace = [ascii(request.text), "model"] + ([f"{second}={request.pair!a}"] if request.pair else [])
    trace += [] if request.attention == "encoder" else [f'part="{request.attention}"']
    options = ([] if not request.words else ["words=True"]) + (
        [] if request.specials == "shown" else [f'specials="{request.specials}"']
    )
    if request.raw:
        grid = f"record.grid({', '.join(options)})"
    else:
        measured = f'importance(record.tokens, model, "{request.measure}").weights'
        grid = f"grid_of({', '.join(['record', measured, *options])})"
    return [
        f"model = load_model({', '.join(load)})",
        f"record = trace({', '.join(trace)})",
        f"{name} = {grid}",
    ]


def figure_line(
    grid: str, kind: str, heads: Sequence[Head], queries: Sequence[int], width: float, more: str = ""
) -> str:
    """Return the line that draws a figure of the grid of that name."""
    given = f'"{kind}", heads={list(heads)}, queries={list(queries)}, width_cm={width:g}{more}'
    return f"picture = figure({grid}, {given})\n{SHOW}"


def link_of(page: str, query: Mapping[str, str], selection: Selection) -> str:
    """The address that opens this view anywhere, with everything in it, also what is the default today."""
    return with_params(page, {**query, **selection.as_params()})


def query_of(request: Request) -> dict[str, str]:
    """Everything of a link but what is chosen in the picture."""
    return {
        "text": request.text,
        "pair": request.pair or "",
        "model": request.model,
        "weights": "trained" if request.trained else "untrained",
        "unit": request.unit,
        "specials": request.specials,
        "measure": request.measure,
        **({} if request.attention == "encoder" else {"attention": request.attention}),
    }


def query_of_both(a: Request, b: Request, against: str) -> dict[str, str]:
    """The link of a comparison but for what is chosen; `against` as the reader asked, for B may be what A is."""
    other = {"model": {"model2": b.model}, "sentence": {"text2": b.text}}.get(against, {})
    return {**query_of(a), "against": against, **other}


def stem(request: Request) -> str:
    """Plain letters that say which numbers these are; other numbers, other letters."""
    words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", request.text)[:6]]
    usual = Request("")
    options = [
        *([] if request.model == usual.model else re.findall(r"[a-z0-9]+", request.model.lower())[-3:]),
        *([] if request.trained else ["untrained"]),
        *([] if request.raw else [request.measure]),
        *(["words"] if request.words else []),
        *([] if request.specials == usual.specials else [f"specials-{request.specials}"]),
    ]
    digest = blake2b(repr(sorted(query_of(request).items())).encode(), digest_size=3).hexdigest()
    return "-".join(["-".join([*words, *options])[:80], digest]).removeprefix("-")


def file_name(request: Request, ending: str, part: str = "") -> str:
    """A file name of plain letters that says which view it is."""
    return "-".join(filter(None, ["headscope", part, stem(request)])) + f".{ending}"
