"""`python -m mha_core heads …`: the measures on a file, as a table for a person or as JSON for a program.

In: arguments. Out: an exit code (0 done, 2 cannot be used, 130 stopped by the reader: what there was is
kept). Layers and heads are numbered from 1 in everything that is written.
"""

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mha_core import export
from mha_core.command_io import add_digest, at_terminal, positive, warn_if_unpinned
from mha_core.console import STOPPED, UNUSABLE
from mha_core.errors import HeadScopeError, InputError
from mha_core.heads import tables
from mha_core.heads.answers import Answer, add_answer, give, rows_of_similarity
from mha_core.heads.atlas.cli import add_atlas_parser
from mha_core.heads.atlas.cli import run as run_atlas
from mha_core.heads.builtin import builtin_items, read_builtin
from mha_core.heads.corpora import Lines, Reading
from mha_core.heads.corpus_run import CorpusKind, cut_note, items_of, kind_of, later_note
from mha_core.heads.distances_cli import add_distances_parser
from mha_core.heads.distances_cli import run as run_distances
from mha_core.heads.items import choice_items
from mha_core.heads.positions import HasTokens
from mha_core.heads.relation_table import RelationTable
from mha_core.heads.rows import Row, relation_rows
from mha_core.heads.studies import study_builtin, study_corpus, study_items
from mha_core.heads.survey import Done, Options, Progress
from mha_core.heads.verdicts.cli import add_verdicts_parser
from mha_core.heads.verdicts.cli import run as run_verdicts
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.record import ModelInfo
from mha_core.wording import counted

QUESTIONS = {
    "relations": "which head finds which dependency relation of a CoNLL-U treebank",
    "coreference": "which head chooses the right antecedent (GAP .tsv, or pairs in .json)",
    "profile": "what every head looks at, how sharply, and its role (.txt or .conllu)",
    "similarity": "how far apart the heads are (.txt or .conllu)",
}


