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

LONGEST = 60  # signs of a text that are repeated
STRONGEST = 3


def summary(record: "AttentionRecord") -> str:
    """Five lines: the text, the model, who computed it, its strongest links, and what can be asked of it."""
    lines = [f"{key}: {value}" for key, value in _facts(record)]
    return "\n".join([*lines, f"ask: {_calls(record)}"])


def summary_html(record: "AttentionRecord") -> str:
    """The same as a table."""
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
        ("record", record.said),
        ("model", f"{_cut(model.title)}: {shape}{digest}{changed}"),
        ("computed by", by),
        *([("no attention", without)] if without else []),
        *([("sink", _sink(record))] if record.sink is not None else []),
        ("strongest links", _links(record.grid())),
    ]


def layers_without(record: "AttentionRecord") -> str:
    """Which layers have no attention weights, and what they do instead: "layers 1 to 3 (linear attention)"; "" if all
    have."""
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
    """How much a learned sink took, on average and at most in one row."""
    sink = np.zeros(1) if record.sink is None else record.sink
    sink = sink if record.heads is None else sink[record.heads]
    mean, most = percent(float(sink.mean())), percent(float(sink.max()))
    return f"a learned sink takes {mean} of a row on average, {most} at most"


def quoted(text: str, n_tokens: int, n_words: int, cut: str = "") -> str:
    """A text and its sizes, for the first line, and how it was cut."""
    cut = f", {cut}" if cut else ""
    shown = visible(_cut(" ".join(text.split())))
    return f"“{shown}”, {count_noun(n_tokens, 'token')}, {count_noun(n_words, 'word')}{cut}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _calls(record: "AttentionRecord") -> str:
    """What can be asked of the record, with the head and the words of its strongest link."""
    grid = record.grid(words=True)
    links = heads_by_link(grid)
    heads = np.argwhere(np.ones(record.weights.shape[:2]) if record.heads is None else record.heads)
    name, rank = head_name((int(heads[0, 0]), int(heads[0, 1]))), ""
    if links:
        head, (q, k), _ = links[0]
        words = (_named(grid.units, q), _named(grid.key_units or grid.units, k))
        name, rank = head_name(head), f".rank({json.dumps(words, ensure_ascii=False)[1:-1]}), "
    return f'["{name}"].to_frame(), {rank}.to_frame(words=True), .widget()'


def _named(units: "Sequence[Unit]", at: int) -> str:
    """How a unit is asked for: its text, with its number where it stands several times before."""
    places = places_of(units, units[at].bare)
    return units[at].bare + (f"#{places.index(at) + 1}" if at in places[1:] else "")


def _links(grid: "Grid") -> str:
    """The heads with the strongest link between two words, each with that link."""
    return (
        "; ".join(
            f"{head_name(head)} {_cut(grid.labels[query])} → {_cut(grid.key_labels[key])} {percent(weight)}"
            for head, (query, key), weight in heads_by_link(grid)[:STRONGEST]
        )
        or "none between two words"
    )
