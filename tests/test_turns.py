"""Turns of pages: who used least goes first, what is long leaves its place, who only waits holds nobody up."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from pages.parts.serve import streamlit_private, tasks, turns
from pages.parts.serve.lanes import Lane
from pages.parts.serve.store import Store
from pages.parts.serve.tasks import BackgroundTask, Step
from pages.parts.serve.turns import Accounts, Run, Turns, aside, mine, running, slow_turn


@pytest.fixture
def room(monkeypatch):
    """One place and a slow lane of its own, for the whole of the house."""
    place, slow = Turns(1), Lane()
    monkeypatch.setattr(turns, "TURNS", place)
    monkeypatch.setattr(turns, "SLOW", slow)
    return place, slow


def until(said):
    end = time.monotonic() + 10
    while not said():
        assert time.monotonic() < end, "nothing moves"
        time.sleep(0.001)


@contextmanager
def started(*work):
    """Threads with this work, which are over at the end."""
    threads = [threading.Thread(target=one, daemon=True) for one in work]
    for one in threads:
        one.start()
    yield threads
    for one in threads:
        one.join(10)
        assert not one.is_alive(), "it waits for ever"


def test_what_was_used_counts_less_with_time_and_is_forgotten():
    now = [100.0]
    accounts = Accounts(lambda: now[0])
    accounts.charge("eager", 2.0)
    accounts.charge("calm", 0.1)
    accounts.charge("calm", 0.2)
    assert accounts.of("calm") == pytest.approx(0.3)
    assert accounts.of("eager") == 2.0
    assert accounts.of("nobody") == 0.0
    now[0] += turns.FORGOTTEN_IN
    assert accounts.of("eager") == pytest.approx(2.0 / 2.718281828)
    now[0] += 5 * turns.FORGOTTEN_IN
    accounts.charge("another", 0.1)
    assert len(accounts) == 2, "the calm one is forgotten"


def order_of(place, *names):
    """In which order they go who come in this one, while somebody has the place."""
    place.take("somebody")
    order = []

    def wait(name):
        place.take(name)
        order.append(name)
        place.give(name, 0.0)

    threads = []
    for name in names:
        threads.append(threading.Thread(target=wait, args=(name,)))
        threads[-1].start()
        until(lambda n=name: n in [one.session for one in place._waiting])
    place.give("somebody", 0.0)
    for one in threads:
        one.join()
    return order


def test_who_used_least_goes_first_and_of_equal_ones_who_came_first(room):
    place, _ = room
    place.charge("flood", 30.0)
    place.charge("flood too", 20.0)
    assert order_of(place, "flood", "flood too", "new", "new too") == ["new", "new too", "flood too", "flood"]


def test_ordinary_readers_go_in_the_order_in_which_they_came(room):
    place, _ = room
    for name, used in (("eager", 0.25), ("calm", 0.1)):
        place.charge(name, used)
    assert order_of(place, "eager", "calm", "new") == ["eager", "calm", "new"]


def test_who_was_aside_goes_before_who_came_meanwhile_but_not_before_who_came_first_or_used_less(room):
    place, _ = room
    place.charge("heavy", 30.0)
    place.take("somebody")
    order, early = [], time.monotonic()

    def wait(name, came):
        place.take(name, came)
        order.append(name)
        place.give(name, 0.0)

    asks = [("new", None), ("first", early), ("heavy", early - 1), ("aside", early + 1e-6)]
    threads = [threading.Thread(target=wait, args=ask) for ask in asks]
    for number, one in enumerate(threads):
        one.start()
        until(lambda n=number: place.length == n + 1)
    place.give("somebody", 0.0)
    for one in threads:
        one.join(10)
    assert order == ["first", "aside", "new", "heavy"]


def test_who_comes_back_from_aside_keeps_its_place_in_line(room):
    """By when its run came: neither behind those who came since, nor before those who came first."""
    place, _ = room
    order, steps = [], {name: threading.Event() for name in ("stands aside", "comes back", "come")}

    def early():
        with running("early") as run:
            run.begin()
            with aside():
                steps["stands aside"].set()
                steps["comes back"].wait(10)
            order.append("early")

    def late():
        steps["come"].wait(10)
        with running("late") as run:
            run.begin()
            order.append("late")

    with started(early, late):
        steps["stands aside"].wait(10)
        place.take("somebody")
        steps["come"].set()
        until(lambda: place.length == 1)
        steps["comes back"].set()
        until(lambda: place.length == 2)
        place.give("somebody", 0.0)
    assert order == ["early", "late"]


def test_a_wait_makes_up_for_what_was_used(room):
    place, _ = room
    place.charge("heavy", 3.0)
    place.take("somebody")
    with started(lambda: (place.take("heavy"), place.give("heavy", 0.0))):
        until(lambda: place.length)
        place._waiting[0].since -= 5
        place.accounts.charge("somebody", 0.5)
        later = threading.Thread(target=lambda: (place.take("new"), place.give("new", 0.0)))
        later.start()
        until(lambda: place.length == 2)
        assert min(place._waiting, key=place._behind).session == "heavy"
        place.give("somebody", 0.0)
        later.join(10)


def test_no_more_run_at_once_than_there_are_places():
    place, inside, most = Turns(2), [], []

    def run(name):
        place.take(name)
        inside.append(name)
        most.append(len(inside))
        time.sleep(0.01)
        inside.remove(name)
        place.give(name, 0.01)

    with started(*[lambda n=n: run(f"reader {n}") for n in range(8)]):
        pass
    assert max(most) == 2
    assert len(most) == 8


def test_a_run_is_charged_what_it_used_of_the_processor_and_not_its_waiting(room):
    place, _ = room
    with running("busy") as run:
        run.begin()
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        time.sleep(0.2)
    assert 0.04 < place.accounts.of("busy") < 0.15


def test_long_work_gives_its_place_to_the_next_and_goes_on_in_the_slow_lane(room):
    place, slow = room
    at_it, done = threading.Event(), threading.Event()

    def heavy():
        with running("heavy") as run:
            run.begin()
            with slow_turn(), slow_turn():  # a second piece of long work waits for nothing
                at_it.set()
                done.wait(10)
            assert slow.length == 1, "it stays there until its run is over"
            run.begin()
            assert slow.length == 0, "the next run of that reader is a quick one"

    with started(heavy):
        assert at_it.wait(10)
        assert slow.length == 1
        with running("quick") as run:
            run.begin()  # there is one place, and it is free
        done.set()
    assert (slow.length, place.length, mine()) == (0, 0, None)


def test_outside_of_a_page_long_work_waits_in_the_slow_lane_alone(room):
    _, slow = room
    with slow_turn():
        assert slow.length == 1
    assert slow.length == 0
    told, held = [], threading.Event()

    def behind():
        with slow_turn(lambda before: (told.append(before), held.set())):
            pass

    with slow.turn(), started(behind):
        assert held.wait(10)
        slow._line.rotate(-1)  # the other one's turn
    assert set(told) == {1}


def test_long_work_keeps_its_place_in_the_lane_for_more_of_it_and_then_hands_its_memory_back(
    room, monkeypatch
):
    place, slow = room
    freed, order = [], []
    monkeypatch.setattr(turns, "hand_back", lambda: freed.append(slow.length))

    def second():
        with slow.turn():
            order.append("the next one")

    with running("heavy") as run:
        run.begin()
        with slow_turn():
            end = time.thread_time() + 0.05
            while time.thread_time() < end:
                pass
            with started(second):
                until(lambda: slow.length == 2)
                with slow_turn():
                    order.append("more of it")
                run.end()
    assert order == ["more of it", "the next one"]
    assert freed == [0] or freed == [1], "once, and after the place was given back"
    assert place.accounts.of("heavy") > 0.04
    with running("quick") as run:
        run.begin()
    assert len(freed) == 1


def test_who_waits_without_a_place_has_none_afterwards(room):
    place, _ = room
    with running("reader") as run:
        with aside():
            assert not run.here
        assert not run.here
    assert place._free == 1


def test_of_shared_work_one_slice_is_made_at_a_time_and_its_end_is_guessed_from_half_a_second_on(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def steps():
        for i in range(1, 5):
            now[0] += 0.2
            yield Step(i / 4, i, i)

    job = BackgroundTask(steps())
    with job._lock:
        job.advance()
        assert job.step is None, "another reader's page is at it"
    job.advance(seconds=0.1)
    assert (job.step.n, job.remaining) == (1, None), "too early for a guess"
    job.advance(seconds=0.3)
    assert (job.step.n, job.seconds) == (3, pytest.approx(0.6))
    assert job.remaining == pytest.approx(0.2)
    job.advance()
    assert (job.finished, job.remaining, job.problem) == (True, 0.0, None)


def test_who_waits_for_what_another_makes_holds_nobody_up(room):
    _, slow = room
    store, making, in_lane = Store(1000), threading.Event(), threading.Event()

    def maker():
        def make():
            making.set()
            in_lane.wait(10)
            with slow_turn():
                return "made"

        with running("maker") as run, aside():
            run.begin()
            store.get("key", make)

    def other():
        making.wait(10)
        with running("other") as run:
            run.heavier(lambda _before: None)
            in_lane.set()
            assert store.get("key", lambda: "again") == "made"

    with started(maker, other):
        pass
    assert slow.length == 0


def test_who_reads_work_that_another_moves_on_holds_nobody_up(room):
    at_it, go_on = threading.Event(), threading.Event()

    def steps():
        at_it.set()
        go_on.wait(10)
        yield Step(1.0, 1, "done")

    job = BackgroundTask(steps())

    def reader():
        at_it.wait(10)
        with running("reader") as run:
            run.begin()
            assert job.read(lambda step: step.result) == "done"

    def bystander():
        at_it.wait(10)
        with running("bystander") as run:
            until(job._lock.locked)
            run.begin()
        go_on.set()

    with started(job.advance, reader, bystander):
        pass


def test_who_leaves_in_the_line_of_the_slow_lane_holds_nothing(room):
    place, slow = room

    class Left(BaseException):
        """As Streamlit ends a run."""

    def told(_before):
        raise Left

    run = Run("leaving", place, slow)
    run.begin()
    with slow.turn():
        with pytest.raises(Left):
            run.heavier(told)
        run.leave()
        assert slow.length == 1
    place.take("next")
    place.give("next", 0.0)


@pytest.fixture
def in_turns(room, monkeypatch):
    """Streamlit's runs in turns, in this test alone."""
    for where, name in [
        (ScriptRunner, "_run_script_thread"),
        (ScriptRequests, "on_scriptrunner_ready"),
        (ScriptRunContext, "reset"),
    ]:
        monkeypatch.setattr(where, name, getattr(where, name))
    there = streamlit_private.run_in_turns.cache_info().currsize  # where another test has started the server
    streamlit_private.run_in_turns()
    yield room
    if not there:
        streamlit_private.run_in_turns.cache_clear()


