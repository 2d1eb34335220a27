"""All that is concluded of one model on real text, and the same as rows for files and screens.

In: entries. Out: `Verdicts`. In rows layers and heads count from 1, shares go from 0 to 1 with DIGITS digits, and a
verdict is its word; `unpacked` reads them back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mha_core.heads.verdict import Verdict, Word
from mha_core.heads.verdicts.entries import Entry, Rule, Substitute
from mha_core.heads.verdicts.halves import Gap
from mha_core.heads.verdicts.measured import CIRCLE, RELATED_BY, Question
from mha_core.wording import Head, counted, head_name

DIGITS = 6  # four would be rounded once more where tenths of a percent are written
Row = dict[str, Any]
LETTERS: dict[str, Word] = {"s": "specialist", "r": "rule", "u": "unsure", "n": "none"}


@dataclass(frozen=True)
class CorpusInfo:
    """A corpus: `digest` is the SHA-256 of the file that was read."""

    key: str
    title: str
    version: str
    file: str
    digest: str
    n_texts: int
    licence: str = ""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The answers to all questions, with the command that gives them. `seed` of the random weights, None for trained
    ones; `twin`: the same of the untrained model."""

    model: str
    digest: str
    trained: bool
    seed: int | None
    command: str
    date: str
    tried: int
    corpora: Mapping[str, CorpusInfo]
    entries: tuple[Entry, ...]
    twin: "Verdicts | None" = None

    def entry(self, key: str) -> Entry:
        """The answer to one question. Raises KeyError for a question that was not asked."""
        return self.by_key[key]

    @cached_property
    def by_key(self) -> dict[str, Entry]:
        """All answers by their question's key."""
        return {entry.key: entry for entry in self.entries}

    def by_head(self, head: Head) -> list[Entry]:
        """The questions that a head could be called by, those that it answers rightly in most cases first."""
        does = (entry for entry in self.entries if entry.does(head))
        return sorted(does, key=lambda entry: -entry.n * float(entry.heads[head]))


def packed(found: Verdicts) -> Row:
    """The verdicts as they are written."""
    return {
        "model": found.model,
        "digest": found.digest,
        "trained": found.trained,
        "seed": found.seed,
        "command": found.command,
        "date": found.date,
        "tried": found.tried,
        "corpora": {key: {**info.__dict__} for key, info in found.corpora.items()},
        "entries": [_row(entry) for entry in found.entries],
        "twin": None if found.twin is None else packed(found.twin),
    }


def _row(entry: Entry) -> Row:
    return {
        **entry.asked.__dict__,
        "name": entry.name,
        "n": entry.n,
        "clusters": entry.clusters,
        "head": head_name(entry.head),
        "score": _short(entry.score),
        "picked": [head_name(head) for head in entry.picked],
        "chosen": _short(entry.chosen),
        "held_out": _short(entry.held_out),
        "interval": [_short(end) for end in entry.interval],
        "baseline": _short(entry.baseline),
        "baseline_name": entry.baseline_name,
        "over_baseline": _gap(entry.over_baseline),
        "rules": [[rule.name, _short(rule.score), rule.by_place] for rule in entry.rules],
        "control": None if entry.control is None else _short(entry.control),
        "over_control": _gap(entry.over_control),
        "substitutes": [[one.name, _short(one.score), one.n, _gap(one.over)] for one in entry.substitutes],
        "tried": entry.tried,
        "verdict": entry.verdict.word,
        "because": entry.verdict.because,
        "equals": [head_name(head) for head in entry.equals],
        "heads": _square(entry.heads),
        "controls": None if entry.controls is None else _square(entry.controls),
        "mass": None if entry.mass is None else _square(entry.mass),
        "words": ["".join(word[0] for word in layer) for layer in entry.words.tolist()],
    }


def _short(number: float) -> float:
    return round(float(number), DIGITS)


def _gap(found: Gap | None) -> list[float] | None:
    return None if found is None else [_short(found.value), _short(found.low), _short(found.high)]


def _square(values: np.ndarray) -> list[list[float]]:
    rows: list[list[float]] = np.round(values.astype(np.float64), DIGITS).tolist()
    return rows


def unpacked(data: Row) -> Verdicts:
    """The verdicts as they were written."""
    return Verdicts(
        data["model"],
        data["digest"],
        data["trained"],
        data["seed"],
        data["command"],
        data["date"],
        data["tried"],
        {key: CorpusInfo(**info) for key, info in data["corpora"].items()},
        tuple(_entry(row) for row in data["entries"]),
        None if data["twin"] is None else unpacked(data["twin"]),
    )


def _entry(row: Row) -> Entry:
    asked = Question(**{name: row[name] for name in Question.__dataclass_fields__})
    return Entry(
        asked,
        row["name"],
        row["n"],
        row["clusters"],
        _head(row["head"]),
        row["score"],
        (_head(row["picked"][0]), _head(row["picked"][1])),
        row["chosen"],
        row["held_out"],
        (row["interval"][0], row["interval"][1]),
        tuple(Rule(*rule) for rule in row["rules"]),
        Gap(*row["over_baseline"]),
        row["control"],
        None if row["over_control"] is None else Gap(*row["over_control"]),
        tuple(
            Substitute(name, score, n, None if over is None else Gap(*over))
            for name, score, n, over in row["substitutes"]
        ),
        row["tried"],
        Verdict(row["verdict"], row["because"]),
        tuple(_head(name) for name in row["equals"]),
        np.array(row["heads"]),
        None if row["controls"] is None else np.array(row["controls"]),
        np.array([[LETTERS[letter] for letter in layer] for layer in row["words"]]),
        None if row["mass"] is None else np.array(row["mass"]),
    )


def _head(name: str) -> Head:
    layer, head = name.split("-")
    return int(layer) - 1, int(head) - 1


def text(found: Verdicts) -> Iterator[str]:
    """The same as lines for a terminal: one a question."""
    columns = [
        "question",
        "head",
        "held out",
        "95 %",
        "chosen",
        "strongest rule",
        "control",
        "over it",
        "n",
        "verdict",
    ]
    lines = [columns, *(_line(entry) for entry in found.entries)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    for info in found.corpora.values():
        yield f"{info.title}: {counted(info.n_texts, 'text')}, SHA-256 {info.digest[:12]}."
    if any(entry.kind == "semantic" for entry in found.entries):
        yield f"Related in meaning: {RELATED_BY}; {CIRCLE}."
    yield f"One correction for {found.tried:,} attempts: all heads, directions and questions."


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _line(entry: Entry) -> list[str]:
    over = (
        ""
        if entry.over_control is None
        else f"{_points(entry.over_control.low)} to {_points(entry.over_control.high)}"
    )
    return [
        entry.title,
        head_name(entry.head),
        _points(entry.held_out),
        f"{_points(entry.interval[0])} to {_points(entry.interval[1])}",
        _points(entry.chosen),
        f"{_points(entry.baseline)} {entry.baseline_name}",
        "" if entry.control is None else _points(entry.control),
        over,
        f"{entry.n:,}",
        f"{entry.verdict.word}: {entry.name if entry.verdict.word == 'rule' else entry.verdict.because}",
    ]
