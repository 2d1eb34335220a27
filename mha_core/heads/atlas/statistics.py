"""What is kept of shards of text for an atlas; parts of it add up to the very same atlas."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.errors import InputError
from mha_core.heads.atlas.collect import Collection, Example
from mha_core.heads.atlas.passages import LEAST_TOKENS, read_passages
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.heads.corpora import Lines, Reading, addresses, name_of, read_json_lines, refuse_table
from mha_core.heads.corpora.reading import OnError
from mha_core.heads.part_files import PartFile, ShardStatistics, visibility_of
from mha_core.heads.survey import Options, Progress
from mha_core.text.tokens import Tokens

SHARD = 1 << 32  # passages are numbered within their shard until all are known


class AtlasStatistics(ShardStatistics):
    """What is collected of shards of text for every head: texts, a passage a line, or .jsonl, an object with "text" a
    line. An atlas is of the shards alone."""

    command = "atlas"

    def __init__(self, about: dict[str, Any]) -> None:
        super().__init__(about)
        self.collection = self._nothing()

    @staticmethod
    def empty_files(files: Sequence[str | Path], on_error: OnError = "refuse") -> list[str]:
        """Return the names of files without a text, before any model is loaded. Raises InputError as `add`."""
        every = {name_of(file): _texts(Lines(file), Reading(on_error)) for file in addresses(files)}
        return [name for name, texts in every.items() if not any(text.strip() for text in texts)]

    def add(self, number: int, options: Options | None = None) -> None:
        """Take in a shard by its number, from 0, or what is read of it until `options.stop` says so."""
        options, reading, started = options or Options(), Reading(self.about["on_error"]), time.monotonic()
        lines, before, n_lines = self.lines[number], self.collection.n_passages, 0

        def texts() -> Iterator[str]:
            nonlocal n_lines
            for text in _texts(lines, reading):
                n_lines += bool(text.strip())
                yield text

        for batch in read_passages(texts(), self.model):
            for place, tokens, weights, norms in batch:
                self.collection.add(number * SHARD + place, tokens, weights, norms)
            if options.progress:
                seconds = time.monotonic() - started
                options.progress(Progress(self.collection.n_passages, seconds, None, None))
            if options.stop and options.stop():
                break
        n_texts = self.collection.n_passages - before
        self.read[number] = {
            "digest": lines.digest(),
            "n_texts": n_texts,
            "left_out": reading.n_skipped + n_lines - n_texts,
        }

    def _nothing(self) -> Collection:
        layers, heads = self.about["shape"]
        return Collection(layers, heads, visibility_of(self.about))

    def merge(self, other: "AtlasStatistics") -> None:
        """Add those of other shards."""
        super().merge(other)
        self.collection.merge(other.collection)

    def result(self) -> Atlas:
        """Return the atlas. Raises InputError where no passage was long enough."""
        if not self.collection.n_passages:
            names = ", ".join(self.about["shards"])
            raise InputError(f"{names} has no line of {LEAST_TOKENS} tokens or more.")
        starts, n = dict[int, int](), 0
        for number in sorted(self.read):
            starts[number], n = n, n + self.read[number]["n_texts"]
        return atlas(self.collection.renumbered(lambda passage: starts[passage // SHARD] + passage % SHARD))

    def members(self) -> Iterator[tuple[str, "CollectionArrays"]]:
        """Yield what a part file holds, by name."""
        collection = self.collection
        collection.prune()
        tops = [
            (which, head, *pair, *example)
            for which, top in enumerate((collection.top, *collection.halves))
            for head, examples in enumerate(top.of)
            for pair, example in examples.items()
        ]
        yield (
            "collection",
            CollectionArrays(
                np.array(tops, dtype=np.float64).reshape(len(tops), 4 + len(Example._fields)),
                collection.sample.rows,
                collection.at_sink,
                (collection.n_passages, collection.n_tokens, collection.n_rows),
                {str(number): tokens for number, tokens in collection.passages.items()},
            ),
        )

    def load(self, part: PartFile) -> None:
        """Add those of a part file."""
        super().load(part)
        arrays, loaded = part.member("collection", CollectionArrays), self._nothing()
        tops = (loaded.top, *loaded.halves)
        for which, head, *pair, passage, query, key, weight, norm in arrays.tops.tolist():
            example = Example(int(passage), int(query), int(key), weight, norm)
            tops[int(which)].of[int(head)][int(pair[0]), int(pair[1])] = example
        loaded.sample.rows, loaded.at_sink = arrays.sample, arrays.at_sink
        loaded.n_passages, loaded.n_tokens, loaded.n_rows = arrays.counts
        loaded.passages = {int(number): tokens for number, tokens in arrays.passages.items()}
        self.collection.merge(loaded)


def _texts(lines: Lines, reading: Reading) -> Iterator[str]:
    """Yield the texts of a shard. Raises InputError for a table or a treebank."""
    name = name_of(lines.source).removesuffix(".gz")
    refuse_table(f"'{name}'", PurePath(name).suffix)
    yield from (text for _, text in read_json_lines(lines, reading)) if name.endswith(".jsonl") else lines


@dataclass(frozen=True, eq=False)
class CollectionArrays:
    """A collection in arrays. `tops` (example, column): the list, head, both tokens' ids, and an Example; `sample` and
    `at_sink` as of a Collection; `counts`: passages, tokens and rows; `passages` by their number."""

    tops: FloatArray
    sample: FloatArray
    at_sink: FloatArray
    counts: tuple[int, int, int]
    passages: Mapping[str, Tokens]