def test_what_a_browser_asks_while_it_waits_is_one_run(in_turns):
    place, _ = in_turns
    requests = ScriptRequests()
    requests.request_rerun(RerunData(query_string="text=first"))
    got = []

    def session():
        with running("flood") as run:
            got.append(requests.on_scriptrunner_ready())
            assert run.here
            got.append(requests.on_scriptrunner_ready())
            assert not run.here, "nothing is asked for, nothing is held"

    place.take("somebody")
    with started(session):
        until(lambda: place.length == 1)
        for number in range(50):
            requests.request_rerun(RerunData(query_string=f"text={number}"))
        place.give("somebody", 0.0)
    assert [one.type for one in got] == [ScriptRequestType.RERUN, ScriptRequestType.STOP]
    assert got[0].rerun_data.query_string == "text=49"


def test_a_run_that_is_begun_anew_waits_for_its_turn_again(in_turns, monkeypatch):
    place, _ = in_turns
    asked = []
    monkeypatch.setattr(Run, "begin", lambda run: asked.append(run.fresh) or setattr(run, "fresh", True))
    context = object.__new__(ScriptRunContext)
    context._main_thread_ident = -1  # Streamlit's own part ends here
    requests = ScriptRequests()
    requests.request_rerun(RerunData())
    with running("impatient") as run:
        requests.on_scriptrunner_ready()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="main"):
                context.reset()
        run.here = False
    assert asked == [False, False], "once when it is ready, and once for the second beginning"
    assert place.length == 0
