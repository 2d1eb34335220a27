"""Ray drives the parts of a command, on this machine's cores or on a cluster: `--engine ray`.

In: what `compute_part` takes. Out: one part file a shard, for `merge_parts`, with its second round where there is one.
A task is one part in one round, a worker keeps its model, and a worker or a node that dies costs the parts it had: Ray
gives them to others.
"""

import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from mha_core.errors import InputError
from mha_core.heads.corpora import addresses
from mha_core.heads.part_files import compute_part, fit_rules, read_file, score_part, statistics_of

TRIES = 4  # of a part whose worker dies
WAIT_S = 0.5  # until a stop is seen
REACH_S = 10.0  # Ray itself asks an address that nobody answers for minutes


def compute_on_ray(
    command: str,
    options: Mapping[str, Any],
    shards: Sequence[str],
    out: str | Path,
    *,
    address: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    done: Callable[[int, int], None] = lambda n, total: None,
) -> list[Path] | None:
    """Compute every shard as a part of its own, on Ray's workers, and return their files; None where `stop` said so.

    `command`, `options`, `shards`, `resume`: as in `compute_part`. `out`: a folder that all workers share. `address`:
    a cluster's ("auto", "ray://host:10001"), by default that of RAY_ADDRESS; without either Ray is started here and
    ended again. `workers`: how many parts at once (all cores, or all GPUs where there are any). `done` gets the number
    of parts that are ready, and of all, in each round.

    Raises InputError where Ray is not installed or not reached, for shards and folders that cannot be used, and for a
    part that lost its worker four times.
    """
    try:
        ray: Any = import_module("ray")
    except ModuleNotFoundError:
        raise InputError("Ray is not installed; run: pip install 'headscope[ray]'.") from None
    started = not ray.is_initialized()
    if started:
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        here = {"num_cpus": workers, "include_dashboard": False} if address == "local" else {}
        try:
            if place := re.search(r"([^/]+):([0-9]+)$", address):
                socket.create_connection((place[1], int(place[2])), REACH_S).close()
            ray.init(address=address, logging_level="error", log_to_driver=False, **here)
        except OSError as problem:
            raise InputError(f"Ray cannot be reached at {address}: {problem}.") from None
    try:
        return _drive(
            ray, (command, dict(options), list(shards)), Path(out).resolve(), workers, resume, stop, done
        )
    finally:
        if started:
            ray.shutdown()


def _drive(
    ray: Any,
    request: tuple[str, dict[str, Any], list[str]],
    out: Path,
    workers: int | None,
    resume: bool,
    stop: Callable[[], bool],
    done: Callable[[int, int], None],
) -> list[Path] | None:
    """Keep as many parts running as there are workers."""
    resources = ray.cluster_resources()
    gpus, parts = int(resources.get("GPU", 0)), len(addresses(request[2]))
    at_once = workers or gpus or int(resources.get("CPU", 1))

    def run(
        function: Callable[..., Path | None], num_gpus: int, arguments: Callable[[int], tuple[Any, ...]]
    ) -> list[Path] | None:
        task = ray.remote(num_cpus=1, num_gpus=num_gpus, max_retries=TRIES - 1)(function)
        running, files, following = dict[Any, int](), dict[int, Path](), 1
        while running or following <= parts:
            while following <= parts and len(running) < at_once:
                running[task.remote(*arguments(following))] = following
                following += 1
            if stop():
                for reference in running:
                    ray.cancel(reference, force=True)
                return None
            for reference in ray.wait(list(running), timeout=WAIT_S)[0]:
                part = running.pop(reference)
                files[part] = _file_of(ray, reference, part)
                done(len(files), parts)
        return [files[part] for part in sorted(files)]

    files = run(_compute, min(gpus, 1), lambda part: (*request, part, parts, str(out), resume))
    if files and statistics_of(request[0]).has_rules:
        paths, rules = files, fit_rules(read_file(files[0]))
        return files if run(score_part, 0, lambda part: (paths[part - 1], rules)) else None
    return files


def _compute(
    command: str, options: dict[str, Any], shards: list[str], part: int, parts: int, out: str, resume: bool
) -> Path | None:
    """One part, in a worker."""
    return compute_part(command, options, shards, part, parts, out, resume=resume)


def _file_of(ray: Any, reference: Any, part: int) -> Path:
    """Return the file of a part that is ready."""
    try:
        path: Path = ray.get(reference)
    except ray.exceptions.RayTaskError as problem:
        raise (problem.cause if isinstance(problem.cause, InputError) else problem) from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
        raise InputError(
            f"Part {part} lost its worker {TRIES} times; see its memory, then use --resume."
        ) from None
    if not path.is_file():
        raise InputError(f"Part {part} is not in {path.parent} here; give a folder that all workers share.")
    return path
