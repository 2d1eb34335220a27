"""Small models learn jobs: the same seed gives the same numbers, and the claims of the page hold in a short run."""

import json
import queue
import subprocess
import sys
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import once
import pytest
import torch
import torch.nn.functional as F

from mha_core import InputError, SizeError
from mha_core.cli import main
from mha_core.device import use_one_thread
from mha_core.heads.repeated import Copies, RepeatedSums
from mha_core.learning import classroom_cli, live, report, scores, worker
from mha_core.learning import train as train_module
from mha_core.learning.descent import Recipe, begun, descend, random_for
from mha_core.learning.live import Update, begin
from mha_core.learning.scores import Effect, HeadScore, effects, head_scores, repeated_table, texts_for
from mha_core.learning.small import Shape, SmallModel, gates_without
from mha_core.learning.tasks import JOBS, TASKS, TEXT, answer_places
from mha_core.learning.train import (
    Setup,
    Snapshot,
    Training,
    answers_of,
    examine,
    example,
    held_out,
    revived,
    take_snapshot,
)
from mha_core.learning.worker import packed, unpacked
from mha_core.wording import head_name

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    use_one_thread()
    yield
    torch.set_num_threads(before)


def by_torch(model: SmallModel, ids: torch.Tensor) -> torch.Tensor:
    """The model again, of torch's own layers (learnt positions only)."""
    x = F.embedding(ids, model.embedding.weight) + model.positions[: ids.shape[1]]
    later = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
    for norm, ours in zip(model.norms, model.layers, strict=True):
        theirs = torch.nn.MultiheadAttention(x.shape[-1], ours.n_heads, batch_first=True)
        with torch.no_grad():
            theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
            theirs.in_proj_bias.copy_(torch.cat([ours.W_q.bias, ours.W_k.bias, ours.W_v.bias]))
            theirs.out_proj.load_state_dict(ours.W_o.state_dict())
        y = F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias)
        x = x + theirs(y, y, y, attn_mask=later)[0]
    return F.linear(
        F.layer_norm(x, x.shape[-1:], model.last_norm.weight, model.last_norm.bias),
        model.read_out.weight,
        model.read_out.bias,
    )


@torch.no_grad()
def test_the_small_model_is_the_one_that_torch_would_build():
    model = begun(lambda: SmallModel(Shape(13, 11, 2, 4, d_model=24)), 5)
    for norm in (*model.norms, model.last_norm):
        norm.weight.uniform_(0.5, 2)
        norm.bias.uniform_(-1, 1)
    ids = torch.randint(13, (3, 7), generator=random_for("test", 1))
    torch.testing.assert_close(model(ids)[0], by_torch(model, ids), atol=1e-5, rtol=1e-5)
    _, every = model(ids, need_weights=True)
    assert [tuple(weights.shape) for weights in every] == [(3, 4, 7, 7)] * 2


@torch.no_grad()
def test_a_head_taken_away_is_a_head_whose_slice_of_w_o_is_zero():
    setup = Setup("jobs", 1, 4, seed=3)
    training = Training(setup)
    cut = revived(setup, training.parameters())
    cut.layers[0].W_o.weight[:, 32:48] = 0  # head 1-3
    assert examine(training.model, training.task, [(0, 2)]) == examine(cut, training.task)
    assert examine(training.model, training.task, [(0, 1)]) != examine(cut, training.task)
    assert gates_without(setup.shape, [(0, 2)]).tolist() == [[1, 1, 0, 1]]
    with pytest.raises(InputError, match="no head 2-1 in a model of 1 layer with 4 heads"):
        gates_without(setup.shape, [(1, 0)])


@torch.no_grad()
def test_a_head_of_the_second_layer_is_taken_away_there():
    training = Training(Setup("jobs", 2, 4, seed=3))
    cut = revived(training.setup, training.parameters())
    cut.layers[1].W_o.weight[:, 32:48] = 0  # head 2-3
    ids = held_out("jobs").ids[:4, :-1]
    without, _ = training.model(ids, gates_without(training.setup.shape, [(1, 2)]))
    torch.testing.assert_close(without, cut(ids)[0])


@torch.no_grad()
def test_every_job_has_its_own_share_and_the_accuracy_is_their_mean():
    training = Training(Setup("jobs", 1, 2, seed=9))
    batch = held_out("jobs")
    said = training.model(batch.ids[:, :-1])[0].argmax(-1)
    right = {
        job: (said == batch.ids[:, 1:])[batch.groups == i][:, TEXT:].double().mean().item()
        for i, job in enumerate(JOBS)
    }
    now = take_snapshot(training.model, training.task, 7)
    assert len(set(right.values())) == 3
    assert now.jobs == pytest.approx(right)
    assert (now.step, now.accuracy) == (7, pytest.approx(sum(right.values()) / 3))


