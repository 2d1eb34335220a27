"""A class on one small server: N readers at once, each with sentences of their own; how long until a page is made.

    python benchmarks/load.py [--readers 30 60 100] [--sentences 4] [--typing] [--at-once] [--equal] [--replicas 2]
    python benchmarks/load.py --beside OTHER/CHECKOUT [--readers 30 100] [--sentences 4]

Every sentence comes as a fresh visit by a link (a new session, a new sentence, the whole page), 2 to 6 s after the one
before; that is more than a class asks for, where most steps are clicks. A reader's first visit fetches the files that a
browser keeps. With `--typing` the readers have opened the page and type into its box; with `--at-once` all begin at the
same moment and never pause; with `--equal` they ask for the same sentences, each of which the server computes once.
`--replicas` starts several servers, of which each reader keeps one. Measured is the time from the visit, or from Enter,
to the last byte of the run, over the web socket that a browser uses.

`--beside` compares this checkout's app with another one's, started with the same Python: every class types, and then
the largest all at once, one app after the other.

The readers of a class sit on machines of their own, so what stands for them here leaves the processor to the server: it
keeps what comes as it is (`line.py`) and looks only for the message that ends a run. Once the clock has stopped, all of
it is read, and the weights of every page are compared with the engine's own for its sentence, to the last step of their
16 bits; a page without them counts as wrong. Only who types again reads what came before that, in the pause: the
browser's next message says what it has. The last column is the processor time that the readers took all the same,
beside the servers on the same machine.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

import numpy as np  # noqa: E402
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402
from visit import STEP, data_of  # noqa: E402

from benchmarks.line import Line  # noqa: E402
from benchmarks.reader import reader as tab  # noqa: E402
from benchmarks.reader import sentence  # noqa: E402
from benchmarks.wire import NOUNS, megabytes, p95, rerun  # noqa: E402
from mha_core import load_model, trace  # noqa: E402
from pages.parts.picture.shared import FOLDER, files  # noqa: E402
from tests.conftest import AppServer, start_app  # noqa: E402


@dataclass
class Seen:
    """What the readers saw: seconds a page, what came of each with its sentence, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    pages: list[tuple[str, list[bytes]]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def wrong(self) -> int:
        """How many pages are not the engine's for their own sentence. When the clock has stopped: it takes a while."""
        return sum(not is_right(text, drawn(said)) for text, said in self.pages)


def is_right(text: str, drawn: Any) -> bool:
    """Whether the weights that were sent are those of this text, to the last step of their 16 bits."""
    if drawn is None:
        return False
    data, weights = data_of(drawn), trace(text, load_model()).weights
    sent = (
        data["weights"].reshape(weights.shape) * STEP if len(data["weights"]) == weights.size else np.zeros(1)
    )
    return sent.shape == weights.shape and float(np.abs(sent - weights).max()) <= STEP


def drawn(said: list[bytes]) -> Any:
    """The record that a run brought, or None."""
    parts = (ForwardMsg.FromString(frame).delta.new_element.bidi_component for frame in said)
    return next((part for part in parts if part.component_name == "headscope_record"), None)


@dataclass(frozen=True)
class Class:
    """How its readers ask: for how many sentences each, all at once or with time to think, for the same ones or not."""

    sentences: int
    typing: bool = False
    at_once: bool = False
    equal: bool = False
    files: tuple[str, ...] = ()


def reader(app: AppServer, number: int, asks: Class, seen: Seen, begin: threading.Barrier) -> None:
    """One reader of a class."""
    with ExitStack() as open_page:
        try:
            page = open_page.enter_context(tab(app, Line)) if asks.typing else None
        except OSError as trouble:
            seen.troubles.append(f"{type(trouble).__name__}: {trouble}")
            begin.abort()
            return
        begin.wait()
        chooser = random.Random(0 if asks.equal else number)  # noqa: S311 - a repeatable class, no secret
        time.sleep(0 if asks.at_once else 4 * random.random())  # noqa: S311
        for turn in range(asks.sentences):
            first, second = chooser.choice(NOUNS), chooser.choice(NOUNS)
            who = "one" if asks.equal else number
            text = f"The {first} of reader {who} saw the {second} because it was {turn} days too old."
            start = time.perf_counter()
            try:
                if page is None:
                    for file in asks.files if turn == 0 else ():
                        urllib.request.urlopen(app.url + file, timeout=60).read()  # noqa: S310 - our own server
                    with Line(app.url) as line:
                        line.send(rerun(text=text))
                        said = line.run()
                else:
                    page.ask(*sentence(page, text))
                    said = page.socket.run()
            except OSError as trouble:
                seen.troubles.append(f"{type(trouble).__name__}: {trouble}")
            else:
                seen.seconds.append(time.perf_counter() - start)
                seen.pages.append((text, said))
                for frame in said if page is not None and turn + 1 < asks.sentences else ():
                    page.take(frame)
            time.sleep(0 if asks.at_once else 2 + 4 * random.random())  # noqa: S311


class Measured(NamedTuple):
    """What a class saw, and what it cost: CPU seconds of servers and of readers for each sentence, megabytes."""

    asked: int
    seconds: list[float]
    wrong: int
    cpu: float
    memory: int
    own_cpu: float


def main() -> None:
    """Start the app, let classes come, print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--readers", type=int, nargs="+", help="30 60 100; beside another checkout 30 100")
    parser.add_argument("--sentences", type=int, default=4)
    parser.add_argument("--typing", action="store_true", help="all stay on the page and type into its box")
    parser.add_argument("--at-once", action="store_true", help="all begin at once and never pause")
    parser.add_argument("--equal", action="store_true", help="all ask for the same sentences")
    parser.add_argument("--replicas", type=int, default=1, help="servers, of which each reader keeps one")
    parser.add_argument(
        "--beside", type=Path, help="another checkout, which is measured in turn with this one"
    )
    options = parser.parse_args()
    with ExitStack() as running:
        if options.beside:
            print_beside(running, options.beside.resolve(), options.readers or [30, 100], options.sentences)
        else:
            kept = tuple(f"/{FOLDER}/{name}" for name in files())
            asks = Class(options.sentences, options.typing, options.at_once, options.equal, kept)
            print_classes(running, options.replicas, options.readers or [30, 60, 100], asks)


def print_classes(running: ExitStack, replicas: int, counts: list[int], asks: Class) -> None:
    """Print what classes of growing size see of this checkout's app."""
    head = (
        "readers", "sentences answered", "median", "95 of 100 within", "longest", "wrong numbers",
        "the servers' CPU each", "their memory", "the readers' own CPU each",
    )  # fmt: skip
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    apps = [started(running, ROOT) for _ in range(replicas)]
    for count in counts:
        found = measured(apps, count, asks)
        print(
            f"| {count} | {len(found.seconds)} of {found.asked} | {median(found.seconds):.2f} s "
            f"| {p95(found.seconds):.2f} s | {max(found.seconds):.2f} s | {found.wrong} | {1e3 * found.cpu:.1f} ms "
            f"| {found.memory or 'unknown'} MB | {1e3 * found.own_cpu:.1f} ms |",
            flush=True,
        )


def print_beside(running: ExitStack, other: Path, counts: list[int], sentences: int) -> None:
    """Print what the same classes see of this checkout's app and of another's, and this one's share of the other's."""
    apps = [started(running, root) for root in (ROOT, other)]
    print(
        f"This checkout / {other}\n\n| class | 95 of 100 within | ratio | CPU a sentence | ratio | memory "
        "| answered | wrong numbers |\n" + "|---" * 8 + "|"
    )
    typing = Class(sentences, typing=True)
    classes = [(f"{count} typing", count, typing) for count in counts]
    for name, count, asks in [*classes, (f"{counts[-1]} at once", counts[-1], replace(typing, at_once=True))]:
        ours, theirs = (measured([app], count, asks) for app in apps)
        late, used = (p95(ours.seconds), p95(theirs.seconds)), (1e3 * ours.cpu, 1e3 * theirs.cpu)
        print(
            f"| {name} | {late[0]:.3f} s / {late[1]:.3f} s | {late[0] / late[1]:.2f} "
            f"| {used[0]:.1f} ms / {used[1]:.1f} ms | {used[0] / used[1]:.2f} | {ours.memory} MB / {theirs.memory} MB "
            f"| {len(ours.seconds)} / {len(theirs.seconds)} of {ours.asked} | {ours.wrong} / {theirs.wrong} |",
            flush=True,
        )


def started(running: ExitStack, root: Path) -> AppServer:
    """A checkout's app, which knows what the heads do; stopped with the others."""
    folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
    app = start_app(folder / "app.log", cwd=root)
    running.callback(app.stop)
    with tab(app):  # the first reader waits until it is known what the heads do
        pass
    return app


def measured(apps: list[AppServer], count: int, asks: Class) -> Measured:
    """Let a class of so many come; what became of it."""
    used: list[float] = []
    own: list[float] = []

    def meter() -> None:
        used.append(sum(cpu(app.process.pid) for app in apps))
        own.append(time.process_time())

    seen, begin = Seen(), threading.Barrier(count, action=meter)
    readers = [
        threading.Thread(target=reader, args=(apps[number % len(apps)], number, asks, seen, begin))
        for number in range(count)
    ]
    for one in readers:
        one.start()
    for one in readers:
        one.join()
    meter()
    for trouble in sorted(set(seen.troubles))[:3]:
        print(trouble, file=sys.stderr)
    answered = max(1, len(seen.seconds))
    return Measured(
        count * asks.sentences,
        sorted(seen.seconds) or [float("nan")],
        seen.wrong(),
        (used[-1] - used[0]) / answered,
        sum(megabytes(app.process.pid) for app in apps),
        (own[-1] - own[0]) / answered,
    )


def cpu(process: int) -> float:
    """CPU seconds of a process so far, where the system tells them."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.is_file():
        return float("nan")
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