def add_heads_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `heads` and its questions to the command line."""
    heads = subparsers.add_parser("heads", help="which head does which job, with evidence")
    questions = heads.add_subparsers(dest="question", required=True)
    for name, text in QUESTIONS.items():
        parser = questions.add_parser(name, help=text, description=f"Find out {text}.")
        needed = name == "relations"
        more = "" if needed else " (the built-in sentences without it)"
        parser.add_argument(
            "file",
            metavar="FILE",
            type=Path,
            nargs=None if needed else "?",
            help=f"the corpus{more}",
        )
        add_answer(parser, piped=True)
        if name == "relations":
            parser.add_argument(
                "--all",
                action="store_true",
                help="every head in both directions, not only the best of each relation",
            )
        _add_options(parser)
    add_atlas_parser(questions)
    add_verdicts_parser(questions)
    add_distances_parser(questions)
    heads.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="minilm", help="a name on the shelf, a hub id or a folder")
    add_digest(parser)
    parser.add_argument("--untrained", action="store_true", help="the same model with random weights")
    parser.add_argument("--limit", type=positive, help="no more sentences than that")
    parser.add_argument("--batch-size", type=positive, default=32, help="sentences at a time (32)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, mps")
    parser.add_argument("--progress", action="store_true", help="say how far it is and how long it will take")
    parser.add_argument(
        "--on-error", choices=("refuse", "skip"), default="refuse", help="what to do about a broken line"
    )


def run(args: argparse.Namespace) -> int:
    """Answer the question that was asked; errors are one sentence on stderr and exit code 2."""
    args.progress = getattr(args, "progress", False) or at_terminal()
    try:
        _check_out(args)
        if args.question == "distances":
            return run_distances(args)
        with _interrupts() as stop:
            return (OWN.get(args.question) or _measure)(args, stop)
    except HeadScopeError as flaw:
        _say(str(flaw))
        return UNUSABLE


def _measure(args: argparse.Namespace, stop: Callable[[], bool]) -> int:
    """One of QUESTIONS, with what was left out said beside the answer."""
    reading = Reading(on_error=args.on_error)
    answer, done = _ask(args, reading, stop)
    if not done.n_texts or answer.data.get("rows") == [] or answer.data.get("n") == 0:
        _say_left_out(reading)
        raise InputError(
            f"There is nothing in {args.file.name if args.file else 'the built-in sentences'} to measure."
        )
    counts = {"n_cut": done.n_cut, "left_out": reading.n_skipped, "unused": reading.n_unused}
    answer.data.update(counts)
    give(args, answer, "table" if sys.stdout.isatty() else "json")
    if args.out is not None:
        sys.stdout.write(answer.text())
    _say_left_out(reading)
    if done.stopped:
        _say(f"Stopped after {counted(done.n_texts, 'sentence')}; the numbers are those of what was read.")
        return STOPPED
    return 0


def _say_left_out(reading: Reading) -> None:
    for sentence in reading.said():
        _say(sentence)


def _ask(args: argparse.Namespace, reading: Reading, stop: Callable[[], bool]) -> tuple[Answer, Done]:
    """The answer, and how much was read."""
    lines = Lines(args.file) if args.file else None
    kind = _kind(args)
    model = load_model(args.model, trained=not args.untrained, device=args.device, sha256=args.sha256)
    warn_if_unpinned(model)
    if args.question == "similarity" and model.n_layers * model.n_heads == 1:
        raise InputError(f"{model.title} has one head, and there is no other to compare it with.")
    progress = _report if args.progress else None
    fraction = (lambda: lines.fraction) if lines is not None else None
    options = Options(args.batch_size, args.limit, progress, stop, fraction)
    if args.question != "profile":
        found, done = study_items(args.question, _items(args, lines, kind, model, reading), model, options)
        later = getattr(found, "n_later", 0)
        if later:
            _say(later_note(later))
        return _told(args, found, model.info, done, _said_of_cuts(done, found, model)), done
    study = (
        study_builtin(model, options=options, similarity=False)
        if lines is None
        else study_corpus(lambda: _items(args, lines, kind, model, _quiet(reading)), model, options=options)
    )
    said = _said_of_cuts(study.done, None, model)
    data = tables.profile_data(study, model.info)
    return Answer(data, data["heads"], lambda: tables.profile_text(study) + said), study.done


def _said_of_cuts(done: Done, found: Any, model: Model) -> str:
    """The line below the table about texts that were cut, which stderr is told too; empty without any."""
    if not done.n_cut:
        return ""
    note = cut_note(done.n_cut, found.n_dependents_cut if isinstance(found, RelationTable) else 0, model)
    _say(note)
    return note + "\n"


ENDINGS = {
    "relations": ("conllu",),
    "coreference": ("tsv", "json"),
    "profile": ("txt", "conllu"),
    "similarity": ("txt", "conllu"),
}
OWN = {"atlas": run_atlas, "verdicts": run_verdicts}


def _kind(args: argparse.Namespace) -> CorpusKind | None:
    """What the file is, if the question can read it."""
    if args.file is None:
        return None
    endings = ENDINGS[args.question]
    if args.file.suffix.lower().removeprefix(".") not in endings:
        known = " or ".join(f".{ending}" for ending in endings)
        raise InputError(f"{args.file.name} does not end in {known}, which `heads {args.question}` reads.")
    return kind_of(args.file, endings)


def _told(args: argparse.Namespace, found: Any, model: ModelInfo, done: Done, said: str) -> Answer:
    """The answer to a question; `said` is added below the table."""
    if args.question == "relations":
        rows = relation_rows(found, args.all)
        data: Row = {"model": export.model_of(model), "n_sentences": done.n_texts, "rows": rows}
        return Answer(data, rows, lambda: tables.relation_text(found) + said)
    if args.question == "coreference":
        data = tables.coreference_data(found, model)
        return Answer(data, data["heads"], lambda: tables.coreference_text(found) + said)
    data = tables.similarity_data(found, model)
    square = tables.similarity_cells(data)
    return Answer(data, rows_of_similarity(data), lambda: tables.similarity_text(found) + said, square)


def _items(
    args: argparse.Namespace, lines: Lines | None, kind: CorpusKind | None, model: Model, reading: Reading
) -> Iterable[HasTokens]:
    """What the file holds; without one the built-in sentences, of which a question about pronouns takes some."""
    if lines is not None and kind is not None:
        return items_of(lines, kind, model, reading)
    if args.question == "coreference":
        return choice_items((one.choice for one in read_builtin() if one.choice), model.tokenizer, reading)
    return builtin_items(read_builtin(), model.tokenizer)


def _quiet(reading: Reading) -> Reading:
    """The corpus is read twice for a profile: what was skipped is noted the last time alone."""
    reading.n_skipped, reading.n_unused = 0, 0
    reading.notes.clear()
    return reading


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks for a stop after the sentence at hand, so that no sum is left half added."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _check_out(args: argparse.Namespace) -> None:
    """Before the work and not after it: can the result be written?"""
    if args.out is not None and not args.out.parent.is_dir():
        raise InputError(f"There is no folder {args.out.parent} to write {args.out.name} to.")


def _report(progress: Progress) -> None:
    line = counted(progress.done, "sentence")
    if progress.fraction is not None and progress.remaining is not None:
        line += f", {100 * progress.fraction:.0f} %, about {progress.remaining:.0f} s to go"
    sys.stderr.write(f"\r{line:<60}" + ("\n" if progress.remaining == 0 else ""))
    sys.stderr.flush()


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
