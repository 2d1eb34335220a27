"""A reader's own corpus, measured a few sentences at a time. No Streamlit here.

In: the bytes of a file, its kind, a model. Out: an iterator of `Step`s whose result is a `Tally`; what it holds so far
can be read at any time. Broken lines are left out and named; a file that is not text at all ends the work with a
sentence.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np

from mha_core import InputError, Model, Tokenizer
from mha_core.corpus import Lines, Reading, read_conllu, read_gap, read_pairs, read_text
from mha_core.heads.copying import CopySums
from mha_core.heads.coreference import DIRECTIONS, CoreferenceSums
from mha_core.heads.positions import MEASURES, HasTokens, PositionSums
from mha_core.heads.relations import RelationCounts
from mha_core.heads.report import LABELS
from mha_core.heads.roles import percent
from mha_core.heads.studies import choice_items, text_items, treebank_items
from mha_core.heads.survey import every_item, survey
from mha_core.heads.tables import relation_rows
from mha_core.output import safe_cell
from pages.parts.serve.jobs import Step

MAX_BYTES = 2 * 1024 * 1024
MAX_ITEMS = 5_000
# Read so many, sort them by length, run so few at a time: little padding, and the page is never away for long.
WINDOW, CHUNK = 256, 16
BEST = 5
KINDS = {
    "conllu": "a treebank in CoNLL-U",
    "tsv": "GAP's table of pronouns",
    "json": "pronouns with two candidates, in JSON",
    "txt": "plain text, one sentence a line",
}
Row = dict[str, Any]


def kind_of(file_name: str, data: bytes) -> str:
    """What the file is by its ending. Raises InputError for another ending, an empty file, or one that is too big."""
    ending = PurePath(file_name).suffix.lower().removeprefix(".")
    if ending not in KINDS:
        raise InputError(
            f"The file ends in “.{ending[:12]}”; taken are .conllu, .tsv (GAP), .json (pairs) and .txt."
        )
    if not data.strip():
        raise InputError("The file is empty.")
    if len(data) > MAX_BYTES:
        raise InputError(f"The file has {len(data):,} bytes; {MAX_BYTES:,} are taken at most.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4096]:
        raise InputError("The file is not UTF-8 text; save it as UTF-8 and bring it again.")
    return ending


class Tally:
    """The sums of one corpus. `rows()` is what there is to say so far."""

    def __init__(self, kind: str, model: Model) -> None:
        self.kind, self.model = kind, model
        self.reading = Reading(on_error="skip")
        shape = (model.n_layers, model.n_heads)
        self.relations = RelationCounts(*shape) if kind == "conllu" else None
        self.choices = CoreferenceSums(*shape) if kind in ("tsv", "json") else None
        self.positions = PositionSums(*shape) if kind == "txt" else None
        self.copies: CopySums | None = None
        self.n = 0
        self.n_cut = 0

    def add(self, items: list[HasTokens]) -> None:
        """Run these through the model and count them."""
        sums = [s for s in (self.relations, self.choices, self.positions, self.copies) if s is not None]
        survey(items, self.model, [(s, every_item) for s in sums])
        self.n += len(items)
        self.n_cut += sum(bool(item.tokens.n_cut) for item in items)

    def rows(self) -> list[Row]:
        """The best heads and what they are measured against; layers and heads from 1, shares from 0 to 1."""
        if not self.n:
            return []
        if self.relations is not None:
            return relation_rows(self.relations.result())
        if self.choices is not None:
            return _choice_rows(self.choices)
        return _text_rows(self.positions, self.copies)


def start(data: bytes, kind: str, model: Model) -> Iterator[Step[Tally]]:
    """Measure a file; every step is some sentences further."""
    tally = Tally(kind, model)
    if kind == "txt":
        yield from _count(data, tally)
    lines = Lines(data)
    items = islice(_items(lines, tally, model.tokenizer), MAX_ITEMS)
    while window := sorted(islice(items, WINDOW), key=lambda item: -len(item.tokens)):
        before, read = tally.n, max(lines.fraction, (tally.n + len(window)) / MAX_ITEMS)
        for start_at in range(0, len(window), CHUNK):
            tally.add(window[start_at : start_at + CHUNK])
            yield Step(read * tally.n / (before + len(window)), tally.n, tally)
    yield Step(1.0, tally.n, tally)


def _items(lines: Iterable[str], tally: Tally, tokenizer: Tokenizer) -> Iterator[HasTokens]:
    if tally.kind == "conllu":
        return treebank_items(read_conllu(lines, tally.reading), tokenizer)
    if tally.kind == "txt":
        return text_items(read_text(lines), tokenizer)
    read = read_gap if tally.kind == "tsv" else read_pairs
    return choice_items(read(lines, tally.reading), tokenizer, tally.reading)


def _count(data: bytes, tally: Tally) -> Iterator[Step[Tally]]:
    """How often each token occurs, which the measures of rare words need to know before they begin."""
    counts = np.zeros(tally.model.tokenizer.vocab_size, dtype=np.int64)
    texts = islice(text_items(read_text(Lines(data)), tally.model.tokenizer), MAX_ITEMS)
    for n, item in enumerate(texts):
        counts += np.bincount([p.id for p in item.tokens.pieces if not p.special], minlength=len(counts))
        if n % 256 == 255:
            yield Step(0.0, 0, tally)
    tally.copies = CopySums(tally.model.n_layers, tally.model.n_heads, counts)


def _choice_rows(sums: CoreferenceSums) -> list[Row]:
    table = sums.result()
    resolves = table.resolves()
    found = []
    for d, direction in enumerate(DIRECTIONS):
        for flat in table.accuracy[d].ravel().argsort(kind="stable")[::-1][:BEST]:
            place = (d, *divmod(int(flat), table.accuracy.shape[2]))
            row: Row = {"direction": direction, "layer": place[1] + 1, "head": place[2] + 1, "n": table.n}
            row |= {"accuracy": float(table.accuracy[place]), "ci_low": float(table.ci_low[place])}
            row |= {"ci_high": float(table.ci_high[place]), "control": float(table.control[place])}
            row |= {
                "baseline": table.baseline,
                "baseline_rule": max(table.baselines, key=table.baselines.__getitem__),
            }
            row |= {"resolves": bool(resolves[place])}
            if table.n_pairs:
                row |= {
                    "pairs": table.n_pairs,
                    "flip": float(table.flip[place]),
                    "both": float(table.both[place]),
                }
            found.append(row)
    return found


def _text_rows(positions: PositionSums | None, copies: CopySums | None) -> list[Row]:
    found: list[Row] = []
    if positions is not None:
        table = positions.result()
        for measure in MEASURES:
            base = {"entropy": table.uniform_entropy, "period": None, "comma": None}.get(
                measure, table.uniform_share
            )
            found.append(_best(measure, table[measure], table.n_texts, base))
    if copies is not None:
        shares = copies.result()
        found.append(_best("rare", shares.rare, shares.n_rare, shares.rare_baseline))
        found.append(_best("copy", shares.copy, shares.n_copies, shares.copy_baseline))
    return [row for row in found if row["n"] and row["value"] == row["value"]]


def _best(key: str, values: np.ndarray, n: int, baseline: float | None) -> Row:
    layer, head = divmod(int(np.nan_to_num(values, nan=-1.0).argmax()), values.shape[1])
    return {
        "measure": LABELS[key],
        "layer": layer + 1,
        "head": head + 1,
        "n": n,
        "value": float(values[layer, head]),
        "baseline": baseline,
        "unit": "nats" if key == "entropy" else "share",
    }


def verdict(row: Row) -> str:
    """What a row of the result allows one to say, in a few words."""
    if row["n"] < 30:
        return f"thin evidence: {row['n']} cases"
    if "relation" in row:
        return "beats its offset" if row["beats_offset"] else "no better than its offset"
    if "direction" in row:
        if row["resolves"]:
            return "above every simple rule"
        return (
            "no better than a simple rule"
            if row["ci_low"] <= row["baseline"]
            else "could be luck, or a favourite"
        )
    base = row["baseline"]
    return "" if base is None or row["value"] > base else "no more than by looking everywhere"


def shown(row: Row) -> dict[str, str]:
    """One row as a person reads it."""
    head = f"{row['layer']}-{row['head']}"
    if "relation" in row:
        return {
            "Relation": str(row["relation"]),
            "Direction": row["direction"].replace("->", " → "),
            "Best head": head,
            "Right": percent(row["accuracy"]),
            "95 % interval": f"{percent(row['ci_low'])} to {percent(row['ci_high'])}",
            "n": f"{row['n']:,}",
            "Best fixed offset": f"{percent(row['offset_accuracy'])} ({row['offset']:+d})",
            "Held out": percent(row["held_out"]),
            "As good": ", ".join(row["equals"][1:4]) + (" …" if len(row["equals"]) > 4 else ""),
            "": verdict(row),
        }
    if "direction" in row:
        return {
            "Direction": row["direction"].replace("->", " → "),
            "Head": head,
            "Right": percent(row["accuracy"]),
            "95 % interval": f"{percent(row['ci_low'])} to {percent(row['ci_high'])}",
            "n": f"{row['n']:,}",
            "Baseline": f"{percent(row['baseline'])} ({row['baseline_rule']})",
            "From other words' rows": percent(row["control"]),
            **({"Flips": percent(row["flip"]), "Pairs": f"{row['pairs']:,}"} if "flip" in row else {}),
            "": verdict(row),
        }
    number = (lambda v: f"{v:.2f}") if row["unit"] == "nats" else percent
    return {
        "Measure": row["measure"],
        "Highest in": head,
        "Value": number(row["value"]),
        "If it looked everywhere": "" if row["baseline"] is None else number(row["baseline"]),
        "n": f"{row['n']:,}",
        "": verdict(row),
    }


def as_csv(rows: list[Row]) -> str:
    """The rows as CSV; a name from the file that a spreadsheet would run as a formula is made inert."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    for row in rows:
        writer.writerow({k: safe_cell(v) if isinstance(v, str) else v for k, v in row.items()})
    return out.getvalue()


def as_json(tally: Tally, rows: list[Row], finished: bool) -> str:
    """The rows with what they were measured on."""
    model = tally.model.info
    content = {
        "model": {"name": model.name, "title": model.title, "trained": model.trained, "digest": model.digest},
        "kind": tally.kind,
        "n": tally.n,
        "finished": finished,
        "left_out": tally.reading.n_skipped,
        "rows": rows,
    }
    return json.dumps(content, ensure_ascii=False) + "\n"
