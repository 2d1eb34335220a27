"""What every head in turn costs: one sweep against as many plain runs of transformers, in one process, on one thread.

    python benchmarks/experiments.py [--rounds 3]

CPU seconds of both and their ratio, with the numbers compared before anything is timed. transformers runs the whole
model for each head, as one would who zeroes a head with a hook; ours begins at the head's own layer.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

import torch  # noqa: E402

from mha_core.experiments import Factor, Word, every_head, last, measure  # noqa: E402
from mha_core.models import load_model  # noqa: E402
from tests.smollm2_twin import transformers_twin  # noqa: E402

TEXT = "When Mary and John went to the store, John gave a drink to"
OUTCOME = Word(" Mary", " John")
BAR = 0.4
FIRST = 1.0  # seconds until there is something to see


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> int:
    """Measure, print, and fail where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model("smollm2", device="cpu")
    theirs = transformers_twin(model)
    tokens = model.tokenizer.encode(TEXT)
    ids, n = torch.tensor([tokens.ids]), model.n_layers * model.n_heads
    found = last(every_head(tokens, model, OUTCOME))
    places = [(layer, head) for layer in range(0, model.n_layers, 4) for head in range(model.n_heads)]
    one_by_one = [measure(tokens, model, OUTCOME, (Factor((place,)),))[0] for place in places]
    apart = max(abs(found.after[place] - one) for place, one in zip(places, one_by_one, strict=True))

    def plain() -> None:
        with torch.inference_mode():
            for _ in range(n):
                theirs(ids)

    rounds = [(cpu(lambda: last(every_head(tokens, model, OUTCOME))), cpu(plain)) for _ in range(args.rounds)]
    ours, other = (statistics.median(times) for times in zip(*rounds, strict=True))
    first = cpu(lambda: next(every_head(tokens, model, OUTCOME)))
    print(
        f"{n} heads of {model.title}, {len(tokens)} tokens, one thread, CPU seconds, median of {args.rounds}"
    )
    print(f"ours, every head in turn           {ours:7.2f} s   (first heads after {first:.2f} s)")
    print(f"transformers, as many plain runs   {other:7.2f} s")
    print(f"ratio                              {ours / other:7.2f}     bar {BAR}")
    print(f"largest distance from one by one   {apart:.1e}     of {len(places)} heads, bar 1e-4")
    good = ours / other <= BAR and apart <= 1e-4 and first <= FIRST
    print("within the bars" if good else "MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
