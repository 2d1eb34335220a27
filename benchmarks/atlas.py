"""How long the atlas takes: the shipped numbers to what the page draws, and a text of 5,000 words to all heads.

`python benchmarks/atlas.py --model smollm2` prints seconds of one thread (CPU time and wall-clock time).
"""

import argparse
import time

import torch

from mha_core import load_model
from mha_core.heads.atlas.reading import read_passages, split_passages
from mha_core.heads.atlas.shipped import read_shipped
from mha_core.heads.atlas.table import atlas
from mha_core.reader import read_reader
from pages.parts.atlas.points import counts, points_data
from pages.parts.atlas.relatives import relatives

WORDS = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2")
    name = parser.parse_args().model
    torch.set_num_threads(1)

    clock = Clock()
    there = read_shipped(name)
    if there is not None:
        clock.say("shipped numbers read (once a server)")
        head = there.atlas.heads[0].head
        points_data(there.atlas, "rests", "brings", "description", "", head)
        counts(there.atlas)
        relatives(there.atlas, head, there.atlas)
        clock.say("what the page draws, the first time")
        points_data(there.atlas, "rests", "brings", "description", "", head)
        relatives(there.atlas, there.atlas.heads[1].head, there.atlas)
        clock.say("what the page draws for another head")

    model = load_model(name)
    text, passages = "", iter(read_reader())
    while len(text.split()) < WORDS:
        text += next(passages).text + "\n"
    clock = Clock()
    parts = read_passages(split_passages(text), model)
    part = next(parts)
    atlas(part.sums)
    clock.say("first heads of 5,000 words")
    for further in parts:
        part = further
    atlas(part.sums)
    clock.say(f"all heads of 5,000 words ({part.n} passages)")


class Clock:
    """Says how long it is since it was last asked."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.monotonic(), time.process_time()

    def say(self, what: str) -> None:
        wall, cpu = time.monotonic(), time.process_time()
        print(f"{what}: {cpu - self.cpu:.3f} s of CPU, {wall - self.wall:.3f} s")
        self.wall, self.cpu = wall, cpu


if __name__ == "__main__":
    main()
