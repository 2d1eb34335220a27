"""Ask every question of every head: files, or the built-in sentences, through a model, to one table of roles.

In: a model and files. Out: a `RoleTable`. One correction holds for all heads, questions and corpora together. Files of
one kind are one corpus. The built-in sentences are asked what no file can answer.
"""

import datetime
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePath

from mha_core.errors import InputError
from mha_core.heads.builtin import builtin_path, choices_of, read_builtin, tree_of
from mha_core.heads.conclude import conclude, judged
from mha_core.heads.corpora import (
    Lines,
    PronounCase,
    Reading,
    read_conllu,
    read_gap,
    read_pairs,
    read_text,
)
from mha_core.heads.questions.agreement import measure_agreement
from mha_core.heads.questions.base import Measured
from mha_core.heads.questions.copying import measure_copying
from mha_core.heads.questions.meaning import RelatedLog, meanings, related_measured
from mha_core.heads.questions.places import PlaceLog
from mha_core.heads.questions.pronouns import ChoiceLog, choice_case
from mha_core.heads.questions.repeated import AFTER, RareLog, RareWord, RepeatedLog, repeated_texts
from mha_core.heads.questions.syntax import LooksLog, Tree, measure, questions
from mha_core.heads.survey import Done, HasTokens, Log, Options, TextItem, survey
from mha_core.heads.table import Corpus, RoleTable
from mha_core.model import Model
from mha_core.resources import asset
from mha_core.wording import counted

COMMAND = "headscope roles --model {model}{weights}{corpora}"
BUILT_IN, NAMES = "builtin", "names"
OURS = {BUILT_IN: "the built-in sentences", NAMES: "the built-in names"}
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
# What is done about a text before its tokens: None where it is left out.
Items = Callable[[Lines, Reading, Model], Iterator[HasTokens]]


@dataclass(frozen=True)
class Kind:
    """One kind of file: its key as a corpus, and how it is read."""

    key: str
    read: Items


