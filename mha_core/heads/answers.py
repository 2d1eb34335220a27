"""Answers of `heads ...` as they leave the program: JSON of everything, rows for JSON lines and CSV, text for people.

In: what was found. Out: an `Answer`. Layers and heads count from 1 in rows.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from mha_core.command_io import HELP, PIPED, add_format, form_of, put, written
from mha_core.export import csv_of, json_of
from mha_core.heads.rows import Row
from mha_core.heads.verdicts.table import Verdicts
from mha_core.wording import head_name


@dataclass(frozen=True)
class Answer:
    """`data` for JSON, `rows` for JSON lines, and for CSV too unless it has `cells` of its own; `text` for a person."""

    data: Row
    rows: Sequence[Row]
    text: Callable[[], str]
    cells: Sequence[Row] | None = None

    def as_form(self, form: str) -> str:
        """One of FORMATS."""
        if form == "json":
            return json_of(self.data, indent=1)
        if form == "csv" and self.cells is not None:
            return csv_of(self.cells)
        return written(form, self.rows, None, self.data, self.text)


def add_answer(parser: argparse.ArgumentParser, piped: bool = False) -> None:
    """`--format` and `--out`; `piped`: without either JSON goes into a pipe."""
    add_format(parser, PIPED if piped else HELP)


def give(args: argparse.Namespace, answer: Answer, default: str = "table") -> None:
    """Write the answer where it was asked for."""
    put(answer.as_form(form_of(args, default)), args.out)


def rows_of_similarity(data: Row) -> list[Row]:
    """A row a head: its cluster, its place on the map, and its distance in nats from every head."""
    return [
        {
            "head": name,
            "cluster": data["cluster"][i],
            "x": data["map"][i][0],
            "y": data["map"][i][1],
            "distance": dict(zip(data["heads"], data["distance"][i], strict=True)),
        }
        for i, name in enumerate(data["heads"])
    ]


def cells_of_atlas(data: Row) -> list[Row]:
    """A row a finding; a head without one has a row with no feature. Then its measures."""
    empty = dict.fromkeys(("feature", "share", "lift", "n"))
    return [
        {"layer": head["layer"], "head": head["head"], **finding, **head["measures"]}
        for head in data["heads"]
        for finding in head["description"] or [empty]
    ]


def cells_of_verdicts(found: Verdicts) -> list[Row]:
    """A row a question, with numbers that fit a cell."""
    return list(chain.from_iterable(_cells(one) for one in (found, found.twin) if one is not None))


def _cells(found: Verdicts) -> Iterator[Row]:
    for entry in found.entries:
        yield {
            "trained": found.trained,
            "question": entry.key,
            "title": entry.title,
            "n": entry.n,
            "head": head_name(entry.head),
            "held_out": entry.held_out,
            "ci_low": entry.interval[0],
            "ci_high": entry.interval[1],
            "chosen": entry.chosen,
            "baseline": entry.baseline,
            "baseline_rule": entry.baseline_name,
            "control": entry.control,
            "over_control_low": None if entry.over_control is None else entry.over_control.low,
            "over_control_high": None if entry.over_control is None else entry.over_control.high,
            "verdict": entry.verdict.word,
            "because": entry.verdict.because,
        }
