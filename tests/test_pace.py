"""How fast messages are taken: of an address by who took least, of all who hurry one at a time and with pauses."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from pages.parts.serve import pace
from pages.parts.serve.guard import Guard, LimitedSocket
from pages.parts.serve.limits import Limits
from pages.parts.serve.pace import AtWork, Crossing, Share, Taken, TokenBucket


@pytest.fixture
def clock(monkeypatch):
    """The pace's own clock, which stands until it is moved on."""
    now = [50.0]
    monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def in_a_loop(work):
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


def test_an_address_share_goes_first_to_the_socket_that_took_least():
    async def crowd():
        share, order = Share(200, 1), []

        async def ask(name, taken):
            await share.take(taken)
            order.append(name)

        waiting = [ask("first", 0), *(ask(f"flood {i}", 100 + i) for i in range(20)), ask("reader", 1)]
        await asyncio.gather(*waiting)
        return order

    assert in_a_loop(crowd())[:4] == ["first", "reader", "flood 0", "flood 1"]


def test_a_socket_that_closes_takes_nothing_of_its_address():
    async def crowd():
        share = Share(20, 1)
        await share.take()
        gone = asyncio.create_task(share.take())
        await asyncio.sleep(0)
        gone.cancel()
        start = time.monotonic()
        await share.take(5)
        return time.monotonic() - start

    assert in_a_loop(crowd()) < 0.09


def test_what_was_taken_counts_less_with_time(monkeypatch):
    now = [50.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    taken = Taken()
    taken.more()
    taken.more()
    assert taken.now == 2
    now[0] += 15
    assert taken.now == pytest.approx(2 / 2.718281828)
    taken.more()
    assert taken.now == pytest.approx(1 + 2 / 2.718281828)


def test_a_bucket_holds_a_burst_at_most_and_refills_once_for_each_second(clock, monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(pace.asyncio, "sleep", sleep)
    bucket = TokenBucket(10, 3)
    clock[0] += 100

    async def takes(times):
        return [await bucket.take() for _ in range(times)]

    assert in_a_loop(takes(5)) == [False] * 3 + [True] * 2
    clock[0] += 0.15
    assert in_a_loop(takes(2)) == [True] * 2
    assert slept == pytest.approx([0.1, 0.2, 0.15, 0.25])


def test_of_sockets_that_took_alike_the_first_comes_first():
    async def crowd():
        share, order = Share(500, 1), []

        async def ask(name):
            await share.take(1)
            order.append(name)

        await asyncio.gather(*(ask(i) for i in range(6)))
        return order

    assert in_a_loop(crowd()) == list(range(6))


def test_only_the_end_of_ones_own_run_sets_the_next_free_and_soon_after_a_short_one():
    async def crowd():
        way = Crossing(5.0)
        await way.cross("a")
        start = time.monotonic()
        after = asyncio.create_task(way.cross("b"))
        await asyncio.sleep(0)
        way.over("c")
        way.over(None)
        await asyncio.sleep(0.02)
        assert way.length == 1, "that was another's run"
        way.over("a")
        await after
        way.gone("a")
        assert set(way._passed) == {"b"}, "who has left is forgotten"
        last = asyncio.create_task(way.cross("d"))
        way.gone("b")
        await last
        return time.monotonic() - start

    assert in_a_loop(crowd()) < 2


def test_who_hurries_passes_one_at_a_time_longest_ago_first_with_pauses():
    async def crowd():
        way, order = Crossing(0.05), []

        async def hurry(name, times):
            for _ in range(times):
                await way.cross(name)
                order.append(name)
                assert len(on_it) == 0
                on_it.add(name)
                await asyncio.sleep(0.01)
                on_it.discard(name)
                way.over(name)

        on_it = set()
        start = time.monotonic()
        await asyncio.gather(hurry("a", 4), hurry("b", 2), hurry("c", 2))
        return order, time.monotonic() - start

    order, took = in_a_loop(crowd())
    assert order[:6] == ["a", "b", "c", "a", "b", "c"]
    assert took > 7 * 0.02, "after each run a pause of its length"


def test_a_run_that_takes_long_or_a_reader_who_left_holds_the_others_up_no_longer():
    async def crowd():
        way = Crossing(0.05)
        await way.cross("long")
        start = time.monotonic()
        await way.cross("next")
        first = time.monotonic() - start
        way.gone("next")
        await way.cross("last")
        left = asyncio.create_task(way.cross("never"))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.sleep(0)
        return first, time.monotonic() - start, way.length

    first, both, length = in_a_loop(crowd())
    assert 0.04 < first < 1
    assert both < 2
    assert length == 0


def test_the_way_is_not_given_to_one_who_is_just_leaving():
    async def crowd():
        way = Crossing(5.0)
        await way.cross("on it")
        leaves, stays = (asyncio.create_task(way.cross(name)) for name in ("leaves", "stays"))
        await asyncio.sleep(0)
        leaves.cancel()
        way._free()
        await asyncio.wait_for(stays, 1)
        return way._on_it

    assert in_a_loop(crowd()) == "stays"


def test_who_hurries_waits_while_others_are_at_work():
    async def crowd():
        others = AtWork(60)
        way = Crossing(60, others)
        way._since = start = time.monotonic()
        others.begins("reader")
        asyncio.get_running_loop().call_later(0.06, others.ends, "reader")
        await way.cross("flood")
        return time.monotonic() - start

    assert 0.05 < in_a_loop(crowd()) < 30


def test_what_takes_long_is_in_the_slow_lane_and_holds_nobody_up(monkeypatch):
    now = [50.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    others = AtWork(1.0)
    others.begins("reader")
    assert others
    now[0] += 1.1
    assert not others


def test_one_who_hurries_passes_in_the_end_whatever_the_others_do():
    async def crowd():
        others = AtWork(60)
        others.begins("reader")
        way = Crossing(0.05, others)
        way._since = start = time.monotonic()
        await way.cross("flood")
        return time.monotonic() - start

    assert 0.09 < in_a_loop(crowd()) < 5


def test_only_a_socket_that_had_to_wait_crosses_with_those_who_hurry(monkeypatch):
    async def sockets():
        guard = Guard(None, limits=Limits(runs_per_second=2, runs_at_once=3))
        crossed = []

        async def cross(who):
            crossed.append(who)

        monkeypatch.setattr(guard.crossing, "cross", cross)
        flood, reader = LimitedSocket(guard, None, None), LimitedSocket(guard, None, None)
        for _ in range(3):
            await flood.in_time()
            await reader.in_time()
        assert crossed == [], "a few at once are no hurry"
        await flood.in_time()
        assert crossed == [flood]
        assert 4 < flood.calm_from - time.monotonic() < 6, "five seconds of calm are enough"
        flood.calm_from = 0.0
        flood.share.left = 1.0
        await flood.in_time()
        return crossed == [flood]

    assert in_a_loop(sockets())


def test_a_class_of_a_hundred_behind_one_address_is_never_held_back_and_a_flood_is(clock):
    """Five messages each, as fast as a quick server answers, a hundred a second; and fifty sockets without a pause."""
    limits = Limits()

    def held_back(messages, each_second):
        address, held = TokenBucket(limits.address_runs_per_second, limits.address_runs_at_once), 0
        for _ in range(messages):
            clock[0] += 1 / each_second
            address.refill()
            address.left -= 1
            held += address.left < 0
        return held

    assert held_back(500, 100) == 0
    assert held_back(1_000, limits.runs_per_second * 50) > 300
