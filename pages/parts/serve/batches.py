"""Sentences of several readers that wait for the model at the same time go through it in one run.

In: the tokens of a short text. Out: its record, as if it had been alone, to rounding. A sentence that comes alone is
run at once: nobody waits for others to come. A run reads all weights of the model from memory, whatever it is of: four
sentences in one take less than twice the time of one.
"""

import time
from contextlib import suppress
from threading import Event, Lock

from mha_core import AttentionRecord, HeadScopeError, Model, trace_tokens
from mha_core.interrupt import in_one_go
from mha_core.tokens import Tokens
from mha_core.trace import trace_together
from pages.parts.serve.turns import Run, aside, mine

AT_MOST = 8  # sentences in one run
PIECES = 256  # and in all of them together, the shorter ones filled up to the longest


class Asked:
    """A sentence that waits until it is called: its record is there, or it leads the next run."""

    def __init__(self, tokens: Tokens, model: Model, run: Run | None) -> None:
        self.tokens, self.model, self.run = tokens, model, run
        self.record: AttentionRecord | None = None
        self.leads = False
        self.called = Event()


class Batches:
    """One run at a time, led by who came first of those that waited; with it go the others that fit."""

    def __init__(self) -> None:
        self._waiting: list[Asked] = []
        self._busy = False
        self._lock = Lock()

    def record(self, tokens: Tokens, model: Model) -> AttentionRecord:
        """The record of these tokens; who waits for it holds up no page. What a text does wrong its reader is told."""
        me = Asked(tokens, model, mine())
        with self._lock:
            alone, self._busy = not self._busy, True
            if not alone:
                self._waiting.append(me)
        if alone:
            self._lead(me)
        else:
            with aside():
                me.called.wait()
                if me.leads:
                    self._lead(me)
        return trace_tokens(tokens, model) if me.record is None else me.record

    def _lead(self, me: Asked) -> None:
        taken = [me]
        try:
            taken = self._taken(me)
            self._run(taken)
        finally:
            with self._lock:
                after = self._waiting.pop(0) if self._waiting else None
                self._busy = after is not None
            for one in taken:
                one.called.set()
            if after is not None:
                after.leads = True
                after.called.set()

    def _taken(self, me: Asked) -> list[Asked]:
        """This sentence, and those that wait and fit into one run with it."""
        taken, longest = [me], len(me.tokens)
        with self._lock:
            for other in self._waiting:
                longer = max(longest, len(other.tokens))
                if other.model is me.model and longer * (len(taken) + 1) <= PIECES:
                    taken.append(other)
                    longest = longer
                if len(taken) == AT_MOST:
                    break
            self._waiting = [one for one in self._waiting if one not in taken]
        return taken

    def _run(self, taken: list[Asked]) -> None:
        first = taken[0]
        if len(taken) == 1:
            first.record = trace_tokens(first.tokens, first.model)
            return
        since = time.thread_time()
        # Who leaves takes no record from the others, and whose text fails here fails once more, alone.
        with in_one_go(), suppress(HeadScopeError, RuntimeError, MemoryError):
            records = trace_together([one.tokens for one in taken], first.model)
            for one, made in zip(taken, records, strict=True):
                one.record = made
        used = time.thread_time() - since
        if first.run is not None and first.run.here:
            first.run.forgo(used)
        for one in taken:
            if one.run is not None:
                one.run.turns.charge(one.run.session, used / len(taken))


TOGETHER = Batches()
