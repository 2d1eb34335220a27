"""Work that ends when nobody waits for it any more: between two layers, two rows, two steps; never in shared work."""

import numpy as np
import pytest

from mha_core import trace
from mha_core.heads.measures import importance
from mha_core.interrupt import breaking_off, checkpoint, in_one_go
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve.tasks import BackgroundTask, Step

TEXT = "The animal didn't cross the street because it was too tired."


class Left(BaseException):
    """As Streamlit ends a run."""


def leaving_after(n):
    """A check that lets `n` checkpoints pass, and the list of those it was asked at."""
    asked = []

    def check():
        asked.append(1)
        if len(asked) > n:
            raise Left

    return check, asked


@pytest.mark.parametrize("n", [0, 3])
def test_a_run_ends_before_the_next_layer(model, n):
    check, asked = leaving_after(n)
    with pytest.raises(Left), breaking_off(check):
        trace(TEXT, model)
    assert len(asked) == n + 1
    checkpoint()  # nobody asks any more


def test_a_run_that_is_let_go_on_asks_once_a_layer_and_gives_the_same(model):
    check, asked = leaving_after(100)
    with breaking_off(check):
        record = trace(TEXT, model)
    assert len(asked) == model.n_layers
    np.testing.assert_array_equal(record.weights, trace(TEXT, model).weights)


def test_a_slow_measure_asks_at_every_row(model):
    check, asked = leaving_after(1000)
    tokens = trace(TEXT, model).tokens
    with breaking_off(check):
        importance(tokens, model, "residual")
    assert len(asked) == model.n_layers * (1 + len(tokens.pieces))


def test_work_in_one_go_is_never_broken_off(model):
    check, asked = leaving_after(0)
    with breaking_off(check), in_one_go(), breaking_off(check):
        trace(TEXT, model)
    assert not asked


def test_who_leaves_ends_the_run_and_who_stays_gets_it(monkeypatch):
    request, checks = Request("A sentence whose first reader leaves."), []

    def left_once():
        checks.append(1)
        if len(checks) == 2:
            raise Left

    monkeypatch.setattr(cache, "end_if_left", left_once)
    with pytest.raises(Left):
        cache.record(request)
    assert len(checks) == 2
    assert len(cache.record(request).weights) == 6


def counting(n):
    for i in range(n):
        checkpoint()
        yield Step((i + 1) / n, i + 1, i)


def test_a_slice_ends_between_two_steps_and_the_work_is_kept():
    job, (check, asked) = BackgroundTask(counting(6)), leaving_after(2)
    with pytest.raises(Left):
        job.advance(between=check)
    assert (job.step.n, job.finished, job.problem, len(asked)) == (3, False, None, 3)
    job.advance()
    assert (job.step.n, job.finished, job.problem) == (6, True, None)


def test_a_step_is_never_broken_off():
    job, (check, asked) = BackgroundTask(counting(3)), leaving_after(0)
    with breaking_off(check):
        job.advance()
    assert (job.finished, job.problem, asked) == (True, None, [])
