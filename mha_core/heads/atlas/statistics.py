"""What is kept of shards of text for an atlas; parts of it add up to the very same atlas."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.atlas.collect import Collection, Example
from mha_core.heads.atlas.passages import LEAST_TOKENS, read_passages
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.heads.corpora import Lines, Reading, read_json_lines
from mha_core.heads.corpora.reading import OnError
from mha_core.heads.survey import Options, Progress
from mha_core.model import Model
from mha_core.parts import Part, about_run, pack, unpack, visibility_of, write_part
from mha_core.tokens import Piece, Tokens, Word

SHARD = 1 << 32  # passages are numbered within their shard until all are known


class AtlasStatistics:
    """What is kept of shards of text for every head of a model; `about` and `read` as of a part file."""

    model: Model  # of those that were started here

    def __init__(self, about: dict[str, Any]) -> None:
        self.about, self.read = about, dict[int, dict[str, Any]]()
        self.kept = self._nothing()
        self.lines: dict[int, Lines] = {}

    @classmethod
    def start(
        cls,
        model: Model,
        shards: Sequence[str | Path],
        *,
        seed: int = 0,
        on_error: OnError = "refuse",
        numbers: Iterable[int] | None = None,
    ) -> "AtlasStatistics":
        """Return the statistics of no text yet. `shards`: texts, a passage a line, or .jsonl, an object with "text" a
        line; otherwise as RoleStatistics.start."""
        about, files = about_run("atlas", model, shards, seed, on_error)
        found = cls(about)
        found.model = model
        ours = range(len(files)) if numbers is None else numbers
        found.lines = {number: Lines(files[number]) for number in ours}
        return found

    def add(self, number: int, options: Options | None = None) -> None:
        """Take in a shard by its number, from 0, or what is read of it until `options.stop` says so."""
        options, reading, started = options or Options(), Reading(self.about["on_error"]), time.monotonic()
        lines, before, n_lines = self.lines[number], self.kept.n_passages, 0

        def texts() -> Iterator[str]:
            nonlocal n_lines
            packed = self.about["shards"][number].removesuffix(".gz").endswith(".jsonl")
            for text in (text for _, text in read_json_lines(lines, reading)) if packed else lines:
                n_lines += bool(text.strip())
                yield text

        for batch in read_passages(texts(), self.model):
            for place, tokens, weights, norms in batch:
                self.kept.add(number * SHARD + place, tokens, weights, norms)
            if options.progress:
                seconds = time.monotonic() - started
                options.progress(Progress(self.kept.n_passages, seconds, None, None))
            if options.stop and options.stop():
                break
        n_texts = self.kept.n_passages - before
        self.read[number] = {
            "digest": lines.digest(),
            "n_texts": n_texts,
            "left_out": reading.n_skipped + n_lines - n_texts,
        }

    def _nothing(self) -> Collection:
        layers, heads = self.about["shape"]
        return Collection(layers, heads, visibility_of(self.about))

    def finish(self, *, options: Options | None = None) -> None:
        """An atlas is of the shards alone."""

    def merge(self, other: "AtlasStatistics") -> None:
        """Add those of other shards."""
        self.kept.merge(other.kept)
        self.read |= other.read

    def result(self) -> Atlas:
        """Return the atlas. Raises InputError where no passage was long enough."""
        if not self.kept.n_passages:
            named = ", ".join(self.about["shards"])
            raise InputError(f"{named} has no line of {LEAST_TOKENS} tokens or more.")
        starts, n = dict[int, int](), 0
        for number in sorted(self.read):
            starts[number], n = n, n + self.read[number]["n_texts"]
        return atlas(self.kept.renumbered(lambda passage: starts[passage // SHARD] + passage % SHARD))

    def save(self, path: str | Path, part: int = 1, parts: int = 1) -> None:
        """Write what is kept, as one of the parts."""
        write_part(self, part, parts, Path(path))

    def members(self) -> Iterator[tuple[str, bytes]]:
        """Yield what a part file holds, by name."""
        kept = self.kept
        kept.prune()
        tops = [
            (which, head, *pair, *one)
            for which, top in enumerate((kept.top, *kept.halves))
            for head, examples in enumerate(top.of)
            for pair, one in examples.items()
        ]
        arrays = {
            "tops": np.array(tops, dtype=np.float64).reshape(len(tops), 4 + len(Example._fields)),
            "sample": kept.sample.rows,
            "at_sink": kept.at_sink,
        }
        about = {
            "counts": [kept.n_passages, kept.n_tokens, kept.n_rows],
            "passages": {str(number): asdict(tokens) for number, tokens in kept.passages.items()},
        }
        yield "kept", pack(about, arrays)

    def load(self, part: Part) -> None:
        """Add those of a part file."""
        about, arrays = unpack(part.member("kept"))
        kept = self._nothing()
        tops = (kept.top, *kept.halves)
        for which, head, *pair, passage, query, key, weight, norm in arrays["tops"].tolist():
            one = Example(int(passage), int(query), int(key), weight, norm)
            tops[int(which)].of[int(head)][int(pair[0]), int(pair[1])] = one
        kept.sample.rows, kept.at_sink = arrays["sample"], arrays["at_sink"]
        kept.n_passages, kept.n_tokens, kept.n_rows = about["counts"]
        kept.passages = {int(number): _tokens(one) for number, one in about["passages"].items()}
        self.kept.merge(kept)
        self.read |= part.read


def _tokens(row: dict[str, Any]) -> Tokens:
    pieces = tuple(Piece(**one) for one in row["pieces"])
    return Tokens(row["text"], row["pair"], pieces, tuple(Word(**one) for one in row["words"]), row["n_cut"])