@torch.no_grad()
def test_a_snapshot_shows_every_layer_s_own_weights_of_every_text_of_the_example():
    training = Training(Setup("jobs", 3, 2, seed=9))
    shown = take_snapshot(training.model, training.task, 0).weights
    assert shown.shape == (3, 3, 2, 2 * TEXT, 2 * TEXT)
    for i, ids in enumerate(example("jobs").ids):
        _, every = training.model(ids[None, :-1], need_weights=True)
        for layer, weights in enumerate(every):
            np.testing.assert_allclose(shown[i, layer], weights[0].numpy(), atol=1e-6)
    assert np.abs(shown[:, 0] - shown[:, 1]).max() > 0.01


@pytest.mark.parametrize(("worst", "steps"), [(0.9, [0, 2, 4]), (1.0, [0, 2])])
def test_training_goes_on_until_every_job_is_learnt(monkeypatch, worst, steps):
    def taken(_model, _task, step):
        jobs = dict.fromkeys(JOBS, 1.0 if step else 0.0) | ({"mirror": worst} if step else {})
        return Snapshot(step, 0.0, 0.0, jobs, np.zeros(1))

    monkeypatch.setattr(train_module, "take_snapshot", taken)
    monkeypatch.setattr(train_module, "EVERY", 2)
    assert [now.step for now in Training(Setup("jobs", 1, 1, steps=4)).snapshots()] == steps


def test_the_lines_of_heads_count_from_one_and_leave_out_the_head_that_is_gone():
    score = HeadScore((0, 1), 0.1, 0.2, 0.3, 0.4, {"repeat": 0.5}, "previous token")
    assert score.row() == {
        "head": "1-2", "layer": 1, "number": 2, "previous": 0.1, "first": 0.2, "duplicate": 0.3, "induction": 0.4,
        "jobs": {"repeat": 0.5}, "role": "previous token",
    }  # fmt: skip
    one = Effect((0, 1), 0.25, {"induction": 0.25}, np.array([[0.5, 0.125]]))
    assert one.row({"induction": 0.75}) == {
        "head": "1-2", "accuracy": 0.25, "cost": 0.5, "induction_left": {"1-1": 0.5},
    }  # fmt: skip


def test_no_token_that_names_a_job_is_said_twice():
    texts = texts_for(SmallModel(TASKS["jobs"].shape(1, 1)), TASKS["jobs"])
    assert min(int(text.ids.min()) for text in texts) == len(JOBS)
    texts = texts_for(SmallModel(TASKS["induction"].shape(1, 1)), TASKS["induction"])
    assert min(int(text.ids.min()) for text in texts) == 0


@torch.no_grad()
def test_without_a_head_the_induction_of_the_others_is_that_of_the_model_without_it():
    setup = Setup("induction", 2, 4, seed=3)
    training = Training(setup)
    training.model.layers[0].W_o.weight *= 20  # as if layer 2 rested on layer 1
    cut = revived(setup, training.parameters())
    cut.layers[0].W_o.weight[:, 16:32] = 0  # head 1-2
    found = report.taken_away(setup, training.parameters(), [(0, 1)])["induction"]
    whole, left = (repeated_table(model, training.task).induction for model in (training.model, cut))
    assert found == pytest.approx({head_name(place): mass for place, mass in np.ndenumerate(left)}, abs=1e-6)
    assert abs(whole - left)[1].min() > 1e-4


def test_every_job_is_what_it_is_called_and_its_answer_stands_where_it_is_looked_for():
    batch = TASKS["jobs"].batch(7, random_for("test", 2))
    assert batch.ids.shape == (21, 2 * TEXT + 1)
    for line, group in zip(batch.ids.tolist(), batch.groups.tolist(), strict=True):
        job, text, again = line[0], line[1 : TEXT + 1], line[TEXT + 1 :]
        wanted = {"repeat": text, "mirror": text[::-1], "rotate": text[3:] + text[:3]}[JOBS[group]]
        assert (job, again) == (group, wanted)
        assert min(text) >= 3
        assert [line[place] for place in answer_places(JOBS[group]).tolist()] == again
    assert (batch.learns_from, batch.asked_from) == (TEXT, TEXT)
    assert TASKS["jobs"].labels(torch.tensor([0, 2, 3, 4, 3 + 26])) == ["repeat", "rotate", "a", "b", "A"]


def test_an_induction_text_says_its_stretch_again_and_its_second_half_can_all_be_known():
    batch = TASKS["induction"].batch(200, random_for("test", 3))
    lengths = set()
    for line in batch.ids.tolist():
        length = next(n for n in range(8, 25) if line == (line[:n] * 6)[:48])
        lengths.add(length)
    assert lengths == set(range(8, 25))
    assert batch.asked_from + 1 == max(lengths)


