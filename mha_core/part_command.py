"""`--part`: a command computes one part of its shards, and says so in its exit code (130 where it was stopped)."""

import argparse
import re
from collections.abc import Callable

from mha_core.console import STOPPED
from mha_core.errors import InputError
from mha_core.heads.survey import Options, Progress
from mha_core.parts import compute_part


def add_shards(parser: argparse.ArgumentParser, what: str) -> None:
    """Which shards, and which part of them."""
    parser.add_argument(
        "shards", metavar="SHARD", nargs="*", default=[], help=f"{what}; a path, pattern or fsspec address"
    )
    parser.add_argument(
        "--part",
        type=_part,
        metavar="I/N",
        help="compute every Nth shard from the Ith on, into the folder --out",
    )
    parser.add_argument(
        "--resume", action="store_true", help="with --part: keep a part that is there and valid"
    )


def _part(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a part, such as 3/64")
    return int(found[1]), int(found[2])


def give_part(
    command: str,
    args: argparse.Namespace,
    stop: Callable[[], bool],
    progress: Callable[[Progress], None] | None,
) -> int:
    """Compute the part that was asked for. Raises InputError where shards or a folder are missing."""
    if not args.shards or args.out is None:
        raise InputError("--part needs shards, and --out with a folder for the parts.")
    options = {
        "model": args.model,
        "trained": not args.untrained,
        "seed": getattr(args, "seed", 0),
        "device": args.device,
        "dtype": args.precision,
        "sha256": args.sha256,
        "on_error": getattr(args, "on_error", "refuse"),
    }
    survey = Options(stop=stop, progress=progress)
    part, parts = args.part
    path = compute_part(
        command, options, args.shards, part, parts, args.out, resume=args.resume, survey=survey
    )
    return STOPPED if path is None else 0
