"""A record as text: a table to read, JSON or CSV to compute with."""

import numpy as np

from mha_core import export
from mha_core.grid import Array, Grid
from mha_core.listing import HeadFilter, RankedHead
from mha_core.record import AttentionRecord
from mha_core.summary import layers_without
from mha_core.wording import Head, counted, head_name

FORMATS = ("table", "json", "jsonl", "csv")


def render(record: AttentionRecord, grid: Grid, choice: HeadFilter, form: str) -> str:
    """The record in one of FORMATS."""
    layers = slice(None) if choice.layer is None else slice(choice.layer - 1, choice.layer)
    heads = slice(None) if choice.head is None else slice(choice.head - 1, choice.head)
    weights = grid.weights[layers, heads]
    if form in ("json", "jsonl"):
        ranking = {"ranking": _ranking(grid, choice)} if choice.ranking else {}
        return export.weights_json(record, grid, layers, heads, **ranking)
    if form == "csv":
        return (
            _ranking_csv(grid, choice)
            if choice.ranking
            else export.weights_csv(grid, _heads(grid, layers, heads))
        )
    return _ranking_table(grid, choice) if choice.ranking else _table(record, grid, weights, choice)


def _heads(grid: Grid, layers: slice, heads: slice) -> list[Head]:
    n_layers, n_heads = grid.weights.shape[:2]
    return [(la, h) for la in range(n_layers)[layers] for h in range(n_heads)[heads]]


def _ranking(grid: Grid, choice: HeadFilter) -> list[dict[str, object]]:
    return [
        {
            "layer": r.layer + 1,
            "head": r.head + 1,
            "weight": r.weight,
            "to": grid.key_labels[r.target],
            "position": r.target,
        }
        for r in _listed(choice)
    ]


def _ranking_csv(grid: Grid, choice: HeadFilter) -> str:
    rows = [
        {"layer": r.layer + 1, "head": r.head + 1, "key": r.target, "key_text": grid.key_labels[r.target]}
        | {"weight": f"{r.weight:.6g}"}
        for r in _listed(choice)
    ]
    return export.csv_of(rows, ("layer", "head", "key", "key_text", "weight"))


def _ranking_table(grid: Grid, choice: HeadFilter) -> str:
    lines = [f"{'head':>6}  {'weight':>7}  looks at"]
    for r in _listed(choice):
        bar = "█" * round(30 * r.weight)
        lines.append(f"{r.name:>6}  {100 * r.weight:5.1f} %  {grid.key_labels[r.target]}  {bar}".rstrip())
    return "\n".join(lines) + "\n"


def _table(record: AttentionRecord, grid: Grid, weights: Array, choice: HeadFilter) -> str:
    """One head: its matrix in percent. Several: where each head's rows look most, on average."""
    model = record.model
    head_line = (
        f"{model.title}: {counted(model.n_layers, 'layer')} x {counted(model.n_heads, 'head')}, "
        f"{counted(len(record.tokens), 'token')}, {counted(len(record.tokens.words), 'word')}"
    )
    if choice.layer is not None and choice.head is not None:
        return (
            head_line + "\n" + _matrix(grid, weights[0, 0], f"{choice.layer}-{choice.head}", choice.layer - 1)
        )
    without = layers_without(record)
    if without:
        head_line += f"\nNo attention weights: {without}."
    lines = [head_line, "The strongest link of every head (row looks at column):"]
    first_layer = choice.layer or 1
    for layer, head in np.ndindex(*weights.shape[:2]):
        matrix = weights[layer, head]
        if grid.is_causal and len(grid) > 1:
            # The first row is 100 % of itself.
            matrix = np.concatenate([np.zeros_like(matrix[:1]), matrix[1:]])
        i, j = np.unravel_index(int(matrix.argmax()), matrix.shape)
        if not grid.has((layer + first_layer - 1, head)):
            continue
        name = head_name((layer + first_layer - 1, head))
        lines.append(f"{name:>6}  {100 * matrix[i, j]:5.1f} %  {grid.labels[i]} → {grid.key_labels[j]}")
    return "\n".join(lines) + "\n"


def _matrix(grid: Grid, matrix: Array, name: str, layer: int) -> str:
    width = max(5, *(len(label) for label in grid.labels))
    lines = [f"Head {name}, percent; row looks at column."]
    lines.append(" " * (width + 1) + " ".join(f"{label:>5.5}" for label in grid.key_labels))
    for q, (label, row) in enumerate(zip(grid.labels, matrix, strict=True)):
        seen = np.ones(len(row), dtype=bool) if grid.visible is None else grid.visible[layer, q]
        cells = (
            f"{100 * weight:5.1f}" if there else " " * 5 for weight, there in zip(row, seen, strict=True)
        )
        lines.append(f"{label:>{width}} {' '.join(cells)}".rstrip())
    return "\n".join(lines) + "\n"


def _listed(choice: HeadFilter) -> tuple[RankedHead, ...]:
    ranking = tuple(ranked for ranked in choice.ranking or () if choice.has(ranked))
    return ranking[: choice.top] if choice.top else ranking
