"""A class behind nginx while somebody attacks: how many of thirty readers get their pages, and when.

    python benchmarks/flood.py [--readers 30] [--attacks idle header body frames large reruns] [--within]

The app and nginx (docs/nginx.conf) are started as `make class` starts them. Each reader opens a page by a link and then
types two sentences, 2 to 6 s apart, all through nginx; meanwhile one attacker, from an address of its own, does one
thing without a pause. `--within` gives it the readers' own address: somebody in the class. A page counts once its
weights are the engine's own. Attackers sit on machines of their own, so here they leave the processor to the servers
wherever they can. Linux: the addresses are those of the loopback interface.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from benchmarks.attacker import ATTACKS  # noqa: E402
from benchmarks.line import Line  # noqa: E402
from benchmarks.load import Seen  # noqa: E402
from benchmarks.reader import Reader, sentence  # noqa: E402
from benchmarks.reader import reader as tab  # noqa: E402
from benchmarks.wire import NOUNS, highest, megabytes, p95  # noqa: E402
from tests.running import start_app, unused_port  # noqa: E402

OUTSIDE, WITHIN = "127.0.0.2", "127.0.0.1"  # where attackers come from
PATIENCE = 30  # seconds a reader waits for an answer
SENTENCES = 2


@contextmanager
def attacked(name: str, url: str, source: str) -> Iterator[Callable[[], str]]:
    """An attack while the block runs; what became of it, once it is over."""
    if name == "calm":
        yield lambda: ""
        return
    command = [sys.executable, Path(__file__).with_name("attacker.py"), name, url, source]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said: list[str] = []

    def end() -> str:
        if not said:
            process.terminate()
            said.append(process.communicate()[0].strip())
        return said[0]

    try:
        time.sleep(3)  # it has begun
        yield end
    finally:
        end()


# The class


def read_pages(url: str, number: int, seen: Seen) -> None:
    """One reader: a page by a link, then sentences that are typed."""
    chooser = random.Random(number)  # noqa: S311 - a repeatable class, no secret
    texts = [
        f"The {chooser.choice(NOUNS)} of reader {number} saw {turn} of them at {time.monotonic():.0f}."
        for turn in range(1 + SENTENCES)
    ]
    time.sleep(4 * chooser.random())
    try:
        start = time.perf_counter()
        urllib.request.urlopen(url, timeout=PATIENCE).read()  # noqa: S310 - our own server
        with Line(url, PATIENCE) as line:
            one = Reader(line, query=urlencode({"text": texts[0]}))
            for turn, text in enumerate(texts):
                if turn:
                    time.sleep(2 + 4 * chooser.random())
                    start = time.perf_counter()
                one.ask(*(sentence(one, text) if turn else ()))
                said = line.run()
                seen.seconds.append(time.perf_counter() - start)
                seen.pages.append((text, said))
                for frame in said:
                    one.take(frame)
    except OSError as trouble:
        seen.troubles.append(f"{type(trouble).__name__}: {trouble}")


@contextmanager
def proxied(app_port: int) -> Iterator[tuple[str, Callable[[], int]]]:
    """nginx in front of the app, with the settings of docs/nginx.conf: its address, and its memory in MB."""
    port = unused_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # its workers are nobody where root starts it
        text = (ROOT / "docs" / "nginx.conf").read_text(encoding="utf-8")
        text = text.replace("listen 8080;", f"listen {port};").replace(":8501;", f":{app_port};")
        config = Path(folder, "nginx.conf")
        config.write_text(text, encoding="utf-8")
        nginx = subprocess.Popen(["nginx", "-p", folder, "-e", "stderr", "-c", str(config)])
        try:
            yield f"http://127.0.0.1:{port}", lambda: sum(megabytes(one) for one in family(nginx.pid))
        finally:
            nginx.terminate()
            nginx.wait()


def family(process: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children")
    return [process, *map(int, children.read_text().split())]


def row(name: str, url: str, server: int, proxy: Callable[[], int], readers: int, source: str) -> str:
    """What a class sees under one attack, as a line of the table."""
    seen = Seen()
    with highest(server) as most, attacked(name, url, source) as end:
        class_ = [threading.Thread(target=read_pages, args=(url, number, seen)) for number in range(readers)]
        for one in class_:
            one.start()
        for one in class_:
            one.join()
        held = proxy()
        became = end()
    for trouble in sorted(set(seen.troubles))[:3]:
        print(trouble, file=sys.stderr)
    times, asked = sorted(seen.seconds) or [float("nan")], readers * (1 + SENTENCES)
    return (
        f"| {name} | {len(seen.seconds) - seen.wrong()} of {asked} | {times[len(times) // 2]:.2f} s "
        f"| {p95(times):.2f} s | {times[-1]:.2f} s | {most()} MB | {held} MB | {became} |"
    )


def main() -> None:
    """Start both, attack in turn, print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--readers", type=int, default=30)
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--within", action="store_true", help="the attacker has the readers' own address")
    parser.add_argument(
        "--attacker", nargs=3, help=argparse.SUPPRESS
    )  # how this starts the attacking process
    options = parser.parse_args()
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        app = start_app(folder / "app.log")
        running.callback(app.stop)
        url, proxy = running.enter_context(proxied(app.port))
        with tab(app):  # the first reader waits until it is known what the heads do
            pass
        print(
            "| attack | pages | median | 95 of 100 within | longest | the app's memory | nginx's | the attacker |"
        )
        print("|---" * 8 + "|")
        for name in ("calm", *options.attacks):
            source = WITHIN if options.within else OUTSIDE
            print(row(name, url, app.process.pid, proxy, options.readers, source), flush=True)


if __name__ == "__main__":
    main()
