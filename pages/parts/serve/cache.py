"""What readers share: models, records and all that is computed of them, in one store with a limit in bytes.

In: a `Request`. Out: a model, a frozen record, a grid, findings. The key is always the `Run`, with the digest of the
model's weights, and what was made of it. Streamlit's own caches are not used: any browser may ask to clear them.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core import (
    AttentionRecord,
    DecoderState,
    Grid,
    HeadScopeError,
    InputError,
    Model,
    TransformersModel,
    grid_of,
    load_model,
    trace_tokens,
)
from mha_core.continued import begin
from mha_core.heads.atlas.shipped import Shipped, read_shipped
from mha_core.heads.findings import Findings, find
from mha_core.heads.measures import importance
from mha_core.heads.roles import Role
from mha_core.heads.survey import Options
from mha_core.heads.verdicts.shipped import read_evidence
from mha_core.heads.verdicts.table import Verdicts
from mha_core.heads.words import FloatArray
from mha_core.hf import INSIDE
from mha_core.interrupt import breaking_off
from mha_core.model import fingerprint_of
from mha_core.picture.payload import Keep, Payload
from mha_core.run import Run
from mha_core.shelf import DECODER, DECODER_DIGEST, DECODER_FILE, EMBEDDED, EMBEDDED_DIGESTS
from mha_core.wording import Head
from pages.parts.frame.fetching import refuse_unasked
from pages.parts.frame.request import Request, allowed, model_allowed, refusal
from pages.parts.serve.batches import TOGETHER
from pages.parts.serve.freeing import hand_back
from pages.parts.serve.lanes import QUICK, SLOW, Slices, waiting
from pages.parts.serve.limits import limits
from pages.parts.serve.readers import READERS
from pages.parts.serve.store import Store
from pages.parts.serve.streamlit_private import end_if_left
from pages.parts.serve.tasks import BackgroundTask, ReaderControl, Step
from pages.parts.serve.turns import aside, mine, slow_turn

T = TypeVar("T")

MAX_CHARS = 4_000
LONG = 128  # tokens: what is more is drawn in the slow lane
WATCHED_AT_MOST = 4
UNASKED_AT_MOST = 120_000_000  # parameters of a model whose heads are tried without being asked
STORE = Store(limits().store_mb * 1_000_000)
UNPACKING = "Unpacking SmolLM2: 135 million weights, from 98 MB to 540 MB. Once for all readers; seconds …"
UNTRAINED = "Drawing 135 million random weights. Once for all readers; seconds …"
ATLAS_DIGESTS = {EMBEDDED: EMBEDDED_DIGESTS["model.safetensors"], DECODER: DECODER_DIGEST}
SHIPPED_FILES: Mapping[str, Mapping[str, str]] = {
    EMBEDDED: EMBEDDED_DIGESTS,
    DECODER: {DECODER_FILE: DECODER_DIGEST},
}
FOLLOWING = "Following the weights through the model …"
STATE = "state"


def turn() -> AbstractContextManager[object]:
    """Whoever lets a model run on a sentence waits here for a turn (`with`); a page's run has one already."""
    return QUICK if mine() is None else nullcontext()


def said(place: DeltaGenerator, before: int) -> None:
    """Write into a place on the page how many are before."""
    place.caption(waiting(before))


@contextmanager
def long_turn() -> Iterator[None]:
    """Whoever computes for longer waits here, and is told how many are before. Writing on the page is also where
    Streamlit ends the run of a reader who has left or asked for something else."""
    place = st.empty()
    with slow_turn(lambda before: said(place, before)):
        place.empty()
        yield


def model(request: Request) -> Model:
    """The model asked for. Raises HeadScopeError if it is not allowed here or cannot be had."""
    used = named_model(request.model, request.trained)
    if isinstance(used, TransformersModel) and used.is_encoder_decoder:
        return used.of(request.attention)
    return used


def named_model(name: str, trained: bool = True) -> Model:
    """A model by its name, if the owner of this server allows it and its reader agreed to fetch what is not here."""
    refuse_unasked(name)
    if name == EMBEDDED:
        return _loaded(name, trained)
    if name == DECODER:
        with st.spinner(UNPACKING if trained else UNTRAINED), arriving(name, trained):
            return _loaded(name, trained)
    place = st.empty()
    with arriving(name, trained):
        used = _loaded(name, trained, _progress(place))
    place.empty()
    return used


@contextmanager
def arriving(name: str, trained: bool) -> Iterator[None]:
    """While a model that was never here is fetched or unpacked, pages of other models run."""
    if (name, trained) in _arrived:
        yield
        return
    with aside():
        yield
    _arrived.add((name, trained))


_arrived = set[tuple[str, bool]]()


def inside(request: Request) -> Model:
    """The model asked for, for pages that look into it. Raises InputError for one that transformers computes."""
    used = model(request)
    if isinstance(used, TransformersModel):
        raise InputError(INSIDE.format(used.title))
    return used


def at_hand(name: str, trained: bool = True) -> Model | None:
    """The model if it can be had, else None: the page says why when it asks for what the model makes."""
    try:
        return named_model(name, trained)
    except HeadScopeError:
        return None


