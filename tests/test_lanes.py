"""Two lanes: who computes for long waits for those like him, in order, and can leave the line; nobody else waits."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mha_core import trace
from pages.parts.frame.request import Request
from pages.parts.serve import cache, lanes
from pages.parts.serve.lanes import QUICK, SLOW, Lane, Slices, waiting
from pages.parts.serve.readers import Readers


def test_the_line_is_served_in_order_one_at_a_time():
    lane, order, inside, most = Lane(), [], [], []

    def reader(i):
        with lane.turn():
            inside.append(i)
            most.append(len(inside))
            time.sleep(0.02)
            inside.remove(i)
            order.append(i)

    readers = []
    for i in range(5):
        readers.append(threading.Thread(target=reader, args=(i,)))
        readers[-1].start()
        while lane.length < min(i + 1, 2) and not order:
            time.sleep(0.001)
    for one in readers:
        one.join()
    assert order == sorted(order)
    assert max(most) == 1
    assert lane.length == 0


def test_who_waits_is_told_how_many_are_before_and_can_leave():
    lane, held, heard = Lane(), threading.Event(), []

    class Left(BaseException):
        """As Streamlit ends a run."""

    def told(before):
        heard.append(before)
        raise Left

    def holder():
        with lane.turn():
            held.wait(5)

    first = threading.Thread(target=holder)
    first.start()
    while not lane.length:
        time.sleep(0.001)
    with pytest.raises(Left), lane.turn(told):
        pytest.fail("it was not this one's turn")
    assert heard == [1]
    assert lane.length == 1
    held.set()
    first.join()
    with lane.turn(told):
        assert lane.length == 1
    assert lane.length == 0
    assert waiting(1) == "1 longer computation is before yours …"
    assert waiting(2) == "2 longer computations are before yours …"
    assert waiting(3) == "3 longer computations are before yours …"


def test_one_who_leaves_the_line_sends_nobody_else_away_and_the_next_is_told_at_once(monkeypatch):
    monkeypatch.setattr(lanes, "TOLD_EVERY", 60)
    lane, inside, over = Lane(), [], threading.Event()

    def reader(name):
        with lane.turn():
            inside.append(name)
            over.wait(5)

    readers = [threading.Thread(target=reader, args=(name,)) for name in "ab"]
    readers[0].start()
    while not inside:
        time.sleep(0.001)

    class Left(BaseException):
        """As Streamlit ends a run."""

    def told(_before):
        raise Left

    with pytest.raises(Left), lane.turn(told):
        pytest.fail("it was not this one's turn")
    readers[1].start()
    while lane.length < 2:
        time.sleep(0.001)
    time.sleep(0.02)
    assert inside == ["a"]
    over.set()
    for one in readers:
        one.join(5)
        assert not one.is_alive(), "nobody told it that the place is free"
    assert inside == ["a", "b"]


def test_each_slice_has_its_own_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(lanes, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep))
    lane = Lane()
    taken: list[float] = []
    turn = lane.turn

    def counted(*told):
        taken.append(now[0])
        return turn(*told)

    monkeypatch.setattr(lane, "turn", counted)
    with Slices(lane, 0.5, readers=Readers(rest=0)) as slices:
        for now[0] in (0.4, 0.6, 0.9, 1.0, 1.2):
            assert slices() is False
    assert taken == [0.0, 0.6, 1.2]


def test_a_new_sentence_does_not_wait_behind_what_takes_long(model):
    with SLOW.turn(), SLOW._moved:  # the slow lane is held, and nothing in it moves
        started = time.monotonic()
        record = cache.record(Request(text="Nobody waits for this sentence of seven words."))
    assert record.model.digest == model.digest
    assert time.monotonic() - started < 5


def test_what_follows_the_weights_goes_through_the_slow_lane(model, monkeypatch):
    seen = []
    monkeypatch.setattr(
        cache, "importance", lambda *_: seen.append((SLOW.length, QUICK._value)) or pytest.fail("enough")
    )
    text = "What takes long has a lane of its own."
    with pytest.raises(BaseException, match="enough"):
        cache.grid(replace(Request(text=text), measure="rollout"), trace(text, model))
    assert seen == [(1, 2)]
    assert SLOW.length == 0


def test_work_that_nobody_is_shown_lets_others_go_first_after_each_slice():
    lane, order, others = Lane(), [], threading.Event()

    def reader():
        with lane.turn():
            order.append("reader")
        others.set()

    with Slices(lane, 0.05) as pace:
        one = threading.Thread(target=reader)
        one.start()
        while lane.length < 2:
            time.sleep(0.001)
        assert pace() is False
        order.append("the same slice")
        time.sleep(0.06)
        assert pace() is False
        order.append("after")
        assert lane.length == 1, "it holds the place again"
    one.join()
    assert order == ["the same slice", "reader", "after"]
    assert lane.length == 0


def test_work_that_nobody_waits_for_stands_back_while_a_reader_is_served_and_shortly_after():
    lane, readers = Lane(), Readers(rest=0.05)
    with Slices(lane, readers=readers) as pace:
        began = time.monotonic()
        assert pace() is False
        assert time.monotonic() - began < 0.04, "nobody is served"
        inside, over = threading.Event(), threading.Event()

        def reader():
            with readers.served():
                inside.set()
                with lane.turn():  # the place is free while the work stands back
                    over.wait(0.1)

        one = threading.Thread(target=reader)
        one.start()
        inside.wait(5)
        began = time.monotonic()
        assert pace() is False
        assert time.monotonic() - began > 0.14, "the run, and the rest after it"
        assert lane.length == 1
    one.join()


def test_work_that_somebody_needs_is_not_held_up_and_no_work_for_ever():
    readers = Readers(rest=0.0)
    with readers.served(), Slices(Lane(), readers=readers, patience=0.1) as pace:
        with readers.waiting():
            began = time.monotonic()
            pace()
            assert time.monotonic() - began < 0.05
        pace()
        assert 0.09 < time.monotonic() - began < 2, "its patience"
        began = time.monotonic()
        pace()
        assert time.monotonic() - began < 0.05, "none is left"
