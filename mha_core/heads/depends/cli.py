"""`python -m mha_core heads depends`: which earlier heads a head depends on, as a table for a person or as JSON.

In: arguments. Out: an exit code (0 done, 2 cannot be used, 130 stopped by the reader: what there was is written).
"""

import argparse
import datetime
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from mha_core import export
from mha_core.command_io import add_digest, positive, warn_if_unpinned
from mha_core.console import STOPPED
from mha_core.corpus import Lines, Reading
from mha_core.errors import InputError
from mha_core.experiments.interventions import heads_from
from mha_core.experiments.parts import Part
from mha_core.heads.answers import Answer, add_answer, give, rows_of_depends
from mha_core.heads.builtin import AGREEMENT, builtin_items, builtin_path, read_builtin
from mha_core.heads.corpus_run import cut_note, items_of, kind_of, later_note
from mha_core.heads.depends.questions import Asked, Choice, Question, Relation
from mha_core.heads.depends.shipped import Shipped, Source, digest_of, row_of, write
from mha_core.heads.depends.table import LEAST_TEXTS, WAYS, Depends, Way
from mha_core.heads.depends.trying import depends
from mha_core.heads.positions import HasTokens
from mha_core.heads.rows import Row
from mha_core.heads.standard_input import said_of
from mha_core.heads.survey import was_cut
from mha_core.models import Model, load_model
from mha_core.wording import counted, head_name

Stop = Callable[[], bool]
SHOWN = 8  # earlier heads in the table


@dataclass(frozen=True)
class Planned:
    """One measurement that comes with the program; `corpus` is "ud", "gap" or "agreement" (built-in)."""

    head: str
    question: Question
    corpus: str
    job: str
    limit: int | None = None


# In a treebank a few hundred sentences tell a fall of some points from none.
ENOUGH = 500
PLAN = (
    Planned("2-4", Choice(), "agreement", "he or she, it or they looks more at the noun that agrees with it"),
    Planned("4-2", Choice(), "gap", "of two names the pronoun looks more at the right one"),
    Planned("3-1", Relation("obj"), "ud", "an object looks most at its verb", ENOUGH),
    Planned("3-9", Relation("det"), "ud", "a determiner looks most at its noun", ENOUGH),
    Planned("3-9", Relation("nsubj"), "ud", "a subject looks most at its verb or predicate", ENOUGH),
    Planned("3-9", Relation("case"), "ud", "a preposition looks most at its noun", ENOUGH),
)
CORPORA = {
    "ud": "UD English EWT, development part",
    "gap": "GAP, validation",
    "agreement": "the built-in sentences about gender and number",
}


