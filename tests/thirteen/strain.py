"""Trials of a server under strain: clients that never read, floods, exceptions, stops of the clock, a long day."""

import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from statistics import median

from house import HERE, ROOT, Outcome, Reader, descriptors, flooding, folder, sentence, server, together

from benchmarks.steps import reader as tab
from benchmarks.wire import highest, megabytes, p95, rerun
from tests.conftest import AppServer
from tests.sending import handshake

INJECTED = {"PYTHONPATH": os.pathsep.join([str(HERE / "inject"), str(ROOT)])}


@contextmanager
def never_reading(app: AppServer, n: int) -> Iterator[None]:
    """So many sockets that ask for pages without a pause, for two seconds, and read no answer."""
    with ExitStack() as stack:
        lines = []
        for _ in range(n):
            line = socket.socket()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(("127.0.0.1", app.port))
            stack.enter_context(line)
            line.sendall(handshake(f"127.0.0.1:{app.port}"))
            line.recv(2048)
            line.setblocking(False)
            lines.append(line)
        for turn in range(200):
            for number, line in enumerate(lines):
                frame = rerun("", text=f"Never read {number} {turn}")
                try:
                    line.send(struct.pack("!BBI", 0x82, 0x80 | len(frame), 0) + frame)
                except OSError:
                    continue
            time.sleep(0.01)
        yield


def waits(app: AppServer, name: str, n: int = 30) -> list[float]:
    """What a reader waits for each new sentence who types one a second, once the first has brought what a page is sent
    once. Who asks twice as often uses more of the processor than is ordinary, and stands behind everybody else."""
    found = []
    with Reader(app) as reader:
        reader.run()
        reader.run(sentence(name, "first"))
        for turn in range(n):
            time.sleep(1)
            start, text = time.monotonic(), sentence(name, turn)
            if not reader.run(text).shows(text):
                raise AssertionError(f"another sentence than the one typed beside: {name}")
            found.append(time.monotonic() - start)
    return found


def fault_9() -> Outcome:
    """Never-reading clients and a flood, on a server that keeps 50 MB of results."""
    said, held = [], True
    with folder() as place, server(place, HEADSCOPE_STORE_MB="50") as app:
        with tab(app):  # until it is known what the heads do
            pass
        waits(app, "warm", 3)
        calm = p95(waits(app, "calm"))
        before = megabytes(app.process.pid)
        said.append(f"calm p95 {1000 * calm:.0f} ms")
        with highest(app.process.pid) as most:
            for name, beside in (
                ("10 never reading", never_reading(app, 10)),
                ("flood of 10", flooding(app, 10)),
            ):
                with beside:
                    found = waits(app, name.split()[0])
                held &= p95(found) < min(0.5, 3 * calm)
                said.append(
                    f"{name}: p50 {1000 * median(found):.0f}, p95 {1000 * p95(found):.0f} ms, {p95(found) / calm:.1f} x"
                )
            grown = most() - before
    return Outcome(held and grown < 100, "; ".join([*said, f"memory {grown:+d} MB"]))


ENDS_SILENTLY = (
    "SystemExit",
    "KeyboardInterrupt",
)  # Python ends a thread by them, and Streamlit says nothing then
KINDS = ("RuntimeError", "MemoryError", "RecursionError", *ENDS_SILENTLY)


def no_picture(reader: Reader, text: str, silently: bool) -> bool:
    """Whether a text on which the engine raises brings a message and no picture; `silently`: nothing at all."""
    try:
        seen = reader.run(text, seconds=5)
    except TimeoutError:
        return silently
    return bool(seen.raised) and not seen.shows(text)


def fault_11() -> Outcome:
    """The engine raises on the text of one reader."""
    good, leaked = 0, 0
    with folder() as place, server(place, HEADSCOPE_TRIAL_RAISES="1", **INJECTED) as app:
        with Reader(app) as victim, Reader(app) as other:
            victim.run()
            other.run()
            for kind in KINDS:
                told = no_picture(victim, f"This sentence raises {kind} for Zebulon.", kind in ENDS_SILENTLY)
                own, after = sentence(kind), sentence(kind, "after")
                good += told and other.run(own).shows(own) and victim.run(after).shows(after)
        leaked = app.output().count("Zebulon")
    return Outcome(
        good == len(KINDS) and not leaked,
        f"{good} of {len(KINDS)} kinds of exceptions end that run alone: others and the next sentence are served; "
        f"{leaked} times the text in the log",
    )


def all_type(readers: list[Reader], tag: str) -> tuple[int, float]:
    """How many are shown what they type now, all at once, and when the last one is."""
    start = time.monotonic()
    texts = [sentence(tag, i) for i in range(len(readers))]
    good = together(lambda i: readers[i].run(texts[i]).shows(texts[i]), len(readers))
    return sum(good), time.monotonic() - start


def fault_12() -> Outcome:
    """The clock jumps, and the process stands still."""
    said, held = [], True
    with folder() as place, ExitStack() as stack:
        clock = place / "clock"
        clock.write_text("0")
        app = stack.enter_context(server(place, HEADSCOPE_TRIAL_CLOCK=str(clock), **INJECTED))
        readers = [stack.enter_context(Reader(app)) for _ in range(30)]
        together(lambda i: readers[i].run(), 30)
        for seconds in (60, -60, 3600, -3600):
            clock.write_text(str(seconds))
            time.sleep(0.3)
            good, took = all_type(readers, f"clock {seconds}")
            held &= good == 30
            said.append(f"clock {seconds:+d} s: {good}/30 in {took:.1f} s")
        os.kill(app.process.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as alone:
            typing = alone.submit(all_type, readers, "stopped")
            time.sleep(5)
            os.kill(app.process.pid, signal.SIGCONT)
            good, took = typing.result()
        held &= good == 30
        said.append(f"stopped 5 s: {good}/30, the last {took - 5:.1f} s after it went on")
    return Outcome(held, "; ".join(said))


def fault_13(visitors: int = 1000) -> Outcome:
    """A long day: one visitor after the other, four at a time, two sentences each; 50 MB of results are kept."""
    with folder() as place, server(place, HEADSCOPE_STORE_MB="50") as app:

        def visit(number: int) -> bool:
            with Reader(app) as reader:
                reader.run()
                texts = [sentence("soak", number, turn) for turn in range(2)]
                return sum(reader.run(text).shows(text) for text in texts) == len(texts)

        with tab(app):  # until it is known what the heads do, which is found out between visitors
            pass
        for number in range(10):
            visit(-1 - number)
        before, files = megabytes(app.process.pid), descriptors(app.process.pid)
        start = time.monotonic()
        with highest(app.process.pid) as most, ThreadPoolExecutor(4) as many:
            good = sum(many.map(visit, range(visitors)))
            took = time.monotonic() - start
            grown = most() - before
        time.sleep(70)  # a reader who left may come back for a minute
        for number in range(3):
            visit(visitors + number)
        left = descriptors(app.process.pid) - files
        memory = megabytes(app.process.pid) - before
    held = good == visitors and max(grown, memory) <= 100 and left <= 20
    return Outcome(
        held,
        f"{good}/{visitors} visitors in {took:.0f} s; memory {grown:+d} MB at most, {memory:+d} MB a minute later; "
        f"open files {left:+d}",
    )
