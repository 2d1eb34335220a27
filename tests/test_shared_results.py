"""What all readers share: results are kept under all that matters, whoever asked before, and in bounded room."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from bert_folders import random_bert, write
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jobs import until

from mha_core import HeadScopeError, InputError, ModelError, load_model, projections_of
from pages.parts.frame import head_facts, loading
from pages.parts.frame.request import Request
from pages.parts.inside.scene import layer_of
from pages.parts.serve import cache, jobs, store
from pages.parts.serve.jobs import JobQueue
from pages.parts.serve.store import Store

MEASURES = ("raw", "value", "residual", "rollout", "gradient")
TEXTS = ("A [MASK] sat.", "A [MASK] ran.", "He put it [MASK] back again.")
SIZE = {"num_hidden_layers": 2, "num_attention_heads": 3}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two models of one shape with other weights, which guess a [MASK]."""
    place = tmp_path_factory.mktemp("models")
    for seed in range(2):
        write(place / str(seed), random_bert("BertForMaskedLM", seed, **SIZE))
    return str(place / "0"), str(place / "1")


@pytest.fixture(autouse=True)
def folders_allowed(monkeypatch):
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")


REQUESTS = st.builds(
    Request,
    text=st.sampled_from(TEXTS),
    pair=st.sampled_from([None, "Then [MASK] left.", TEXTS[1]]),
    model=st.sampled_from([0, 1]),
    trained=st.booleans(),
    unit=st.sampled_from(["pieces", "words"]),
    specials=st.sampled_from(["shown", "hidden", "renormalised"]),
    present=st.booleans(),
    measure=st.sampled_from(MEASURES),
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(pair=st.tuples(REQUESTS, REQUESTS), measures=st.tuples(*[st.sampled_from(MEASURES[1:4])] * 2))
def test_two_requests_share_a_run_and_a_measure_exactly_if_all_that_matters_is_the_same(
    pair, measures, folders
):
    a, b = (replace(request, model=folders[request.model]) for request in pair)
    same = all(getattr(a, field) == getattr(b, field) for field in ("text", "pair", "model", "trained"))
    assert (cache.record(a) is cache.record(b)) == same
    grids = [
        cache.grid(
            replace(each, measure=measure, unit="pieces", specials="shown"), cache.record(each)
        ).weights
        for each, measure in zip((a, b), measures, strict=True)
    ]
    assert (grids[0] is grids[1]) == (same and measures[0] == measures[1])


@pytest.mark.slow
def test_a_long_text_makes_room_and_what_was_seen_last_stays(monkeypatch):
    def of(words: int, first: str):
        return Request(" ".join([first, *["word"] * (words - 1)]))

    sizes = [cache.record(of(n, "size")).weights.nbytes for n in (5, 100)]
    monkeypatch.setattr(store, "STORE", Store(2 * sizes[1] + 3 * sizes[0] + 300_000))
    short, old = of(5, "kept"), of(100, "old")
    held = [cache.record(request) for request in (old, short)]
    newer = cache.record(of(100, "newer"))
    assert [cache.record(request) for request in (short, old)] == [held[1], held[0]], "all three have room"
    cache.record(of(100, "newest"))
    assert cache.record(short) is held[1]
    assert cache.record(old) is held[0]
    assert cache.record(of(100, "newer")) is not newer, "it was seen longest ago"


def test_the_longest_text_is_taken_and_one_character_more_is_refused():
    longest = "a" * cache.MAX_CHARS
    for text, pair in ((longest, None), ("b", longest)):
        assert cache.record(Request(text, pair=pair)).tokens.pieces
    for text, pair in ((longest + "a", None), ("b", longest + "a")):
        with pytest.raises(InputError, match="4,001 characters and HeadScope takes 4,000"):
            cache.record(Request(text, pair=pair))


@pytest.mark.parametrize("folders_too", ["0", "1"])
def test_a_reader_who_may_name_any_model_opens_a_folder_only_where_that_is_allowed(monkeypatch, folders_too):
    requested = []
    monkeypatch.setenv("HEADSCOPE_ALLOW_ANY_MODEL", "1")
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", folders_too)
    monkeypatch.setattr("mha_core.models.load.is_here", lambda _name: True)
    monkeypatch.setattr(loading, "load_model", lambda name, local, **_: requested.append((name, local)))
    loading.named_model("tests")
    assert requested == [("tests", folders_too == "1")]


@dataclass(frozen=True)
class Named:
    """As much of a model as findings are kept by."""

    name: str
    trained: bool
    fingerprint: str = "none"
    digest: str = "none"
    n_parameters: int = 1000


def test_the_layers_of_untrained_models_are_each_their_own(monkeypatch):
    """Their digests say the seed, which is the same."""
    monkeypatch.setattr(store, "STORE", Store(100_000_000))
    monkeypatch.setattr(loading, "model", lambda request: load_model(request.model, trained=request.trained))
    for name in ("minilm", "classroom"):
        model_ = load_model(name, trained=False)
        tokens = model_.tokenizer.encode("the cat sat")
        weights = layer_of(Request("the cat sat", model=name, trained=False), tokens, 1).projections
        assert np.array_equal(weights.W_q, projections_of(model_, 1).W_q)
        assert weights.W_q.shape == {"minilm": (12, 384, 32), "classroom": (4, 128, 32)}[name]


def test_an_untrained_folder_whose_configuration_has_changed_is_read_anew(monkeypatch, tmp_path):
    """Its weights are drawn with the same seed, so their digest is the same."""
    monkeypatch.setattr(store, "STORE", Store(100_000_000))
    written, shapes = tmp_path / "folder", []
    for layers in (2, 3):
        write(written, random_bert(**{**SIZE, "num_hidden_layers": layers}))
        request = Request("the cat sat", model=str(written), trained=False)
        model_ = load_model(str(written), trained=False)
        shapes.append(cache.record_from_weights(request.run, model_).weights.shape[:2])
        assert cache.of_model(model_, "layers", lambda: layers) == layers  # noqa: B023 - called at once
    assert shapes == [(2, 3), (3, 3)]


@pytest.fixture
def results(monkeypatch):
    """Findings that only say of which model they are; nothing is found before the gate is open."""
    gate, calls = threading.Event(), []

    def find(model_, options):
        assert gate.wait(30)
        calls.append(model_)
        return SimpleNamespace(model=model_, roles={(0, 0): model_})

    line = JobQueue(jobs.MODEL)
    monkeypatch.setattr(store, "STORE", Store(10_000_000))
    monkeypatch.setattr(head_facts, "FINDINGS", line)
    monkeypatch.setattr(loading, "model_allowed", lambda name: True)
    monkeypatch.setattr("mha_core.models.load.is_here", lambda _name: True)
    monkeypatch.setattr(loading, "load_model", lambda name, trained=True, **_: Named(name, trained))
    monkeypatch.setattr(head_facts, "find_roles", find)
    monkeypatch.setattr(head_facts, "roles", lambda table: table.roles)
    yield SimpleNamespace(gate=gate, made=calls)
    gate.set()
    until(lambda: line._thread is None, "or it would be found for the next test")


def test_roles_are_found_once_behind_the_pages_and_nobody_waits(results):
    assert [head_facts.roles_of("a") for _ in range(3)] == [{}, {}, {}]
    assert head_facts.finding("a")
    results.gate.set()
    until(lambda: not head_facts.finding("a"), "it is found")
    assert head_facts.roles_of("a") == {(0, 0): Named("a", True)}
    assert head_facts.table("a").model == Named("a", True)
    assert results.made == [Named("a", True)]


def test_findings_that_failed_are_no_roles(results, monkeypatch):
    def broken(model_, options):
        raise ModelError("damaged")

    monkeypatch.setattr(head_facts, "find_roles", broken)
    with pytest.raises(HeadScopeError, match="damaged"):
        head_facts.table("a")
    assert head_facts.roles_of("a") == {}
    until(lambda: not head_facts.finding("a"), "it is found")
    monkeypatch.setattr(head_facts, "find_roles", lambda model_, **_: SimpleNamespace(roles={(0, 0): model_}))
    until(lambda: head_facts.roles_of("a"), "it is tried again")
    assert head_facts.roles_of("a") == {(0, 0): Named("a", True)}


def test_a_result_is_made_once_however_many_ask_at_the_same_moment():
    stored, calls, gate = Store(1_000_000), [], threading.Event()

    def make():
        assert gate.wait(30)
        calls.append(1)
        return np.zeros(10)

    with ThreadPoolExecutor(8) as readers:
        requested = [readers.submit(stored.get, "key", make) for _ in range(8)]
        gate.set()
        values = [each.result(30) for each in requested]
    assert len(calls) == 1
    assert all(value is values[0] for value in values)


def test_who_leaves_while_a_result_is_made_takes_it_from_nobody():
    stored, begun, gate = Store(1_000_000), threading.Event(), threading.Event()

    def leaves():
        begun.set()
        assert gate.wait(30)
        raise KeyboardInterrupt  # as Streamlit ends a run: no Exception

    with ThreadPoolExecutor(2) as readers:
        first = readers.submit(stored.get, "key", leaves)
        assert begun.wait(30)
        second = readers.submit(stored.get, "key", lambda: "made")
        gate.set()
        assert second.result(30) == "made"
        assert isinstance(first.exception(30), KeyboardInterrupt)


def test_a_reader_who_has_left_ends_the_run_of_the_model_and_the_next_one_makes_it(model, monkeypatch):
    class Left(BaseException):
        """As Streamlit ends a run."""

    class Gone:
        def __contains__(self, _):
            raise Left

    monkeypatch.setattr(store, "STORE", Store(10_000_000))
    run = Request("Nobody waits for this.").run
    with monkeypatch.context() as patched:
        patched.setattr(loading.st, "session_state", Gone())
        with pytest.raises(Left):
            cache.record_from_weights(run, model)
    assert store.STORE.held == 0
    assert cache.record_from_weights(run, model).tokens.text == run.text


def test_what_one_reader_takes_is_kept_for_nobody_and_leaves_its_room():
    stored = Store(10_000)
    value = stored.get("a", lambda: np.zeros(1000, np.float32))
    stored.get("b", lambda: np.zeros(1200, np.float32))
    assert stored.take("a") is value
    assert (stored.take("a"), stored.peek("a"), stored.held) == (None, None, 4800)
    stored.get("c", lambda: np.zeros(1250, np.float32))
    assert stored.peek("b") is not None, "both have room"
    stored.get("d", lambda: np.zeros(1000, np.float32))
    assert (stored.peek("b") is None, stored.peek("c") is None) == (False, True), "b was looked at last"
    assert stored.get("a", lambda: "made anew") == "made anew"


@pytest.mark.parametrize("large", ["x" * 5_000_000, b"x" * 5_000_000, np.zeros(5_000_000, np.uint8)])
def test_what_is_held_counts_once_wherever_it_is_held(large):
    for held in (large, [(large,)], {"key": [large]}, Named({1: Named([large, large], True)}, True)):
        assert store.bytes_of(held) == pytest.approx(5_000_000, rel=1e-3)
    assert store.bytes_of({"x" * 5_000_000: 1}) == pytest.approx(5_000_000, rel=1e-3)
