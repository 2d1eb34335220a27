"""Ray drives the parts of a command, on this machine's cores or on a cluster: `--engine ray`.

In: what `compute_part` takes. Out: one part file a shard, for `merge_parts`. A task is one part, a worker keeps its
model, and a worker that dies costs the part it had: Ray gives that to another.
"""

import re
import socket
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from mha_core.errors import InputError
from mha_core.heads.corpora import addresses
from mha_core.heads.part_files import compute_part

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
    a cluster's ("auto", "ray://host:10001"); without it Ray is started here and ended again. `workers`: how many parts
    at once (all cores, or all GPUs where there are any). `done` gets the number of parts that are ready, and of all.

    Raises InputError where Ray is not installed or not reached, for shards and folders that cannot be used, and for a
    part that lost its worker four times.
    """
    try:
        ray: Any = import_module("ray")
    except ModuleNotFoundError:
        raise InputError("Ray is not installed; run: pip install 'headscope[ray]'.") from None
    started = not ray.is_initialized()
    if started:
        here = {} if address else {"num_cpus": workers, "include_dashboard": False}
        try:
            if place := re.search(r"([^/]+):([0-9]+)$", address or ""):
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
    gpus = int(resources.get("GPU", 0))
    at_once = workers or gpus or int(resources.get("CPU", 1))
    task = ray.remote(num_cpus=1, num_gpus=min(gpus, 1), max_retries=TRIES - 1)(_compute)
    parts = len(addresses(request[2]))
    running, files, following = dict[Any, int](), list[Path](), 1
    while running or following <= parts:
        while following <= parts and len(running) < at_once:
            running[task.remote(*request, following, parts, str(out), resume)] = following
            following += 1
        if stop():
            for reference in running:
                ray.cancel(reference, force=True)
            return None
        for reference in ray.wait(list(running), timeout=WAIT_S)[0]:
            files.append(_file_of(ray, reference, running.pop(reference)))
            done(len(files), parts)
    return files


def _compute(
    command: str, options: dict[str, Any], shards: list[str], part: int, parts: int, out: str, resume: bool
) -> str:
    """One part, in a worker."""
    return str(compute_part(command, options, shards, part, parts, out, resume=resume))


def _file_of(ray: Any, reference: Any, part: int) -> Path:
    """Return the file of a part that is ready."""
    try:
        path = Path(ray.get(reference))
    except ray.exceptions.RayTaskError as problem:
        raise (problem.cause if isinstance(problem.cause, InputError) else problem) from None
    except ray.exceptions.WorkerCrashedError:
        raise InputError(
            f"Part {part} lost its worker {TRIES} times; see its memory, then use --resume."
        ) from None
    if not path.is_file():
        raise InputError(f"Part {part} is not in {path.parent} here; give a folder that all workers share.")
    return path
