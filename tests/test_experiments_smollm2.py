"""The embedded decoder with heads taken away: what others measured, and transformers with its matrices cut."""

import numpy as np
import pytest
import torch
from smollm2_twin import transformers_twin

from mha_core.experiments import Factor, next_words

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
        best = next_words(tokens, smollm2, (Factor(heads),), 5)
        np.testing.assert_allclose(
            [word.logit for word in best], [scores[word.id] for word in best], atol=1e-3
        )
        assert best[0].id == int(scores.argmax())
