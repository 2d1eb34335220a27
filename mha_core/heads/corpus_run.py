"""A corpus of the reader's own → items → sums → rows: the one way, for the page and for the command line.

In: the bytes or the path of a file, and a model. Out: a `CorpusResult`, whose rows are there at any time. What a file
is, is told by its ending; a broken line is refused or left out as its `Reading` says; a line without a token is left
out and counted whatever it says.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.copying import count_tokens
from mha_core.heads.corpora import Lines, Reading, read_conllu, read_gap, read_pairs, read_text
from mha_core.heads.corpus_sums import BY_KEY, Sums, shape_of
from mha_core.heads.items import choice_items, text_items, treebank_items
from mha_core.heads.positions import HasTokens
from mha_core.heads.rows import Row
from mha_core.heads.survey import Options, survey, was_cut
from mha_core.heads.words import IntArray
from mha_core.model import Model
from mha_core.tokens import Tokenizer
from mha_core.wording import counted

# Read so many, sort them by length, run so few at a time: little padding, and a page is never away for long.
WINDOW, CHUNK, CHUNK_PIECES = 256, 16, 1024
PAUSE = 0.2  # seconds of reading after which the page is asked again

Items = Callable[[Lines, Reading, Tokenizer], Iterator[HasTokens | None]]


def _each(
    read: Callable[[Lines, Reading], Iterator[Any]], items: Callable[..., Iterator[HasTokens]]
) -> Items:
    """What a file holds, with None for what is left out: thousands of those in a row must not hold up a page."""

    def found(lines: Lines, reading: Reading, tokenizer: Tokenizer) -> Iterator[HasTokens | None]:
        for one in read(lines, reading):
            yield next(items([one], tokenizer, reading), None)

    return found


@dataclass(frozen=True)
class CorpusKind:
    """One kind of file: its ending, its title, its reader, and the measures (by key) that it is made for."""

    ending: str
    title: str
    items: Items
    measures: tuple[str, ...]


KINDS = (
    CorpusKind(
        "conllu",
        "a treebank in CoNLL-U",
        _each(read_conllu, treebank_items),
        ("relations",),
    ),
    CorpusKind(
        "tsv",
        "GAP's table of pronouns",
        _each(read_gap, choice_items),
        ("coreference",),
    ),
    CorpusKind(
        "json",
        "pronouns with two candidates, in JSON",
        _each(read_pairs, choice_items),
        ("coreference",),
    ),
    CorpusKind(
        "txt",
        "plain text, one sentence a line",
        _each(read_text, text_items),
        ("positions", "copies"),
    ),
)
KIND_OF = {kind.ending: kind for kind in KINDS}


def kind_of(file_name: str | PurePath, endings: Iterable[str] = tuple(KIND_OF)) -> CorpusKind:
    """What a file is by its ending. Raises InputError for an ending that is none of these."""
    ending = PurePath(file_name).suffix.lower().removeprefix(".")
    if ending not in endings:
        known = ", ".join(f".{each}" for each in endings)
        raise InputError(f"The file ends in “.{ending[:12]}”; taken are {known}.")
    return KIND_OF[ending]


def items_of(lines: Lines, kind: CorpusKind, model: Model, reading: Reading) -> Iterator[HasTokens]:
    """What is in a file, one item at a time."""
    return (item for item in kind.items(lines, reading, model.tokenizer) if item is not None)


class CorpusResult:
    """The sums of one corpus so far: `rows()` is what there is to say. `is_part`: the file goes on after the last that
    was taken."""

    def __init__(self, kind: CorpusKind, model: Model, reading: Reading) -> None:
        self.kind, self.model, self.reading = kind, model, reading
        self.sums: dict[str, Sums] = {}
        self.n = 0
        self.n_cut = 0
        self.is_part = False

    def begin(self, counts: IntArray) -> None:
        """Empty sums; `counts` (vocabulary,) says how often each token occurs."""
        self.sums = {key: BY_KEY[key].start(shape_of(self.model), counts) for key in self.kind.measures}

    def add(self, items: list[HasTokens], options: Options | None = None) -> None:
        """Run these through the model and count them."""
        survey(items, self.model, [(sums, BY_KEY[key].takes) for key, sums in self.sums.items()], options)
        self.n += len(items)
        self.n_cut += sum(was_cut(item) for item in items)

    @property
    def n_later(self) -> int:
        """How many cases a decoder is not asked for, since what it should look at comes later."""
        return sum(getattr(sums, "n_later", 0) for sums in self.sums.values())

    @property
    def n_dependents_cut(self) -> int:
        """How many dependents of a treebank are beyond what the model reads of their sentence."""
        return sum(sum(getattr(sums, "cut", {}).values()) for sums in self.sums.values())

    def rows(self) -> list[Row]:
        """The best heads and what they are measured against."""
        if not self.n:
            return []
        return [row for key, sums in self.sums.items() for row in BY_KEY[key].rows(sums.result())]


def cut_note(n_texts: int, n_dependents: int, model: Model) -> str:
    """What is said of texts that were cut."""
    said = f"{counted(n_texts, 'text', ('is', 'are'))} longer than the {model.max_tokens} tokens that "
    said += f"{model.title} reads; what is beyond is not counted"
    return said + (f", {counted(n_dependents, 'dependent')} among it." if n_dependents else ".")


def later_note(n: int) -> str:
    """What is said of cases that a decoder is not asked for."""
    return f"Left out: {counted(n, 'case')} in which what should be looked at comes later, where a decoder cannot look."


@dataclass(frozen=True)
class Part:
    """How far a run is (0 to 1), and the result so far: no sentence while the tokens are being counted."""

    fraction: float
    result: CorpusResult


def run(
    source: bytes | Path, kind: CorpusKind, model: Model, limit: int, reading: Reading | None = None
) -> Iterator[Part]:
    """Measure a file a few sentences at a time; every part is some further, or has only read on for a while."""
    reading = reading or Reading(on_error="skip")
    result = CorpusResult(kind, model, reading)
    counts: IntArray = np.zeros(model.tokenizer.largest_id + 1, dtype=np.int64)
    if any(BY_KEY[key].needs_counts for key in kind.measures):
        again = kind.items(Lines(source), Reading(on_error="skip"), model.tokenizer)
        for window in _windows(again, limit):
            counts += count_tokens([item.tokens for item in window], len(counts))
            yield Part(0.0, result)
    result.begin(counts)
    lines, fraction = Lines(source), 0.0
    items = kind.items(lines, reading, model.tokenizer)
    for window in _windows(items, limit):
        before, read = result.n, max(lines.fraction, (result.n + len(window)) / limit)
        for chunk in _chunks(sorted(window, key=lambda item: -len(item.tokens))):
            result.add(chunk)
            fraction = read * result.n / (before + len(window))
            yield Part(fraction, result)
        if not window:
            yield Part(fraction, result)
    result.is_part = result.n == limit and any(item is not None for item in items)
    yield Part(1.0, result)


def _windows(items: Iterable[HasTokens | None], limit: int) -> Iterator[list[HasTokens]]:
    """The first items, as many together as are sorted by length; nothing after a PAUSE of reading without an end."""
    window, n, began = list[HasTokens](), 0, time.monotonic()
    for item in items:
        if item is not None:
            window.append(item)
            n += 1
        if len(window) == WINDOW or n == limit:
            yield window
            window = []
        elif time.monotonic() - began > PAUSE:
            yield []
        else:
            continue
        began = time.monotonic()
        if n == limit:
            return
    yield window


def _chunks(window: list[HasTokens]) -> Iterator[list[HasTokens]]:
    """What is run together: few texts, and of long ones fewer."""
    chunk, pieces = list[HasTokens](), 0
    for item in window:
        pieces += len(item.tokens)
        if chunk and (len(chunk) == CHUNK or pieces > CHUNK_PIECES):
            yield chunk
            chunk, pieces = [], len(item.tokens)
        chunk.append(item)
    if chunk:
        yield chunk
