"""A record in a few lines: its text, its model and its strongest links, for a terminal or a notebook."""

from typing import TYPE_CHECKING

import numpy as np

from mha_core.links import heads_by_link
from mha_core.picture.text import visible
from mha_core.wording import counted, head_name, percent

if TYPE_CHECKING:
    from mha_core.grid import Grid
    from mha_core.record import AttentionRecord

LONGEST = 60  # signs of a text that are repeated
STRONGEST = 3
HOW = '["4-2"].to_frame(), .rank("it", "cat"), .to_frame(words=True), .widget()'


def summary(record: "AttentionRecord") -> str:
    """Five lines: the text, the model, who computed it, its strongest links, and what can be asked of it."""
    said = [f"{key}: {value}" for key, value in _facts(record)]
    return "\n".join([*said, f"ask: {HOW}"])


def summary_html(record: "AttentionRecord") -> str:
    """The same as a table."""
    import pandas as pd

    table: str = pd.DataFrame(_facts(record)).to_html(header=False, index=False)
    return table


def _facts(record: "AttentionRecord") -> list[tuple[str, str]]:
    model = record.model
    trained = {True: "trained", False: "untrained", None: "weights of unknown training"}[model.trained]
    shape = f"{counted(model.n_layers, 'layer')} x {counted(model.n_heads, 'head')}, {trained}"
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


def quoted(text: str, n_tokens: int, n_words: int, n_cut: int = 0) -> str:
    """A text and its sizes, for the first line, and whether it was cut."""
    cut = f", cut after {n_tokens:,} of {n_tokens + n_cut:,} tokens" if n_cut else ""
    return f"“{visible(_cut(' '.join(text.split())))}”, {counted(n_tokens, 'token')}, {counted(n_words, 'word')}{cut}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _links(grid: "Grid") -> str:
    """The heads with the strongest link between two words, each with that link."""
    return (
        "; ".join(
            f"{head_name(head)} {_cut(grid.labels[query])} → {_cut(grid.key_labels[key])} {percent(weight)}"
            for head, (query, key), weight in heads_by_link(grid)[:STRONGEST]
        )
        or "none between two words"
    )
