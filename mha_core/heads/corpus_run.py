"""A corpus of the reader's own → items → sums → rows: the one way, for the page and for the command line.

In: the bytes or the path of a file, and a model. Out: a `CorpusResult`, whose rows are there at any time. What a file
is, is told by its ending; a broken line is refused or left out as its `Reading` says; a line without a token is left
out and counted whatever it says.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath

import numpy as np

from mha_core.corpus import Lines, Reading, read_conllu, read_gap, read_pairs, read_text
from mha_core.errors import InputError
from mha_core.heads.copying import count_tokens
from mha_core.heads.corpus_sums import BY_KEY, Sums, shape_of
from mha_core.heads.items import choice_items, text_items, treebank_items
from mha_core.heads.positions import HasTokens
from mha_core.heads.rows import Row
from mha_core.heads.survey import Options, survey
from mha_core.heads.words import IntArray
from mha_core.models import Model
from mha_core.tokens import Tokenizer

# Read so many, sort them by length, run so few at a time: little padding, and a page is never away for long.
WINDOW, CHUNK = 256, 16


@dataclass(frozen=True)
class CorpusKind:
    """One kind of file: its ending, its title, its reader, and the measures (by key) that it is made for."""

    ending: str
    title: str
    items: Callable[[Lines, Reading, Tokenizer], Iterator[HasTokens]]
    measures: tuple[str, ...]


KINDS = (
    CorpusKind(
        "conllu",
        "a treebank in CoNLL-U",
        lambda lines, reading, tokenizer: treebank_items(read_conllu(lines, reading), tokenizer, reading),
        ("relations",),
    ),
    CorpusKind(
        "tsv",
        "GAP's table of pronouns",
        lambda lines, reading, tokenizer: choice_items(read_gap(lines, reading), tokenizer, reading),
        ("coreference",),
    ),
    CorpusKind(
        "json",
        "pronouns with two candidates, in JSON",
        lambda lines, reading, tokenizer: choice_items(read_pairs(lines, reading), tokenizer, reading),
        ("coreference",),
    ),
    CorpusKind(
        "txt",
        "plain text, one sentence a line",
        lambda lines, reading, tokenizer: text_items(read_text(lines), tokenizer, reading),
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
    return kind.items(lines, reading, model.tokenizer)


class CorpusResult:
    """The sums of one corpus so far: `rows()` is what there is to say."""

    def __init__(self, kind: CorpusKind, model: Model, reading: Reading) -> None:
        self.kind, self.model, self.reading = kind, model, reading
        self.sums: dict[str, Sums] = {}
        self.n = 0
        self.n_cut = 0

    def begin(self, counts: IntArray) -> None:
        """Empty sums; `counts` (vocabulary,) says how often each token occurs."""
        self.sums = {key: BY_KEY[key].start(shape_of(self.model), counts) for key in self.kind.measures}

    def add(self, items: list[HasTokens], options: Options | None = None) -> None:
        """Run these through the model and count them."""
        survey(items, self.model, [(sums, BY_KEY[key].takes) for key, sums in self.sums.items()], options)
        self.n += len(items)
        self.n_cut += sum(bool(item.tokens.n_cut) for item in items)

    @property
    def n_later(self) -> int:
        """How many cases a decoder is not asked for, since what it should look at comes later."""
        return sum(getattr(sums, "n_later", 0) for sums in self.sums.values())

    def rows(self) -> list[Row]:
        """The best heads and what they are measured against."""
        if not self.n:
            return []
        return [row for key, sums in self.sums.items() for row in BY_KEY[key].rows(sums.result())]


@dataclass(frozen=True)
class Part:
    """How far a run is (0 to 1), and the result so far: no sentence while the tokens are being counted."""

    fraction: float
    result: CorpusResult


def run(
    source: bytes | Path, kind: CorpusKind, model: Model, limit: int, reading: Reading | None = None
) -> Iterator[Part]:
    """Measure a file a few sentences at a time; every part is some further."""
    reading = reading or Reading(on_error="skip")
    result = CorpusResult(kind, model, reading)
    counts: IntArray = np.zeros(model.tokenizer.vocab_size, dtype=np.int64)
    if any(BY_KEY[key].needs_counts for key in kind.measures):
        for some in _token_counts(source, kind, model, limit):
            counts += some
            yield Part(0.0, result)
    result.begin(counts)
    lines = Lines(source)
    items = islice(items_of(lines, kind, model, reading), limit)
    while window := sorted(islice(items, WINDOW), key=lambda item: -len(item.tokens)):
        before, read = result.n, max(lines.fraction, (result.n + len(window)) / limit)
        for first in range(0, len(window), CHUNK):
            result.add(window[first : first + CHUNK])
            yield Part(read * result.n / (before + len(window)), result)
    yield Part(1.0, result)


def _token_counts(source: bytes | Path, kind: CorpusKind, model: Model, limit: int) -> Iterator[IntArray]:
    """How often each token occurs, part by part: the measures of rare words need to know before they begin."""
    items = islice(items_of(Lines(source), kind, model, Reading(on_error="skip")), limit)
    while some := [item.tokens for item in islice(items, WINDOW)]:
        yield count_tokens(some, model.tokenizer.vocab_size)
