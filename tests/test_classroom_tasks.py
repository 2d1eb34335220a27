"""The classroom's tasks and its heads' jobs, against plain torch; how both came about; and what the pages say of it."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from plain_classroom import Plain
from visit import asked_by_links

from mha_core import load_model
from mha_core.learning.classroom.batches import batches
from mha_core.learning.classroom.evaluation import lines, masses
from mha_core.learning.classroom.lexicon import lexicon
from mha_core.learning.classroom.pairs import FAMOUS, pairs
from mha_core.learning.classroom.recipe import CLASSROOM
from mha_core.learning.classroom.shipped import report, save_model
from mha_core.learning.classroom.tasks import COPULAS, JOBS, TASKS, job_masses, probes, task_scores
from mha_core.learning.classroom.training import Training, masked_loss
from pages.parts.explore.moments import at
from pages.parts.frame.request import Request
from pages.parts.picture.course import course
from pages.parts.picture.tiles import Board
from pages.parts.training import held_out
from pages.parts.training.held_out import table_of
from pages.parts.training.picture_board import verdict_board
from pages.parts.training.twins import elsewhere, rows_of

SMALL = replace(CLASSROOM, steps=12, batch=8, warm_up=2, d_model=32, d_ff=32)
N = 6


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model after a few steps, and the same in plain torch."""
    training = Training(4, SMALL)
    for _ in range(SMALL.steps):
        training.step()
    stack = training.stack.half().float()  # as the file has it
    folder = tmp_path_factory.mktemp("small")
    save_model(stack, folder)
    return stack, Plain(folder)


