"""How the numbers are made: a treebank and a table of pronouns through a model, and everything concluded at once.

In: a model and files. Out: `Verdicts`. One correction holds for all heads, directions, questions and corpora together.
"""

import datetime
import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mha_core.errors import InputError
from mha_core.heads.builtin import builtin_path, read_builtin
from mha_core.heads.coreference import choice_case
from mha_core.heads.corpora import Lines, PronounCase, Reading, read_conllu, read_gap, read_pairs
from mha_core.heads.survey import Options, every_item, survey
from mha_core.heads.verdict import tries
from mha_core.heads.verdicts.agreement import measure_agreement
from mha_core.heads.verdicts.choices import Choice, ChoiceLog, measure_choices
from mha_core.heads.verdicts.entries import conclude
from mha_core.heads.verdicts.habits import HabitLog
from mha_core.heads.verdicts.looks import LooksLog, trees
from mha_core.heads.verdicts.meaning import RelatedLog, meanings
from mha_core.heads.verdicts.measured import Measured
from mha_core.heads.verdicts.related import related_measured
from mha_core.heads.verdicts.table import CorpusInfo, Verdicts
from mha_core.heads.verdicts.treebank import measure, questions
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.wording import counted

COMMAND = "python -m mha_core heads verdicts --model {model}{twin} --corpus {files}"
# What is known of a corpus by the digest of its file; of another file nothing is said.
KNOWN = {
    "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6": (
        "Universal Dependencies, English EWT, development",
        "the release that has this SHA-256; the file itself names none",
        "CC BY-SA 4.0",
    ),
    "2d784f66b390404f554704b9aef6dcde8845e79dda9886b8391cf7e9a24fdb98": (
        "GAP, validation",
        "as published in 2018",
        "Apache 2.0",
    ),
}
BUILT_IN = "builtin"
Say = Callable[[str], None]


def make(
    model: Model,
    files: Sequence[Path],
    say: Say,
    *,
    options: Options | None = None,
    reading: Reading | None = None,
    twin: bool = False,
    seed: int = 0,
) -> Verdicts:
    """Everything that the files tell of the model's heads; with `twin`, of its untrained twin too."""
    questions, corpora = measured(model, files, say, options, reading)
    tried = tries(model.n_layers * model.n_heads, len(questions))
    entries = [conclude(one, (model.n_layers, model.n_heads), tried) for one in questions]
    answered = tuple(entry for entry in entries if entry is not None)
    say(f"{model.title}: {counted(len(answered), 'question')} answered")
    other = None
    if twin:
        untrained = load_model(model.name, trained=False, seed=seed, device=str(model.device))
        again = None if reading is None else Reading(reading.on_error)  # what is left out is counted once
        other = make(untrained, files, say, options=options, reading=again)
    command = COMMAND.format(
        model=model.name,
        twin="" if model.info.trained else f" --untrained --seed {seed}",
        files=" ".join(info.file for info in corpora if info.key != BUILT_IN),
    )
    command += f" --limit {options.limit}" if options and options.limit else ""
    command += " --on-error skip" if reading and reading.on_error == "skip" else ""
    return Verdicts(
        model.name,
        model.digest,
        bool(model.info.trained),
        None if model.info.trained else seed,
        command,
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        tried,
        {info.key: info for info in corpora},
        answered,
        other,
    )


def measured(
    model: Model,
    files: Sequence[Path],
    say: Say,
    options: Options | None = None,
    reading: Reading | None = None,
) -> tuple[list[Measured], list[CorpusInfo]]:
    """All cases of all questions, those of agreement on the built-in sentences with them, and what the files are;
    nothing is concluded yet."""
    found: list[Measured] = []
    infos: dict[str, CorpusInfo] = {}
    for path in files:
        ask = _ASKED.get(path.suffix.lower())
        if ask is None:
            raise InputError(
                f"{path.name} ends in none of {', '.join(_ASKED)}, which `heads verdicts` reads."
            )
        here, info = ask(model, path, options or Options(), reading or Reading())
        if info.key in infos:
            raise InputError(f"One {info.key} at a time: {infos[info.key].file} or {path.name}.")
        say(f"{path.name}: {counted(info.n_texts, 'text')} read")
        found += here
        infos[info.key] = info
    found += measure_agreement(model, BUILT_IN, options)
    infos[BUILT_IN] = corpus_info(BUILT_IN, builtin_path(), len(read_builtin()))
    return found, list(infos.values())


def _treebank(
    model: Model, path: Path, options: Options, reading: Reading
) -> tuple[list[Measured], CorpusInfo]:
    causal = model.info.is_causal
    looks, habits = LooksLog(causal), HabitLog(causal)
    related = RelatedLog(meanings(), causal)
    items = trees(read_conllu(Lines(path), reading), model.tokenizer, reading)
    done = survey(items, model, [(log, every_item) for log in (looks, habits, related)], options)
    info = corpus_info("treebank", path, done.n_texts)
    asked = questions(looks.found, info.key, causal)
    syntax = [measure(one, looks.found) for one in asked]
    return [*syntax, *related_measured(related.found, info.key), *habits.measured(info.key)], info


def _choices(read: Callable[..., Iterable[PronounCase]]) -> Callable[..., tuple[list[Measured], CorpusInfo]]:
    def ask(
        model: Model, path: Path, options: Options, reading: Reading
    ) -> tuple[list[Measured], CorpusInfo]:
        log = ChoiceLog(model.info.is_causal)
        items = (item for one in read(Lines(path), reading) for item in _item(one, model, reading))
        done = survey(items, model, [(log, every_item)], options)
        info = corpus_info("pronouns", path, done.n_texts)
        return list(measure_choices(log, info.key)), info

    return ask


def _item(choice: PronounCase, model: Model, reading: Reading) -> Iterable[Choice]:
    try:
        yield Choice(choice_case(choice, model.tokenizer), choice)
    except InputError as flaw:
        reading.broken(choice.line, str(flaw))


_ASKED: dict[str, Callable[[Model, Path, Options, Reading], tuple[list[Measured], CorpusInfo]]] = {
    ".conllu": _treebank,
    ".tsv": _choices(read_gap),
    ".json": _choices(read_pairs),
}


def corpus_info(key: str, path: Path, n_texts: int) -> CorpusInfo:
    """What a file is, by the digest of its bytes."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if key == BUILT_IN:
        return CorpusInfo(key, "the built-in sentences", "that of this program", path.name, digest, n_texts)
    title, version, licence = KNOWN.get(digest, (path.name, "the file does not say", ""))
    return CorpusInfo(key, title, version, path.name, digest, n_texts, licence)
