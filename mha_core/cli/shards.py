"""Shards of a corpus on the command line, and parts of them computed by `--part` or `--engine ray`."""

import argparse
import re
from collections.abc import Sequence

from mha_core.cli.arguments import number_from
from mha_core.cli.output import warn
from mha_core.cli.process import STOPPED
from mha_core.errors import InputError
from mha_core.heads.part_files import compute_part
from mha_core.heads.ray_engine import compute_on_ray
from mha_core.heads.survey import Options


def shard_options(shards: str) -> argparse.ArgumentParser:
    """Return a parent with the shards and which part of them to compute; `shards` is the help of SHARD."""
    parent = argparse.ArgumentParser(add_help=False)
    add, driver = parent.add_argument, parent.add_mutually_exclusive_group()
    add("shards", metavar="SHARD", nargs="*", help=f"{shards}; a path, pattern or fsspec address")
    text = "compute every Nth shard from the Ith on, into the folder --out"
    driver.add_argument("--part", type=_part, metavar="I/N", help=text)
    text = "compute every shard as a part, by Ray, into the folder --out"
    driver.add_argument("--engine", choices=["ray"], help=text)
    text = "with --engine ray: the cluster (auto, ray://host:10001), or none"
    add("--address", metavar="ADDRESS", help=text)
    text = "with --engine ray: parts at once (all cores, or all GPUs)"
    add("--workers", type=number_from(1), metavar="N", help=text)
    add("--resume", action="store_true", help="keep parts that are there and valid")
    return parent


def refuse_empty(names: Sequence[str]) -> None:
    """Raise InputError for files without a text, by their names."""
    if names:
        raise InputError(f"There is nothing in {', '.join(names)} to measure.")


def _part(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a part, such as 3/64")
    return int(match[1]), int(match[2])


def compute_parts(command: str, options: argparse.Namespace, survey: Options) -> int:
    """Compute the chosen part, or all by Ray; return the exit code. Raises InputError without shards or a folder."""
    if not options.shards or options.out is None:
        name = "--part" if options.part else "--engine"
        raise InputError(f"{name} needs shards, and --out with a folder for the parts.")
    run = {
        "model": options.model,
        "trained": not options.untrained,
        "seed": getattr(options, "seed", 0),
        "device": options.device,
        "dtype": options.precision,
        "sha256": options.sha256,
        "on_error": getattr(options, "on_error", "refuse"),
    }
    if options.engine is None:
        part, parts = options.part
        result: object = compute_part(
            command,
            run,
            options.shards,
            part,
            parts,
            options.out,
            resume=options.resume,
            survey=survey,
            say=warn,
        )
    else:
        result = compute_on_ray(
            command, run, options.shards, options.out, address=options.address, workers=options.workers,
            resume=options.resume, stop=survey.stop or (lambda: False),
            done=lambda n, parts: warn(f"part {n} of {parts} is ready"),
        )  # fmt: skip
    return STOPPED if result is None else 0
