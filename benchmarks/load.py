"""A class on one small server: N readers at once, each with sentences of their own; how long until a page is made.

    python benchmarks/load.py [--readers 30 60 100] [--sentences 4] [--typing] [--at-once] [--equal] [--replicas 2]
    python benchmarks/load.py --beside OTHER/CHECKOUT ...

Every sentence comes as a fresh visit by a link (a new session, a new sentence, the whole page), 2 to 6 s after the one
before; that is more than a class asks for, where most steps are clicks. A reader's first visit fetches the files that a
browser keeps. With `--typing` the readers have opened the page and type into its box; with `--at-once` all begin at the
same moment and never pause; with `--equal` they ask for the same sentences, each of which the server computes once.
`--replicas` starts several servers, of which each reader keeps one; `--beside` measures another checkout's app, with
the same Python, after each class of this one's. Measured is the time from the visit, or from Enter, to the last byte of
the run, over the web socket that a browser uses.

The readers of a class sit on machines of their own, so those here leave the processor to the server: only once the
clock has stopped are the weights of every page compared with the engine's own for its sentence, to the last step of
their 16 bits; a page without them counts as wrong. Who types again reads what came before that, in the pause. The last
column is the processor time that the readers took all the same, beside the servers on the same machine.
"""

import argparse
import os
import random
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from served import (
    NOUNS,
    ROOT,
    megabytes,
    p95,
    print_head,
    print_row,
    rerun,
    running_app,
    socket_to,
    until_over,
)
from served import reader as open_tab
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from visit import STEP, data_of
from websockets.exceptions import WebSocketException

from mha_core import load_model, trace
from pages.parts.picture.shared import FOLDER, files
from tests.running import AppServer

PROBLEMS = (OSError, WebSocketException)


@dataclass
class Visits:
    """The pages of all readers: seconds of each, its sentence with the messages that came, and problems."""

    seconds: list[float] = field(default_factory=list)
    pages: list[tuple[str, list[bytes]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def n_wrong(self) -> int:
        """Count the pages whose weights are not the engine's for their sentence; this takes a while."""
        return sum(not is_right(text, drawn(frames)) for text, frames in self.pages)

    def print_problems(self) -> None:
        """Print three of the problems to standard error."""
        for problem in sorted(set(self.problems))[:3]:
            print(problem, file=sys.stderr)


def is_right(text: str, drawn: Any) -> bool:
    """Return whether the weights that were sent are those of this text, to the last step of their 16 bits."""
    if drawn is None:
        return False
    sent, weights = data_of(drawn)["weights"], trace(text, load_model()).weights
    return len(sent) == weights.size and float(np.abs(sent * STEP - weights.ravel()).max()) <= STEP


def drawn(frames: list[bytes]) -> Any:
    """Return the record that a run brought, or None."""
    parts = (ForwardMsg.FromString(frame).delta.new_element.bidi_component for frame in frames)
    return next((part for part in parts if part.component_name == "headscope_record"), None)


def visit(
    app: AppServer, number: int, asks: argparse.Namespace, visits: Visits, start: threading.Barrier
) -> None:
    """Be one reader of a class."""
    with ExitStack() as stack:
        try:
            tab = stack.enter_context(open_tab(app.url)) if asks.typing else None
        except PROBLEMS as problem:
            visits.problems.append(f"{type(problem).__name__}: {problem}")
            start.abort()
            return
        start.wait()
        chooser = random.Random(0 if asks.equal else number)  # noqa: S311 - a repeatable class, no secret
        time.sleep(0 if asks.at_once else 4 * random.random())  # noqa: S311
        for turn in range(asks.sentences):
            first, second = chooser.choice(NOUNS), chooser.choice(NOUNS)
            who = "one" if asks.equal else number
            text = f"The {first} of reader {who} saw the {second} because it was {turn} days too old."
            begun = time.perf_counter()
            try:
                frames = typed(tab, text) if tab else opened(app.url, text, fetches_files=turn == 0)
            except PROBLEMS as problem:
                visits.problems.append(f"{type(problem).__name__}: {problem}")
            else:
                visits.seconds.append(time.perf_counter() - begun)
                visits.pages.append((text, frames))
                if tab and turn + 1 < asks.sentences:
                    tab.take(frames)
            time.sleep(0 if asks.at_once else 2 + 4 * random.random())  # noqa: S311


def typed(tab: Any, text: str) -> list[bytes]:
    """Type a sentence; return the messages of its run."""
    tab.type_sentence(text)
    return until_over(tab.socket)


def opened(url: str, text: str, *, fetches_files: bool) -> list[bytes]:
    """Open a sentence's link; return the messages of its run."""
    for file in files() if fetches_files else ():
        urllib.request.urlopen(f"{url}/{FOLDER}/{file}", timeout=60).read()  # noqa: S310 - our own server
    with socket_to(url) as socket:
        socket.send(rerun(text=text))
        return until_over(socket)


def measured(apps: list[AppServer], count: int, asks: argparse.Namespace) -> tuple[object, ...]:
    """Let a class of `count` come; return a row of the table."""
    cpu = []

    def meter() -> None:
        cpu.append((sum(cpu_seconds(app.process.pid) for app in apps), time.process_time()))

    visits, start = Visits(), threading.Barrier(count, action=meter)
    readers = [
        threading.Thread(target=visit, args=(apps[number % len(apps)], number, asks, visits, start))
        for number in range(count)
    ]
    for thread in readers:
        thread.start()
    for thread in readers:
        thread.join()
    meter()
    visits.print_problems()
    seconds, n = sorted(visits.seconds) or [float("nan")], max(1, len(visits.seconds))
    servers, own = (1e3 * (after - before) / n for before, after in zip(cpu[0], cpu[-1], strict=True))
    return (
        f"{len(visits.seconds)} of {count * asks.sentences}",
        *(f"{value:.2f} s" for value in (median(seconds), p95(seconds), seconds[-1])),
        visits.n_wrong(), f"{servers:.1f} ms", f"{sum(megabytes(app.process.pid) for app in apps)} MB", f"{own:.1f} ms",
    )  # fmt: skip


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process so far, where the system tells them."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.is_file():
        return float("nan")
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start the apps, let classes of growing size come, print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--readers", type=int, nargs="+", default=[30, 60, 100])
    parser.add_argument("--sentences", type=int, default=4)
    parser.add_argument("--typing", action="store_true", help="all stay on the page and type into its box")
    parser.add_argument("--at-once", action="store_true", help="all begin at once and never pause")
    parser.add_argument("--equal", action="store_true", help="all ask for the same sentences")
    parser.add_argument("--replicas", type=int, default=1, help="servers, of which each reader keeps one")
    parser.add_argument("--beside", type=Path, help="another checkout, measured in turn with this one")
    asks = parser.parse_args()
    roots = [ROOT] if asks.beside is None else [ROOT, asks.beside.resolve()]
    with ExitStack() as stack:
        apps = {
            root: [stack.enter_context(running_app(root)) for _ in range(asks.replicas)] for root in roots
        }
        print_head(
            "readers", "app", "sentences answered", "median", "95 of 100 within", "longest", "wrong numbers",
            "the servers' CPU each", "their memory", "the readers' own CPU each",
        )  # fmt: skip
        for count in asks.readers:
            for root, replicas in apps.items():
                print_row(count, root.name, *measured(replicas, count, asks))


if __name__ == "__main__":
    main()
