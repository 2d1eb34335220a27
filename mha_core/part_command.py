"""`--part` and `--engine ray`: a command computes one part of its shards, or all by Ray, into part files.

Says in its exit code how it went (130 where it was stopped).
"""

import argparse
import re
import sys
from collections.abc import Callable

from mha_core.command_io import positive
from mha_core.console import STOPPED
from mha_core.errors import InputError
from mha_core.heads.survey import Options, Progress
from mha_core.parts import compute_part
from mha_core.ray_engine import compute_on_ray


def add_shards(parser: argparse.ArgumentParser, what: str) -> None:
    """Which shards, and which part of them."""
    parser.add_argument(
        "shards", metavar="SHARD", nargs="*", default=[], help=f"{what}; a path, pattern or fsspec address"
    )
    driver = parser.add_mutually_exclusive_group()
    driver.add_argument(
        "--part",
        type=_part,
        metavar="I/N",
        help="compute every Nth shard from the Ith on, into the folder --out",
    )
    driver.add_argument(
        "--engine", choices=["ray"], help="compute every shard as a part, by Ray, into the folder --out"
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        help="with --engine ray: the cluster (auto, ray://host:10001), or none",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="with --engine ray: parts at once (all cores, or all GPUs)",
    )
    parser.add_argument("--resume", action="store_true", help="keep parts that are there and valid")


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
    """Compute the part that was asked for, or all. Raises InputError where shards or a folder are missing."""
    if not args.shards or args.out is None:
        raise InputError(
            f"{'--part' if args.part else '--engine'} needs shards, and --out with a folder for the parts."
        )
    options = {
        "model": args.model,
        "trained": not args.untrained,
        "seed": getattr(args, "seed", 0),
        "device": args.device,
        "dtype": args.precision,
        "sha256": args.sha256,
        "on_error": getattr(args, "on_error", "refuse"),
    }
    if args.engine is None:
        part, parts = args.part
        survey = Options(stop=stop, progress=progress)
        found: object = compute_part(
            command, options, args.shards, part, parts, args.out, resume=args.resume, survey=survey
        )
    else:
        found = compute_on_ray(
            command, options, args.shards, args.out, address=args.address, workers=args.workers,
            resume=args.resume, stop=stop, done=_done,
        )  # fmt: skip
    return STOPPED if found is None else 0


def _done(n: int, of: int) -> None:
    sys.stderr.write(f"part {n} of {of} is ready\n")
