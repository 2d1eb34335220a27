"""Sentences that wait for a model together: one run, the numbers of each alone, and a wrong text is one reader's."""

import threading
import time
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pytest

from mha_core import InputError, load_model, trace_tokens
from pages.parts.serve import batches, turns
from pages.parts.serve.batches import AT_MOST, PIECES, Batches
from pages.parts.serve.lanes import Lane
from pages.parts.serve.turns import Turns, mine, running

TEXTS = (
    "It was late.",
    "The animal didn't cross the street because it was too tired.",
    "The dog saw the old cat.",
)


@pytest.fixture
def runs(monkeypatch):
    """How many sentences each run of a model had, in order; `hold` keeps the first one waiting until it is set."""
    seen, hold, together = [], threading.Event(), batches.trace_together

    def alone(tokens, model):
        seen.append(1)
        if len(seen) == 1:
            assert hold.wait(30)
        return trace_tokens(tokens, model)

    def all_of(many, model):
        seen.append(len(many))
        return together(many, model)

    monkeypatch.setattr(batches, "trace_tokens", alone)
    monkeypatch.setattr(batches, "trace_together", all_of)
    seen_and_hold = type("Runs", (), {"seen": seen, "hold": hold})
    yield seen_and_hold
    hold.set()


def until(said):
    end = time.monotonic() + 30
    while not said():
        assert time.monotonic() < end, "nothing moves"
        time.sleep(0.001)


@contextmanager
def asked(together, runs, model, texts):
    """Each text asked for by a thread of its own while the first one is at the model; what came of each."""
    found = {}

    def ask(number, tokens):
        with running(f"reader {number}") as run:
            run.begin()
            try:
                found[number] = together.record(tokens, model)
            except (InputError, RuntimeError) as problem:
                found[number] = problem
            assert mine().here, "it has its place again"

    threads = []
    for number, text in enumerate(texts):
        tokens = model.tokenizer.encode(text) if isinstance(text, str) else text
        threads.append(threading.Thread(target=ask, args=(number, tokens), daemon=True))
        threads[-1].start()
        until(lambda n=number: runs.seen if not n else len(together._waiting) == n)
    yield found
    runs.hold.set()
    for one in threads:
        one.join(30)
        assert not one.is_alive(), "it waits for ever"


@pytest.fixture
def house(monkeypatch):
    place = Turns(2)
    monkeypatch.setattr(turns, "TURNS", place)
    monkeypatch.setattr(turns, "SLOW", Lane())
    return place


def test_what_waits_goes_in_one_run_with_the_numbers_of_each_alone(model, runs, house):
    together = Batches()
    with asked(together, runs, model, (*TEXTS, TEXTS[0])) as found:
        assert house._free == 1, "who waits for the model holds no place"
    assert runs.seen == [1, 3]
    for number, text in enumerate((*TEXTS, TEXTS[0])):
        alone = trace_tokens(model.tokenizer.encode(text), model)
        assert found[number].tokens == alone.tokens
        assert found[number].weights.shape == alone.weights.shape
        np.testing.assert_allclose(found[number].weights, alone.weights, atol=1e-5)
        assert not found[number].weights.flags.writeable
        assert found[number].weights.base is None or found[number].weights.base.nbytes == alone.weights.nbytes
    assert house._free == 2
    assert not together._busy


def test_sentences_of_two_models_go_in_two_runs(model, runs, house):
    other, together = load_model(trained=False), Batches()
    first = Thread(target=together.record, args=(model.tokenizer.encode("First."), model), daemon=True)
    first.start()
    until(lambda: runs.seen)
    found, threads = {}, []
    for number, used in enumerate((model, other, model)):
        tokens = used.tokenizer.encode(TEXTS[number])
        ask = lambda n=number, t=tokens, m=used: found.update({n: together.record(t, m)})  # noqa: E731
        threads.append(Thread(target=ask, daemon=True))
        threads[-1].start()
        until(lambda n=number: len(together._waiting) == n + 1)
    runs.hold.set()
    for one in (first, *threads):
        one.join(30)
    for number, used in enumerate((model, other, model)):
        alone = trace_tokens(used.tokenizer.encode(TEXTS[number]), used)
        np.testing.assert_allclose(found[number].weights, alone.weights, atol=1e-5)
    assert sorted(runs.seen) == [1, 1, 2]


def test_no_more_go_together_than_fit(model, runs, house):
    together = Batches()
    long = " ".join(["word"] * (PIECES // 3))
    texts = ["First.", *[f"Number {i}." for i in range(AT_MOST + 1)], long, long]
    with asked(together, runs, model, texts):
        pass
    assert runs.seen[:2] == [1, AT_MOST]
    assert sorted(runs.seen[2:]) == [1, 2], (
        "two long ones and the short one that was left fit in no run of three"
    )


def test_what_is_wrong_with_one_text_is_said_to_its_reader_alone(model, runs, house, monkeypatch):
    together, bad = Batches(), model.tokenizer.encode("Bad.")
    sound = batches.trace_tokens
    monkeypatch.setattr(batches, "trace_together", lambda many, model: refuse() if bad in many else None)

    def refuse():
        raise InputError("It cannot be taken.")

    monkeypatch.setattr(
        batches, "trace_tokens", lambda tokens, model: refuse() if tokens is bad else sound(tokens, model)
    )
    with asked(together, runs, model, ("First.", "Good.", bad)) as found:
        pass
    assert str(found.pop(2)) == "It cannot be taken."
    assert [record.tokens.text for record in found.values()] == ["First.", "Good."]
    assert not together._busy


def test_a_run_is_charged_to_all_who_had_a_part_in_it(model, runs, house, monkeypatch):
    together, sound = Batches(), batches.trace_together

    def dear(many, model):
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        return sound(many, model)

    monkeypatch.setattr(batches, "trace_together", dear)
    with asked(together, runs, model, ("First.", "Second.", "Third.")):
        pass
    shares = [house.accounts.of(f"reader {number}") for number in range(3)]
    assert shares[0] < 0.08
    assert shares[1:] == pytest.approx([0.11, 0.11], abs=0.035)
