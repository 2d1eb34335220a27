"""Many heads at once: tasks, roles against random heads, orders and curves of pruning."""

import numpy as np
import pytest
import torch
from decoder_folders import random_decoder, write_decoder

from mha_core import embedding, load_model
from mha_core.experiments import (
    Factor,
    Loss,
    Selectivity,
    measure,
    next_words,
    selective,
    selectivity_frame,
)
from mha_core.experiments.pruning import gate_gradient
from mha_core.experiments.tasks import AGREEMENT, ORDINARY, Ready, gates_without, mean_loss, share_right

pytest.importorskip("transformers")
TEXTS = ("the cat it", "it dog the thing", "that")


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    theirs = write_decoder(folder, random_decoder("llama", 1))
    return theirs, load_model(str(folder), device="cpu", dtype="float64")


@pytest.fixture(scope="module")
def llama(decoder):
    return decoder[1]


@pytest.fixture(scope="module")
def texts(llama):
    return [llama.tokenizer.encode(text) for text in TEXTS]


# Tasks


def test_losses_and_shares_over_texts_are_those_of_every_token(decoder, texts):
    theirs, model = decoder
    # What the model says itself it holds likeliest, but for the three tokens that were given.
    ids = list(texts[0].ids[:4])
    while len(ids) < 12:
        ids.append(next_words(model.tokenizer.from_ids(ids), model, k=1)[0].id)
    texts = [*texts, model.tokenizer.from_ids(ids)]
    losses, right = list[float](), list[bool]()
    for tokens in texts:
        ids = torch.tensor(tokens.ids)
        with torch.no_grad():
            scores = theirs.double()(ids[None]).logits[0, :-1, : model.tokenizer.vocab_size]
        losses += torch.nn.functional.cross_entropy(scores, ids[1:], reduction="none").tolist()
        right += (scores.argmax(-1) == ids[1:]).tolist()
    assert mean_loss(texts, model, None) == pytest.approx(np.mean(losses), abs=1e-6)
    assert share_right(texts, model, None) == pytest.approx(np.mean(right), abs=1e-9)
    assert sum(right[-11:]) >= 8
    heads = ((0, 1), (2, 3))
    one_by_one = [measure(tokens, model, Loss(), (Factor(heads),))[0] * (len(tokens) - 1) for tokens in texts]
    expected = sum(one_by_one) / sum(len(tokens) - 1 for tokens in texts)
    assert mean_loss(texts, model, gates_without(heads, model)) == pytest.approx(expected, abs=1e-6)


# Roles against random heads


def test_a_role_is_compared_with_random_heads_of_its_own_layers(model, monkeypatch):
    asked = []

    def of(gates):
        gone = [] if gates is None else [tuple(place) for place in (gates == 0).nonzero().tolist()]
        asked.append(gone)
        return float(sum(layer == 5 and head < 3 for layer, head in gone))

    monkeypatch.setitem(
        selective.__globals__, "ready_tasks", lambda _: (Ready(ORDINARY, 3, of), Ready(AGREEMENT, 3, of))
    )
    roles = {"top": ((5, 0), (5, 1), (5, 2)), "two": ((0, 0), (0, 3), (4, 4))}
    parts = list(selective(roles, model))
    assert (len(parts), parts[-1].fraction) == (1 + 2 * 41, 1)
    drawn = asked[::2]
    for heads, start in ((roles["top"], 1), (roles["two"], 42)):
        assert drawn[start] == list(heads)
        for gone in drawn[start + 1 : start + 41]:
            assert [layer for layer, _ in gone] == [layer for layer, _ in heads]
            assert len(set(gone)) == len(heads)
    assert len({tuple(gone) for gone in drawn}) > 70
    loss, agreement, *_ = parts[-1].result
    assert (loss.role, loss.intact, loss.without, len(loss.draws)) == ("top", 0, 3, 40)
    assert loss.p == pytest.approx(1 / 41)
    assert loss.stands  # no other three do as much; and a loss is better low
    assert agreement.p == 1
    assert not agreement.stands
    row = selectivity_frame([loss]).iloc[0]
    assert (row.heads, row.without, row.low, row.high) == (
        "6-1, 6-2, 6-3",
        3,
        min(loss.draws),
        max(loss.draws),
    )


@pytest.mark.parametrize(
    ("as_large", "draws", "p"), [(0, 40, 1 / 41), (1, 40, 2 / 41), (40, 40, 1), (4, 99, 0.05)]
)
@pytest.mark.parametrize("task", [ORDINARY, AGREEMENT])
def test_p_counts_the_role_s_own_set_and_a_claim_stands_only_below_a_twentieth(as_large, draws, p, task):
    worse = 1.0 if task.better == "low" else -1.0
    numbers = (5.0,) + (5.0 + worse,) * (as_large - 1) if as_large else ()
    numbers += (5.0 - worse,) * (draws - as_large)
    one = Selectivity("role", ((0, 0),), task, 4, 0.0, 5.0, numbers)
    assert one.p == pytest.approx(p)
    assert one.stands == (p < 0.05)


# Pruning


def test_the_gradient_of_a_gate_is_what_a_small_step_changes(llama, model, texts):
    found = gate_gradient(texts[1], llama, texts[0])
    assert found.shape == (3, 6)
    for layer, head in ((0, 0), (1, 4), (2, 5)):
        up, down = (
            measure(texts[1], llama, Loss(), (Factor(((layer, head),), 1 + step),))[0]
            for step in (1e-3, -1e-3)
        )
        assert found[layer, head] == pytest.approx(abs(up - down) / 2e-3, rel=1e-3, abs=1e-6)
    tokens, other = (model.tokenizer.encode(text) for text in ("Rain falls.", "Snow melts."))
    gates = np.ones((2, 6, 12))
    gates[:, 5, 5] += (0.01, -0.01)
    theirs = embedding(other, model)
    up, down = (
        v @ theirs / np.linalg.norm(v) / np.linalg.norm(theirs)
        for v in (embedding(tokens, model, gates=gate) for gate in gates)
    )
    assert gate_gradient(tokens, model, other)[5, 5] == pytest.approx(abs(up - down) / 0.02, rel=0.02)
    parameters = [*model.encoder.parameters(), *llama.encoder.parameters()]
    assert all(p.grad is None and not p.requires_grad for p in parameters)