def _trees(lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
    for sentence in read_conllu(lines, reading):
        try:
            yield Tree(sentence, model.tokenizer.encode_words(sentence.words))
        except InputError as flaw:
            reading.left_out(sentence.line, str(flaw))


def _choices(read: Callable[..., Iterable[PronounCase]]) -> Items:
    def items(lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
        for choice in read(lines, reading):
            try:
                yield choice_case(choice, model.tokenizer)
            except InputError as flaw:
                reading.broken(choice.line, str(flaw))

    return items


def _texts(lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
    for line, text in read_text(lines, reading):
        try:
            yield TextItem(model.tokenizer.encode(text))
        except InputError as flaw:
            reading.left_out(line, str(flaw))


KINDS = {
    ".conllu": Kind("treebank", _trees),
    ".tsv": Kind("pronouns", _choices(read_gap)),
    ".json": Kind("pronouns", _choices(read_pairs)),
    ".txt": Kind("texts", _texts),
}


def kind_of(file: str | PurePath) -> Kind:
    """Return what a file is by its ending. Raises InputError for an ending that is none of KINDS."""
    ending = PurePath(file).suffix.lower()
    if ending not in KINDS:
        raise InputError(f"{PurePath(file).name} must end in one of {', '.join(KINDS)}.")
    return KINDS[ending]


def _quiet(line: str) -> None:
    del line


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

    `files`: treebanks (.conllu), pronouns (.tsv as GAP's, .json pairs), plain text (.txt, a text a line). `seed` is
    said of random weights. Stops early, with what there is, where `options.stop` says so.
    Raises InputError for files that cannot be used.
    """
    options, reading = options or Options(), reading or Reading()
    paths = [Path(file) for file in files]
    asked, corpora = list[Measured](), dict[str, Corpus]()
    for key in dict.fromkeys(kind_of(file).key for file in paths):
        ours = [file for file in paths if kind_of(file).key == key]
        lines = [Lines(file) for file in ours]
        read = replace(options, fraction=partial(_fraction, lines))
        measured, done = _of_files(model, key, zip(ours, lines, strict=True), read, reading)
        said = f"{', '.join(file.name for file in ours)}: {counted(done.n_texts, 'text')} read"
        say(said + (f", {done.n_cut:,} cut at {model.max_tokens} tokens." if done.n_cut else "."))
        asked += measured
        corpora[key] = _corpus(key, ours, done.n_texts)
    known = {one.question.kind for one in asked}
    sentences = read_builtin()
    asked += [
        one
        for one in _of_builtin(model, known, options)
        if one.question.kind not in known or one.question.key in AFTER
    ]
    corpora[BUILT_IN] = _corpus(BUILT_IN, [builtin_path()], len(sentences))
    named, corpus = _of_names(model, options, say)
    asked, corpora = asked + named, corpora | corpus
    shape = (model.n_layers, model.n_heads)
    tried = shape[0] * shape[1] * max(len(asked), 1)
    answers = (conclude(one, shape, tried) for one in asked)
    return RoleTable(
        model.name,
        model.digest,
        bool(model.info.trained),
        None if model.info.trained else seed,
        _command(model, paths, seed, options, reading),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        shape,
        tried,
        corpora,
        tuple(answer for answer in answers if answer is not None),
    )


def with_names(table: RoleTable, model: Model, say: Say = _quiet) -> RoleTable:
    """Return the model's table with its questions about names asked again, or for the first time.

    All answers are judged anew, as of so many attempts. What an answer has from its cases (`over_control`, `reach`,
    `follows`) stays corrected for as many as there were.
    """
    named, corpus = _of_names(model, Options(), say)
    others = [answer for answer in table.answers if answer.question.corpus != NAMES]
    more = len(named) - (len(table.answers) - len(others))
    tried = table.tried + more * len(table.heads)
    answers = [judged(replace(answer, tried=tried)) for answer in others]
    answers += [answer for one in named if (answer := conclude(one, table.shape, tried)) is not None]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    corpora = {**table.corpora, **corpus}
    return replace(table, tried=tried, date=today, corpora=corpora, answers=tuple(answers))


def _of_names(model: Model, options: Options, say: Say) -> tuple[list[Measured], dict[str, Corpus]]:
    """What a decoder's heads do with names, and what was read for that; nothing of an encoder."""
    if not model.info.is_causal:
        return [], {}
    try:
        found = list(measure_copying(model, NAMES, options))
    except InputError as flaw:
        say(f"No name movers are looked for. {flaw}")
        return [], {}
    if not found:
        return [], {}
    return found, {NAMES: _corpus(NAMES, [asset("experiments.json")], found[0].n)}


def _fraction(lines: Sequence[Lines]) -> float:
    """The share of some files' bytes that has been read."""
    return sum(one.read for one in lines) / max(sum(one.size for one in lines), 1)


def _of_files(
    model: Model, key: str, files: Iterable[tuple[Path, Lines]], options: Options, reading: Reading
) -> tuple[list[Measured], Done]:
    items = chain.from_iterable(kind_of(file).read(lines, reading, model) for file, lines in files)
    is_causal = model.info.is_causal
    if key == "pronouns":
        log = ChoiceLog(is_causal)
        done = survey(items, model, [log], options)
        return list(log.measured(key)), done
    places = PlaceLog(is_causal)
    if key == "texts":
        done = survey(items, model, [places], options)
        return list(places.measured(key)), done
    looks, related = LooksLog(is_causal), RelatedLog(meanings(), is_causal)
    done = survey(items, model, [looks, places, related], options)
    return _of_trees(looks, places, related, key, is_causal), done


def _of_trees(
    looks: LooksLog, places: PlaceLog, related: RelatedLog, corpus: str, is_causal: bool
) -> list[Measured]:
    syntax = [measure(one, looks.found) for one in questions(looks.found, corpus, is_causal)]
    return [*syntax, *related_measured(related.found, corpus), *places.measured(corpus)]


def _of_builtin(model: Model, known: set[str], options: Options) -> Iterator[Measured]:
    """What the built-in sentences answer of kinds that are not `known`."""
    sentences, causal = read_builtin()[: options.limit], model.info.is_causal

    def run(items: Iterable[HasTokens], *logs: Log) -> None:
        survey(items, model, logs, Options(stop=options.stop, progress=options.progress))

    if not {"previous", "syntactic"} <= known:
        trees = [tree_of(one, model.tokenizer) for one in sentences]
        looks, places, related = LooksLog(causal), PlaceLog(causal), RelatedLog(meanings(), causal)
        run(trees, looks, places, related)
        yield from _of_trees(looks, places, related, BUILT_IN, causal)
    if "coreference" not in known:
        choices = ChoiceLog(causal)
        run((choice_case(one, model.tokenizer) for one in choices_of(sentences, causal)), choices)
        yield from choices.measured(BUILT_IN)
    yield from measure_agreement(model, BUILT_IN, options)
    rare, repeated = RareLog(causal), RepeatedLog(causal)
    run((RareWord(one, model.tokenizer.encode(one.text)) for one in sentences if one.role == "rare"), rare)
    yield from rare.measured(BUILT_IN)
    run(repeated_texts(model), repeated)
    yield from repeated.measured(BUILT_IN)


def _corpus(key: str, files: Sequence[Path], n_texts: int) -> Corpus:
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    if key in OURS:
        return Corpus(key, OURS[key], [file.name for file in files], digests, n_texts, "")
    known = [KNOWN.get(digest, (file.name, "")) for digest, file in zip(digests, files, strict=True)]
    titles = " and ".join(dict.fromkeys(title for title, _ in known))
    licences = ", ".join(dict.fromkeys(licence for _, licence in known if licence))
    return Corpus(key, titles, [file.name for file in files], digests, n_texts, licences)


def _command(model: Model, files: Sequence[Path], seed: int, options: Options, reading: Reading) -> str:
    weights = "" if model.info.trained else f" --untrained --seed {seed}"
    corpora = f" --corpus {' '.join(file.name for file in files)}" if files else ""
    said = COMMAND.format(model=model.name, weights=weights, corpora=corpora)
    said += f" --limit {options.limit}" if options.limit else ""
    return said + (" --on-error skip" if reading.on_error == "skip" else "")
