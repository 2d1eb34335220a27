"""`headscope roles`, `similarity`, `atlas` and `merge`: what every head does, on the built-in sentences or on files.

In: arguments. Out: an exit code (0 done, 2 cannot be used, 130 stopped by the user). Layers and heads count from 1 in
everything that is written. Where nothing has to be computed, the table that comes with the program is printed.
"""

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mha_core.command_io import Answer, add_format, add_model, at_terminal, give, model_asked, positive
from mha_core.console import STOPPED, UNUSABLE
from mha_core.errors import HeadScopeError, InputError
from mha_core.grid import head_from_name
from mha_core.heads.atlas.cli import add_atlas_parser, give_atlas
from mha_core.heads.atlas.cli import run as atlas
from mha_core.heads.builtin import read_builtin
from mha_core.heads.corpora import Lines, Reading
from mha_core.heads.kinds import kind_of
from mha_core.heads.make import RoleStatistics, find_roles
from mha_core.heads.similarity import SimilarityLog
from mha_core.heads.survey import HasTokens, Options, Progress, TextItem, survey
from mha_core.heads.table import RoleTable, read_roles, write_roles
from mha_core.part_command import add_shards, give_part
from mha_core.parts import merge_parts
from mha_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd

Stop = Callable[[], bool]
SHOWN = (
    "question",
    "role",
    "layer",
    "head",
    "n",
    "score",
    "held_out",
    "low",
    "high",
    "baseline",
    "baseline_score",
    "control",
    "verdict",
)


