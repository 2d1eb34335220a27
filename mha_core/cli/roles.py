"""`headscope roles`, `similarity` and `merge`: what every head does, on the built-in sentences or on files.

Where nothing has to be computed, the shipped table is written.
"""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mha_core.cli.arguments import (
    Commands,
    add_command,
    load_chosen_model,
    model_options,
    number_from,
    output_options,
)
from mha_core.cli.atlas import merged_atlas_output
from mha_core.cli.output import CommandOutput, is_terminal, show_progress, warn, write_output
from mha_core.cli.process import STOPPED, Stop, interruptible
from mha_core.cli.shards import compute_parts, refuse_empty, shard_options
from mha_core.display_names import count_noun
from mha_core.errors import InputError
from mha_core.heads.build_role_table import RoleStatistics, find_roles
from mha_core.heads.builtin import read_builtin
from mha_core.heads.corpora import Lines, Reading
from mha_core.heads.corpus_formats import empty_files, format_of
from mha_core.heads.part_files import merge_parts
from mha_core.heads.similarity import SimilarityCollector
from mha_core.heads.survey import HasTokens, Options, Progress, TextItem, stream_corpus
from mha_core.heads.table import RoleTable, read_roles, write_roles
from mha_core.heads.verdict_text import head_text
from mha_core.record.grid import head_from_name

if TYPE_CHECKING:
    import pandas as pd

TABLE = ["question", "role", "layer", "head", "n", "score", "held_out", "low", "high"]
TABLE += ["baseline", "baseline_score", "control", "verdict"]


def add_roles_parser(commands: Commands) -> None:
    """Add the command `roles`."""
    corpus = (
        "treebanks (.conllu), pronouns (GAP's .tsv, pairs .json), texts (.txt, .jsonl), own links (.jsonl), .gz "
        "too; the shipped table or the built-in sentences without them"
    )
    parents = shard_options(corpus), _row_options(), *_reading_parents()
    text = "show which head does what, with baselines and controls"
    add = add_command(commands, "roles", text, interruptible(_run_roles), *parents).add_argument
    add("--corpus", metavar="FILE", nargs="+", default=[], help="the same as SHARD")
    add("--seed", type=int, default=0, help="seed of the random weights (%(default)s)")
    text = "what to do with a broken line (%(default)s)"
    add("--on-error", choices=("refuse", "skip"), default="refuse", help=text)


def add_similarity_parser(commands: Commands) -> None:
    """Add the command `similarity`."""
    run, text = interruptible(_run_similarity), "measure how similar the heads are"
    parser = add_command(commands, "similarity", text, run, *_reading_parents())
    text = "texts (.txt) or a treebank (.conllu)"
    parser.add_argument("file", type=Path, metavar="FILE", nargs="?", help=text)


def add_merge_parser(commands: Commands) -> None:
    """Add the command `merge`."""
    text = "add up the parts of roles or of an atlas"
    add = add_command(commands, "merge", text, _run_merge, _row_options(), output_options()).add_argument
    add("folder", type=Path, metavar="DIR", help="folder of the part files")
    add("--workers", type=number_from(1), metavar="N", help="processes at once (all cores)")


def _row_options() -> argparse.ArgumentParser:
    """Return a parent with the options that choose rows of a table of roles."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument("--question", help="show every head on one question, such as det or antecedent")
    parent.add_argument("--head", help="show every question about one head, such as 4-2")
    text = "also write it for the app: headscope app --roles FILE, or --atlas FILE"
    parent.add_argument("--table", type=Path, metavar="FILE", help=text)
    parent.add_argument("--all", action="store_true", help="show every head on every question")
    return parent


def _reading_parents() -> tuple[argparse.ArgumentParser, ...]:
    """Return the parents of commands that read texts through a model: options of `_survey`, model and output."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument("--limit", type=number_from(1), help="use at most this many texts of each kind")
    parent.add_argument("--progress", action="store_true", help="show progress")
    return parent, model_options("minilm"), output_options()


def _survey(options: argparse.Namespace, stop: Stop) -> Options:
    """Return how to read a corpus; progress is shown at a terminal, or by --progress."""
    progress = _show_progress if options.progress or is_terminal() else None
    return Options(limit=options.limit, stop=stop, progress=progress)


def _show_progress(progress: Progress) -> None:
    line = count_noun(progress.done, "text")
    if progress.fraction is not None and progress.remaining is not None:
        line += f", {progress.fraction:.0%}, about {progress.remaining:.0f} s to go"
    show_progress(line, is_last=progress.remaining == 0)