def test_more_than_a_small_model_reads_and_a_task_that_there_is_not_are_refused():
    model = SmallModel(Shape(5, 3, 1, 1, d_model=8))
    with pytest.raises(SizeError, match=r"^4 tokens were given; this model takes 3 at most\.$"):
        model(torch.zeros(1, 4, dtype=torch.long))
    with pytest.raises(InputError, match=r"^There is no task 'sums'; choose jobs or induction\.$"):
        Setup("sums", 1, 1)


def test_what_is_held_out_and_what_is_shown_is_the_same_for_all():
    assert held_out("jobs").ids.shape == (192, 2 * TEXT + 1)
    texts = example("jobs").ids[:, 1 : TEXT + 1]
    assert torch.equal(texts[0], texts[1])
    assert torch.equal(texts[0], texts[2])
    assert len(set(texts[0].tolist())) == TEXT


def test_no_training_begins_with_the_texts_on_which_it_is_tried_or_which_are_shown():
    def texts(batch):
        return {tuple(line) for line in batch.ids[:, 1 : TEXT + 1].tolist()}

    tried = texts(held_out("jobs")) | texts(example("jobs"))
    assert len(tried) == 3 * 64 + 1
    for seed in range(2):
        random = Training(Setup("jobs", 1, 1, seed=seed))._random
        assert not tried & set().union(*(texts(TASKS["jobs"].batch(11, random)) for _ in range(8))), seed
    purposes = (
        "weights",
        "data",
        "said twice",
        *(f"{use} {task}" for use in ("held out", "example") for task in TASKS),
    )
    drawn = {random_for(purpose, seed).initial_seed() for purpose in purposes for seed in (0, 1)}
    assert len(drawn) == 2 * len(purposes)


def test_n_is_the_number_of_answers_that_the_accuracy_of_a_job_is_a_share_of():
    for task in TASKS:
        assert answers_of(task) == 64 * 24, "64 texts, of each the second half"
        _, shares = examine(SmallModel(TASKS[task].shape(1, 1)), TASKS[task])
        for share in shares.values():
            assert share * 64 * 24 == pytest.approx(round(share * 64 * 24), abs=1e-6)


def test_the_loss_is_counted_where_a_model_learns_and_the_accuracy_where_it_is_asked():
    """A model that gives every token the same score, but one token a little more."""
    for task, learns, asked in (("jobs", 24, 24), ("induction", 0, 23)):
        model = SmallModel(TASKS[task].shape(1, 1))
        for parameter in model.read_out.parameters():
            torch.nn.init.zeros_(parameter)
        with torch.no_grad():
            model.read_out.bias[7] = 1.0
        answers = held_out(task).ids[:, 1:].numpy()
        loss, shares = examine(model, TASKS[task])
        of_all = np.log(np.e + model.shape.vocab_size - 1)
        assert loss == pytest.approx(of_all - (answers[:, learns:] == 7).mean(), rel=1e-5)
        right = (answers[:, asked:] == 7).reshape(len(shares), 64, -1).mean((1, 2))
        assert list(shares.values()) == pytest.approx(right.tolist())


def rows(setup: Setup) -> list[dict[str, object]]:
    return [now.row() for now in Training(setup).snapshots()]


@pytest.mark.long
def test_the_same_seed_gives_the_same_curve_to_the_last_digit():
    setup = Setup("jobs", 1, 2, seed=7, steps=60)
    torch.manual_seed(1)
    first = rows(setup)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second = rows(setup)
    assert first == second
    assert torch.equal(before, torch.get_rng_state()), "torch's own random numbers are left alone"
    assert [row["step"] for row in first] == [0, 50, 60]
    assert first[-1]["loss"] < first[0]["loss"] - 0.3
    assert rows(Setup("jobs", 1, 2, seed=8, steps=60)) != first


