"""What small models learn, over seeds: `make bench BENCH=benchmarks/learning.py`; `jobs`, `induction` or `classroom`
for one alone.

Every line is one training to its end, on one thread: where it ended, when it first was right in half and in 98 % of the
answers held out, and the processor's seconds until then. `--seeds 5` says how many; `--steps` cuts it short.

`classroom` is the training in which "it" moves, as the page runs it, with all that is drawn: the processor's seconds
until the picture first changes, until one head has more than half of its attention on `animal` in the one sentence and
on `street` in the other, and until one head passes 95 % of 400 held-out pairs (counted where 95 % of the 40 that the
page watches pass; that count's own time is left out).
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from mha_core.device import use_one_thread  # noqa: E402
from mha_core.learning.classroom import live  # noqa: E402
from mha_core.learning.classroom import training as classroom_training  # noqa: E402
from mha_core.learning.classroom.evaluation import evaluate  # noqa: E402
from mha_core.learning.classroom.pairs import FAMOUS  # noqa: E402
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
    parser.add_argument("task", nargs="?", choices=(*TRAININGS, "classroom"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args()
    use_one_thread()
    if options.task in (None, "classroom"):
        print(
            "classroom seed  first  both > .5  95 % of 400 pairs  end      pairs  (seconds of the processor, steps)"
        )
        for seed in range(1, options.seeds + 1):
            classroom(seed)
    if options.task == "classroom":
        return
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


def classroom(seed: int) -> None:
    """One live training. The model itself is looked at through what the page is given."""
    start, apart = time.process_time(), 0.0
    first: tuple[int, float] | None = None
    both, goal = first, first
    training = classroom_training.Training(seed)
    pair = FAMOUS["street"]
    for fraction, row, shown in live.followed(training):
        now = (row["step"], time.process_time() - start - apart)
        weights = shown["weights"][:, :, :, pair.slot]  # (text, layer, head, key)
        right = np.minimum(weights[0, :, :, pair.places[0]], weights[1, :, :, pair.places[1]])
        first = now if first is None and row["step"] else first
        both = now if both is None and right.max() > 0.5 else both
        if goal is None and row["pass"] >= 0.95 and fraction < 1:
            begun = time.process_time()
            goal = now if evaluate(training.stack).passed >= 0.95 else None
            apart += time.process_time() - begun
    card = shown["report"]
    print(
        f"{'':9} {seed:4} {said(first, 1):>6}  {said(both, 1):>9}  {said(goal, 1):>17}  {now[1]:3.0f}  "
        f"{percent(card['pass']):>9}  {said(first, 0)}, {said(both, 0)}, {said(goal, 0)}, {now[0]:,}",
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
