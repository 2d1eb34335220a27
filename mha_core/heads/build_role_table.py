"""Build a table of roles: every question asked of every head of a model, on files or on the built-in sentences.

In: a model and files. Out: a `RoleTable`. One correction holds for all heads, questions and corpora together. Files of
one kind are one corpus. The built-in sentences are asked what no file can answer.
"""

import datetime
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from mha_core.display_names import count_noun
from mha_core.errors import InputError
from mha_core.heads.builtin import builtin_path, choices_of, read_builtin, tree_of
from mha_core.heads.cases import Frame, ScoredCases
from mha_core.heads.conclude import score_question
from mha_core.heads.corpora import Lines, Reading, name_of
from mha_core.heads.corpus_counts import (
    BlockKey,
    CorpusCollectors,
    CorpusCounts,
    ShardCollector,
    question_sets,
)
from mha_core.heads.corpus_formats import empty_files, format_of
from mha_core.heads.part_files import CASES, RULES, PartFile, ShardStatistics, read_file, visibility_of
from mha_core.heads.question_counts import (
    Bucket,
    Key,
    QuestionCounts,
    SpooledCounts,
    added_up,
    count_cases,
    in_buckets,
)
from mha_core.heads.questions.agreement import agreement_cases
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.choices import choice_of
from mha_core.heads.questions.copying import copying_cases
from mha_core.heads.questions.dormant import dormant_cases
from mha_core.heads.questions.question_set import DrawnCases, FittedBaselines
from mha_core.heads.questions.repeated import (
    AFTER,
    RareCollector,
    RareWord,
    RepeatedCollector,
    repeated_texts,
)
from mha_core.heads.questions.retrieval import retrieval_cases
from mha_core.heads.questions.successor import successor_cases
from mha_core.heads.survey import Collector, HasTokens, Options, stream_corpus
from mha_core.heads.table import Corpus, RoleTable, Row
from mha_core.models.hf import TransformersModel
from mha_core.models.model import Model
from mha_core.resources import asset

COMMAND = "headscope roles --model {model}{weights}{corpora}"
BUILT_IN, NAMES, NEEDLES, SERIES = "builtin", "names", "needles", "series"
COUNTED, BLOCK, ORDER = "counted", "block", "order"  # members of a part file
# Texts of the project's own for one kind of question: title and file.
PROMPTS = {
    NAMES: ("the built-in names", "experiments.json"),
    NEEDLES: ("two needles among filler", "experiments.json"),
    SERIES: ("days, months, numbers and letters", ""),
}
# Decoders alone are asked these; of each what is looked for.
OF_DECODERS = (
    (copying_cases, NAMES, "name copiers"),
    (retrieval_cases, NEEDLES, "retrieval heads"),
    (successor_cases, SERIES, "successor heads"),
)
OF_TREES = {"previous", "self", "syntactic", "semantic", "duplicate", "sink", "diffuse"}  # kinds they answer
MAX_NAMED = 6  # files by name in a title
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


