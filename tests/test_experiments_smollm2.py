"""The embedded decoder with heads taken away: what others measured, and transformers with its matrices cut."""

import json

import numpy as np
import pytest
import torch
from smollm2_twin import transformers_twin

from mha_core.cli import main
from mha_core.experiments import Factor, Loss, Word, heads_from, last, measure, next_words, patch_heads
from mha_core.experiments.prompts import prompts
from mha_core.experiments.tasks import gates_without, mean_loss, ready_tasks
from mha_core.heads.repeated import is_repeated, repeated_samples

pytestmark = pytest.mark.slow
MARY = "When Mary and John went to the store, John gave a drink to"
SWAPPED = "When John and Mary went to the store, Mary gave a drink to"
MEASURED = {
    "24-4": -3.04, "2-6": -2.18, "30-2": -1.68, "2-4": -1.30, "21-1": -1.29, "17-1": -1.24, "30-1": 1.28, "25-5": 0.72,
}  # fmt: skip
INDUCTION = "19-7,18-4,18-5,19-8,24-3,24-8,18-6,21-7"


@pytest.mark.long
def test_every_head_in_turn_has_the_effect_that_others_measured(smollm2, capsys):
    command = ["ablate", MARY, "--model", "smollm2", "--target", " Mary", "--against", " John", "--every"]
    assert main([*command, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["before"]["logit difference"] == pytest.approx(6.12, abs=5e-3)
    effects = np.array(found["effects"])
    assert effects.shape == (30, 9)
    for name, effect in MEASURED.items():
        ((layer, head),) = heads_from(name, 30, 9)
        assert round(effects[layer, head], 2) == effect, name
    assert [row["place"] for row in found["strongest"]] == ["24-4", "2-6", "30-2", "2-4", "21-1"]
    tokens = smollm2.tokenizer.encode(MARY)
    for layer, head in ((0, 0), (1, 5), (16, 0), (29, 8)):
        one = measure(tokens, smollm2, Word(" Mary", " John"), (Factor(((layer, head),)),))[0]
        assert effects[layer, head] == pytest.approx(one - found["before"]["logit difference"], abs=1e-4)


@pytest.mark.long
def test_taking_heads_away_is_cutting_their_slices_out_of_transformers_matrices(smollm2):
    theirs = transformers_twin(smollm2)
    tokens = smollm2.tokenizer.encode(MARY)
    for heads in (((23, 3),), ((1, 5), (1, 3), (29, 1))):
        kept = {
            layer: theirs.model.layers[layer].self_attn.o_proj.weight.detach().clone() for layer, _ in heads
        }
        with torch.no_grad():
            for layer, head in heads:
                theirs.model.layers[layer].self_attn.o_proj.weight[:, 64 * head : 64 * (head + 1)] = 0
            scores = theirs(torch.tensor([tokens.ids])).logits[0, -1]
            for layer, weight in kept.items():
                theirs.model.layers[layer].self_attn.o_proj.weight.copy_(weight)
        best = next_words(tokens, smollm2, (Factor(heads),), 5)
        np.testing.assert_allclose(
            [word.logit for word in best], [scores[word.id] for word in best], atol=1e-3
        )
        assert best[0].id == int(scores.argmax())


@pytest.mark.long
def test_without_its_induction_heads_the_second_copy_is_as_hard_as_the_first(smollm2):
    """3.0 with all heads, about 12 without the eight best; eight random ones are missed far less."""
    samples = [sample for sample in repeated_samples(smollm2) if is_repeated(sample)][:3]
    texts = [sample.tokens for sample in samples]
    first = samples[0].said_twice
    heads = heads_from(INDUCTION, 30, 9)
    intact = mean_loss(texts, smollm2, None, first)
    without = mean_loss(texts, smollm2, gates_without(heads, smollm2), first)
    others = [(layer, head) for layer in range(30) for head in range(9) if (layer, head) not in heads]
    drawn = np.random.default_rng(0)
    random = [
        mean_loss(
            texts,
            smollm2,
            gates_without([others[i] for i in drawn.choice(262, 8, replace=False)], smollm2),
            first,
        )
        for _ in range(3)
    ]
    assert 2.5 < intact < 4
    assert 11 < without < 14
    assert np.median(random) < 7 < without - 4
    alone = measure(texts[0], smollm2, Loss(first), (Factor(heads),))[0]
    assert alone == pytest.approx(
        mean_loss(texts[:1], smollm2, gates_without(heads, smollm2), first), abs=1e-4
    )


@pytest.mark.long
def test_names_that_change_places_are_patched_by_the_name_movers(smollm2):
    into, source = (smollm2.tokenizer.encode(text) for text in (MARY, SWAPPED))
    found = last(patch_heads(source, into, smollm2, Word(" Mary", " John")))
    assert found.before[0] == pytest.approx(6.12, abs=5e-3)
    assert found.source[0] < -6
    assert found.strongest(1)[0][0] == (23, 3)


@pytest.mark.long
def test_the_model_can_do_what_the_prompts_ask(smollm2):
    """Otherwise nothing could break: it is right in all but a few, and on average by far."""
    ready = {one.task.key: one for one in ready_tasks(smollm2)}
    assert set(ready) == {"repeated", "name", "agreement", "ordinary"}
    assert (ready["name"].n, ready["agreement"].n) == (16, 16)
    assert ready["name"].of(None) > 4
    assert ready["agreement"].of(None) > 2.5
    for key, rows in (("name", prompts().name), ("agreement", prompts().agreement)):
        found = [
            measure(smollm2.tokenizer.encode(row.text), smollm2, Word(row.target, row.against))[0]
            for row in rows
        ]
        assert sum(difference > 0 for difference in found) >= 14
        assert ready[key].of(None) == pytest.approx(np.mean(found), abs=1e-3)
    said_twice = [sample for sample in repeated_samples(smollm2) if is_repeated(sample)][:4]
    second = [measure(one.tokens, smollm2, Loss(len(one.tokens) - one.said_twice))[0] for one in said_twice]
    assert ready["repeated"].n == len(said_twice) == 4
    assert ready["repeated"].of(None) == pytest.approx(np.mean(second), abs=1e-3), "of the second copy alone"
