"""Ask every question of every head: files, or the built-in sentences, through a model, to one table of roles.

In: a model and files. Out: a `RoleTable`. One correction holds for all heads, questions and corpora together. Files of
one kind are one corpus. The built-in sentences are asked what no file can answer.
"""

import datetime
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from mha_core.errors import InputError
from mha_core.heads.builtin import builtin_path, choices_of, read_builtin, tree_of
from mha_core.heads.conclude import conclude, judged
from mha_core.heads.corpora import Lines, Reading, name_of
from mha_core.heads.corpora.reading import OnError
from mha_core.heads.kinds import kind_of
from mha_core.heads.questions.agreement import measure_agreement
from mha_core.heads.questions.base import Measured
from mha_core.heads.questions.copying import measure_copying
from mha_core.heads.questions.pronouns import choice_case
from mha_core.heads.questions.repeated import AFTER, RareLog, RareWord, RepeatedLog, repeated_texts
from mha_core.heads.saved import pack_block, pack_tally, unpack_block, unpack_tally
from mha_core.heads.statistics import Block, Logs, ShardLog, Statistics, add_up
from mha_core.heads.survey import HasTokens, Log, Options, survey
from mha_core.heads.table import Corpus, RoleTable, Row
from mha_core.heads.tally import Tally, tally
from mha_core.model import Model
from mha_core.parts import Part, about_run, visibility_of, write_part
from mha_core.resources import asset
from mha_core.wording import counted

COMMAND = "headscope roles --model {model}{weights}{corpora}"
BUILT_IN, NAMES = "builtin", "names"
OF_TREES = {
    "previous",
    "self",
    "syntactic",
    "semantic",
    "duplicate",
    "sink",
    "diffuse",
}  # kinds that they answer
MOST_NAMED = 6  # files by name in a title
# What is known of a corpus by the digest of its file; of another file nothing is said.
KNOWN = {
    "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6": (
        "UD English EWT, dev",
        "CC BY-SA 4.0",
    ),
    "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd": (
        "UD English EWT, test",
        "CC BY-SA 4.0",
    ),
    "b9a01434fcf58d8c2f9bc762480c27e58ce466cf1ffe8b09cfecbc7a20d2d634": ("GAP, development", "Apache 2.0"),
    "1c35e36d5b14f6313ec3f6cd67b275de282595dd59e59390e00cfff9897a6819": ("GAP, test", "Apache 2.0"),
    "2d784f66b390404f554704b9aef6dcde8845e79dda9886b8391cf7e9a24fdb98": ("GAP, validation", "Apache 2.0"),
}
Say = Callable[[str], None]


def _quiet(line: str) -> None:
    del line


