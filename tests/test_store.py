"""What readers share is made once, bounded in bytes, and never mistaken for something else."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from pages.parts.serve.store import Store, bytes_of


def array(size: int):
    return lambda: np.zeros(size, np.uint8)


def test_what_was_used_longest_ago_goes_first():
    store = Store(limit=4_000)
    for key in "abcd":
        store.get(key, array(900))
    store.get("a", array(1))
    assert store.held == 3_600
    store.get("e", array(900))
    assert store.peek("b") is None
    assert [store.peek(key).size for key in "acde"] == [900] * 4
    assert store.held == 3_600


def test_as_many_go_as_the_one_that_comes_needs_room_for():
    store = Store(limit=4_000)
    for key in "abcd":
        store.get(key, array(900))
    store.get("e", array(2_500))
    assert [store.peek(key) is None for key in "abcde"] == [True, True, True, False, False]
    assert store.held == 3_400


def test_a_look_at_what_is_kept_counts_as_use():
    store = Store(limit=2_000)
    store.get("a", array(900))
    store.get("b", array(900))
    assert store.peek("a").size == 900
    store.get("c", array(900))
    assert store.peek("b") is None
    assert store.peek("a").size == 900


def test_one_that_is_too_large_is_kept_alone_until_the_next_comes():
    store = Store(limit=1_000)
    store.get("small", array(600))
    store.get("large", array(5_000))
    assert store.peek("small") is None
    assert store.get("large", array(1)).size == 5_000, "a click on the same text makes nothing anew"
    store.get("next", array(10))
    assert store.peek("large") is None
    assert store.held == 10


def test_many_readers_at_once_have_it_made_once():
    store, made, gate = Store(limit=1_000), [], threading.Event()

    def make() -> str:
        made.append(1)
        gate.wait(5)
        return "value"

    found = []
    readers = [threading.Thread(target=lambda: found.append(store.get("k", make))) for _ in range(9)]
    for reader in readers:
        reader.start()
    gate.set()
    for reader in readers:
        reader.join(5)
    assert (len(made), found) == (1, ["value"] * 9)


def test_a_failure_is_its_makers_and_the_others_try_for_themselves():
    store, started, gate, found = Store(limit=1_000), threading.Event(), threading.Event(), []

    def fail() -> str:
        started.set()
        gate.wait(5)
        raise KeyError("first")

    def first() -> None:
        with pytest.raises(KeyError):
            store.get("k", fail)
        found.append("failed")

    a = threading.Thread(target=first)
    a.start()
    started.wait(5)
    b = threading.Thread(target=lambda: found.append(store.get("k", lambda: "mine")))
    b.start()
    gate.set()
    a.join(5)
    b.join(5)
    assert sorted(found) == ["failed", "mine"]
    assert store.peek("k") == "mine"


def test_bytes_are_counted_through_what_holds_them_and_not_for_weights_that_many_share():
    @dataclass(frozen=True)
    class Held:
        projections: np.ndarray
        x: np.ndarray
        rows: tuple[np.ndarray, ...]
        named: dict[str, np.ndarray]

    one, two, three, four = (np.zeros(1_000, np.uint8) for _ in range(4))
    held = bytes_of(Held(np.zeros(10**6, np.uint8), one, (two, three), {"a": four}))
    assert 4_000 <= held < 10_000


def test_what_is_held_in_many_places_counts_once_and_what_is_equal_as_often_as_it_is_there():
    one = np.zeros(1_000, np.uint8)
    assert bytes_of([one, {"a": one}, (one,) * 5]) < 2_000
    assert bytes_of([one.copy() for _ in range(5)]) >= 5_000


def test_a_value_that_goes_takes_its_bytes_along():
    store = Store(limit=10_000)
    store.get("a", array(4_000))
    store.forget("a")
    store.forget("a")
    assert (store.held, store.peek("a")) == (0, None)
