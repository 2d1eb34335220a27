"""The classroom's tasks, against plain torch, and what the pages say of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from plain_classroom import Plain

from mha_core import load_model
from mha_core.learning.classroom.batches import batches
from mha_core.learning.classroom.lexicon import lexicon
from mha_core.learning.classroom.recipe import CLASSROOM
from mha_core.learning.classroom.shipped import report, save_model
from mha_core.learning.classroom.tasks import COPULAS, TASKS, probes, task_scores
from mha_core.learning.classroom.training import Training, masked_loss
from pages.parts.explore.moments import at
from pages.parts.frame.request import Request
from pages.parts.picture.course import course
from pages.parts.picture.tiles import Board
from pages.parts.training.picture_board import verdict_board

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
        word = probe.words[probe.slot]
        if task == "because":
            assert word == "it"
            (noun,) = probe.answers
            nouns, after = set(probe.words) & set(lexicon().kind), probe.words[probe.slot + 1 :]
            assert [one for one in nouns if any(lexicon().fits(one, said) for said in after)] == [noun]
        elif task == "gender":
            assert (word == "she") == (probe.words[0] in lexicon().others["women"])
        elif task == "agreement":
            near = next(i for i, one in enumerate(probe.words) if one in lexicon().others["near"])
            assert word in probe.answers == COPULAS[probe.words[near - 1] in plural]
        else:
            assert probe.words.index(word) < probe.slot


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
