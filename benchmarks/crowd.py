"""Readers of three kinds at once: what a normal one waits, calm, beside heavy ones and beside floods, numbers checked.

    python benchmarks/crowd.py [calm heavy flood10 flood50 ...] [--normal 20] [--heavy 10] [--visits 4]

A normal reader makes fresh visits with new sentences, with 1 to 3 s between them. A heavy one asks without a pause, all
by links as the pages make them: the slowest measure of a text of 480 words, whole words renormalised, two long texts
compared, every step inside a layer. A flood is that many sockets on which one client sends reruns without a pause. The
weights that reached the normal readers are compared with the engine's own afterwards; the server's memory is its
highest, read ten times a second.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from visit import STEP, data_of  # noqa: E402
from websockets.exceptions import WebSocketException  # noqa: E402

from benchmarks.wire import NOUNS, highest, p95, visit, wait_for  # noqa: E402
from mha_core import load_model, trace  # noqa: E402
from mha_core.reader import read_reader  # noqa: E402
from tests.conftest import AppServer, start_app  # noqa: E402

LONG = 480  # words
BEFORE = 5.0  # seconds which the others have before the normal readers come
HEAVY: tuple[tuple[str, dict[str, str]], ...] = (
    ("", {"measure": "residual"}),
    ("", {"unit": "words", "specials": "renormalised"}),
    ("compare", {"measure": "value", "against": "weights"}),
    ("inside", {}),
)


@dataclass
class Seen:
    """What the normal readers saw: seconds a visit, the weights that came with each text, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    drawn: list[tuple[str, Any]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def record_of(app: AppServer, page: str = "", **query: str) -> Any:
    """Open a page by its link and read until its run is over; the record that it draws first, or None."""
    parts = [answer.delta.new_element.bidi_component for answer in visit(app.url, page, **query)]
    return next((part for part in parts if part.component_name == "headscope_record"), None)


def normal(app: AppServer, number: int, visits: int, tag: str, seen: Seen) -> None:
    """One who types a new sentence now and then."""
    chooser = random.Random(f"{tag} {number}")  # noqa: S311 - a repeatable class, no secret
    time.sleep(2 * chooser.random())
    for turn in range(visits):
        first, second = chooser.choice(NOUNS), chooser.choice(NOUNS)
        text = (
            f"The {first} of the {tag} reader {number} saw the {second} because it was {turn} days too old."
        )
        start = time.perf_counter()
        try:
            drawn = record_of(app, text=text)
        except (OSError, WebSocketException) as trouble:
            seen.troubles.append(f"{type(trouble).__name__}: {trouble}")
        else:
            seen.seconds.append(time.perf_counter() - start)
            seen.drawn.append((text, drawn))
        time.sleep(1 + 2 * chooser.random())


def heavy(app: AppServer, number: int, over: threading.Event) -> None:
    """One who asks for what takes longest, again as soon as it is there; never the same text."""
    words = [word for passage in read_reader() for word in passage.text.split()]
    turn = number
    while not over.is_set():
        page, asked = HEAVY[turn % len(HEAVY)]
        start = 137 * turn % (len(words) - LONG)
        with suppress(OSError, WebSocketException):
            text = f"{number} {turn} " + " ".join(words[start : start + LONG])
            wait_for(app.url, page=page, text=text[:3_500], **asked)
        turn += 1


@contextmanager
def flood(app: AppServer, sockets: int) -> Iterator[None]:
    """So many sockets of one client that sends without a pause, in a process of its own."""
    command = [sys.executable, str(ROOT / "benchmarks" / "flood.py"), app.url, str(sockets)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def beside(
    app: AppServer, who: Callable[..., None], count: int, over: threading.Event
) -> list[threading.Thread]:
    """So many of them, already at it."""
    others = [threading.Thread(target=who, args=(app, number, over), daemon=True) for number in range(count)]
    for one in others:
        one.start()
    return others


def scene(app: AppServer, name: str, options: argparse.Namespace) -> tuple[Seen, int]:
    """The normal readers of one scene, with whoever else belongs to it; and the server's memory at most."""
    seen, over = Seen(), threading.Event()
    with flood(app, int(name.removeprefix("flood"))) if name.startswith("flood") else nullcontext():
        others = beside(app, heavy, options.heavy if name == "heavy" else 0, over)
        time.sleep(BEFORE if name != "calm" else 0)
        with highest(app.process.pid) as most:
            play(app, name, options, seen)
            memory = most()
    over.set()
    for one in others:
        one.join(60)
    return seen, memory


def play(app: AppServer, name: str, options: argparse.Namespace, seen: Seen) -> None:
    """What the normal readers do, to its end."""
    readers = [
        threading.Thread(target=normal, args=(app, number, options.visits, name, seen))
        for number in range(options.normal)
    ]
    for one in readers:
        one.start()
    for one in readers:
        one.join()


def wrong(seen: Seen) -> int:
    """How many pictures are not the engine's for their own sentence."""
    return sum(not is_right(text, drawn) for text, drawn in seen.drawn)


def is_right(text: str, drawn: Any) -> bool:
    """Whether the weights that were sent are those of this text, to the last step of their 16 bits."""
    if drawn is None:
        return False
    data, weights = data_of(drawn), trace(text, load_model()).weights
    sent = (
        data["weights"].reshape(weights.shape) * STEP if len(data["weights"]) == weights.size else np.zeros(1)
    )
    return sent.shape == weights.shape and float(np.abs(sent - weights).max()) <= STEP


def main() -> None:
    """Start the app, play the scenes, print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenes", nargs="*", default=["calm", "heavy", "calm", "flood10", "flood50"])
    parser.add_argument("--normal", type=int, default=20)
    parser.add_argument("--heavy", type=int, default=10)
    parser.add_argument("--visits", type=int, default=4)
    options = parser.parse_args()
    print(
        "| scene | answered | median | 95 of 100 within | longest | wrong numbers | memory |\n"
        + "|---" * 7
        + "|"
    )
    with tempfile.TemporaryDirectory() as folder:
        app = start_app(Path(folder) / "server.log")
        try:
            wait_for(app.url, text="The first visit pays for what is made once.")
            for name in options.scenes:
                seen, memory = scene(app, name, options)
                times = sorted(seen.seconds) or [float("nan")]
                print(
                    f"| {name} | {len(seen.seconds)} of {options.normal * options.visits} "
                    f"| {statistics.median(times):.2f} s | {p95(times):.2f} s | {times[-1]:.2f} s "
                    f"| {wrong(seen)} | {memory} MB |",
                    flush=True,
                )
                for trouble in sorted(set(seen.troubles))[:3]:
                    print(trouble, file=sys.stderr)
        finally:
            app.stop()


if __name__ == "__main__":
    main()
