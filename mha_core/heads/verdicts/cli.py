"""`python -m mha_core heads verdicts`: what is concluded of the heads on real text, as a table or as JSON.

In: arguments. Out: an exit code (0 done, 2 cannot be used, 130 stopped by the reader: nothing is concluded from a part
of a corpus). Without --corpus the numbers that come with the program are printed.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from mha_core.command_io import add_digest, positive, warn_if_unpinned
from mha_core.console import STOPPED
from mha_core.errors import InputError
from mha_core.heads.answers import Answer, add_answer, cells_of_verdicts, give
from mha_core.heads.corpora import Reading
from mha_core.heads.survey import Options
from mha_core.heads.verdicts.making import make
from mha_core.heads.verdicts.shipped import evidence_file, read_evidence, write_evidence
from mha_core.heads.verdicts.table import Verdicts, packed, text
from mha_core.load import load_model

Stop = Callable[[], bool]


def add_verdicts_parser(questions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `heads verdicts` to the command line."""
    what = "which head does which job on real text, against the best simple rules and with controls"
    parser = questions.add_parser("verdicts", help=what, description=f"Find out {what}.")
    parser.add_argument("--model", default="minilm", help="a name on the shelf, a hub id or a folder")
    add_digest(parser)
    parser.add_argument("--untrained", action="store_true", help="the same model with random weights")
    parser.add_argument("--seed", type=int, default=0, help="of the random weights (0)")
    parser.add_argument(
        "--corpus", type=Path, metavar="FILE", nargs="+", default=[],
        help="a treebank (.conllu), GAP (.tsv), pairs (.json); without it the shipped numbers",
    )  # fmt: skip
    parser.add_argument("--limit", type=positive, help="no more texts of each file than that")
    add_answer(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, mps")
    parser.add_argument("--progress", action="store_true", help="say how far it is")
    parser.add_argument(
        "--on-error", choices=("refuse", "skip"), default="refuse", help="what to do about a broken line"
    )
    parser.add_argument(
        "--ship",
        action="store_true",
        help="write the verdicts, with the untrained twin's, to assets/evidence",
    )


def run(args: argparse.Namespace, stop: Stop) -> int:
    """Write the verdicts. Raises HeadScopeError."""
    reading = Reading(on_error=args.on_error)
    try:
        found = _found(args, reading, stop)
    finally:
        for sentence in reading.said():
            _say(sentence)
    if found is None:
        sys.stderr.write("Stopped; nothing is concluded from a part of a corpus.\n")
        return STOPPED
    if args.ship:
        write_evidence(found, evidence_file(args.model))
        return 0
    data = packed(found)
    if args.corpus:
        data |= {"left_out": reading.n_skipped, "unused": reading.n_unused}
    table = "\n".join([*text(found), ""])
    give(args, Answer(data, data["entries"], lambda: table, cells_of_verdicts(found)))
    return 0


def _found(args: argparse.Namespace, reading: Reading, stop: Stop) -> Verdicts | None:
    if args.ship and (args.untrained or args.limit or not args.corpus):
        raise InputError(
            "The shipped verdicts are those of the trained model on whole corpora: name them with --corpus."
        )
    if args.seed and not (args.untrained or args.ship):
        raise InputError("--seed is of random weights: name --untrained too.")
    missing = next((path for path in args.corpus if not path.is_file()), None)
    if missing is not None:
        raise InputError(f"There is no file {missing.name}.")
    if not args.corpus:
        if args.limit:
            raise InputError("The shipped verdicts are those of whole corpora; --limit needs --corpus.")
        return _shipped(args)
    trained = not args.untrained
    model = load_model(args.model, trained=trained, seed=args.seed, device=args.device, sha256=args.sha256)
    warn_if_unpinned(model)
    options = Options(limit=args.limit, stop=stop)
    found = make(
        model,
        args.corpus,
        _say if args.progress else _quiet,
        options=options,
        reading=reading,
        twin=args.ship,
        seed=args.seed,
    )
    if stop():
        return None
    empty = next((info.file for info in found.corpora.values() if not info.n_texts), None)
    if empty is not None:
        raise InputError(f"There is nothing in {empty} to measure.")
    if not found.entries:
        raise InputError("There are too few cases in the corpus to answer any question.")
    return found


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _quiet(line: str) -> None:
    del line


def _shipped(args: argparse.Namespace) -> Verdicts:
    there = read_evidence(args.model)
    found = there if there is None or not args.untrained else there.twin
    if found is None or (args.untrained and found.seed != args.seed):
        raise InputError(
            f"No verdicts on {args.model} like that come with the program: name a treebank with --corpus."
        )
    return found