def add_roles_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `roles`, `similarity`, `atlas` and `merge`."""
    roles = commands.add_parser("roles", help="show which head does what, with baselines and controls")
    add_shards(
        roles,
        "treebanks (.conllu), pronouns (GAP's .tsv, pairs .json), texts (.txt, .jsonl), .gz too; the shipped table or "
        "the built-in sentences without them",
    )
    roles.add_argument("--corpus", metavar="FILE", nargs="+", default=[], help="the same as SHARD")
    _add_rows(roles)
    roles.add_argument("--seed", type=int, default=0, help="seed of the random weights (%(default)s)")
    roles.add_argument(
        "--on-error",
        choices=("refuse", "skip"),
        default="refuse",
        help="what to do with a broken line (%(default)s)",
    )
    similarity = commands.add_parser("similarity", help="measure how similar the heads are")
    similarity.add_argument(
        "file", type=Path, metavar="FILE", nargs="?", help="texts (.txt) or a treebank (.conllu)"
    )
    for parser, run in ((roles, _roles), (similarity, _similarity)):
        add_model(parser, "minilm")
        parser.add_argument("--limit", type=positive, help="use at most this many texts of each kind")
        parser.add_argument("--progress", action="store_true", help="show progress")
        add_format(parser)
        parser.set_defaults(run=partial(_run, answer=run))
    add_atlas_parser(commands).set_defaults(run=partial(_run, answer=atlas))
    merge = commands.add_parser("merge", help="add up the parts of roles or of an atlas")
    merge.add_argument("folder", type=Path, metavar="DIR", help="folder of the part files")
    merge.add_argument(
        "--table", type=Path, metavar="FILE", help="also write roles for the app: headscope app --roles FILE"
    )
    _add_rows(merge)
    add_format(merge)
    merge.set_defaults(run=partial(_run, answer=_merge))


def _add_rows(parser: argparse.ArgumentParser) -> None:
    """Which rows of a table of roles are shown."""
    parser.add_argument("--question", help="show every head on one question, such as det or antecedent")
    parser.add_argument("--head", help="show every question about one head, such as 4-2")
    parser.add_argument("--all", action="store_true", help="show every head on every question")


def _run(args: argparse.Namespace, *, answer: Callable[[argparse.Namespace, Stop], int]) -> int:
    try:
        if args.out is not None and not args.out.parent.is_dir():
            raise InputError(f"Cannot write {args.out.name}: the folder {args.out.parent} does not exist.")
        with _interrupts() as stop:
            return answer(args, stop)
    except HeadScopeError as flaw:
        _say(str(flaw))
        return UNUSABLE


def _roles(args: argparse.Namespace, stop: Stop) -> int:
    args.shards = [*args.shards, *args.corpus]
    if args.part or args.engine:
        if args.limit:
            raise InputError("--limit does not go with --part.")
        return give_part("roles", args, stop, _report if _shows(args) else None)
    reading = Reading(on_error=args.on_error)
    try:
        table = _shipped(args) or _asked(args, reading, stop)
    finally:
        for sentence in reading.said():
            _say(sentence)
    if stop():
        _say("Stopped; nothing is concluded from a part of a corpus.")
        return STOPPED
    if not table.answers:
        raise InputError("There are too few cases to answer any question.")
    _give_table(args, table, reading.n_skipped, reading.n_unused)
    return 0


def _give_table(args: argparse.Namespace, table: RoleTable, left_out: int, unused: int) -> None:
    frame = _chosen(args, table)
    about = {"model": table.model, "digest": table.digest, "command": table.command, "tried": table.tried}
    about["corpora"] = [corpus.__dict__ for corpus in table.corpora.values()]
    about |= {"left_out": left_out, "unused": unused}
    give(args, Answer(frame, about, shown=frame[[name for name in SHOWN if name in frame]]))


def _merge(args: argparse.Namespace, stop: Stop) -> int:
    del stop
    found = merge_parts(args.folder, _say)
    if isinstance(found, RoleStatistics):
        read = found.read.values()
        left_out, unused = sum(one["left_out"] for one in read), sum(one["unused"] for one in read)
        table = found.result()
        if args.table is not None:
            write_roles(table, args.table)
        _give_table(args, table, left_out, unused)
    else:
        about = found.about
        give_atlas(args, found.result(), about, ", ".join(about["shards"]), about["shape"], about["model"])
    return 0


def _shipped(args: argparse.Namespace) -> RoleTable | None:
    """The table that comes with the program, where that is what is asked for."""
    if args.shards or args.limit:
        return None
    table = read_roles(args.model)
    table = table.untrained if table is not None and args.untrained else table
    return None if table is None or (args.untrained and table.seed != args.seed) else table


def _asked(args: argparse.Namespace, reading: Reading, stop: Stop) -> RoleTable:
    if args.seed and not args.untrained:
        raise InputError("--seed needs --untrained: it seeds the random weights.")
    model = model_asked(args, args.seed)
    options = Options(limit=args.limit, stop=stop, progress=_report if _shows(args) else None)
    table = find_roles(model, args.shards, options=options, reading=reading, say=_say, seed=args.seed)
    empty = next((corpus for corpus in table.corpora.values() if not corpus.n_texts), None)
    if empty is not None and not stop():
        raise InputError(f"There is nothing in {', '.join(empty.files)} to measure.")
    return table


def _chosen(args: argparse.Namespace, table: RoleTable) -> "pd.DataFrame":
    """The rows that were asked for."""
    if not (args.all or args.head or args.question):
        return table.questions()
    frame = table.to_frame()
    if args.question:
        if args.question not in table.by_key:
            raise InputError(
                f"Unknown question “{args.question[:40]}”. Choose one of: {', '.join(table.by_key)}."
            )
        frame = frame[frame.question == args.question].sort_values("score", ascending=False, kind="stable")
    if args.head:
        layer, head = head_from_name(args.head, *table.shape)
        frame = frame[(frame.layer == layer + 1) & (frame["head"] == head + 1)]
    return frame


def _similarity(args: argparse.Namespace, stop: Stop) -> int:
    model = model_asked(args)
    if model.n_layers * model.n_heads == 1:
        raise InputError(f"{model.title} has only one head; comparing takes two.")
    reading = Reading()
    if args.file is None:
        items: Iterable[HasTokens] = [TextItem(model.tokenizer.encode(one.text)) for one in read_builtin()]
    else:
        items = kind_of(args.file).read(Lines(args.file), reading, model)
    log = SimilarityLog(model.n_layers, model.n_heads, model.info.visibility)
    options = Options(limit=args.limit, stop=stop, progress=_report if _shows(args) else None)
    done = survey(items, model, [log], options)
    if not done.n_texts:
        raise InputError("No text to measure. Give one or more.")
    about = {"model": model.name, "digest": model.digest, "n_texts": done.n_texts, "unit": "nats"}
    for sentence in reading.said():
        _say(sentence)
    frame = log.to_frame()
    give(args, Answer(frame, about, shown=frame[["head", "cluster", "nearest", "nats", "x", "y"]]))
    return STOPPED if done.stopped else 0


@contextmanager
def _interrupts() -> Iterator[Stop]:
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


def _shows(args: argparse.Namespace) -> bool:
    return bool(args.progress or at_terminal())


def _report(progress: Progress) -> None:
    line = counted(progress.done, "text")
    if progress.fraction is not None and progress.remaining is not None:
        line += f", {progress.fraction:.0%}, about {progress.remaining:.0f} s to go"
    sys.stderr.write(f"\r{line:<60}" + ("\n" if progress.remaining == 0 else ""))
    sys.stderr.flush()


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
