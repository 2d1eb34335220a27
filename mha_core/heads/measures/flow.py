"""Attention flow: how much of each input can reach a position if weights are the widths of pipes.

In: weights (layer, head, query, key) and a position of the last layer. Out: (key,), the largest flow from
that position down to each input, through the heads' mean of every layer with half of every row for the
residual. Flows are no shares: every input is a problem of its own, and a row of them sums to far more than one. So no
picture draws them; this is for Python.

Source: Abnar & Zuidema 2020, section 3.2. The flow is found with Dinic's algorithm (1970).
"""

from collections import deque

import numpy as np

from mha_core.errors import InputError, SizeError
from mha_core.heads.words import FloatArray

MAX_PIECES = 64
# A pipe with less room than this counts as full: float sums would otherwise be chased for ever.
FULL = 1e-9


def attention_flow(weights: FloatArray, query: int) -> FloatArray:
    """The flow from one position of the last layer to every input, (key,). Raises SizeError for long texts."""
    n = weights.shape[-1]
    if n > MAX_PIECES:
        raise SizeError(f"Attention flow is computed for up to {MAX_PIECES} tokens; this text has {n}.")
    if not 0 <= query < n:
        raise InputError(f"Token {query + 1} was asked for; the text has {n}.")
    mixed = 0.5 * weights.mean(axis=1) + 0.5 * np.eye(n)
    return np.array([_Pipes(mixed).largest_flow(len(mixed) * n + query, key) for key in range(n)])


class _Pipes:
    """The layers as a graph: node layer * n + position, inputs first; pipes lead from a layer to the one
    below.
    """

    def __init__(self, mixed: FloatArray) -> None:
        layers, n, _ = mixed.shape
        self.ends: list[int] = []
        self.room: list[float] = []
        self.at: list[list[int]] = [[] for _ in range((layers + 1) * n)]
        for layer in range(layers):
            for i, j in zip(*np.nonzero(mixed[layer] > FULL), strict=True):
                self._pipe((layer + 1) * n + int(i), layer * n + int(j), float(mixed[layer, i, j]))

    def _pipe(self, start: int, end: int, width: float) -> None:
        """A pipe and, right after it, the way back that a flow through it opens."""
        for a, b, room in ((start, end, width), (end, start, 0.0)):
            self.at[a].append(len(self.ends))
            self.ends.append(b)
            self.room.append(room)

    def largest_flow(self, source: int, sink: int) -> float:
        total = 0.0
        while (levels := self._levels(source, sink)) is not None:
            tried = [0] * len(self.at)
            while pushed := self._push(source, sink, levels, tried):
                total += pushed
        return total

    def _levels(self, source: int, sink: int) -> list[int] | None:
        """How many open pipes lie between the source and every node; None if the sink cannot be reached."""
        levels = [-1] * len(self.at)
        levels[source] = 0
        queue = deque([source])
        while queue and levels[sink] < 0:
            node = queue.popleft()
            for pipe in self.at[node]:
                end = self.ends[pipe]
                if self.room[pipe] > FULL and levels[end] < 0:
                    levels[end] = levels[node] + 1
                    queue.append(end)
        return None if levels[sink] < 0 else levels

    def _push(self, source: int, sink: int, levels: list[int], tried: list[int]) -> float:
        """Push as much as fits along one way that goes up a level with every pipe; 0 when there is none left."""
        way: list[int] = []
        node = source
        while node != sink:
            pipes = self.at[node]
            while tried[node] < len(pipes):
                pipe = pipes[tried[node]]
                if self.room[pipe] > FULL and levels[self.ends[pipe]] == levels[node] + 1:
                    break
                tried[node] += 1
            else:
                if not way:
                    return 0.0
                node = self.ends[way.pop() ^ 1]
                tried[node] += 1
                continue
            way.append(pipe)
            node = self.ends[pipe]
        amount = min(self.room[pipe] for pipe in way)
        for pipe in way:
            self.room[pipe] -= amount
            self.room[pipe ^ 1] += amount
        return amount
