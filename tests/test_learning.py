"""Small models learn jobs: the same seed gives the same numbers, and the claims of the page hold in a short run."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from mha_core import InputError, SizeError
from mha_core.engine.stack import StackOutput
from mha_core.training.attention_only import AttentionOnlyConfig, AttentionOnlyModel
from mha_core.training.head_scores import head_rows, mean_masses, texts_for
from mha_core.training.report import ablation_report, report
from mha_core.training.tasks import task_called
from mha_core.training.train import Training, TrainingSetup
from mha_core.training.trainer import Schedule, Trainer, random_for, seeded_module


def by_torch(model: AttentionOnlyModel, ids: torch.Tensor) -> torch.Tensor:
    """The model again, of torch's own layers (learnt positions only)."""
    x = F.embedding(ids, model.embeddings.word.weight) + model.embeddings.positions[: ids.shape[1]]
    later = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
    for layer in model.layers:
        norm, ours = layer.attention_norm, layer.attention
        theirs = torch.nn.MultiheadAttention(x.shape[-1], ours.n_heads, batch_first=True)
        with torch.no_grad():
            theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
            theirs.in_proj_bias.copy_(torch.cat([ours.W_q.bias, ours.W_k.bias, ours.W_v.bias]))
            theirs.out_proj.load_state_dict(ours.W_o.state_dict())
        y = F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias)
        x = x + theirs(y, y, y, attn_mask=later)[0]
    y = F.layer_norm(x, x.shape[-1:], model.norm.weight, model.norm.bias)
    return F.linear(y, model.read_out.weight, model.read_out.bias)


@torch.no_grad()
def test_the_small_model_is_the_one_that_torch_would_build():
    model = seeded_module(lambda: AttentionOnlyModel(AttentionOnlyConfig(13, 24, 2, 4, max_positions=11)), 5)
    for norm in (*(layer.attention_norm for layer in model.layers), model.norm):
        norm.weight.uniform_(0.5, 2)
        norm.bias.uniform_(-1, 1)
    ids = torch.randint(13, (3, 7), generator=random_for("test", 1))
    torch.testing.assert_close(model.logits(ids), by_torch(model, ids), atol=1e-5, rtol=1e-5)
    assert model(ids).weights.shape == (2, 3, 4, 7, 7)


def test_more_than_a_small_model_reads_and_a_task_that_there_is_not_are_refused():
    model = AttentionOnlyModel(AttentionOnlyConfig(5, 8, 1, 1, max_positions=3))
    with pytest.raises(SizeError):
        model.logits(torch.zeros(1, 4, dtype=torch.long))
    with pytest.raises(InputError):
        TrainingSetup("sums", 1, 1)


def test_a_step_is_torchs_adamw_and_the_rate_falls_in_a_line():
    schedule = Schedule(4, learning_rate=0.1, decay=1.0)
    assert [schedule.rate(step) for step in (1, 2, 3, 4)] == pytest.approx([0.1, 0.075, 0.05, 0.025])
    ours = seeded_module(lambda: torch.nn.Linear(5, 3), 1)
    theirs = seeded_module(lambda: torch.nn.Linear(5, 3), 1)
    x = torch.randn(4, 2, 5, generator=random_for("test", 4))
    batches = iter(x)
    trainer = Trainer(ours, lambda: ours(next(batches)).square().mean(), schedule)
    losses = trainer.run(9)
    assert trainer.is_over
    assert len(losses) == 4
    optimiser = torch.optim.AdamW(theirs.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(4):
        optimiser.param_groups[0]["lr"] = (0.1, 0.075, 0.05, 0.025)[step]
        loss = theirs(x[step]).square().mean()
        assert losses[step] == pytest.approx(loss.item(), rel=1e-5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


@torch.no_grad()
def test_the_measures_are_those_of_the_real_models_counted_token_by_token():
    training = Training(TrainingSetup("induction", 2, 2, seed=1))
    masses = mean_masses(training.model, training.task)
    texts = texts_for(training.task)
    wanted = {name: np.zeros((2, 2)) for name in ("previous", "first", "duplicate", "induction")}
    for ids in texts:
        n = len(ids) // 2
        assert len(set(ids[:n].tolist())) == n
        weights = training.model(ids[None]).weights[:, 0].numpy()
        for i in range(1, 2 * n):
            wanted["previous"] += weights[:, :, i, i - 1] / (2 * n - 1) / len(texts)
            wanted["first"] += weights[:, :, i, 0] / (2 * n - 1) / len(texts)
        for i in range(n, 2 * n):
            wanted["duplicate"] += weights[:, :, i, i - n] / n / len(texts)
            wanted["induction"] += weights[:, :, i, i - n + 1] / n / len(texts)
    for name, values in wanted.items():
        np.testing.assert_allclose(masses[name], values, atol=1e-6)


@pytest.mark.slow
def test_a_report_counts_what_the_model_has_and_takes_each_head_away_by_its_own_name():
    training = Training(TrainingSetup("jobs", 2, 2, seed=3, steps=2))
    list(training.snapshots())
    results = report(training)
    state = training.model.state_dict()
    assert results["parameters"] == sum(np.prod(tensor.shape) for tensor in state.values())
    heads = ["1-1", "1-2", "2-1", "2-2"]
    assert [row["head"] for row in results["heads"]] == [row["head"] for row in results["without"]] == heads
    parameters = {name: tensor.numpy() for name, tensor in state.items()}
    for row, head in zip(results["without"], np.ndindex(2, 2), strict=True):
        alone = ablation_report(training.setup, parameters, [head])
        for name in ("accuracy", "jobs"):
            assert row[name] == pytest.approx(alone[name])


def test_what_is_left_of_induction_is_the_mass_of_the_model_without_the_head():
    training = Training(TrainingSetup("induction", 2, 2, seed=1, steps=1))
    list(training.snapshots())
    left = report(training)["without"][0]["induction_left"]
    gates, masses = torch.tensor([[0.0, 1.0], [1.0, 1.0]]), []
    for ids in texts_for(training.task):
        n = len(ids) // 2
        weights = training.model(ids[None], gates=gates).weights[:, 0]
        masses.append(weights[..., range(n, 2 * n), range(1, n + 1)].mean(-1).detach().numpy())
    without = np.mean(masses, axis=0)
    assert left == pytest.approx({"1-2": without[0, 1], "2-1": without[1, 0], "2-2": without[1, 1]})


class Planted:
    """A model of one layer whose heads look where they are told: head 1 one token back, head 2 at what came after the
    earlier copy, head 3 seven tokens back, head 4 everywhere."""

    config = AttentionOnlyConfig(64, 8, 1, 4, max_positions=48)

    def __call__(self, ids, gates):
        n = ids.shape[1]
        rows = torch.arange(n)
        looks = [rows - 1, rows - n // 2 + 1, rows - 7]
        weights = torch.zeros(1, 4, n, n)  # (layer, head, query, key)
        for head, keys in enumerate(looks):
            weights[0, head, rows, keys.clamp(min=0)] = 1
        weights[0, 3] = torch.ones(n, n).tril() / rows.add(1)[:, None]
        return StackOutput((), weights[:, None], ids)


def test_a_head_has_a_role_by_what_it_does_and_not_by_a_distance_that_happens_to_fit():
    rows = head_rows(Planted(), task_called("induction"))
    assert [row["role"] for row in rows] == ["previous-token head", "induction head", None, None]
    assert rows[1]["induction"] == 1
