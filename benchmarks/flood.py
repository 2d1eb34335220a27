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
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from attacker import ATTACKS
from load import PROBLEMS, Visits
from served import (
    NOUNS,
    ROOT,
    Reader,
    highest,
    megabytes,
    p95,
    print_head,
    print_row,
    running_app,
    socket_to,
    until_over,
)  # fmt: skip

from tests.running import unused_port

OUTSIDE, WITHIN = "127.0.0.2", "127.0.0.1"  # where attackers come from
PATIENCE = 30  # seconds a reader waits for an answer
SENTENCES = 2


@contextmanager
def attacked(name: str, url: str, source: str) -> Iterator[Callable[[], str]]:
    """Attack while the block runs; yield a function that ends it and returns what became of it."""
    if name == "calm":
        yield lambda: ""
        return
    command = [sys.executable, Path(__file__).with_name("attacker.py"), name, url, source]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def end() -> str:
        process.terminate()
        return process.communicate()[0].strip()

    try:
        time.sleep(3)  # until it has begun
        yield end
    finally:
        if process.returncode is None:
            end()


def read_pages(url: str, number: int, visits: Visits) -> None:
    """Be one reader: open a page by a link, then type sentences."""
    chooser = random.Random(number)  # noqa: S311 - a repeatable class, no secret
    texts = [
        f"The {chooser.choice(NOUNS)} of reader {number} saw {turn} of them at {time.monotonic():.0f}."
        for turn in range(1 + SENTENCES)
    ]
    time.sleep(4 * chooser.random())
    try:
        start = time.perf_counter()
        urllib.request.urlopen(url, timeout=PATIENCE).read()  # noqa: S310 - our own server
        with socket_to(url, open_timeout=PATIENCE) as socket:
            tab = Reader(socket, query=urlencode({"text": texts[0]}))
            for turn, text in enumerate(texts):
                if turn:
                    time.sleep(2 + 4 * chooser.random())
                    start = time.perf_counter()
                    tab.type_sentence(text)
                else:
                    tab.ask()
                frames = until_over(socket, PATIENCE)
                visits.seconds.append(time.perf_counter() - start)
                visits.pages.append((text, frames))
                tab.take(frames)
    except PROBLEMS as problem:
        visits.problems.append(f"{type(problem).__name__}: {problem}")


@contextmanager
def proxied(app_port: int) -> Iterator[tuple[str, Callable[[], int]]]:
    """Start nginx before the app, with the settings of docs/nginx.conf; yield its address and its memory in MB."""
    port = unused_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # its workers are nobody where root starts it
        text = (ROOT / "docs" / "nginx.conf").read_text(encoding="utf-8")
        text = text.replace("listen 8080;", f"listen {port};").replace(":8501;", f":{app_port};")
        config = Path(folder, "nginx.conf")
        config.write_text(text, encoding="utf-8")
        nginx = subprocess.Popen(["nginx", "-p", folder, "-e", "stderr", "-c", str(config)])
        children = Path(f"/proc/{nginx.pid}/task/{nginx.pid}/children")
        try:
            yield (
                f"http://127.0.0.1:{port}",
                lambda: sum(map(megabytes, (nginx.pid, *map(int, children.read_text().split())))),
            )
        finally:
            nginx.terminate()
            nginx.wait()


def main() -> None:
    """Start both, attack in turn, print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--readers", type=int, default=30)
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--within", action="store_true", help="the attacker has the readers' own address")
    options = parser.parse_args()
    source = WITHIN if options.within else OUTSIDE
    with running_app() as app, proxied(app.port) as (url, proxy_megabytes):
        print_head(
            "attack", "pages", "median", "95 of 100 within", "longest", "the app's memory", "nginx's", "the attacker"
        )  # fmt: skip
        for name in ("calm", *options.attacks):
            visits = Visits()
            with highest(app.process.pid) as most, attacked(name, url, source) as end:
                threads = [
                    threading.Thread(target=read_pages, args=(url, number, visits))
                    for number in range(options.readers)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                of_proxy, became = proxy_megabytes(), end()
            visits.print_problems()
            times = sorted(visits.seconds) or [float("nan")]
            print_row(
                name, f"{len(visits.seconds) - visits.n_wrong()} of {options.readers * (1 + SENTENCES)}",
                *(f"{value:.2f} s" for value in (times[len(times) // 2], p95(times), times[-1])),
                f"{most()} MB", f"{of_proxy} MB", became,
            )  # fmt: skip


if __name__ == "__main__":
    main()