class RoleStatistics(Statistics):
    """What is kept of shards to ask every question of every head of a model.

    `about` says what was run, the same for all parts of it; `read` what came of every shard that was read, by its
    number.
    """

    model: Model  # of those that were started here

    def __init__(self, about: Row) -> None:
        super().__init__(visibility_of(about))
        self.about, self.read = about, dict[int, Row]()
        self.lines: dict[int, Lines] = {}
        self.started = time.monotonic()

    @classmethod
    def start(
        cls,
        model: Model,
        shards: Sequence[str | Path] = (),
        *,
        seed: int = 0,
        on_error: OnError = "refuse",
        numbers: Iterable[int] | None = None,
    ) -> "RoleStatistics":
        """Return the statistics of no text yet.

        `shards`: treebanks (.conllu), pronouns (.tsv as GAP's, .json pairs), texts (.txt a text a line, .jsonl an
        object with "text" a line), each as it is or as .gz: paths, patterns, or addresses of fsspec. `numbers`: those
        that will be added, from 0; all without. `seed` is said of random weights.
        Raises InputError for an ending that is none of these, and for files that are not there.
        """
        about, files = about_run("roles", model, shards, seed, on_error)
        about |= {"limit": None, "given": [name_of(one) for one in shards]}
        about["kinds"] = [kind_of(one).key for one in files]
        found = cls(about)
        found.model = model
        ours = range(len(files)) if numbers is None else numbers
        found.lines = {number: Lines(files[number]) for number in ours}
        return found

    def add(self, number: int, options: Options | None = None, reading: Reading | None = None) -> None:
        """Take in a shard by its number, from 0. Raises InputError for a file that cannot be used."""
        options, reading = options or Options(), reading or Reading(self.about["on_error"])
        lines, kind = self.lines[number], kind_of(self.about["shards"][number])
        left_out, unused = reading.n_skipped, reading.n_unused
        log = ShardLog(self, kind.key, number)
        so_far = sum(one["n_texts"] for one in self.read.values())
        options = replace(options, fraction=self._fraction, before=so_far, started=self.started)
        done = survey(kind.read(lines, reading, self.model), self.model, [log], options)
        log.fold()
        self.read[number] = {
            "digest": lines.digest(),
            "n_texts": done.n_texts,
            "n_cut": done.n_cut,
            "left_out": reading.n_skipped - left_out,
            "unused": reading.n_unused - unused,
        }

    def finish(self, known: Iterable[str] = (), options: Options | None = None, say: Say = _quiet) -> None:
        """Take in the built-in sentences, where they answer kinds of questions that are not `known`, and names."""
        options = options or Options()
        found = [*_of_builtin(self.model, set(known), options), *_of_names(self.model, options, say)]
        self.builtin = tuple(map(tally, found))

    def _fraction(self) -> float:
        """The share of the shards' bytes that has been read."""
        size = sum(one.size for one in self.lines.values())
        return min(sum(one.read for one in self.lines.values()) / max(size, 1), 1.0)

    def merge(self, other: Statistics) -> None:
        """Add those of other shards."""
        super().merge(other)
        if isinstance(other, RoleStatistics):
            self.read |= other.read

    def save(self, path: str | Path, part: int = 1, parts: int = 1) -> None:
        """Write what is kept, as one of the parts."""
        write_part(self, part, parts, Path(path))

    def members(self) -> Iterator[tuple[str, bytes]]:
        """Yield what a part file holds, by name."""
        for name, tallies in (("places", self.places.values()), ("builtin", self.builtin)):
            yield from ((f"{name}-{i:04}", pack_tally(one)) for i, one in enumerate(tallies))
        for (shard, number), read in sorted(self.blocks.items()):
            yield f"block-{shard:06}-{number:06}", pack_block(read())

    def load(self, part: Part) -> None:
        """Add those of a part file, whose blocks stay there until they are read."""
        found = Statistics(self.visibility)
        add_up(found.places, (unpack_tally(part.member(name)) for name in part.names if name[:6] == "places"))
        found.builtin = tuple(unpack_tally(part.member(name)) for name in part.names if name[:7] == "builtin")
        for name in part.names:
            if name[:5] == "block":
                _, shard, number = name.split("-")
                found.blocks[int(shard), int(number)] = partial(_block, part, name)
        super().merge(found)
        self.read |= part.read

    def result(self, options: Options | None = None, say: Say = _quiet) -> RoleTable:
        """Return the answers. What the shards do not answer the built-in sentences do."""
        about, shape = self.about, (int(self.about["shape"][0]), int(self.about["shape"][1]))
        kinds = dict.fromkeys(about["kinds"])
        asked = [one for one in self.tallies(kinds) if one.in_halves]
        known = {one.question.kind for one in asked}
        if not self.builtin:
            self.finish(known, options, say)
        asked += [
            one
            for one in self.builtin
            if one.in_halves and (one.question.kind not in known or one.question.key in AFTER)
        ]
        corpora = {kind: self._corpus(kind) for kind in kinds}
        corpora |= _builtin_corpora(asked)
        tried = shape[0] * shape[1] * max(len(asked), 1)
        answers = (conclude(one, shape, tried) for one in asked)
        return RoleTable(
            about["model"],
            about["digest"],
            about["trained"],
            about["seed"],
            _command(about),
            datetime.datetime.now(datetime.UTC).date().isoformat(),
            shape,
            tried,
            corpora,
            tuple(answer for answer in answers if answer is not None),
        )

    def _corpus(self, kind: str) -> Corpus:
        ours = [number for number, one in enumerate(self.about["kinds"]) if one == kind]
        names = [self.about["shards"][number] for number in ours]
        read = [self.read[number] for number in ours]
        digests = [one["digest"] for one in read]
        known = [KNOWN.get(digest, (name, "")) for digest, name in zip(digests, names, strict=True)]
        titles = list(dict.fromkeys(title for title, _ in known))
        titles = (
            titles if len(titles) <= MOST_NAMED else [f"{len(titles)} files, {titles[0]} to {titles[-1]}"]
        )
        licences = ", ".join(dict.fromkeys(licence for _, licence in known if licence))
        n_texts, left_out = (sum(one[name] for one in read) for name in ("n_texts", "left_out"))
        return Corpus(kind, " and ".join(titles), names, digests, n_texts, licences, left_out)


def _block(part: Part, name: str) -> Block:
    return unpack_block(part.member(name))