def test_a_step_is_torchs_adamw_and_the_rate_falls_in_a_line():
    recipe = Recipe(4, learning_rate=0.1, falls=1.0)
    assert [recipe.rate(step) for step in (1, 2, 3, 4)] == pytest.approx([0.1, 0.075, 0.05, 0.025])
    ours = begun(lambda: torch.nn.Linear(5, 3), 1)
    theirs = begun(lambda: torch.nn.Linear(5, 3), 1)
    x = torch.randn(4, 2, 5, generator=random_for("test", 4))
    steps = list(descend(ours, lambda step: ours(x[step - 1]).square().mean(), recipe))
    optimiser = torch.optim.AdamW(theirs.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(4):
        optimiser.param_groups[0]["lr"] = (0.1, 0.075, 0.05, 0.025)[step]
        loss = theirs(x[step]).square().mean()
        assert steps[step] == (step + 1, pytest.approx(loss.item(), rel=1e-5))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


@torch.no_grad()
def test_the_measures_are_those_of_the_real_models_counted_token_by_token():
    training = Training(Setup("induction", 2, 2, seed=1))
    table = repeated_table(training.model, training.task)
    texts = texts_for(training.model, training.task)
    wanted = {name: np.zeros((2, 2)) for name in ("previous", "first", "duplicate", "induction")}
    for text in texts:
        n = len(text.ids) // 2
        assert len(set(text.ids[:n].tolist())) == n
        _, every = training.model(text.ids[None], need_weights=True)
        weights = torch.cat(every).numpy()
        for i in range(1, 2 * n):
            wanted["previous"] += weights[:, :, i, i - 1] / (2 * n - 1) / len(texts)
            wanted["first"] += weights[:, :, i, 0] / (2 * n - 1) / len(texts)
        for i in range(n, 2 * n):
            wanted["duplicate"] += weights[:, :, i, i - n] / n / len(texts)
            wanted["induction"] += weights[:, :, i, i - n + 1] / n / len(texts)
    for name, values in wanted.items():
        np.testing.assert_allclose(getattr(table, name), values, atol=1e-6)
    sums = RepeatedSums()
    sums.count(weights, Copies(np.arange(n, 2 * n), np.arange(n), np.arange(n)))
    assert sums.result().n_texts == 1


@torch.no_grad()
def test_the_mass_of_each_job_is_counted_in_its_own_rows():
    training = Training(Setup("jobs", 1, 2, seed=9))
    batch = held_out("jobs")
    _, (weights,) = training.model(batch.ids[:, :-1], need_weights=True)
    found = dict.fromkeys(JOBS, 0.0)
    for text, job in enumerate(batch.groups.tolist()):
        for i in range(TEXT):
            place = 1 + {"repeat": i, "mirror": TEXT - 1 - i, "rotate": (i + 3) % TEXT}[JOBS[job]]
            found[JOBS[job]] += weights[text, 1, TEXT + i, place].item() / (TEXT * 64)
    assert head_scores(training.model, training.task)[1].jobs == pytest.approx(found, abs=1e-6)


def test_a_perfect_head_gets_its_name_and_a_lazy_one_none():
    """Two heads put together by hand: one looks one token back, one everywhere alike."""
    model = begun(lambda: SmallModel(TASKS["jobs"].shape(1, 2)), 0)
    with torch.no_grad():
        for parameter in (model.embedding.weight, model.layers[0].W_q.weight, model.layers[0].W_k.weight):
            parameter.zero_()
        model.layers[0].W_q.bias.zero_()
        model.layers[0].W_k.bias.zero_()
        model.positions.zero_()
        model.norms[0].weight.fill_(1)
        angles = torch.arange(2 * TEXT)[:, None] * torch.tensor([0.5, 1.3, 2.1])
        model.positions[:, :6] = torch.cat([angles.cos(), angles.sin()], 1)
        model.positions[:, 6:12] = -model.positions[:, :6]  # so that the mean is 0
        turn = torch.tensor([0.5, 1.3, 2.1])
        for i in range(3):
            model.layers[0].W_q.weight[i, i] = model.layers[0].W_k.weight[i, i] = 1
            model.layers[0].W_q.weight[3 + i, 3 + i] = model.layers[0].W_k.weight[3 + i, 3 + i] = 1
        cos, sin = turn.cos(), turn.sin()
        turned = torch.zeros(6, 6)
        for i in range(3):  # the query asks for the angle of the place before
            turned[i, i], turned[i, 3 + i], turned[3 + i, i], turned[3 + i, 3 + i] = (
                cos[i],
                sin[i],
                -sin[i],
                cos[i],
            )
        model.layers[0].W_q.weight[:6, :6] = 40 * turned
    previous, lazy = head_scores(model, TASKS["jobs"])
    assert previous.role == "previous token"
    assert previous.previous > 0.9
    assert (lazy.role, lazy.row()["role"]) == (None, None)
    assert lazy.row()["head"] == "1-2"
    assert lazy.jobs["repeat"] == pytest.approx(
        np.mean([1 / n for n in range(TEXT + 1, 2 * TEXT + 1)]), abs=1e-6
    )


def test_of_heads_made_by_hand_each_has_its_own_measure_and_its_own_name(monkeypatch):
    """Heads that look one token back, at the earlier copy, after it, at the first token, and everywhere alike."""
    task = TASKS["induction"]
    model = SmallModel(task.shape(1, 8))

    def look(text):
        n = len(text.ids)
        at = np.arange(n // 2, n)
        weights = np.tril(np.ones((8, n, n))) / np.arange(1, n + 1)[:, None]
        weights[0, range(1, n)] = np.eye(n)[range(n - 1)]
        weights[1, at] = np.eye(n)[at - n // 2]
        weights[2, at] = np.eye(n)[at - n // 2 + 1]
        weights[3] = np.eye(n)[0]
        return weights[None].astype(np.float32)

    monkeypatch.setattr(scores, "_runs", lambda *_: ((text, look(text)) for text in texts_for(model, task)))
    found = [score.row() for score in head_scores(model, task)]
    assert [row["role"] for row in found] == ["previous token", None, "induction", None, *[None] * 4]
    assert [(row["head"], row["layer"], row["number"]) for row in found] == [
        (f"1-{i}", 1, i) for i in range(1, 9)
    ]
    whole = {"previous": found[0], "duplicate": found[1], "induction": found[2], "first": found[3]}
    for measure, row in whole.items():
        assert row[measure] == pytest.approx(1.0), measure
        assert all(other[measure] < 0.7 for other in found if other is not row), measure
    lengths = [len(text.ids) // 2 for text in texts_for(model, task)]
    even = np.mean([(1 / np.arange(n + 1, 2 * n + 1)).mean() for n in lengths])
    assert [found[7][name] for name in ("duplicate", "induction")] == pytest.approx([even] * 2, rel=1e-5)


def test_a_report_has_the_end_of_its_curve_every_head_and_what_each_costs_then(monkeypatch):
    jobs = {"repeat": 1.0, "mirror": 0.75, "rotate": 0.5}
    begun_with = {"repeat": 0.03, "mirror": 0.02, "rotate": 0.01}
    curve = [Snapshot(0, 3.5, 0.02, begun_with, np.zeros(1)), Snapshot(50, 0.5, 0.75, jobs, np.ones(1))]
    score = HeadScore((0, 1), 0.1, 0.2, 0.3, 0.4, {"repeat": 0.5}, None)
    left = {"repeat": 0.5, "mirror": 0.25, "rotate": 0.0}
    monkeypatch.setattr(report, "head_scores", lambda *_: [score])
    monkeypatch.setattr(report, "effects", lambda *_: [Effect((0, 1), 0.25, left, np.zeros((1, 2)))])
    found = report.report(Training(Setup("jobs", 1, 2, seed=3, steps=50)), curve)
    attention, norms = 4 * (64 * 64 + 64), 2 * (64 + 64)
    assert found == {
        "setup": {"task": "jobs", "layers": 1, "heads": 2, "seed": 3, "steps": 50},
        "parameters": 32 * 64 + 48 * 64 + attention + norms + (64 * 32 + 32),
        "answers": 1536,
        "curve": [
            {"step": 0, "loss": 3.5, "accuracy": 0.02, "jobs": begun_with},
            {"step": 50, "loss": 0.5, "accuracy": 0.75, "jobs": jobs},
        ],
        "heads": [score.row()],
        "without": [{"head": "1-2", "accuracy": 0.25, "cost": 0.5, "jobs": left}],
    }


def trained(setup: Setup) -> dict[str, Any]:
    """The report of a training that takes ten seconds and more: until its sources change, each time the same."""
    name = f"trained-{setup.task}-{setup.layers}-{setup.heads}"
    return once.once(name, lambda: report.trained(setup), keep=True)


@torch.no_grad()
def test_what_is_left_of_induction_without_a_head_lies_one_after_the_first_copy():
    torch.manual_seed(3)
    task = TASKS["induction"]
    model = SmallModel(task.shape(2, 2))
    for layer in model.layers:
        layer.W_q.weight.mul_(20)  # rows that are far from even
    gates = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    masses = []
    for text in texts_for(model, task):
        rows, length = np.arange(len(text.ids) // 2, len(text.ids)), len(text.ids) // 2
        _, weights = model(text.ids[None], gates, need_weights=True)
        masses.append(torch.cat(weights).double().numpy()[..., rows, rows - length + 1].mean(-1))
    by_head = {effect.head: effect.induction for effect in effects(model, task)}
    np.testing.assert_allclose(by_head[0, 1], np.mean(masses, 0), rtol=1e-5)


@pytest.mark.long
def test_induction_falls_off_its_cliff_and_dies_with_the_head_before_it():
    found = trained(Setup("induction", 2, 4, seed=0, steps=1_200))
    curve = {row["step"]: row["accuracy"] for row in found["curve"]}
    assert curve[0] < 0.05
    assert curve[150] < 0.3
    assert max(curve.values()) >= 0.98
    roles = {head["head"]: head["role"] for head in found["heads"]}
    back = [name for name, role in roles.items() if role == "previous token"]
    again = [name for name, role in roles.items() if role == "induction"]
    assert [name[0] for name in back] == ["1"] * len(back)
    assert {name[0] for name in again} == {"2"}
    without = {line["head"]: line for line in found["without"]}
    worst = max(without.values(), key=lambda line: line["cost"])
    assert worst["head"] in back
    assert worst["accuracy"] < 0.7
    mass = {head["head"]: head["induction"] for head in found["heads"]}
    assert all(worst["induction_left"][name] < 0.7 * mass[name] for name in again)


@pytest.mark.long
def test_one_head_stays_at_a_share_of_each_job_and_eight_learn_all():
    one = trained(Setup("jobs", 1, 1, seed=0, steps=500))
    eight = trained(Setup("jobs", 1, 8, seed=0, steps=500))
    assert one["parameters"] == eight["parameters"]
    assert all(0.25 < share < 0.55 for share in one["curve"][-1]["jobs"].values())
    assert eight["curve"][-1]["accuracy"] > 0.8


@pytest.mark.long
def test_the_command_line_prints_what_the_training_gives(capsys):
    assert main(["learn", "jobs", "--heads", "2", "--seed", "4", "--steps", "50", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["curve"] == rows(Setup("jobs", 1, 2, 4, 50))
    assert [head["head"] for head in printed["heads"]] == ["1-1", "1-2"]
    assert set(printed["heads"][0]["jobs"]) == set(printed["without"][0]["jobs"]) == set(JOBS)
    assert printed["setup"] == {"task": "jobs", "layers": 1, "heads": 2, "seed": 4, "steps": 50}
    assert main(["learn", "induction", "--layers", "1", "--steps", "1", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("step,loss,accuracy\n0,4.")
    assert main(["learn", "jobs", "--steps", "1"]) == 0
    assert "mirror" in capsys.readouterr().out


def test_the_table_has_a_line_a_head_with_what_is_left_without_it():
    jobs = {"repeat": 1.0, "mirror": 0.5, "rotate": 0.75}
    head = {"head": "1-2", "previous": 0.01, "first": 0.02, "duplicate": 0.03, "induction": 0.04}
    found = {
        "curve": [{"step": 1200, "accuracy": 0.75, "loss": 0.5, "jobs": jobs}],
        "answers": 1536,
        "heads": [head | {"jobs": {"repeat": 0.6, "mirror": 0.7, "rotate": 0.8}, "role": None}],
        "without": [{"head": "1-2", "accuracy": 0.25, "cost": 0.5, "jobs": {}}],
    }
    *lines, last = report.table(found).splitlines()
    assert lines == [
        "After 1,200 steps: accuracy 75.0 %, loss 0.500 nats (n = 1,536 answers a job, on texts held out).",
        "  repeat: 100.0 %",
        "  mirror: 50.0 %",
        "  rotate: 75.0 %",
    ]
    assert " ".join(last.split()) == (
        "1-2 previous 1.0 % first 2.0 % duplicate 3.0 % induction 4.0 % repeat 60.0 % mirror 70.0 % rotate 80.0 % "
        "without it 25.0 % no clear role"
    )


def test_each_format_of_the_command_has_what_is_promised_of_it(monkeypatch, capsys):
    jobs = ({"repeat": 0.25, "mirror": 0.5, "rotate": 0.75}, {"repeat": 1.0, "mirror": 0.5, "rotate": 0.0})
    head = {
        "head": "1-1",
        "previous": 0.01,
        "first": 0.02,
        "duplicate": 0.03,
        "induction": 0.04,
        "role": None,
    }
    found = {
        "curve": [
            {"step": 0, "loss": 3.5, "accuracy": 0.5, "jobs": jobs[0]},
            {"step": 50, "loss": 1.25, "accuracy": 0.5, "jobs": jobs[1]},
        ],
        "answers": 1536,
        "heads": [head],
        "without": [{"head": "1-1", "accuracy": 0.25, "cost": 0.25, "jobs": jobs[0]}],
    }
    asked = []
    monkeypatch.setattr(report, "trained", lambda setup, _: asked.append(setup) or found)

    def printed(*more):
        assert main(["learn", *more]) == 0
        return capsys.readouterr().out

    assert json.loads(printed("jobs", "--format", "json")) == found
    assert [json.loads(line) for line in printed("jobs", "--format", "jsonl").splitlines()] == found["curve"]
    assert printed("induction", "--format", "csv").splitlines() == [
        "step,loss,accuracy,repeat,mirror,rotate", "0,3.5,0.5,0.25,0.5,0.75", "50,1.25,0.5,1.0,0.5,0.0",
    ]  # fmt: skip
    assert printed(
        "induction", "--layers", "3", "--heads", "8", "--seed", "5", "--steps", "9"
    ) == report.table(found)
    assert asked == [
        *[Setup("jobs", 1, 4, 0, 8_000)] * 2, Setup("induction", 2, 4, 0, 6_000), Setup("induction", 3, 8, 5, 9),
    ]  # fmt: skip


def test_the_table_of_one_step_says_one_step_and_of_one_task_no_job():
    end = {"step": 1, "accuracy": 0.02, "loss": 4.3}
    made = report.table({"curve": [end], "answers": 1536, "heads": [], "without": []})
    assert made == "After 1 step: accuracy 2.0 %, loss 4.300 nats (n = 1,536 answers, on texts held out).\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--heads", "3"], "3 heads were asked for; a small model has one of 1, 2, 4, 8, 16."),
        (["--layers", "9"], "9 layers were asked for; a small model has 1 to 4."),
        (["--steps", "0"], "0 steps were asked for; a training takes 1 to 20,000."),
        (["--seed", "-1"], "The seed is -1; it is a whole number from 0 to 2147483647."),
    ],
)
def test_what_cannot_be_trained_is_refused_in_a_sentence(options, sentence, capsys):
    assert main(["learn", "induction", *options]) == 2
    assert capsys.readouterr().err == sentence + "\n"


def test_a_file_that_could_not_be_written_is_refused_before_anything_is_trained(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(report, "trained", None)
    out = tmp_path / "nowhere" / "curve.csv"
    assert main(["learn", "jobs", "--format", "csv", "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"'{out}' cannot be written: there is no such folder.\n"


@pytest.mark.parametrize("given", [["--twin"], ["--seed", "1"], ["--steps", "9"]])
def test_what_is_shipped_has_its_own_seeds_and_steps(tmp_path, monkeypatch, capsys, given):
    monkeypatch.setattr(classroom_cli, "ship", None)
    assert main(["learn", "train", "classroom", "--ship", "--out", str(tmp_path / "x"), *given]) == 2
    assert capsys.readouterr().err.startswith("--ship trains what the project ships, with its own seeds")
    assert not (tmp_path / "x").exists()


def test_arrays_come_back_from_the_other_process_as_they_were():
    given = {
        "rows": ({"step": 1},),
        "state": {"weights": np.arange(6, dtype=np.float32).reshape(1, 2, 3) / 7},
    }
    came = unpacked(json.loads(json.dumps(packed(given))))
    np.testing.assert_array_equal(came["state"]["weights"], given["state"]["weights"])
    assert came["rows"] == [{"step": 1}]


@pytest.mark.long
def test_two_models_side_by_side_give_what_each_gives_alone():
    setups = [Setup("jobs", 1, heads, seed=1, steps=50) for heads in (1, 2)]
    updates = list(begin("small", {"runs": [vars(setup) for setup in setups]}))
    told = [dict(row) for update in updates for row in update.rows]
    for run, setup in enumerate(setups):
        alone = report.trained(setup)
        assert [{k: v for k, v in row.items() if k != "run"} for row in told if row["run"] == run] == alone[
            "curve"
        ]
        assert updates[-1].state["runs"][run]["report"] == alone
    assert updates[-1].fraction == 1
    for update in updates:
        done = [1 if "report" in run else run.get("step", 0) / 50 for run in update.state["runs"]]
        assert update.fraction == pytest.approx(sum(done) / 2), "the mean of both"
    assert all(a.fraction <= b.fraction for a, b in pairwise(updates))
    with pytest.raises(InputError, match="There is no training 'large'; choose small"):
        begin("large", {})


def test_two_models_of_which_one_is_learnt_first_are_told_of_line_by_line(monkeypatch):
    """The first is over after 100 of its 400 steps, the second after all of its 150."""

    def training(setup):
        at = {1: (0, 50, 100), 2: (0, 50, 100, 150)}[setup.heads]
        told = (Snapshot(step, 1.0, step / 200, {"induction": 0.5}, np.full(1, step)) for step in at)
        name = f"weights of {setup.heads}"
        return SimpleNamespace(setup=setup, snapshots=lambda: told, parameters=lambda: {name: setup.heads})

    monkeypatch.setattr(live, "Training", training)
    monkeypatch.setattr(live, "report", lambda training, curve: (training.setup.heads, len(curve)))
    runs = [
        {"task": "induction", "layers": 1, "heads": heads, "steps": steps}
        for heads, steps in ((1, 400), (2, 150))
    ]
    updates = list(begin("small", {"runs": runs + runs[:1]}))
    told = [[(row["run"], row["step"]) for row in update.rows] for update in updates]
    assert told == [[(0, 0)], [(1, 0)], [(0, 50)], [(1, 50)], [(0, 100)], [(1, 100)], [], [(1, 150)], []]
    assert updates[5].rows == ({"step": 100, "loss": 1.0, "accuracy": 0.5, "run": 1},)
    done = [(0, 0), (0, 0), (50, 0), (50, 50), (100, 50), (100, 100), (400, 100), (400, 150), (400, 150)]
    assert [update.fraction for update in updates] == pytest.approx(
        [(a / 400 + b / 150) / 2 for a, b in done]
    )
    assert updates[0].state["runs"] == [{"step": 0, "weights": 0}, {}]
    assert updates[-1].state["runs"] == [
        {"step": 100, "weights": 100, "report": (1, 3), "parameters": {"weights of 1": 1}},
        {"step": 150, "weights": 150, "report": (2, 4), "parameters": {"weights of 2": 2}},
    ]


def test_of_the_paused_trainings_the_last_ones_go_on_where_they_were_and_the_first_one_begins_anew(
    monkeypatch,
):
    """Each is paused after its third update; until that is heard there may be more."""
    names, heard = [*"abcdefg", "b", "a", "g"], [[]]
    commands: queue.Queue[bytes | None] = queue.Queue()

    def send(**command):
        commands.put(json.dumps(command).encode())

    def hear(message):
        heard[-1].append(json.loads(message))
        if "rows" not in heard[-1][-1]:
            heard.append([])
            if left:
                send(go=left.pop(0), kind="counting", settings={})
            else:
                commands.put(None)
        elif len(heard[-1]) == 3:
            send(pause=heard[-1][-1]["id"])

    def counting(kind, settings):
        del kind, settings
        return (Update(0.5, ({"step": step},), {}) for step in count())

    left = list(names)
    monkeypatch.setattr(worker, "begin", counting)
    worker.Worker(iter(commands.get, None), SimpleNamespace(write=hear, flush=lambda: None)).serve()
    ready, *runs, nothing = heard
    assert (ready, nothing) == ([{"ready": True}], [])
    went_on: dict[str, int] = {"b": 0, "g": 0}
    for name, (*updates, end) in zip(names, runs, strict=True):
        assert end == {"id": name, "end": "paused"}
        assert len(updates) >= 3, "the pause before is over"
        begins = went_on.get(name, 0)  # "a" was the seventh last, and is not kept
        steps = range(begins, begins + len(updates))
        assert [(one["id"], one["rows"]) for one in updates] == [(name, [{"step": step}]) for step in steps]
        assert [one["first"] for one in updates] == [begins == 0, *[False] * (len(updates) - 1)]
        if name in went_on:
            went_on[name] = steps.stop


def test_a_training_that_cannot_be_is_told_as_a_problem_and_the_next_one_goes_on_to_its_end(monkeypatch):
    heard = []
    commands: queue.Queue[bytes | None] = queue.Queue()

    def hear(message):
        heard.append(json.loads(message))
        if heard[-1].get("end") == "finished":
            commands.put(None)

    def counting(settings):
        return (Update(step / 2, ({"step": step},), settings) for step in range(3))

    monkeypatch.setattr(live, "LIVE", {"counting": counting, "small": None})
    for name, kind in (("a", "large"), ("b", "counting")):
        commands.put(json.dumps({"go": name, "kind": kind, "settings": {"seed": 7}}).encode())
    worker.Worker(iter(commands.get, None), SimpleNamespace(write=hear, flush=lambda: None)).serve()
    assert heard == [
        {"ready": True},
        {"id": "a", "end": "problem", "problem": "There is no training 'large'; choose counting, small."},
        *(
            {
                "id": "b",
                "first": step == 0,
                "fraction": step / 2,
                "rows": [{"step": step}],
                "state": {"seed": 7},
            }
            for step in range(3)
        ),
        {"id": "b", "end": "finished"},
    ]


@pytest.mark.long
def test_the_process_pauses_goes_on_where_it_was_and_ends_with_its_input():
    setup = {"task": "jobs", "layers": 1, "heads": 1, "seed": 2, "steps": 400}
    go = {"go": "a", "kind": "small", "settings": {"runs": [setup]}}
    with subprocess.Popen(
        [sys.executable, "-m", "mha_core.learning.worker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:

        def tell(command):
            worker.stdin.write(json.dumps(command) + "\n")
            worker.stdin.flush()

        def hear():
            return json.loads(worker.stdout.readline())

        assert hear() == {"ready": True}
        tell(go)
        heard = [hear()]
        tell({"pause": "a"})
        while "end" not in heard[-1]:
            heard.append(hear())
        assert heard[-1]["end"] == "paused"
        paused_after = heard[-2]["rows"][-1]["step"]
        assert paused_after < 400
        tell({"go": "b", "kind": "large", "settings": {}})
        assert "no training 'large'" in hear()["problem"]
        tell(go)
        while heard[-1].get("end") != "finished":
            heard.append(hear())
        worker.stdin.close()
        assert worker.wait(20) == 0
    assert [message["first"] for message in heard if "first" in message].count(True) == 1
    told = [row for message in heard for row in message.get("rows", [])]
    assert [{k: v for k, v in row.items() if k != "run"} for row in told] == rows(Setup(**setup))
