"""What small models learn, over seeds: `make bench BENCH=benchmarks/learning.py`; `jobs` or `induction` for one alone.

Every line is one training to its end, on one thread: where it ended, when it first was right in half and in 98 % of the
answers held out, and the processor's seconds until then. `--seeds 5` says how many; `--steps` cuts it short.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mha_core.device import use_one_thread  # noqa: E402
from mha_core.learning.scores import head_scores  # noqa: E402
from mha_core.learning.train import Setup, Snapshot, Training  # noqa: E402
from mha_core.wording import head_name, percent  # noqa: E402

# Task, layers, heads, steps at most.
TRAININGS = {
    "jobs": (("jobs", 1, 1, 8_000), ("jobs", 1, 2, 8_000), ("jobs", 1, 4, 8_000), ("jobs", 1, 8, 8_000)),
    "induction": (("induction", 2, 4, 1_500), ("induction", 1, 4, 6_000)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", nargs="?", choices=tuple(TRAININGS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args()
    use_one_thread()
    print(
        f"{'task':10} layers heads seed  end at   right  by job                 half at  98 % at  CPU s to 98 %"
    )
    for name in [options.task] if options.task else TRAININGS:
        for task, layers, heads, steps in TRAININGS[name]:
            for seed in range(options.seeds):
                one(Setup(task, layers, heads, seed, min(steps, options.steps)))


def one(setup: Setup) -> None:
    start, training = time.process_time(), Training(setup)
    reached: dict[float, tuple[int, float]] = {}
    last: Snapshot | None = None
    for last in training.snapshots():
        for share in (0.5, 0.98):
            if last.accuracy >= share and share not in reached:
                reached[share] = (last.step, time.process_time() - start)
    assert last is not None
    jobs = " ".join(percent(share) for share in last.jobs.values()) if len(last.jobs) > 1 else ""
    half, most = (reached.get(share) for share in (0.5, 0.98))
    print(
        f"{setup.task:10} {setup.layers:6} {setup.heads:5} {setup.seed:4} {last.step:7,} {percent(last.accuracy):>7}  "
        f"{jobs:22} {said(half, 0):>7}  {said(most, 0):>7}  {said(most, 1):>13}  {named(training)}",
        flush=True,
    )


def said(reached: tuple[int, float] | None, part: int) -> str:
    return "never" if reached is None else f"{reached[part]:,.0f}" if part == 0 else f"{reached[part]:.1f}"


def named(training: Training) -> str:
    """The heads that the rules name, with the mass that they are named by."""
    found: list[Any] = []
    for score in head_scores(training.model, training.task):
        if score.role:
            mass = score.induction if score.role == "induction" else score.previous
            found.append(f"{head_name(score.head)} {score.role} {mass:.2f}")
    return ", ".join(found)


if __name__ == "__main__":
    main()
