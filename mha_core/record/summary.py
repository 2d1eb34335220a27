"""A record in a few lines: its text, its model and its strongest links, for a terminal or a notebook."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mha_core.display_names import count_noun, head_name, percent, visible
from mha_core.record.links import heads_by_link, places_of

if TYPE_CHECKING:
    from mha_core.record.grid import Grid, Unit
    from mha_core.record.record import AttentionRecord
    from mha_core.text.tokens import Tokens

MAX_SHOWN = 60  # signs of a text that are repeated
N_LINKS = 3


def summary(record: "AttentionRecord") -> str:
    """Return five lines: the text, the model, who computed it, its strongest links, and calls to go on with."""
    lines = [f"{key}: {value}" for key, value in _facts(record)]
    return "\n".join([*lines, f"ask: {_calls(record)}"])


def summary_html(record: "AttentionRecord") -> str:
    """Return the lines as a table in HTML, but for the calls."""
    import pandas as pd

    table: str = pd.DataFrame(_facts(record)).to_html(header=False, index=False)
    return table


def _facts(record: "AttentionRecord") -> list[tuple[str, str]]:
    model = record.model
    trained = {True: "trained", False: "untrained", None: "weights of unknown training"}[model.trained]
    shape = f"{count_noun(model.n_layers, 'layer')} x {count_noun(model.n_heads, 'head')}, {trained}"
    without = layers_without(record)
    digest = f", digest {model.short_digest}" if model.digest else ""
    if model.digest.startswith(trained):  # "untrained, seed 0" is no digest
        digest = model.digest.removeprefix(trained)
    changed = f"; changed: {_cut('; '.join(record.changed))}" if record.changed else ""
    by = model.computed_by if model.is_ours else f"{model.computed_by}, not by HeadScope's engine"
    return [
        ("record", record.headline),
        ("model", f"{_cut(model.title)}: {shape}{digest}{changed}"),
        ("computed by", by),
        *([("no attention", without)] if without else []),
        *([("sink", _sink(record))] if record.sink is not None else []),
        ("strongest links", _links(record.grid())),
    ]


def layers_without(record: "AttentionRecord") -> str:
    """List layers without attention weights, with their kind: "layers 1 to 3 (linear attention)"; "" if all have."""
    groups: list[tuple[int, int, str]] = []
    for layer in record.without_attention:
        kind = record.model.layer_kinds[layer] if record.model.layer_kinds else ""
        if groups and groups[-1][1] == layer - 1 and groups[-1][2] == kind:
            groups[-1] = (groups[-1][0], layer, kind)
        else:
            groups.append((layer, layer, kind))
    return ", ".join(
        (f"layer {first + 1}" if first == last else f"layers {first + 1} to {last + 1}")
        + (f" ({kind})" if kind else "")
        for first, last, kind in groups
    )


def _sink(record: "AttentionRecord") -> str:
    """Say the share of a learned sink, on average and at most in one row."""
    sink = np.zeros(1) if record.sink is None else record.sink
    sink = sink if record.heads is None else sink[record.heads]
    mean, most = percent(float(sink.mean())), percent(float(sink.max()))
    return f"a learned sink takes {mean} of a row on average, {most} at most"


def quoted(tokens: "Tokens") -> str:
    """Return a text with its sizes, for the first line, and a note on what was cut."""
    text = tokens.text if tokens.pair is None else f"{tokens.text} | {tokens.pair}"
    cut = f", {tokens.cut_text}" if tokens.cut_text else ""
    shown = visible(_cut(" ".join(text.split())))
    return f"“{shown}”, {count_noun(len(tokens), 'token')}, {count_noun(len(tokens.words), 'word')}{cut}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _calls(record: "AttentionRecord") -> str:
    """Return calls of the record, with the head and the words of its strongest link."""
    grid = record.grid(words=True)
    links = heads_by_link(grid)
    heads = np.argwhere(np.ones(record.weights.shape[:2]) if record.heads is None else record.heads)
    name, rank = head_name((int(heads[0, 0]), int(heads[0, 1]))), ""
    if links:
        head, (q, k), _ = links[0]
        words = (_name_of(grid.units, q), _name_of(grid.columns, k))
        name, rank = head_name(head), f".rank({json.dumps(words, ensure_ascii=False)[1:-1]}), "
    return f'["{name}"].to_frame(), {rank}.to_frame(words=True), .widget()'


def _name_of(units: "Sequence[Unit]", index: int) -> str:
    """Return the name of a unit for `find_unit`: its text, with its number where the text stands before."""
    places = places_of(units, units[index].bare)
    return units[index].bare + (f"#{places.index(index) + 1}" if index in places[1:] else "")


def _links(grid: "Grid") -> str:
    """List the heads with the strongest link between two words, each with that link."""
    return (
        "; ".join(
            f"{head_name(head)} {_cut(grid.labels[query])} → {_cut(grid.key_labels[key])} {percent(weight)}"
            for head, (query, key), weight in heads_by_link(grid)[:N_LINKS]
        )
        or "none between two words"
    )