def _run_roles(options: argparse.Namespace, stop: Stop) -> int | None:
    options.shards = [*options.shards, *options.corpus]
    if options.part or options.engine:
        if options.limit:
            raise InputError("--limit does not go with --part.")
        return compute_parts("roles", options, _survey(options, stop))
    reading = Reading(on_error=options.on_error)
    try:
        table = _shipped(options) or _computed(options, reading, stop)
    finally:
        for sentence in reading.said():
            warn(sentence)
    if stop():
        warn("Stopped; nothing is concluded from a part of a corpus.")
        return STOPPED
    if not table.answers:
        raise InputError("There are too few cases to answer any question.")
    write_output(options, _roles_output(options, table, reading.n_skipped, reading.n_unused))
    return 0


def _shipped(options: argparse.Namespace) -> RoleTable | None:
    """Return the shipped table if it is the one that was chosen."""
    if options.shards or options.limit:
        return None
    table = read_roles(options.model)
    if table is None or not options.untrained:
        return table
    table = table.untrained
    return None if table is None or table.seed != options.seed else table


def _computed(options: argparse.Namespace, reading: Reading, stop: Stop) -> RoleTable:
    if options.seed and not options.untrained:
        raise InputError("--seed needs --untrained: it seeds the random weights.")
    refuse_empty(empty_files(options.shards, options.on_error))
    model = load_chosen_model(options, options.seed)
    table = find_roles(
        model,
        options.shards,
        options=_survey(options, stop),
        reading=reading,
        say=warn,
        seed=options.seed,
    )
    empty = next((corpus for corpus in table.corpora.values() if not corpus.n_texts), None)
    if empty is not None and not stop():
        refuse_empty(empty.files)
    return table


def _roles_output(options: argparse.Namespace, table: RoleTable, left_out: int, unused: int) -> CommandOutput:
    if options.table is not None:
        write_roles(table, options.table)
    frame = _chosen(options, table)
    if options.head:
        warn(f"Head {options.head}. {head_text(table, head_from_name(options.head, *table.shape))}")
    about: dict[str, Any] = {
        "model": table.model,
        "digest": table.digest,
        "command": table.command,
        "tried": table.n_comparisons,
        "corpora": [corpus.__dict__ for corpus in table.corpora.values()],
        "left_out": left_out,
        "unused": unused,
    }
    return CommandOutput(frame, about, table=frame[[name for name in TABLE if name in frame]])


def _chosen(options: argparse.Namespace, table: RoleTable) -> "pd.DataFrame":
    """Return the rows of --question and --head, all by --all, or the best head of each question."""
    if not (options.all or options.head or options.question):
        return table.questions()
    frame = table.to_frame()
    if options.question:
        if options.question not in table.by_key:
            choices = ", ".join(table.by_key)
            raise InputError(f"Unknown question “{options.question[:40]}”. Choose one of: {choices}.")
        frame = frame[frame.question == options.question]
        frame = frame.sort_values("score", ascending=False, kind="stable")
    if options.head:
        layer, head = head_from_name(options.head, *table.shape)
        frame = frame[(frame["layer"] == layer + 1) & (frame["head"] == head + 1)]
    return frame


def _run_merge(options: argparse.Namespace) -> None:
    def done(n: int, total: int) -> None:
        if is_terminal():
            show_progress(f"{n:,} of {count_noun(total, 'part')} counted", is_last=n == total)

    workers = options.workers or os.cpu_count() or 1
    statistics = merge_parts(options.folder, warn, workers=workers, done=done)
    if isinstance(statistics, RoleStatistics):
        reading = statistics.reading
        for note in reading.said():
            warn(note)
        table = statistics.result()
        output = _roles_output(options, table, reading.n_skipped, reading.n_unused)
    else:
        output = merged_atlas_output(statistics, options.head, options.table)
    write_output(options, output)


def _run_similarity(options: argparse.Namespace, stop: Stop) -> int:
    refuse_empty(empty_files([] if options.file is None else [options.file]))
    model = load_chosen_model(options)
    if model.n_layers * model.n_heads == 1:
        raise InputError(f"{model.title} has only one head; comparing takes two.")
    reading = Reading()
    if options.file is None:
        items: Iterable[HasTokens] = [TextItem(model.tokenizer.encode(text.text)) for text in read_builtin()]
    else:
        lines = Lines(options.file)
        items = format_of(lines).read(lines, reading, model)
    log = SimilarityCollector(model.n_layers, model.n_heads, model.info.visibility)
    summary = stream_corpus(items, model, [log], _survey(options, stop))
    for sentence in reading.said():
        warn(sentence)
    if not summary.n_texts:
        raise InputError("No text to measure. Give one or more.")
    about = {"model": model.name, "digest": model.digest, "n_texts": summary.n_texts, "unit": "nats"}
    frame = log.to_frame()
    table = frame[["head", "cluster", "nearest", "nats", "x", "y"]]
    write_output(options, CommandOutput(frame, about, table=table))
    return STOPPED if summary.stopped else 0
