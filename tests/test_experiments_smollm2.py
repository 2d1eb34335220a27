"""The embedded decoder with heads ablated: what others measured, and transformers with its matrices cut."""

import numpy as np
import pytest
import torch
from smollm2_twin import transformers_twin

from mha_core.causal import (
    LogitDifference,
    MeanAblation,
    PatchHeads,
    Prompt,
    PromptEffects,
    ScaleHeads,
    measure,
    next_words,
    with_other_names,
)
from mha_core.causal.prompt_sweep import resample_sources

pytestmark = pytest.mark.slow
MARY = "When Mary and John went to the store, John gave a drink to"


@pytest.mark.slow
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
        best = next_words(tokens, smollm2, (ScaleHeads(heads),), 5)
        np.testing.assert_allclose(
            [word.logit for word in best], [scores[word.id] for word in best], atol=1e-3
        )
        assert best[0].id == int(scores.argmax())


def test_mean_ablation_of_the_first_head_leaves_the_answer(smollm2):
    """With the first token's output replaced, too, it is -6.50: the attention sink is broken, not the head."""
    tokens, outcome = smollm2.tokenizer.encode(MARY), LogitDifference(" Mary", " John")
    before = measure(tokens, smollm2, outcome)[0]
    assert measure(tokens, smollm2, outcome, (MeanAblation(((0, 0),)),))[0] - before > -1


def test_over_prompts_24_4_lowers_the_repeated_name_and_heads_of_zero_ablation_do_not_matter(smollm2):
    """2-6 and 2-4 are second and fourth by zero ablation of the single prompt."""
    prompts = with_other_names(Prompt(MARY, " Mary", " John"), smollm2)
    before = np.zeros((12, 2))
    after = np.full((12, 30, 9, 2), np.nan)
    for number, source in enumerate(resample_sources(prompts)):
        tokens = smollm2.tokenizer.encode(prompts[number].text)
        for answer, word in enumerate(prompts[number].answers):
            before[number, answer] = measure(tokens, smollm2, LogitDifference(word))[0]
            for head in ((23, 3), (1, 5), (1, 3)):
                patched = (PatchHeads((head,), prompts[source].text),)
                after[(number, *head, answer)] = measure(tokens, smollm2, LogitDifference(word), patched)[0]
    found = PromptEffects(prompts, "resample", before, after)
    assert found.named == ((23, 3),)
    assert found.mean[23, 3] == pytest.approx(-2.55, abs=1.0)
    np.testing.assert_allclose(found.mean[1, [3, 5]], 0, atol=0.1)
    mary, john = found.changes[:, 23, 3].mean(0)
    assert abs(mary) < 0.5
    assert john > 2