class RoleStatistics(ShardStatistics):
    """Counts of shards to ask every question of every head of a model.

    Shards are treebanks (.conllu), pronouns (.tsv as GAP's, .json pairs), texts (.txt a text a line, .jsonl an object
    with "text" a line), or links of the user's own (.jsonl with "links"), each as it is or as .gz. Raises InputError
    for an ending that is none of these.
    """

    command, has_rules = "roles", True
    empty_files = staticmethod(empty_files)

    def __init__(self, about: Row) -> None:
        super().__init__(about)
        self.counts = CorpusCounts(visibility_of(about))
        self.started = time.monotonic()

    @staticmethod
    def more_about(shards: Sequence[str | Path], files: Sequence[str | Path]) -> Row:
        """Return the shards as they were given, and the kind of each."""
        kinds = [format_of(Lines(file)).key for file in files]
        return {"limit": None, "given": [name_of(shard) for shard in shards], "kinds": kinds}

    def add(self, number: int, options: Options | None = None, reading: Reading | None = None) -> None:
        """Take in a shard by its number, from 0. Raises InputError for a file that cannot be used."""
        options, reading = options or Options(), reading or Reading(self.about["on_error"])
        lines, reading.file = self.lines[number], self.about["shards"][number]
        corpus = format_of(lines)
        left_out, unused, multiword = reading.n_skipped, reading.n_unused, reading.n_multiword
        collector = ShardCollector(self.counts, corpus.key, number)
        so_far = sum(shard["n_texts"] for shard in self.read.values())
        options = replace(options, fraction=self._fraction, before=so_far, started=self.started)
        summary = stream_corpus(corpus.read(lines, reading, self.model), self.model, [collector], options)
        collector.flush()
        self.read[number] = {
            "digest": lines.digest(),
            "n_texts": summary.n_texts,
            "n_cut": summary.n_cut,
            "left_out": reading.n_skipped - left_out,
            "unused": reading.n_unused - unused,
            "multiword": reading.n_multiword - multiword,
        }

    def finish(self, options: Options | None = None, known: Iterable[str] = (), say: Say = _quiet) -> None:
        """Take in the built-in sentences, of kinds that are not `known`, and the project's own prompts."""
        options = options or Options()
        cases = [*_of_builtin(self.model, set(known), options), *_of_model(self.model, options, say)]
        self.counts.builtin = tuple(map(count_cases, cases))

    def _fraction(self) -> float:
        """The share of the shards' bytes that has been read."""
        size = sum(lines.size for lines in self.lines.values())
        return min(sum(lines.read for lines in self.lines.values()) / max(size, 1), 1.0)

    def merge(self, other: "RoleStatistics") -> None:
        """Add those of other shards."""
        super().merge(other)
        self.counts.merge(other.counts)

    @property
    def reading(self) -> Reading:
        """Counts of what was left out of all shards."""
        names = ("left_out", "unused", "multiword")
        left_out, unused, multiword = (sum(shard[name] for shard in self.read.values()) for name in names)
        return Reading(self.about["on_error"], left_out, unused, multiword)

    def notes(self) -> Iterator[str]:
        """Yield what was left out of the shards, or is read otherwise than it stands there, a sentence each."""
        yield from self.reading.said()

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield what a part file holds, by name."""
        counts = self.counts
        for number, several in in_buckets(counts.counted.values()).items():
            yield f"{COUNTED}-{number:02}", several
        yield BUILT_IN, Bucket(counts.builtin)
        yield from ((_name(ORDER, *key), Order(order)) for key, order in counts.orders.items())
        yield from ((_name(BLOCK, *key), read()) for key, read in sorted(counts.blocks.items()))

    def cases(self) -> Iterator[tuple[str, Any]]:
        """Yield the cases that baselines are fitted on."""
        yield from ((_name(CASES, *key), drawn) for key, drawn in self.counts.draw())

    def fit(self, files: Sequence[PartFile]) -> Iterator[tuple[str, Any]]:
        """Yield the baselines that are fitted on the cases of all parts."""
        for key, questions in self.counts.fitted_sets().items():
            name = _name(CASES, *key)
            every = (file.member(name, DrawnCases) for file in files if name in file.names)
            if drawn := questions.draw_all(every):
                yield _name(RULES, *key), questions.fit(drawn)

    def score(self, rules: PartFile) -> None:
        """Count all blocks by baselines that are fitted on all parts."""
        self.counts.score(_baselines(rules.path, rules.digest))

    def load(self, part: PartFile) -> None:
        """Add those of a part file, whose blocks stay there until they are read."""
        super().load(part)
        counts = self.counts
        for name in part.names:
            kind, *key = name.split("-")
            if kind == COUNTED:
                counts.counted = added_up(counts.counted, part.member(name, Bucket).counts)
            elif kind == BLOCK:
                corpus, questions, shard, number = key
                counts.blocks[BlockKey(corpus, questions, int(shard), int(number))] = partial(
                    part.member, name, Frame
                )
        self._load_rest(part)

    def load_all(self, parts: Sequence[PartFile]) -> None:
        """Add those of part files without blocks, a bucket of questions at a time."""
        for part in parts:
            super().load(part)
            self._load_rest(part)
        self.counts.counted = SpooledCounts([part.path for part in parts], COUNTED)

    def _load_rest(self, part: PartFile) -> None:
        """Take what is no sum from a part file: the built-in sentences, and the orders of questions."""
        counts = self.counts
        counts.builtin = counts.builtin or part.member(BUILT_IN, Bucket).counts
        for name in part.names:
            if name.startswith(f"{ORDER}-"):
                _, corpus, questions = name.split("-")
                if (corpus, questions) not in counts.orders:
                    counts.orders[corpus, questions] = part.member(name, Order).keys

    def result(
        self, options: Options | None = None, say: Say = _quiet, only_decidable: bool = False
    ) -> RoleTable:
        """Return the answers. What the shards do not answer the built-in sentences do.

        `only_decidable`: leave out questions of which a baseline gets so much right that no head could be told from it.
        """
        about, shape = self.about, (int(self.about["shape"][0]), int(self.about["shape"][1]))
        kinds, n_heads = dict.fromkeys(about["kinds"]), shape[0] * shape[1]
        if self.counts.blocks:
            self.counts.score(self.counts.fit())
        builtin = dict[Key, QuestionCounts]()

        def counts_of(key: Key) -> QuestionCounts:
            return builtin[key] if key in builtin else self.counts.counted[key]

        def askable(keys: Iterable[Key], n_comparisons: int) -> dict[Key, Question]:
            """Return the questions that can be asked; their counts, large in number, are read one at a time."""
            return {
                key: counts.question
                for key, counts in ((key, counts_of(key)) for key in keys)
                if counts.is_answerable and (counts.is_decidable(n_comparisons) or not only_decidable)
            }

        answerable = askable(self.counts.keys(kinds), n_heads)
        known = {question.kind for question in answerable.values()}
        if not self.counts.builtin:
            self.finish(options, known, say)
        builtin |= {each.key: each for each in self.counts.builtin}
        more = [
            each for each in self.counts.builtin if each.question.kind not in known or each.key[1] in AFTER
        ]
        keys = [*answerable, *(each.key for each in more)]
        answerable = askable(keys, n_heads * len(keys))
        n_comparisons = n_heads * max(len(answerable), 1)
        n_cases = {
            corpus: round(float(counts_of((corpus, key)).documents["n"].sum())) for corpus, key in answerable
        }
        results = [score_question(counts_of(key), shape, n_comparisons) for key in answerable]
        return RoleTable(
            **{name: about[name] for name in ("model", "digest", "trained", "seed")},
            command=_command(about),
            date=_today(),
            shape=shape,
            n_comparisons=n_comparisons,
            corpora={kind: self._corpus(kind) for kind in kinds} | _builtin_corpora(n_cases),
            answers=tuple(result for result in results if result is not None),
        )

    def _corpus(self, kind: str) -> Corpus:
        numbers = [number for number, each in enumerate(self.about["kinds"]) if each == kind]
        names = [self.about["shards"][number] for number in numbers]
        read = [self.read[number] for number in numbers]
        digests = [shard["digest"] for shard in read]
        known = [KNOWN.get(digest, (name, "")) for digest, name in zip(digests, names, strict=True)]
        titles = list(dict.fromkeys(title for title, _ in known))
        if len(titles) > MAX_NAMED:
            titles = [f"{len(titles)} files, {titles[0]} to {titles[-1]}"]
        licences = ", ".join(dict.fromkeys(licence for _, licence in known if licence))
        n_texts, left_out = (sum(shard[name] for shard in read) for name in ("n_texts", "left_out"))
        return Corpus(kind, " and ".join(titles), names, digests, n_texts, licences, left_out)


def _name(kind: str, *key: object) -> str:
    """Return the name of a member of a part file."""
    return "-".join(map(str, (kind, *key)))


@lru_cache(1)
def _baselines(path: Path, digest: str) -> dict[Key, FittedBaselines]:
    """Return the baselines in a file of rules with this digest, by corpus and set."""
    rules = read_file(path)
    if rules.digest != digest:
        raise InputError(f"{path} has changed; run the command again.")
    keys = {name: name.split("-") for name in rules.names if name.startswith(f"{RULES}-")}
    return {(key[1], key[2]): rules.member(name, FittedBaselines) for name, key in keys.items()}


@dataclass(frozen=True)
class Order:
    """Keys of questions in the order of the table."""

    keys: tuple[str, ...]


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
    statistics = RoleStatistics.start(model, files, seed=seed, on_error=reading.on_error)
    statistics.about["limit"] = options.limit
    for kind in dict.fromkeys(statistics.about["kinds"]):
        numbers = [number for number, each in enumerate(statistics.about["kinds"]) if each == kind]
        n_texts = n_cut = 0
        for number in numbers:
            left = None if options.limit is None else options.limit - n_texts
            statistics.add(number, replace(options, limit=left), reading)
            shard = statistics.read[number]
            n_texts, n_cut = n_texts + shard["n_texts"], n_cut + shard["n_cut"]
        names = ", ".join(statistics.about["shards"][number] for number in numbers)
        cut = f", {n_cut:,} cut at {model.max_tokens} tokens." if n_cut else "."
        say(f"{names}: {count_noun(n_texts, 'text')} read{cut}")
    return statistics.result(options, say)


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _of_model(model: Model, options: Options, say: Say) -> list[ScoredCases]:
    """Return the answers that need a model's inside, on texts of the project's own; of an encoder one."""
    cases = list[ScoredCases]()
    if not isinstance(model, TransformersModel):
        cases += dormant_cases(model, BUILT_IN, options)
    for ask, corpus, heads in OF_DECODERS if model.info.is_causal else ():
        try:
            cases += ask(model, corpus, options)
        except InputError as flaw:
            say(f"No {heads} are looked for. {flaw}")
    return cases


def _of_builtin(model: Model, known: set[str], options: Options) -> Iterator[ScoredCases]:
    """Yield what the built-in sentences answer of kinds that are not `known`."""
    sentences, visibility = read_builtin()[: options.limit], model.info.visibility
    sets, tokenizer = question_sets(visibility), model.tokenizer

    def run(items: Iterable[HasTokens], collector: Collector) -> None:
        stream_corpus(items, model, [collector], Options(stop=options.stop, progress=options.progress))

    if not known >= OF_TREES:
        trees = CorpusCollectors(sets["treebank"])
        run((tree_of(sentence, tokenizer) for sentence in sentences), trees)
        yield from trees.scored(BUILT_IN)
    if "coreference" not in known:
        choices = CorpusCollectors(sets["pronouns"])
        run((choice_of(choice, tokenizer) for choice in choices_of(sentences, visibility.is_causal)), choices)
        yield from choices.scored(BUILT_IN)
    yield from agreement_cases(model, BUILT_IN, options)
    rare, repeated = RareCollector(visibility), RepeatedCollector(visibility)
    run((RareWord(each, tree_of(each, tokenizer)) for each in sentences if each.role == "rare"), rare)
    yield from rare.scored(BUILT_IN)
    run(repeated_texts(model), repeated)
    yield from repeated.scored(BUILT_IN)


def _builtin_corpora(n_cases: Mapping[str, int]) -> dict[str, Corpus]:
    """Return what comes with the program: its sentences, and the prompts that were asked, with so many cases."""
    read = [(BUILT_IN, "the built-in sentences", [builtin_path()], len(read_builtin()))]
    read += [
        (key, title, [asset(file)] if file else [], n_cases[key])
        for key, (title, file) in PROMPTS.items()
        if key in n_cases
    ]
    return {
        key: Corpus(
            key,
            title,
            [file.name for file in files],
            [hashlib.sha256(file.read_bytes()).hexdigest() for file in files],
            n,
        )
        for key, title, files, n in read
    }


def _command(about: Row) -> str:
    weights = "" if about["trained"] else f" --untrained --seed {about['seed']}"
    corpora = f" --corpus {' '.join(about['given'])}" if about["given"] else ""
    limit = f" --limit {about['limit']}" if about["limit"] else ""
    command = COMMAND.format(model=about["model"], weights=weights, corpora=corpora) + limit
    return command + (" --on-error skip" if about["on_error"] == "skip" else "")