def reads(name: str, trained: bool, text: str, pair: str) -> bool:
    """Whether a model knows every word of a text; also where it cannot be had, for its page says so."""
    try:
        refuse_unasked(name)
        tokens = _loaded(name, trained).tokenizer.encode(text, pair or None)
    except HeadScopeError:
        return True
    return all(piece.role != "unknown" for piece in tokens.pieces)


def _loaded(name: str, trained: bool, progress: Callable[[str, int, int], None] | None = None) -> Model:
    """The only way to a model: what this server's owner allows is asked here. Nothing of Streamlit."""
    if not model_allowed(name):
        raise InputError(refusal("model", name) or "")
    return load_model(name, trained=trained, local=allowed("FOLDERS"), progress=progress)


def _progress(place: DeltaGenerator) -> Callable[[str, int, int], None]:
    """A bar for a download, moved at most five times a second."""
    last = 0.0

    def told(file: str, done: int, total: int) -> None:
        nonlocal last
        if total and time.monotonic() - last > 0.2:
            last = time.monotonic()
            place.progress(
                min(done / total, 1.0), f"Fetching {file}: {done / 1e6:.0f} of {total / 1e6:.0f} MB"
            )

    return told


def of_run(run: Run, used: Model, part: Hashable, make: Callable[[], T]) -> T:
    """Something computed of a run, made once for all readers; `part` says what it is. It ends between two layers when
    the reader who makes it has left, or has typed something else; another who waits for it makes it then."""

    def unless_left() -> T:
        with breaking_off(end_if_left):
            return make()

    return STORE.get((run, used.fingerprint, part), unless_left)


def of_model(used: Model, part: Hashable, make: Callable[[], T]) -> T:
    """Something computed of a model alone, made once for all readers; `part` says what it is."""
    return STORE.get(("model", used.name, used.fingerprint, part), make)


def record(request: Request) -> AttentionRecord:
    """What every head does with the reader's text. Raises InputError for a text that cannot be taken."""
    return record_of(request.run, model(request))


def record_of(run: Run, used: Model) -> AttentionRecord:
    """The same for a run of a model that is there. A decoder's state, too, is kept, for whoever lets it go on."""
    for text in (run.text, run.pair or ""):
        if len(text) > MAX_CHARS:
            raise InputError(
                f"The text has {len(text):,} characters and HeadScope takes {MAX_CHARS:,} at most; shorten it."
            )
    if isinstance(used, TransformersModel):
        theirs = used

        def traced() -> AttentionRecord:
            with turn():
                return theirs.trace(run.text, run.pair)

        return of_run(run, used, "record", traced)
    tokens = used.tokenizer.encode(run.text, run.pair)

    def make() -> AttentionRecord:
        if used.next_head is None:
            if len(tokens) <= LONG:
                return TOGETHER.record(tokens, used)
            with turn():
                return trace_tokens(tokens, used)
        with turn():
            made, state = begin(tokens, used)
        keep_state(run, used, state)
        return made

    if len(tokens) <= LONG:
        return of_run(run, used, "record", make)
    with long_turn():
        return of_run(run, used, "record", make)


def keep_state(run: Run, used: Model, state: DecoderState) -> None:
    """Keep a state that has read the text of this run, until somebody takes it."""
    of_run(run, used, STATE, lambda: state)


def take_state(run: Run, used: Model) -> DecoderState:
    """The state that has read the text of this run, for one alone: going on changes it. Made anew if it is gone."""
    kept: DecoderState | None = STORE.take((run, used.fingerprint, STATE))
    if kept is not None:
        return kept
    record = record_of(run, used)
    with turn():
        return begin(record.tokens, used)[1]


def grid(request: Request, traced: AttentionRecord, quiet: bool = False) -> Grid:
    """What the picture draws: the record's weights, or what the reader chose to see of them.

    `quiet`: nothing on the page says that it is waited for; while a picture is put there, that would move it.
    Raises HeadScopeError where the model or the text does not allow that.
    """
    weights = None if request.raw else _measured(request, traced, quiet)

    def make() -> Grid:
        if weights is None:
            return traced.grid(request.words, request.specials)
        return grid_of(traced, weights, request.words, request.specials)

    if not request.words and request.specials == "shown":
        return make()  # the weights themselves, which are kept already
    return of_run(request.run, model(request), ("grid", *drawn(request)), make)


def _measured(request: Request, traced: AttentionRecord, quiet: bool) -> FloatArray:
    used = model(request)

    def make() -> FloatArray:
        with turn() if quiet else long_turn(), nullcontext() if quiet else st.spinner(FOLLOWING):
            return importance(traced.tokens, used, request.measure).weights

    return of_run(request.run, used, ("measure", request.measure), make)


def drawn(request: Request) -> tuple[Hashable, ...]:
    """What of a run is drawn: with the run it names a grid."""
    return request.measure, request.words, request.specials


def keeper(*requests: Request) -> Keep:
    """What keeps the parts of a picture of these requests, for `explore_view` and `compare_view`."""

    def keep(part: Hashable, make: Callable[[], Payload]) -> Payload:
        names = tuple((request.run, model(request).fingerprint, *drawn(request)) for request in requests)
        return STORE.get(("picture", names, part), make)

    return keep


