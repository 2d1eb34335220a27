"""A class on one small server: N readers at once, each with sentences of their own; how long until a page is made.

    python benchmarks/load.py [--readers 30 60 100] [--sentences 4]

Every sentence comes as a fresh visit by a link (a new session, a new sentence, the whole page), 2 to 6 s after the one
before; that is more than a class asks for, where most steps are clicks. Measured is the time from the visit to the
end of its run on the server, over the web socket that a browser uses, on the machine that also runs the readers.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: E402
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402
from websockets.exceptions import WebSocketException  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from tests.conftest import AppServer, start_app  # noqa: E402

NOUNS = (
    "dog",
    "cat",
    "bird",
    "tree",
    "river",
    "house",
    "child",
    "king",
    "apple",
    "letter",
    "train",
    "garden",
)


@dataclass
class Seen:
    """What the readers saw: seconds a visit, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def visit(app: AppServer, text: str) -> None:
    """Open the page by a link and read until its run is over."""
    message = BackMsg()
    message.rerun_script.query_string = urlencode({"text": text})
    address = app.url.replace("http", "ws") + "/_stcore/stream"
    with connect(
        address, subprotocols=["streamlit"], origin=app.url, max_size=None, open_timeout=60
    ) as socket:
        socket.send(message.SerializeToString())
        answer = ForwardMsg()
        while answer.WhichOneof("type") != "script_finished":
            answer.ParseFromString(socket.recv(timeout=60))


def reader(app: AppServer, number: int, sentences: int, seen: Seen) -> None:
    """One reader: some sentences, with time to think between them."""
    chooser = random.Random(number)  # noqa: S311 - a repeatable class, no secret
    time.sleep(4 * chooser.random())
    for turn in range(sentences):
        first, second = chooser.choice(NOUNS), chooser.choice(NOUNS)
        text = f"The {first} of reader {number} saw the {second} because it was {turn} days too old."
        start = time.perf_counter()
        try:
            visit(app, text)
        except (OSError, WebSocketException) as trouble:
            seen.troubles.append(f"{type(trouble).__name__}: {trouble}")
        else:
            seen.seconds.append(time.perf_counter() - start)
        time.sleep(2 + 4 * chooser.random())


def main() -> None:
    """Start the app, let classes of growing size come, print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--readers", type=int, nargs="+", default=[30, 60, 100])
    parser.add_argument("--sentences", type=int, default=4)
    options = parser.parse_args()
    print(
        "| readers | visits answered | median | 95 of 100 within | memory of the server |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        app = start_app(Path(folder) / "server.log")
        try:
            visit(app, "The first visit pays for what is made once.")
            for count in options.readers:
                seen = Seen()
                readers = [
                    threading.Thread(target=reader, args=(app, number, options.sentences, seen))
                    for number in range(count)
                ]
                for one in readers:
                    one.start()
                for one in readers:
                    one.join()
                times = sorted(seen.seconds) or [float("nan")]
                print(
                    f"| {count} | {len(seen.seconds)} of {count * options.sentences} | {times[len(times) // 2]:.2f} s "
                    f"| {times[int(len(times) * 0.95)]:.2f} s | {memory(app.process.pid)} |"
                )
                for trouble in sorted(set(seen.troubles))[:3]:
                    print(trouble, file=sys.stderr)
        finally:
            app.stop()


def memory(process: int) -> str:
    """The resident memory of a process, where the system tells it."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    kilobytes = next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
    return f"{kilobytes / 1000:.0f} MB" if kilobytes else "unknown"


if __name__ == "__main__":
    main()
