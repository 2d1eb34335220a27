"""The process that trains for the pages: `python -m mha_core.training.worker`.

In: lines of JSON on its standard input, {"go": id, "kind": ..., "settings": {...}, "fresh": bool} and {"pause": id}.
Out: lines of JSON on its standard output: {"ready": true} once; then for the current training {"id", "first",
"fraction", "rows", "state"} again and again, and {"id", "end"} with "finished", "paused" or "problem". One training at
a time. The last MAX_PAUSED that were paused continue where they stopped; any other starts anew, which `first` says. The
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

from mha_core.engine.device import use_one_thread
from mha_core.errors import HeadScopeError
from mha_core.record.export import json_of
from mha_core.training.trainer import TrainingUpdate
from mha_core.training.training_updates import start_training

MAX_PAUSED = 6
NICE = 5  # pages come before trainings
ARRAY = "array of float32"
ALL = ""  # pauses any training: the parent process is gone


def packed(value: Any) -> Any:
    """Return plain values with arrays as {ARRAY: base64, "shape": ...}, to be restored as float32."""
    if isinstance(value, np.ndarray):
        numbers = np.ascontiguousarray(value, dtype="<f4")
        return {ARRAY: base64.b64encode(numbers.tobytes()).decode(), "shape": list(value.shape)}
    if isinstance(value, Mapping):
        return {name: packed(inner) for name, inner in value.items()}
    return [packed(inner) for inner in value] if isinstance(value, list | tuple) else value


def unpacked(value: Any) -> Any:
    """Reverse `packed`."""
    if isinstance(value, list):
        return [unpacked(inner) for inner in value]
    if isinstance(value, dict) and ARRAY in value:
        return np.frombuffer(base64.b64decode(value[ARRAY]), dtype="<f4").reshape(value["shape"])
    return {name: unpacked(inner) for name, inner in value.items()} if isinstance(value, dict) else value


class TrainingServer:
    """Trains by command; a thread of its own reads the commands, so that a pause takes effect at the next update."""

    def __init__(self, commands: BinaryIO, out: BinaryIO) -> None:
        self.out = out
        self.paused: OrderedDict[str, Iterator[TrainingUpdate]] = OrderedDict()
        self.waiting: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.to_pause: set[str] = set()
        threading.Thread(target=self._listen, args=(commands,), daemon=True).start()

    def _listen(self, commands: BinaryIO) -> None:
        for line in commands:
            command = loads(line)
            if "pause" in command:
                self.to_pause.add(command["pause"])
            else:
                self.to_pause.discard(command["go"])
                self.waiting.put(command)
        self.waiting.put(None)
        self.to_pause.add(ALL)

    def serve(self) -> None:
        """Train what is commanded, until the input ends."""
        self._send({"ready": True})
        while (command := self.waiting.get()) is not None:
            name = command["go"]
            try:
                self._send({"id": name, "end": "finished" if self._train(name, command) else "paused"})
            except HeadScopeError as error:
                self._send({"id": name, "end": "problem", "problem": str(error)})

    def _train(self, name: str, command: Mapping[str, Any]) -> bool:
        """Send a training's updates; return False where it was paused before its end."""
        updates, first = self.paused.pop(name, None), False
        if updates is None or command.get("fresh"):
            updates, first = start_training(command["kind"], command["settings"]), True
        for update in updates:
            self._send({"id": name, "first": first, **vars(update)})
            first = False
            if self.to_pause & {name, ALL}:
                self.paused[name] = updates
                while len(self.paused) > MAX_PAUSED:
                    self.paused.popitem(last=False)
                return False
        return True

    def _send(self, message: Mapping[str, Any]) -> None:
        self.out.write(json_of(packed(message)).encode())
        self.out.flush()


def main() -> None:
    """Serve the parent process."""
    use_one_thread()
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        TrainingServer(sys.stdin.buffer, sys.stdout.buffer).serve()
    except BrokenPipeError:
        os._exit(0)  # the parent process is gone


if __name__ == "__main__":
    main()