def findings(name: str, trained: bool = True) -> Findings:
    """What each head of a model does, on the built-in sentences; waits until it is known."""
    used = named_model(name, trained)
    with READERS.waiting():
        return _find(used)


def known_findings(name: str, trained: bool = True) -> Findings | None:
    """The same if it is known already, else None; nobody waits."""
    used = at_hand(name, trained)
    found: Findings | None = None if used is None else STORE.peek(_findings_key(used))
    return found


def roles_of(name: str, trained: bool = True) -> Mapping[Head, Role]:
    """The heads with a role, as (layer, head) from 0. Empty while they are being found out: nobody waits for it.

    Of a large model they are found out only when Roles asks: that keeps a processor busy for a minute.
    """
    used = named_model(name, trained)
    found: Findings | None = STORE.peek(_findings_key(used))
    if found is not None:
        return found.roles
    if used.n_parameters > UNASKED_AT_MOST:
        return {}
    _begin(_findings_key(used), lambda: _find(used))
    return {}


def finding(name: str, trained: bool = True) -> bool:
    """Whether the roles of a model's heads are being found out now."""
    begun = _begun.get(_findings_key(named_model(name, trained)))
    return begun is not None and not begun.done()


def known_roles(name: str, trained: bool = True) -> Mapping[Head, Role]:
    """The same if it is known already: nothing is begun for it, and of what is shipped nothing is loaded."""
    files = SHIPPED_FILES.get(name) if trained else None
    if files is None:
        found = known_findings(name, trained)
    else:
        found = STORE.peek(_findings_of(name, trained, fingerprint_of(ATLAS_DIGESTS[name], files)))
    return {} if found is None else found.roles


def find_ahead(name: str, trained: bool = True) -> None:
    """Let the model be loaded and its roles be found out behind the pages, before anybody asks; nobody waits."""
    _begin(("ahead", name, trained), lambda: _find(_loaded(name, trained)))


def begin_findings(name: str, trained: bool = True) -> None:
    """Let the roles of a model's heads be found out behind the pages, whatever its size."""
    used = named_model(name, trained)
    if STORE.peek(_findings_key(used)) is None:
        _begin(_findings_key(used), lambda: _find(used))


def _begin(key: Hashable, work: Callable[[], Findings]) -> None:
    """Begin it behind the pages, unless that is under way."""
    with _starting:
        if _begun.get(key, _DONE).done():
            _begun[key] = _background.submit(work)


def _find(used: Model) -> Findings:
    def make() -> Findings:
        with Slices(SLOW) as pace:
            return find(used, Options(stop=pace))

    try:
        return STORE.get(_findings_key(used), make)
    finally:
        hand_back()


def _findings_key(used: Model) -> Hashable:
    return _findings_of(used.name, used.trained, used.fingerprint)


def _findings_of(name: str, trained: bool, fingerprint: str) -> Hashable:
    return ("findings", name, trained, fingerprint)


# What is being found out behind the pages: a key is begun once, and again only if that failed or was let go.
_background = ThreadPoolExecutor(1, thread_name_prefix="findings")
_starting = Lock()
_DONE: "Future[Findings]" = Future()
_DONE.cancel()
_begun: "dict[Hashable, Future[Findings]]" = {}


def shipped_atlas(name: str, trained: bool = True) -> Shipped | None:
    """The atlas that comes with the program, without loading the model; None where there is none."""
    digest = ATLAS_DIGESTS.get(name)
    if not trained or digest is None:
        return None
    return STORE.get(("atlas", name), lambda: read_shipped(name, digest))


def evidence(name: str, trained: bool = True) -> Verdicts | None:
    """What is known of a model's heads from real text, without loading the model; None where nothing is shipped."""
    digest = ATLAS_DIGESTS.get(name)
    if digest is None:
        return None
    found: Verdicts | None = STORE.get(("evidence", name), lambda: read_evidence(name, digest))
    return found if trained or found is None else found.twin


def task(key: tuple[str, ...], start: Callable[[], Iterator[Step[T]]]) -> BackgroundTask[T]:
    """Work on one file with one model, shared by all who bring the same file."""
    return STORE.get(("task", *key), lambda: BackgroundTask(start()))


def begun(key: tuple[str, ...]) -> "BackgroundTask[Any] | None":
    """The work of that key if somebody has begun it, else None."""
    found: BackgroundTask[Any] | None = STORE.peek(("task", *key))
    return found


def in_turns(parts: Iterator[T]) -> Iterator[T]:
    """The same, each made while it is this work's turn in the slow lane: others run theirs in between."""
    while True:
        with slow_turn():
            try:
                part = next(parts)
            except StopIteration:
                return
        yield part


def reader_control(key: tuple[str, ...]) -> ReaderControl:
    """Whether this reader lets the work on a file go on."""
    kept: dict[tuple[str, ...], ReaderControl] = st.session_state.setdefault("watched", {})
    while len(kept) > WATCHED_AT_MOST:
        del kept[next(iter(kept))]
    return kept.setdefault(key, ReaderControl())
