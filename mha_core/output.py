"""A record as text or bytes: a table to read, JSON, CSV or NPZ to compute with."""

import csv
import io
import json
import re

import numpy as np

from mha_core.listing import Choice, RankedHead
from mha_core.record import Array, Grid, Record

FORMATS = ("table", "json", "csv", "npz")
FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r]")


def render(record: Record, grid: Grid, choice: Choice, form: str) -> str | bytes:
    """The record in one of FORMATS. Text, but for npz."""
    layers = slice(None) if choice.layer is None else slice(choice.layer - 1, choice.layer)
    heads = slice(None) if choice.head is None else slice(choice.head - 1, choice.head)
    weights = grid.weights[layers, heads]
    if form == "json":
        return _json(record, grid, weights, choice)
    if form == "csv":
        return _ranking_csv(grid, choice) if choice.ranking else _csv(grid, weights, choice)
    if form == "npz":
        return _npz(record, grid, weights)
    return _ranking_table(grid, choice) if choice.ranking else _table(record, grid, weights, choice)


def safe_cell(text: str) -> str:
    """A spreadsheet cell that is read as text: one that would start a formula gets an apostrophe before it."""
    return "'" + text if FORMULA.match(text) else text


def _json(record: Record, grid: Grid, weights: Array, choice: Choice) -> str:
    first_layer, first_head = (choice.layer or 1), (choice.head or 1)
    content = {
        "model": record.model.name,
        "trained": record.model.trained,
        "text": record.tokens.text,
        "pair": record.tokens.pair,
        "tokens": [piece.text for piece in record.tokens.pieces],
        "words": [word.text for word in record.tokens.words],
        "word_of_token": [piece.word for piece in record.tokens.pieces],
        "segments": list(record.tokens.segments),
        "n_cut": record.tokens.n_cut,
        "units": list(grid.labels),
        "n_layers": record.n_layers,
        "n_heads": record.n_heads,
        "layers": list(range(first_layer, first_layer + weights.shape[0])),
        "heads": list(range(first_head, first_head + weights.shape[1])),
        "versions": dict(record.versions),
        "weights": weights.tolist(),
    }
    if choice.ranking:
        content["ranking"] = [
            {
                "layer": r.layer + 1,
                "head": r.head + 1,
                "weight": r.weight,
                "to": grid.labels[r.target],
                "position": r.target,
            }
            for r in _listed(choice)
        ]
    return json.dumps(content, ensure_ascii=False) + "\n"


def _npz(record: Record, grid: Grid, weights: Array) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        weights=weights,
        units=np.array(grid.labels),
        tokens=np.array([piece.text for piece in record.tokens.pieces]),
        words=np.array([word.text for word in record.tokens.words]),
        model=np.array(record.model.name),
    )
    return buffer.getvalue()


def _csv(grid: Grid, weights: Array, choice: Choice) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["layer", "head", "query", "key", "query_text", "key_text", "weight"])
    labels = [safe_cell(label) for label in grid.labels]
    first_layer, first_head = (choice.layer or 1), (choice.head or 1)
    for (layer, head, i, j), weight in np.ndenumerate(weights):
        writer.writerow([layer + first_layer, head + first_head, i, j, labels[i], labels[j], f"{weight:.6g}"])
    return buffer.getvalue()


def _ranking_csv(grid: Grid, choice: Choice) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["layer", "head", "key", "key_text", "weight"])
    for r in _listed(choice):
        writer.writerow(
            [r.layer + 1, r.head + 1, r.target, safe_cell(grid.labels[r.target]), f"{r.weight:.6g}"]
        )
    return buffer.getvalue()


def _ranking_table(grid: Grid, choice: Choice) -> str:
    lines = [f"{'head':>6}  {'weight':>7}  looks at"]
    for r in _listed(choice):
        bar = "█" * round(30 * r.weight)
        lines.append(f"{r.name:>6}  {100 * r.weight:5.1f} %  {grid.labels[r.target]}  {bar}".rstrip())
    return "\n".join(lines) + "\n"


def _table(record: Record, grid: Grid, weights: Array, choice: Choice) -> str:
    """One head: its matrix in percent. Several: where each head's rows look most, on average."""
    model = record.model
    head_line = (
        f"{model.title}: {model.n_layers} layers x {model.n_heads} heads, {len(record.tokens)} tokens, "
        f"{len(record.tokens.words)} words"
    )
    if choice.layer is not None and choice.head is not None:
        return head_line + "\n" + _matrix(grid, weights[0, 0], f"{choice.layer}-{choice.head}")
    lines = [head_line, "The strongest link of every head (row looks at column):"]
    first_layer = choice.layer or 1
    for layer, head in np.ndindex(*weights.shape[:2]):
        matrix = weights[layer, head]
        i, j = np.unravel_index(int(matrix.argmax()), matrix.shape)
        name = f"{layer + first_layer}-{head + 1}"
        lines.append(f"{name:>6}  {100 * matrix[i, j]:5.1f} %  {grid.labels[i]} → {grid.labels[j]}")
    return "\n".join(lines) + "\n"


def _matrix(grid: Grid, matrix: Array, name: str) -> str:
    width = max(5, *(len(label) for label in grid.labels))
    lines = [f"Head {name}, percent; row looks at column."]
    lines.append(" " * (width + 1) + " ".join(f"{label:>5.5}" for label in grid.labels))
    for label, row in zip(grid.labels, matrix, strict=True):
        lines.append(f"{label:>{width}} " + " ".join(f"{100 * weight:5.1f}" for weight in row))
    return "\n".join(lines) + "\n"


def _listed(choice: Choice) -> tuple[RankedHead, ...]:
    ranking = tuple(ranked for ranked in choice.ranking or () if choice.has(ranked))
    return ranking[: choice.top] if choice.top else ranking