def add_depends_parser(questions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `heads depends` to the command line."""
    text = "which earlier heads a head depends on: take each away, and see how often it is still right"
    parser = questions.add_parser("depends", help=text, description=f"Find out {text}.")
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help="GAP .tsv, pairs .json or a treebank .conllu; - reads standard input",
    )
    parser.add_argument("--head", help="the head, layer and head from 1, such as 4-2")
    parser.add_argument("--relation", metavar="NAME", help="of a treebank, such as det")
    parser.add_argument("--reverse", action="store_true", help="the other direction: head word, or mention")
    parser.add_argument("--agreement", action="store_true", help="without a file: gender and number alone")
    parser.add_argument("--way", choices=WAYS, help="take a head away or put its mean there (both)")
    parser.add_argument("--limit", type=positive, help="no more texts than that")
    parser.add_argument("--model", default="minilm", help="a name on the shelf, a hub id or a folder")
    add_digest(parser)
    parser.add_argument("--untrained", action="store_true", help="the same model with random weights")
    add_answer(parser)
    parser.add_argument("--progress", action="store_true", help="say how far it is")
    parser.add_argument(
        "--on-error", choices=("refuse", "skip"), default="refuse", help="what to do about a broken line"
    )
    parser.add_argument("--ship", nargs=2, type=Path, metavar=("UD", "GAP"), help=argparse.SUPPRESS)


def run(args: argparse.Namespace, stop: Stop) -> int:
    """Write what was found. Raises HeadScopeError."""
    if args.agreement and args.file is not None:
        raise InputError("--agreement is of the built-in sentences; leave it out, or the file.")
    model = load_model(args.model, trained=not args.untrained, sha256=args.sha256)
    warn_if_unpinned(model)
    if args.ship:
        return _ship(args, model, stop)
    if len(heads_from(args.head or "", model.n_layers, model.n_heads)) != 1:
        raise InputError("Name one head with --head, layer and head from 1, such as 4-2.")
    question = Relation(args.relation, args.reverse) if args.relation else Choice(args.reverse)
    corpus = said_of(args.file) or "the built-in sentences"
    reading = Reading(on_error=args.on_error)
    items = _items(args, model, reading)
    n_cut = _say_left_out(items, question, model, reading)
    found, stopped = _measured(args, model, args.head, question, items, stop)
    if stopped and not found.n:
        _say("Stopped before the first case.")
        return STOPPED
    data = _data(found, model, corpus)
    data |= {"n_cut": n_cut, "left_out": reading.n_skipped, "unused": reading.n_unused}
    give(args, Answer(data, rows_of_depends(found), lambda: _text(found, corpus)))
    if stopped:
        _say(f"Stopped after {counted(found.n_texts, 'text')}; the numbers are those of what was read.")
    return STOPPED if stopped else 0


def _say_left_out(items: Sequence[HasTokens], question: Question, model: Model, reading: Reading) -> int:
    """Lines of a file that were not read, texts that were cut, whose number it returns, and cases in which a decoder
    cannot look."""
    for sentence in reading.said():
        _say(sentence)
    n_cut = sum(was_cut(item) for item in items)
    if n_cut:
        _say(cut_note(n_cut, 0, model))
    if model.is_causal:
        n, n_seen = (
            sum(asked.n for item in items if (asked := Asked.of(question, item, is_causal)))
            for is_causal in (False, True)
        )
        if n > n_seen:
            _say(later_note(n - n_seen))
    return n_cut


def _items(args: argparse.Namespace, model: Model, reading: Reading) -> list[HasTokens]:
    if args.file is not None:
        found = items_of(Lines(args.file), kind_of(args.file, ("tsv", "json", "conllu")), model, reading)
    else:
        kept = [one for one in read_builtin() if not args.agreement or one.kind in AGREEMENT]
        if not args.agreement and not args.relation:
            kept = [one for one in kept if one.kind not in AGREEMENT]
        found = iter(builtin_items(kept, model.tokenizer))
    return list(islice(found, args.limit))


def _measured(
    args: argparse.Namespace,
    model: Model,
    head: str,
    question: Question,
    items: Sequence[HasTokens],
    stop: Stop,
) -> tuple[Depends, bool]:
    """What was found, and whether the reader stopped it."""
    ways: tuple[Way, ...] = (args.way,) if args.way else WAYS
    (one,) = heads_from(head, model.n_layers, model.n_heads)
    with closing(_told(depends(items, model, one, question, ways, len(items)), args.progress)) as parts:
        for found in parts:
            if stop():
                return found, True
    if not found.n:
        raise InputError("There is no case of this question in what was read.")
    return found, False


def _told(parts: Iterator[Part[Depends]], aloud: bool) -> Generator[Depends]:
    for part in parts:
        if aloud:
            sys.stderr.write(f"\r{100 * part.fraction:.0f} %, {counted(part.n, 'text')}")
            sys.stderr.flush()
        yield part.result
    sys.stderr.write("\n" if aloud else "")


def _text(found: Depends, corpus: str) -> str:
    lines = [
        f"{head_name(found.head)} is right in {found.score:.1%} of {counted(found.n, 'case')} "
        f"({corpus}, {counted(found.n_texts, 'text')})."
    ]
    alone = bool(np.isnan(found.error).all())
    for way in found.ways:
        lines.append(
            "without one head (taken away):" if way == "zero" else "with its mean output in its place:"
        )
        for one in found.strongest(way, SHOWN):
            mark = "  beyond luck" if one.beyond_luck else ""
            within = "" if alone else f" [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"
            lines.append(f"  {head_name(one.head):>5}  falls by {100 * one.fall:+5.1f} points{within}{mark}")
    lines.append(
        f"Fewer than {LEAST_TEXTS} texts (a pair counts once) say too little of others: no interval, and nothing is "
        "beyond luck."
        if alone
        else f"Beyond luck: as the best of {found.fall[0].size} earlier heads. 95 % intervals over texts."
    )
    return "\n".join(lines) + "\n"


def _data(found: Depends, model: Model, corpus: str) -> Row:
    source = Source(corpus, "", "")
    row = row_of(Shipped("", found, source, model.digest, "", ""))
    for name in ("job", "file", "sha256", "command", "date"):
        row.pop(name)
    return row | {"model": export.model_of(model.info)}


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


def _ship(args: argparse.Namespace, model: Model, stop: Stop) -> int:
    """Measure what comes with the program, and write it."""
    ud, gap = args.ship
    files = {"ud": ud, "gap": gap, "agreement": builtin_path()}
    found = list[Shipped]()
    for one in PLAN:
        file = files[one.corpus]
        given = argparse.Namespace(
            **vars(args)
            | {"file": None if one.corpus == "agreement" else file, "relation": None, "limit": one.limit}
        )
        given.agreement = one.corpus == "agreement"
        items = _items(given, model, Reading("skip"))
        result, stopped = _measured(given, model, one.head, one.question, items, stop)
        if stopped:
            return STOPPED
        source = Source(CORPORA[one.corpus], file.name, digest_of(file))
        command = f"python -m mha_core heads depends {_arguments(one, file, args.way)}"
        date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        found.append(Shipped(one.job, result, source, model.digest, command, date))
        write(found)
    return 0


def _arguments(one: Planned, file: Path, way: Way | None) -> str:
    where = "--agreement" if one.corpus == "agreement" else file.name
    relation = f" --relation {one.question.name}" if isinstance(one.question, Relation) else ""
    more = (f" --limit {one.limit}" if one.limit else "") + (f" --way {way}" if way else "")
    return f"{where} --head {one.head}{relation}{more}"
