"""The process that trains for the pages: `python -m mha_core.learning.worker`.

In: lines of JSON on its standard input, {"go": id, "kind": ..., "settings": {...}, "fresh": bool} and {"pause": id}.
Out: lines of JSON on its standard output: {"ready": true} once; then for the training at hand {"id", "first",
"fraction", "rows", "state"} again and again, and {"id", "end"} with "finished", "paused" or "problem". One training at
a time. Of those that were paused the last few are kept where they were; any other begins anew, which `first` says. The
process ends when its input does. Arrays travel as base64.
"""

import base64
import os
import queue
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from json import loads
from typing import Any, BinaryIO

import numpy as np

from mha_core.device import use_one_thread
from mha_core.errors import HeadScopeError
from mha_core.export import json_of
from mha_core.learning.live import Update, begin

PAUSED_AT_MOST = 6
NICE = 5  # whoever reads comes before whoever trains
ARRAY = "array of float32"


def packed(value: Any) -> Any:
    """Plain values with arrays as {ARRAY: base64, "shape": ...}; they come back as float32."""
    if isinstance(value, np.ndarray):
        numbers = np.ascontiguousarray(value, dtype="<f4")
        return {ARRAY: base64.b64encode(numbers.tobytes()).decode(), "shape": list(value.shape)}
    if isinstance(value, Mapping):
        return {name: packed(inner) for name, inner in value.items()}
    return [packed(inner) for inner in value] if isinstance(value, list | tuple) else value


def unpacked(value: Any) -> Any:
    """The reverse of `packed`."""
    if isinstance(value, dict):
        if ARRAY in value:
            numbers = np.frombuffer(base64.b64decode(value[ARRAY]), dtype="<f4")
            return numbers.reshape(value["shape"])
        return {name: unpacked(inner) for name, inner in value.items()}
    return [unpacked(inner) for inner in value] if isinstance(value, list) else value


class Worker:
    """Reads commands in a thread of its own, so that a pause is heard between two updates."""

    def __init__(self, commands: BinaryIO, out: BinaryIO) -> None:
        self.out = out
        self.kept: OrderedDict[str, Iterator[Update]] = OrderedDict()
        self.waiting: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.pauses: set[str] = set()
        threading.Thread(target=self._listen, args=(commands,), daemon=True).start()

    def _listen(self, commands: BinaryIO) -> None:
        for line in commands:
            command = loads(line)
            if "pause" in command:
                self.pauses.add(command["pause"])
            else:
                self.pauses.discard(command["go"])
                self.waiting.put(command)
        self.waiting.put(None)
        self.pauses.update(self.kept, [ALL])

    def serve(self) -> None:
        """Train what is asked for, until nobody can ask any more."""
        self._say({"ready": True})
        while (command := self.waiting.get()) is not None:
            self._train(command["go"], command)

    def _train(self, name: str, command: Mapping[str, Any]) -> None:
        updates, first = self.kept.pop(name, None), False
        try:
            if updates is None or command.get("fresh"):
                updates, first = begin(command["kind"], command["settings"]), True
            for update in updates:
                told = {"fraction": update.fraction, "rows": update.rows, "state": update.state}
                self._say({"id": name, "first": first, **told})
                first = False
                if self.pauses & {name, ALL}:
                    self._keep(name, updates)
                    self._say({"id": name, "end": "paused"})
                    return
            self._say({"id": name, "end": "finished"})
        except HeadScopeError as error:
            self._say({"id": name, "end": "problem", "problem": str(error)})

    def _keep(self, name: str, updates: Iterator[Update]) -> None:
        self.kept[name] = updates
        while len(self.kept) > PAUSED_AT_MOST:
            self.kept.popitem(last=False)

    def _say(self, message: Mapping[str, Any]) -> None:
        self.out.write(json_of(packed(message)).encode())
        self.out.flush()


ALL = ""  # pauses whatever is at hand: there is nobody left to train for


def main() -> None:
    """Serve the process that started this one."""
    use_one_thread()
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        Worker(sys.stdin.buffer, sys.stdout.buffer).serve()
    except BrokenPipeError:
        os._exit(0)  # nobody listens


if __name__ == "__main__":
    main()