def find_roles(
    model: Model,
    files: Sequence[str | Path] = (),
    *,
    options: Options | None = None,
    reading: Reading | None = None,
    say: Say = _quiet,
    seed: int = 0,
) -> RoleTable:
    """Ask every question of every head of a model, on files or on the built-in sentences alone.

    `files`, `seed`: as of RoleStatistics.start. Stops early, with what there is, where `options.stop` says so.
    Raises InputError for files that cannot be used.
    """
    options, reading = options or Options(), reading or Reading()
    found = RoleStatistics.start(model, files, seed=seed, on_error=reading.on_error)
    found.about["limit"] = options.limit
    for kind in dict.fromkeys(found.about["kinds"]):
        ours = [number for number, one in enumerate(found.about["kinds"]) if one == kind]
        n_texts = n_cut = 0
        for number in ours:
            left = None if options.limit is None else options.limit - n_texts
            found.add(number, replace(options, limit=left), reading)
            n_texts, n_cut = n_texts + found.read[number]["n_texts"], n_cut + found.read[number]["n_cut"]
        names = ", ".join(found.about["shards"][number] for number in ours)
        said = f"{names}: {counted(n_texts, 'text')} read"
        say(said + (f", {n_cut:,} cut at {model.max_tokens} tokens." if n_cut else "."))
    return found.result(options, say)


def with_names(table: RoleTable, model: Model, say: Say = _quiet) -> RoleTable:
    """Return the model's table with its questions about names asked again, or for the first time.

    All answers are judged anew, as of so many attempts. What an answer has from its cases (`over_control`, `reach`,
    `follows`) stays corrected for as many as there were.
    """
    named = list(map(tally, _of_names(model, Options(), say)))
    others = [answer for answer in table.answers if answer.question.corpus != NAMES]
    more = len(named) - (len(table.answers) - len(others))
    tried = table.tried + more * len(table.heads)
    answers = [judged(replace(answer, tried=tried)) for answer in others]
    answers += [answer for one in named if (answer := conclude(one, table.shape, tried)) is not None]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    corpora = {**table.corpora, **_builtin_corpora(named)}
    return replace(table, tried=tried, date=today, corpora=corpora, answers=tuple(answers))


def _of_names(model: Model, options: Options, say: Say) -> list[Measured]:
    """What a decoder's heads do with names; nothing of an encoder."""
    if not model.info.is_causal:
        return []
    try:
        return list(measure_copying(model, NAMES, options))
    except InputError as flaw:
        say(f"No name movers are looked for. {flaw}")
        return []


def _of_builtin(model: Model, known: set[str], options: Options) -> Iterator[Measured]:
    """What the built-in sentences answer of kinds that are not `known`."""
    sentences, visibility = read_builtin()[: options.limit], model.info.visibility

    def run(items: Iterable[HasTokens], *logs: Log) -> None:
        survey(items, model, logs, Options(stop=options.stop, progress=options.progress))

    if not known >= OF_TREES:
        logs = Logs("treebank", visibility)
        run((tree_of(one, model.tokenizer) for one in sentences), logs)
        yield from logs.measured(BUILT_IN)
    if "coreference" not in known:
        logs = Logs("pronouns", visibility)
        run((choice_case(one, model.tokenizer) for one in choices_of(sentences, visibility.is_causal)), logs)
        yield from logs.measured(BUILT_IN)
    yield from measure_agreement(model, BUILT_IN, options)
    rare, repeated = RareLog(visibility), RepeatedLog(visibility)
    run((RareWord(one, model.tokenizer.encode(one.text)) for one in sentences if one.role == "rare"), rare)
    yield from rare.measured(BUILT_IN)
    run(repeated_texts(model), repeated)
    yield from repeated.measured(BUILT_IN)


def _builtin_corpora(asked: Sequence[Tally]) -> dict[str, Corpus]:
    """What the program itself brings: its sentences, and names where they were asked about."""
    named = [round(float(one.documents["n"].sum())) for one in asked if one.question.corpus == NAMES]
    read = [(BUILT_IN, "the built-in sentences", builtin_path(), len(read_builtin()))]
    read += [(NAMES, "the built-in names", asset("experiments.json"), n) for n in named[:1]]
    return {
        key: Corpus(key, title, [file.name], [hashlib.sha256(file.read_bytes()).hexdigest()], n)
        for key, title, file, n in read
    }


def _command(about: Row) -> str:
    weights = "" if about["trained"] else f" --untrained --seed {about['seed']}"
    corpora = f" --corpus {' '.join(about['given'])}" if about["given"] else ""
    said = COMMAND.format(model=about["model"], weights=weights, corpora=corpora)
    said += f" --limit {about['limit']}" if about["limit"] else ""
    return said + (" --on-error skip" if about["on_error"] == "skip" else "")
