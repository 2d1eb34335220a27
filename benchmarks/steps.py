"""What one step of a reader costs the server: a new sentence, a click on a head, another measure.

    python benchmarks/steps.py [--sentences 40] [--app OTHER/app.py ...]

A reader with one tab asks over the web socket that a browser uses: sentences of 13 tokens on Explore with the embedded
model, then heads, then measures. Printed are medians: CPU of the script's thread without the forward pass, CPU of the
event loop, runs of the page, messages and bytes. CPU time, for it says the same on a busy machine, but for its caches.
With `--app` other checkouts are asked in turn, in one run, sentence by sentence.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from benchmarks.wire import NOUNS, socket_to  # noqa: E402

SENTENCE = "The {} saw the {} because it was too old."
INTERNAL = "$$STREAMLIT_INTERNAL_KEY"
VIEW = "headscope_view"
Asked = tuple[Any, ...]  # the component that asks, and its event
MEASURES = ("value", "raw", "residual", "raw", "value", "raw")
QUIET = 0.25  # seconds without a message after which a step is over


# ---- in the server's process


def serve(app: str, port: str) -> None:
    """The app, with a meter: a line on standard input is answered with the counters so far."""
    sys.path.insert(0, str(Path(app).parent))
    from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
    from streamlit.web import cli

    from pages.parts.serve import cache

    spent = {"script": 0.0, "forward": 0.0, "runs": 0}
    main = time.pthread_getcpuclockid(threading.main_thread().ident)

    def metered(work: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            before = time.thread_time()
            try:
                return work(*args, **kwargs)
            finally:
                spent[name] += time.thread_time() - before
                spent["runs"] += name == "script"

        return timed

    def answer() -> None:
        for _ in sys.stdin:
            print("METER" + json.dumps({**spent, "loop": time.clock_gettime(main)}), flush=True)

    ScriptRunner._run_script = metered(ScriptRunner._run_script, "script")
    runs = import_module("pages.parts.serve.batches") if find_spec("pages.parts.serve.batches") else cache
    runs.trace_tokens = metered(runs.trace_tokens, "forward")
    threading.Thread(target=answer, daemon=True).start()
    cli.main([
        *("run", app, "--server.port", port, "--server.address", "127.0.0.1", "--server.headless", "true")
    ])  # fmt: skip


class Server:
    """The app of a checkout in a process of its own, and its meter."""

    def __init__(self, app: Path) -> None:
        from tests.conftest import unused_port

        self.port = unused_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, __file__, "serve", str(app), str(self.port)]
        self.process = subprocess.Popen(
            command,
            cwd=app.parent,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/ready", timeout=2) as said:  # noqa: S310
                if said.read() == b"ready":
                    return
            time.sleep(0.2)
        raise SystemExit("the app did not start")

    def meter(self) -> dict[str, float]:
        """CPU seconds of script, forward pass and event loop, and runs, since the start."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        while not (line := self.process.stdout.readline()).startswith("METER"):
            if not line:
                raise SystemExit("the app has ended")
        return json.loads(line.removeprefix("METER"))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@contextmanager
def closing_server(app: Path) -> Iterator[Server]:
    """The app of a checkout, for as long as it is asked."""
    server = Server(app)
    try:
        yield server
    finally:
        server.stop()


# ---- the reader


@dataclass
class Reader:
    """A tab without a browser: it knows the elements it was sent, and which messages it has."""

    socket: Any
    path: str = ""
    query: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    sent: list[tuple[str, int]] = field(default_factory=list)
    hashes: set[str] = field(default_factory=set)
    page_hash: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    number: int = 0

    def ask(self, part: str = "", trigger: dict[str, Any] | None = None) -> None:
        """Let the page run, or the part of it in which a component stands, with what the controls say; `trigger` is an
        event of that component."""
        from streamlit.proto.BackMsg_pb2 import BackMsg

        message = BackMsg()
        run = message.rerun_script
        run.fragment_id = self.parts.get(part, "")
        run.query_string, run.page_script_hash = self.query, self.page_hash
        run.cached_message_hashes.extend(self.hashes)
        for name, value in self.states.items():
            state = run.widget_states.widgets.add(id=name)
            if isinstance(value, str):
                state.string_value = value
            else:
                state.json_value = json.dumps(value)
        if trigger:
            state = run.widget_states.widgets.add(id=f"{INTERNAL}_{self.ids[part]}__events")
            state.json_trigger_value = json.dumps(trigger)
        self.socket.send(message.SerializeToString())

    def hear(self, quiet: float = QUIET) -> None:
        """Read until the run is over, and then until nothing has come for so many seconds."""
        self.sent, finished = [], False
        while quiet or not finished:
            try:
                frame = self.socket.recv(timeout=quiet if finished else 60)
            except TimeoutError:
                return
            kind = self.take(frame)
            finished = kind == "script_finished" or (finished and kind != "new_session")

    def take(self, frame: bytes) -> str:
        """One message of the server; what kind it is."""
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        message = ForwardMsg.FromString(frame)
        kind = str(message.WhichOneof("type"))
        if kind == "delta":
            kind = str(message.delta.WhichOneof("type"))
            if kind == "new_element":
                kind = str(message.delta.new_element.WhichOneof("type"))
        self.sent.append((kind, len(frame)))
        self._learn(message, kind)
        return kind

    def _learn(self, message: Any, kind: str) -> None:
        if message.metadata.cacheable:
            self.hashes.add(message.hash)
        if kind == "new_session":
            self.page_hash = message.new_session.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind in ("text_input", "bidi_component"):
            element = getattr(message.delta.new_element, kind)
            name = element.label if kind == "text_input" else element.component_name
            self.ids[name], self.parts[name] = element.id, message.delta.fragment_id
            if kind == "text_input":
                self.states.setdefault(element.id, element.value or element.default)
            elif element.component_name.endswith("view"):
                data = json.loads(element.mixed.json if element.HasField("mixed") else element.json)
                self.number = data.get("rest", data)["n"]