@pytest.mark.slow
@pytest.mark.parametrize("window", [3, 0])
def test_the_loss_is_that_of_the_whole_run(window):
    training = Training(3, replace(SMALL, window=window))
    training.step()
    batch = next(batches(5, 8))
    with torch.no_grad():
        whole = training.stack(batch.ids, real=batch.real).hidden.flatten(0, 1)[batch.places]
        scores = whole @ training.stack.embeddings.word.weight.t()
        found = masked_loss(training.stack, batch)
    assert float(found) == pytest.approx(float(F.cross_entropy(scores, batch.answers)), abs=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_what_is_asked_follows_from_the_word_it_rests_on(task):
    plural = {many: one for one, many in lexicon().plural.items()}
    for probe in probes(task, 60):
        word, rests_on = probe.words[probe.slot], probe.words[probe.rests_on]
        if task == "because":
            assert word == "it"
            assert probe.answers == (rests_on,)
            said = probe.words[probe.said]
            assert lexicon().fits(rests_on, said)
            assert not lexicon().fits(probe.words[probe.other], said)
        elif task == "gender":
            assert (word == "she") == (rests_on in lexicon().others["women"])
        elif task == "agreement":
            assert word in probe.answers == COPULAS[rests_on in plural]
        else:
            assert probe.words.index(word) == probe.rests_on < probe.slot


def test_the_shipped_model_answers_as_its_card_says():
    found = task_scores(load_model("classroom").encoder, n=60)
    card = report()["models"]["seed-1"]["tasks"]
    assert found == pytest.approx(card, abs=0.15)
    assert found["because"] > 0.9
    assert found["agreement"] > 0.9, "is or was, are or were"


@pytest.mark.slow
def test_right_answers_are_those_of_plain_torch(small):
    stack, plain = small
    for without in ((), ((1, 2),), ((1, 0), (1, 2))):
        found = task_scores(stack, without, n=N)
        for task in TASKS:
            right = []
            for probe in probes(task, N):
                shown = [*probe.words[: probe.slot], "[MASK]", *probe.words[probe.slot + 1 :]]
                best = int(plain(shown, without)[1][probe.slot].argmax())
                right.append(plain.words[best] in probe.answers)
            assert found[task] == np.mean(right)


def test_every_head_s_attention_in_a_job_is_that_of_plain_torch(small):
    stack, plain = small
    found = job_masses(stack, N)
    assert tuple(found) == JOBS
    because = [torch.stack(plain(probe.words)[0]) for probe in probes("because", N)]
    for job, key in (("because", "rests_on"), ("other", "other"), ("said", "said")):
        rows = [
            weights[:, :, probe.slot, getattr(probe, key)]
            for weights, probe in zip(because, probes("because", N), strict=True)
        ]
        np.testing.assert_allclose(found[job], torch.stack(rows).mean(0), atol=1e-5)
    for job, offset in (("previous", -1), ("next", 1)):
        beside = torch.cat([torch.diagonal(weights, offset, -2, -1) for weights in because], -1)
        np.testing.assert_allclose(found[job], beside.mean(-1), atol=1e-5)
    rows = []
    for probe in probes("agreement", N):
        shown = [*probe.words[: probe.slot], "[MASK]", *probe.words[probe.slot + 1 :]]
        rows.append(torch.stack(plain(shown)[0])[:, :, probe.slot, probe.rests_on])
    np.testing.assert_allclose(found["agreement"], torch.stack(rows).mean(0), atol=1e-5)


def test_lines_are_the_famous_pairs_and_then_the_held_out_ones(small):
    stack, _ = small
    head, found = lines(stack, 4)
    assert [line.pair for line in found] == [*FAMOUS.values(), *pairs(1, 4)]
    there = masses(stack, pairs(1, 4))
    for i, side in enumerate((there.right, there.wrong)):
        np.testing.assert_allclose([line.masses[1][i] for line in found[3:]], side[head][:, 1], atol=1e-5)
    shown = table_of(head, found)
    assert shown.count("<tr>") == 1 + len(found)
    assert "The animal didn&#x27;t cross the street because it was too tired / wide" in shown
    assert 'title="tired: animal; wide: street"' in shown
    links = asked_by_links(shown)
    assert [(one["text"][0], one["text2"][0]) for one in links] == [line.pair.texts for line in found]
    assert {one["model"][0] for one in links} == {"classroom"}
    assert shown.count("fails") == sum(not line.passes for line in found)


@pytest.mark.parametrize("alone", [False, True])
def test_of_the_pairs_those_it_never_saw_are_counted_and_failures_stand_alone_if_asked(monkeypatch, alone):
    famous, held = [True] * len(FAMOUS), [True, False, True, False, False]
    found = [SimpleNamespace(passes=passes) for passes in (*famous, *held)]
    box, said, drawn = nullcontext(), [], []
    box.open = True
    controls = SimpleNamespace(expander=lambda *_, **__: box, toggle=lambda *_, **__: alone)
    for name, stand_in in {
        "st": controls,
        "_lines": lambda _: ((1, 0), found),
        "heading": lambda *_: None,
        "say": said.append,
        "table_of": lambda _, shown: shown,
        "markup": drawn.append,
    }.items():
        monkeypatch.setattr(held_out, name, stand_in)
    monkeypatch.setattr(held_out.cache, "at_hand", lambda _: "a model")
    held_out.table()
    assert said[0].startswith("Head 2-1 passes 2 of these 5: ")
    assert " on the other. 3 it fails." in said[0]
    assert [line.passes for line in drawn[0]] == ([False] * 3 if alone else [*famous, *held])


def test_of_a_course_the_last_value_is_said():
    loss = [("training", [(0, 4.0), (10, 2.0), (20, 2.5)]), ("held out", [(0, 4.5), (20, 3.25)])]
    assert course(Board(), "loss", "Loss", loss, None)["describe"] == "Loss: now training 2.50, held out 3.25"


def test_the_slider_moves_both_sides_that_it_can_move():
    text = Request("a", model="classroom", other=Request("b", model="classroom"))
    assert [side.model for side in (at(text, 50), at(text, 50).other)] == ["classroom@50"] * 2
    beside = Request("a", model="classroom", other=Request("a", model="minilm"))
    assert [side.model for side in (at(beside, 50), at(beside, 50).other)] == ["classroom@50", "minilm"]
    untrained = Request("a", model="classroom", other=Request("a", model="classroom", trained=False))
    assert at(untrained, 50).other == untrained.other
    assert at(text, CLASSROOM.steps) is text


# ---- what is said of two models


def card(**more):
    shares = dict.fromkeys(TASKS, 0.9)
    found = {
        "head": "2-1", "pass": 0.95, "right": 0.9, "pairs": 400, "interval": [0.9, 0.97], "animate": 1.0,
        "inanimate": 0.9, "answers": {"exact": 0.98, "better": 0.99}, "tasks": shares,
        "pointing": ["2-1"], "without_pointing": {"exact": 0.1, "better": 0.9},
        "without_head": {"exact": 0.5, "better": 0.97, "tasks": shares | {"because": 0.4}},
    }  # fmt: skip
    return found | more


def test_the_twin_stands_beside_the_first_with_what_either_loses():
    jobs = {
        "1-1": {"because": 0.4, "other": 0.3, "said": 0.1},
        "1-2": {"because": 0.8, "other": 0.1, "said": 0.0},
        "2-1": {"because": 0.0, "other": 0.0, "said": 0.7},
    }
    twin = card(**{"pass": 0.01, "head": "2-4", "jobs": jobs})
    rows = rows_of(card(), twin)
    assert rows[0][1:] == ("95.0 %", "", "1.0 %", "")
    assert rows[2][1:] == ("98.0 %", "50.0 %", "98.0 %", "50.0 %")
    assert rows[4][1:] == ("90.0 %", "40.0 %", "90.0 %", "40.0 %")
    assert "nouns 1-1, with 40.0 % on the right one and 30.0 % on the other" in elsewhere(twin)
    assert "said of the noun 2-1, with 70.0 %" in elsewhere(twin)


def test_what_came_out_says_what_is_lost_by_task_and_shows_the_untrained_twin():
    weights = np.random.default_rng(0).dirichlet(np.ones(12), (2, 2, 4, 12)).astype(np.float32)
    board = verdict_board(
        {"report": card(), "untrained": {"report": card(tasks=dict.fromkeys(TASKS, 0.0)), "weights": weights}}
    )
    grid = next(block for block in board.blocks if block["type"] == "grid")
    assert grid["rows"][0] == ["what “it” is", "90.0 %", "40.0 %", "0.0 %"]
    shown = [block for block in board.blocks if block["type"] == "arcs"]
    assert [(block["from"], block["meant"]) for block in shown] == [(7, 1), (7, 5)]
    assert [block["words"][10] for block in shown] == ["tired", "wide"]
