"""A stream of texts through the model, every collector fed as the weights come: batched by length, in one pass."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import torch

from mha_core.arrays import FloatArray
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.models.trace import trace_many
from mha_core.text.tokens import Tokens

# What is sorted by length together, in pieces (some thousand sentences), and the weights of one batch (16
# MiB).
WINDOW_PIECES = 1 << 15
MAX_CELLS = 1 << 22
# Between two reports of progress, in seconds: often enough to look alive, too rarely to cost anything.
REPORT_EVERY = 0.2


class HasTokens(Protocol):
    """Whatever is read by a model."""

    @property
    def tokens(self) -> Tokens: ...


class Collector(Protocol):
    """Something that is fed text by text: weights (layer, head, query, key) and the item."""

    def add(self, weights: FloatArray, item: Any, /) -> None: ...


@dataclass(frozen=True)
class TextItem:
    """A text of which only the tokens matter."""

    tokens: Tokens


@dataclass(frozen=True)
class Progress:
    """How far a survey is. `fraction` and `remaining` (seconds) are None while they cannot be estimated."""

    done: int
    seconds: float
    fraction: float | None
    remaining: float | None


@dataclass(frozen=True)
class Options:
    """How to run a survey. `limit`: no more texts than that. `progress` is called now and then with a
    Progress; `stop` is asked after every text; `fraction` says how much of the source has been read (0 to
    1). `before`: so many texts have gone before, since `started` (a monotonic clock)."""

    batch_size: int = 32
    limit: int | None = None
    progress: Callable[[Progress], None] | None = None
    stop: Callable[[], bool] | None = None
    fraction: Callable[[], float] | None = None
    before: int = 0
    started: float | None = None


@dataclass(frozen=True)
class StreamSummary:
    """How many texts went through, whether the survey was stopped before the end of them, and how many of them were
    cut, for the model reads no more."""

    n_texts: int
    stopped: bool
    n_cut: int = 0


def was_cut(item: HasTokens) -> bool:
    """Return whether the model reads only a part of the text."""
    return item.tokens.n_cut > 0 or bool(getattr(item, "is_cut", False))


def stream_corpus(
    items: Iterable[HasTokens], model: Model, collectors: Sequence[Collector], options: Options | None = None
) -> StreamSummary:
    """Run texts through a model and feed every collector with all of them.

    Collectors do not mind the order, so a batch is used up while the next ones are run: no more than one for every
    thread that torch has, and one, are held.
    """
    options = options or Options()
    reported = time.monotonic()
    started = options.started or reported
    done = n_cut = 0
    for batch, ahead, weights in _run_ahead(
        _batches(islice(items, options.limit), model, options.batch_size), model
    ):
        for item, each in zip(batch, weights, strict=True):
            for collector in collectors:
                collector.add(each, item)
            done += 1
            n_cut += was_cut(item)
            if options.stop and options.stop():
                return StreamSummary(done, stopped=True, n_cut=n_cut)
        time_now = time.monotonic()
        if options.progress and time_now - reported >= REPORT_EVERY:
            options.progress(_progress(options.before + done, ahead, time_now - started, options))
            reported = time_now
    if options.progress and (options.fraction is None or options.fraction() >= 1):
        options.progress(Progress(options.before + done, time.monotonic() - started, 1.0, 0.0))
    return StreamSummary(done, stopped=False, n_cut=n_cut)


def _run_ahead(
    batches: Iterable[tuple[list[HasTokens], int]], model: Model
) -> Iterator[tuple[list[HasTokens], int, Iterable[FloatArray]]]:
    """Every batch with its weights. With several threads, each runs a batch of its own: for short sentences that
    is faster than to share the small matrices of one batch, and counting goes on beside it.
    """

    def run(batch: list[HasTokens]) -> Iterable[FloatArray]:
        return trace_many([item.tokens for item in batch], model, batch_size=len(batch))

    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    if threads == 1:
        yield from ((batch, ahead, run(batch)) for batch, ahead in batches)
        return
    waiting: deque[tuple[list[HasTokens], int, Future[list[FloatArray]]]] = deque()
    try:
        with ThreadPoolExecutor(threads, "survey", torch.set_num_threads, (1,)) as workers:
            for batch, ahead in batches:
                waiting.append((batch, ahead, workers.submit(lambda texts: list(run(texts)), batch)))
                if len(waiting) > threads:
                    yield _finished(*waiting.popleft())
            while waiting:
                yield _finished(*waiting.popleft())
    finally:
        torch.set_num_threads(threads)


def _finished(
    batch: list[HasTokens], ahead: int, running: "Future[list[FloatArray]]"
) -> tuple[list[HasTokens], int, Iterable[FloatArray]]:
    return batch, ahead, running.result()


def _batches(
    items: Iterable[HasTokens], model: Model, batch_size: int
) -> Iterator[tuple[list[HasTokens], int]]:
    """Items of about the same length together, and how many more have been read but not yet been run."""
    if batch_size < 1:
        raise InputError(f"batch_size must be 1 or more, not {batch_size}.")
    for window in _windows(items):
        window.sort(key=lambda item: len(item.tokens))
        while window:
            cells = model.n_layers * model.n_heads * len(window[-1].tokens) ** 2
            size = max(1, min(batch_size, MAX_CELLS // cells))
            batch = window[-size:]
            del window[-size:]
            yield batch, len(window)


def _windows(items: Iterable[HasTokens]) -> Iterator[list[HasTokens]]:
    window: list[HasTokens] = []
    pieces = 0
    for item in items:
        window.append(item)
        pieces += len(item.tokens)
        if pieces >= WINDOW_PIECES:
            yield window
            window, pieces = [], 0
    if window:
        yield window


def _progress(done: int, ahead: int, seconds: float, options: Options) -> Progress:
    """Return the progress: what has been read but waits in the batch counts as not yet done."""
    read = options.fraction() if options.fraction else None
    if options.limit and (read is None or options.limit * read < done + ahead):
        read = (done + ahead) / options.limit
    if not read:
        return Progress(done, seconds, None, None)
    fraction = min(read * done / (done + ahead), 1.0)
    return Progress(done, seconds, fraction, seconds * (1 - fraction) / fraction)