@contextmanager
def reader(server: Any, connect: Callable[[str], Any] = socket_to) -> Iterator[Reader]:
    """A reader who has opened the first page; `connect`: how the socket to an address is opened."""
    with connect(server.url) as socket:
        one = Reader(socket, query=urlencode({"text": "The first visit pays for what is made once."}))
        for _ in range(60):  # until the heads' roles are known, a part of the page runs every second
            one.ask()
            one.hear()
            if "auto_rerun" not in {kind for kind, _ in one.sent}:
                break
            time.sleep(1)
        yield one


def step(server: Server, one: Reader, change: Callable[[Reader], Asked]) -> dict[str, float]:
    """What the server spends on one step."""
    before = server.meter()
    one.ask(*change(one))
    one.hear()
    after = server.meter()
    cost = {name: 1e3 * (after[name] - before[name]) for name in ("script", "forward", "loop")}
    return {
        "script": cost["script"] - cost["forward"],
        "loop": cost["loop"],
        "both": cost["script"] - cost["forward"] + cost["loop"],
        "forward": cost["forward"],
        "runs": after["runs"] - before["runs"],
        "messages": len(one.sent),
        "bytes": sum(size for _, size in one.sent),
    }


def sentence(one: Reader, text: str) -> Asked:
    """Typed into the box, which stands in no part of its own."""
    one.states[one.ids["Your sentence"]] = text
    return ("Your sentence",)


def head(one: Reader, number: int) -> Asked:
    """As the picture says it: a state, which stays."""
    chosen = {"head": [number // 12 % 6, number % 12], "pins": [], "to": None, "n": one.number}
    one.states[one.ids[VIEW]] = {"selection": chosen}
    return (VIEW,)


def measure(_one: Reader, name: str) -> Asked:
    """As the picture says it: an event."""
    return VIEW, {"event": "measure", "value": name}


def row(app: str, name: str, costs: list[dict[str, float]]) -> str:
    """Medians, as a line of the table."""
    middle = {key: statistics.median(cost[key] for cost in costs) for key in costs[0]}
    times = " | ".join(f"{middle[key]:.1f} ms" for key in ("script", "loop", "both", "forward"))
    return f"| {app} | {name} | {times} | {middle['runs']:.0f} | {middle['messages']:.0f} | {middle['bytes']:,.0f} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--app", type=Path, nargs="*", default=[ROOT / "app.py"], help="checkouts to compare")
    parser.add_argument("--kinds", action="store_true", help="say which messages came with the last sentence")
    options = parser.parse_args()
    texts = [SENTENCE.format(a, b) for a, b in permutations(NOUNS, 2)][: options.sentences + 3]
    print("| app | step | script, without forward | event loop | both | forward | runs | messages | bytes |")
    print("|---|---|---|---|---|---|---|---|---|")
    steps: tuple[tuple[str, list[Callable[[Reader], Asked]]], ...] = (
        ("a new sentence", [partial(sentence, text=text) for text in texts]),
        ("a click on a head", [partial(head, number=7 * i) for i in range(1, 13)]),
        ("another measure", [partial(measure, name=name) for name in MEASURES]),
    )
    with ExitStack() as opened:
        servers = [opened.enter_context(closing_server(app.resolve())) for app in options.app]
        readers = [opened.enter_context(reader(server)) for server in servers]
        for name, changes in steps:
            costs: list[list[dict[str, float]]] = [[] for _ in servers]
            for change in changes:
                for server, one, found in zip(servers, readers, costs, strict=True):
                    found.append(step(server, one, change))
            for app, found in zip(options.app, costs, strict=True):
                print(row(app.resolve().parent.name, name, found[3:]))
            if options.kinds:
                for one in readers:
                    print(one.sent)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:4])
    else:
        main()
