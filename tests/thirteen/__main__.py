"""Thirteen faults of a server, each tried on one that runs: `python tests/thirteen [NUMBER ...]`, or `make faults`.

In: the numbers of those to try, all of them without one. Out: a row each with its criterion and what was measured; the
exit status says whether all criteria were met. `docs/operating.md` has the table.
"""

import sys
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

import house
import models
import readers
import strain


class Fault(NamedTuple):
    """One of the thirteen: what is done to the server, and what has to be true then."""

    name: str
    criterion: str
    trial: Callable[[], house.Outcome]


FAULTS = {
    1: Fault("21 damages and 40 flipped bits of the embedded model", "each refused in a sentence", models.fault_1),
    2: Fault("a hub that is away, silent, refusing, cut, stalling, damaged", "every page within 15 s", models.fault_2),
    3: Fault("nothing can be written", "pages, corpora and a hub's refusal work", models.fault_3),
    4: Fault("five fetches killed", "at most 1.2 times the model's size on the disk", models.fault_4),
    5: Fault(
        "60 pages and 500 texts of some 128 tokens, with HEADSCOPE_STORE_MB=200",
        "all answered, at most 900 MB",
        readers.fault_5,
    ),
    6: Fault("SIGTERM under 30 readers", "each one's next sentence within 10 s of the start", readers.fault_6),
    7: Fault("SIGKILL under 30 readers", "each one's next sentence within 20 s of the start", readers.fault_7),
    8: Fault("two tabs, one of them duplicated", "each keeps its own", readers.fault_8),
    9: Fault(
        "clients that never read, a flood, with HEADSCOPE_STORE_MB=50",
        "others' p95 under 500 ms and 3 times calm, +100 MB",
        strain.fault_9,
    ),
    10: Fault("a link opened after two restarts", "the same data to the byte", readers.fault_10),
    11: Fault("the engine raises on one reader's text", "only that reader is told", strain.fault_11),
    12: Fault("the clock jumps, the process stands still", "all 30 readers go on", strain.fault_12),
    13: Fault("1,000 visitors, with HEADSCOPE_STORE_MB=50", "at most +100 MB and +20 open files", strain.fault_13),
}  # fmt: skip


def main(numbers: list[str]) -> int:
    """Try these; 1 where a criterion was not met."""
    chosen = [int(number) for number in numbers] or list(FAULTS)
    failed = 0
    for number in chosen:
        fault, start = FAULTS[number], time.monotonic()
        try:
            held, said = fault.trial()
        except (OSError, AssertionError, RuntimeError, ValueError, KeyError) as problem:
            traceback.print_exc()
            held, said = False, f"the trial ended with {type(problem).__name__}"
        failed += not held
        print(
            f"{number:2}  {'pass' if held else 'FAIL'}  {fault.name} ({fault.criterion}): {said} "
            f"[{time.monotonic() - start:.0f} s]",
            flush=True,
        )
    print(f"{len(chosen) - failed} of {len(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
