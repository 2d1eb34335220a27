"""The numbers of one run or two as CSV, JSON and the lines of Python that make them and the figure again.

In: a `Comparison`, the figure that is chosen. Out: text. No Streamlit here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any

import numpy as np

from mha_core import Grid
from mha_core.display_names import Head, head_name, short_name
from mha_core.draw.about import columns, normalised
from mha_core.heads import measures
from mha_core.record.export import LONG_COLUMNS, described, json_of, weights_csv, weights_json
from mha_core.record.export import csv_of as csv_of_rows
from pages.parts.explore.comparison import Comparison
from pages.parts.frame.context import Context
from pages.parts.frame.links import params_of
from pages.parts.frame.request import Request, name_outside, title_of

FIGURE = "from mha_core.draw.figures.attention import figure"
SHOW = '# A notebook draws `picture`; picture.write_html("figure.html") saves it.'
LINE = "\n"
SIDES = ("A", "B", "A minus B")


@dataclass(frozen=True)
class Figure:
    """A figure to save: its kind, width in centimetres and heads; of two runs, which of SIDES it shows."""

    kind: str
    width: float
    heads: Sequence[Head]
    side: str = ""


# ---- numbers
def csv_of(runs: Comparison, heads: Sequence[Head]) -> str:
    """Return a row a weight: layer and head from 1, positions from 0.

    Of two runs, those of the selected head between words that both have: A, B, and A minus B. Positions are A's; a run
    that cannot see a word has no number of it.
    """
    facts = _facts(runs) | {"link": runs.link}
    if len(runs.contexts) == 1:
        return weights_csv(runs.grids[0], heads, facts, runs.sides[0].per)
    once = {name for name in facts if name.removesuffix(" A").removesuffix(" B") in LONG_COLUMNS}
    later = {name: text for name, text in facts.items() if name not in once}
    return csv_of_rows([row | (later if i else facts) for i, row in enumerate(_weights(runs))])


def _facts(runs: Comparison) -> dict[str, str]:
    """Return the columns that say what the numbers are: one where both runs have the same."""
    first, *second = [columns(each.record, each.grid, each.request.measure) for each in runs.contexts]
    if not second:
        return first
    facts = dict[str, str]()
    for name in {**first, **second[0]}:
        a, b = (side.get(name, "") for side in (first, second[0]))
        facts |= {name: a} if a == b else {f"{name} A": a, f"{name} B": b}
    return facts


def _weights(runs: Comparison) -> Iterator[dict[str, Any]]:
    """Yield a row a query and a key that both have and one of the two can see."""
    (layer, head), per, grids = runs.selection.head, runs.sides[0].per, runs.grids
    place = {"layer": "" if per == "model" else layer + 1, "head": head + 1 if per == "head" else ""}
    labels = []
    for pair in runs.both:
        a, b = (grid.units[i].label for grid, i in zip(grids, pair, strict=True))
        labels.append(a if a == b else f"{a} / {b}")
    for (query, q), (key, k) in product(enumerate(runs.both), repeat=2):
        weights = [
            grid.weights[layer, head, i, j] if _can_see(grid, layer, i, j) else np.float32(np.nan)
            for grid, i, j in zip(grids, q, k, strict=True)
        ]
        if np.isnan(weights).all():
            continue
        words = {"query": q[0], "key": k[0], "query_text": labels[query], "key_text": labels[key]}
        numbers = zip(SIDES, (*weights, weights[0] - weights[1]), strict=True)
        yield place | words | {side: "" if np.isnan(number) else number for side, number in numbers}


def _can_see(grid: Grid, layer: int, query: int, key: int) -> bool:
    return grid.visible is None or bool(grid.visible[layer, query, key])


def json_of_runs(runs: Comparison, heads: Sequence[Head]) -> str:
    """Return the weights of some heads with all that is needed to get them again: text, digest, options, versions.

    Of two runs, those of the selected head of both, [query][key]; `pairs` are positions in A and B of what both have.
    """
    chosen = {
        "head": short_name(runs.selection.head, runs.sides[0].per),
        "pinned": list(runs.contexts[0].pins),
        "to": runs.selection.to,
        "link": runs.link,
    }
    if len(runs.contexts) == 1:
        (context,) = runs.contexts
        parts = [slice(min(axis), max(axis) + 1) for axis in zip(*heads, strict=True)]
        return weights_json(context.record, context.grid, *parts, **_options(context), **chosen)
    a, b = (
        described(each.record, each.grid)
        | _options(each)
        | {"weights": each.grid.weights[runs.selection.head].tolist()}
        for each in runs.contexts
    )
    return json_of(chosen | {"pairs": runs.both, "A": a, "B": b})


def _options(context: Context) -> dict[str, str]:
    request = context.request
    scale = normalised(context.grid, request.measure)
    return {"measure": request.measure, "per": request.per, "normalisation": scale}


# ---- Python
def python_of(runs: Comparison, figure: Figure) -> str:
    """Return lines that print the numbers on the screen and draw the figure, from mha_core alone."""
    imports, lines = _lines_of_both(runs, figure) if runs.contexts[1:] else _lines_of_one(runs, figure)
    return LINE.join([*_comments(runs), *imports, "", *lines, ""])


def _comments(runs: Comparison) -> list[str]:
    """Return comments that say what the lines draw."""
    request = runs.sides[0]
    facts = [
        title_of(request.model) + ("" if request.trained else ", untrained"),
        runs.place,
        measures.BY_KEY[request.measure].label,
        f"{'words' if request.words else 'pieces'}, special tokens {request.specials}",
    ]
    return [
        "# Runs where HeadScope is installed: in its folder, or anywhere after `pip install .` there.",
        f"# {' · '.join(facts)}",
        f"# {runs.link}",
    ]


def _lines_of_one(runs: Comparison, figure: Figure) -> tuple[list[str], list[str]]:
    """Return the imports; then lines for the selected rows, their largest weights and the figure."""
    (context,) = runs.contexts
    request, pins, (layer, head) = context.request, context.pins, context.head
    words = [_word(context.grid, pin) for pin in pins]
    is_plotted = request.raw and None not in words
    lines = [
        *_grid_lines(request, "grid"),
        "",
        f"weights = grid.weights[{layer}, {head}]  # {runs.place}: row = query, looks at column = key",
        f"for query in {list(pins) or [0]}:",
        "    row = weights[query]",
        "    for key in [key for key in row.argsort()[::-1][:5] if row[key]]:",
        '        print(f"{grid.labels[query]} looks at {grid.key_labels[key]}: {row[key]:.1%}")',
        "",
        _plot_line(request, figure, words) if is_plotted else _figure_line("grid", figure, pins),
    ]
    return [*_imports(request), *([] if is_plotted else [FIGURE])], [*lines, SHOW]


def _lines_of_both(runs: Comparison, figure: Figure) -> tuple[list[str], list[str]]:
    """Return the imports; then lines for both grids, the largest changes of the selected head and the figure."""
    (a, b), (layer, head) = runs.sides, runs.selection.head
    in_a, in_b = _grid_lines(a, "a"), _grid_lines(b, "b")
    name = {"A": "a", "B": "b"}.get(figure.side, "change")
    lines = [
        *in_a,
        *in_b[in_a[0] == in_b[0] :],  # one model is loaded once
        "change = difference(a, b)",
        "",
        f"weights = change.weights[{layer}, {head}]  # {runs.place}, A minus B: row = query, column = key",
        "for place in abs(weights).ravel().argsort()[::-1][:10]:",
        "    query, key = divmod(int(place), len(change))",
        '    print(f"{change.labels[query]} to {change.labels[key]}: {weights[query, key]:+.1%}")',
        "",
        _figure_line(name, figure, runs.pins_in(figure.side), ", signed=True" if name == "change" else ""),
    ]
    imports = {*_imports(a), *_imports(b), "from mha_core.record.compare import difference", FIGURE}
    return sorted(imports), [*lines, SHOW]


def _word(grid: Grid, position: int) -> str | None:
    """Return the name `record.plot` has for a word: "it#2" is the second; None where it has none."""
    text = grid.units[position].bare
    places = grid.find(text)
    if position not in places:
        return None
    return text if len(places) == 1 and "#" not in text else f"{text}#{places.index(position) + 1}"


def _plot_line(request: Request, figure: Figure, words: Sequence[str | None]) -> str:
    """Return the line that draws a figure of raw weights."""
    names = ", ".join(f'"{head_name(head)}"' for head in figure.heads)
    options = [
        f'"{figure.kind}"',
        names if len(figure.heads) == 1 else f"[{names}]",
        *([ascii(words)] if words else []),
        f"width_cm={figure.width:g}",
        *_grid_options(request, 'unit="words"'),
    ]
    return f"picture = record.plot({', '.join(options)})"


def _figure_line(grid: str, figure: Figure, queries: Sequence[int], more: str = "") -> str:
    """Return the line that draws a figure of the grid of that name."""
    options = f"heads={list(figure.heads)}, queries={list(queries)}, width_cm={figure.width:g}{more}"
    return f'picture = figure({grid}, "{figure.kind}", {options})'


def _imports(request: Request) -> list[str]:
    """Return the imports of `_grid_lines`."""
    if request.raw:
        return ["from mha_core import load_model, trace"]
    return [
        "from mha_core import grid_of, load_model, trace",
        "from mha_core.heads.measures import importance",
    ]


def _grid_lines(request: Request, name: str) -> list[str]:
    """Return lines that make the grid of a request under that name."""
    second = "pair" if request.attention == "encoder" else "target"
    load = [repr(name_outside(request.model))] + ([] if request.trained else ["trained=False"])
    trace = [ascii(request.text), "model"] + ([f"{second}={request.pair!a}"] if request.pair else [])
    trace += [] if request.attention == "encoder" else [f'part="{request.attention}"']
    options = _grid_options(request, "words=True")
    if request.raw:
        grid = f"record.grid({', '.join(options)})"
    else:
        weights = f'importance(record.tokens, model, "{request.measure}").weights'
        grid = f"grid_of({', '.join(['record', weights, *options])})"
    return [
        f"model = load_model({', '.join(load)})",
        f"record = trace({', '.join(trace)})",
        f"{name} = {grid}",
    ]


def _grid_options(request: Request, words: str) -> list[str]:
    """Return the arguments that say how a grid is made of a record; `words`: the one for whole words."""
    specials = [] if request.specials == "shown" else [f'specials="{request.specials}"']
    return [*([words] if request.words else []), *specials]


# ---- names of files
def file_name(runs: Comparison, ending: str, part: str = "") -> str:
    """Return a file name that says which view it is of; `part`: "all", where it is not of the selected head."""
    return f"headscope-{view_name(runs, part)}.{ending}"


def view_name(runs: Comparison, part: str = "") -> str:
    """Return plain letters for what is selected and for the runs."""
    place = (part or runs.place).replace(" ", "-")
    first, *second = map(stem, runs.sides)
    return f"{place}-compared-{first}-{second[0][-6:]}" if second else f"{place}-{first}"


def stem(request: Request) -> str:
    """Return plain letters that say which numbers these are; other numbers, other letters."""
    words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", request.text)[:6]]
    usual = Request("")
    options = [
        *([] if request.model == usual.model else re.findall(r"[a-z0-9]+", request.model.lower())[-3:]),
        *([] if request.trained else ["untrained"]),
        *([] if request.raw else [request.measure]),
        *(["words"] if request.words else []),
        *([] if request.specials == usual.specials else [f"specials-{request.specials}"]),
    ]
    digest = blake2b(repr(sorted(params_of(request).items())).encode(), digest_size=3).hexdigest()
    return "-".join(["-".join([*words, *options])[:80], digest]).removeprefix("-")
