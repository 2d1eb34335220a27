"""Long work behind the pages: shared by who asks for the same, one a reader, stopped, gone on with, and never lost."""

import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from mha_core import InputError
from mha_core.causal import PartialResult
from pages.parts.serve import jobs
from pages.parts.serve.jobs import BROKEN, JobQueue


def until(done, what: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def counting(n: int, seconds: float = 0.005):
    """Work of so many parts, whose result is how many were made."""

    def parts():
        for i in range(1, n + 1):
            time.sleep(seconds)
            yield PartialResult(i / n, i, i)

    return parts


@pytest.fixture
def line():
    queue = JobQueue(nullcontext(), seconds=0.05)
    yield queue
    for job in list(queue._all.values()):
        job.last_seen.clear()  # nobody looks any more: its thread ends


def test_who_asks_for_the_same_shares_one_job_and_nobody_else(line):
    begun = []

    def parts():
        begun.append(1)
        yield from counting(3)()

    job = line.ask(("digest", "txt"), parts)
    assert line.ask(("digest", "txt"), parts) is job
    assert line.ask(("digest", "tsv"), parts) is not job
    for name in ("anna", "ben"):
        line.start(job, name)
    until(lambda: job.finished, "it ends")
    assert (begun, job.read(lambda part: part.result), job.problem) == ([1], 3, "")


def test_a_reader_stops_it_and_lets_it_go_on_where_it_was_but_not_while_another_looks(line):
    job = line.ask("a", counting(60))
    for name in ("anna", "ben"):
        line.start(job, name)
    until(lambda: job.step, "it begins")
    assert 0 < job.step.fraction < 1
    line.stop(job, "anna")
    before = job.step.n
    until(lambda: job.step.n > before + 15, "it goes on for ben, after more than a turn")
    line.stop(job, "ben")
    until(lambda: line._thread is None, "nobody wants it")
    assert not job.goes_on_for("anna")
    reached = job.step.n
    assert reached < 60
    line.look(job, "anna")  # her page says so still, until it is drawn anew
    time.sleep(0.05)
    assert job.step.n == reached
    line.start(job, "anna")
    until(lambda: job.finished, "it ends")
    assert job.step.n == 60


def test_a_reader_has_one_at_a_time_and_two_readers_one_each(line):
    first, second = (line.ask(name, counting(200)) for name in "ab")
    line.start(first, "anna")
    until(lambda: first.step, "it begins")
    line.start(second, "ben")
    until(lambda: second.step, "both go on in turns")
    before = first.step.n
    until(lambda: first.step.n > before, "so does the first")
    line.start(second, "anna")
    assert not first.goes_on_for("anna")
    reached = first.step.n
    time.sleep(0.2)
    assert first.step.n <= reached + 20, "it was moved on no longer than its turn"


def test_one_that_is_asked_for_again_in_the_moment_it_ends_begins_again(line, monkeypatch):
    begun = []

    def parts():
        begun.append(1)
        yield from counting(1)()

    job = line.ask("work", parts)

    def press_as_it_ends():
        if job.finished and len(begun) == 1:
            line.start(job, "anna")

    monkeypatch.setattr(jobs, "let_others", press_as_it_ends)
    line.start(job, "anna")
    until(lambda: len(begun) == 2 and job.finished, "the second time")


def test_what_nobody_looks_at_any_more_is_paused(line, monkeypatch):
    clock = [1.0]
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=time.sleep))
    job = line.ask("a", counting(100_000))
    line.start(job, "anna")
    for _ in range(10):
        clock[0] += 0.9 * jobs.LOOKED_AWAY
        line.look(job, "anna")
        time.sleep(0.01)
    assert line._thread is not None
    clock[0] += 1.1 * jobs.LOOKED_AWAY
    until(lambda: line._thread is None, "nobody looks")
    assert not job.finished
    line.look(job, "anna")
    until(lambda: line._thread is not None, "she is back")


@pytest.mark.parametrize(
    ("error", "notes"),
    [(InputError("The file is empty."), "The file is empty."), (ZeroDivisionError("text"), BROKEN)],
)
def test_what_went_wrong_is_one_sentence_and_the_others_go_on(line, error, notes):
    def parts():
        yield PartialResult(0.5, 1, "half")
        raise error

    wrong, right = line.ask("wrong", parts), line.ask("right", counting(5))
    line.start(wrong, "anna")
    line.start(right, "ben")
    until(lambda: wrong.finished and right.finished, "both end")
    assert (wrong.problem, right.problem) == (notes, "")
    assert wrong.step.result == "half", "what there was before stays"
    line.start(wrong, "anna")
    until(lambda: wrong.finished, "it is tried again")


def test_what_is_begun_behind_the_pages_ends_and_what_is_left_is_told_once_it_is_no_guess(line, monkeypatch):
    monkeypatch.setattr(jobs, "LOOKED_AWAY", 0.0)
    job = line.ask("a", counting(5, seconds=0.01))
    assert job.remaining is None
    line.behind(job)
    until(lambda: job.finished, "it ends")
    assert job.seconds >= 0.05
    job.step, job.seconds = PartialResult(0.25, 1, 1), 0.4
    assert job.remaining is None
    job.seconds = 6.0
    assert job.remaining == 18


@pytest.mark.parametrize("line", [jobs.JOBS, jobs.FINDINGS])
def test_no_job_of_the_pages_runs_while_all_places_of_a_model_are_taken(line):
    job = line.ask("places", counting(1))
    for _ in range(2):
        assert jobs.MODEL.acquire(timeout=30)
    try:
        assert not jobs.MODEL.acquire(blocking=False), "two are all"
        line.behind(job)
        time.sleep(0.1)
        assert job.step is None
    finally:
        jobs.MODEL.release(2)
    until(lambda: job.finished, "it ends")
    line.forget("places")


def test_old_jobs_are_forgotten_but_none_in_line(line, monkeypatch):
    monkeypatch.setattr(jobs, "MAX_JOBS", 3)
    going = line.ask("going", counting(1000))
    line.start(going, "anna")
    first = line.ask(0, counting(1))
    for key in range(1, 5):
        line.ask(key, counting(1))
    assert line.peek("going") is going
    assert line.peek(0) is not first
