"""The key-value cache: a token at a time gives what all at once gives, and costs what grouped queries promise."""

import numpy as np
import pytest
from decoder_folders import SIZES, random_decoder, write_decoder

from mha_core import InputError, load_model, trace_tokens
from mha_core.engine import kv_cache as cached_module
from mha_core.models.prediction import next_logits

pytest.importorskip("transformers")
TEXT = "the cat it is"
EVERY = [(kind, which) for kind in SIZES for which in range(3)]


@pytest.mark.parametrize("spare", [1, 64])
@pytest.mark.parametrize(("kind", "which"), EVERY)
def test_token_by_token_is_what_the_whole_run_gives(kind, which, spare, tmp_path, monkeypatch):
    monkeypatch.setattr(cached_module, "SPARE", spare)
    write_decoder(tmp_path, random_decoder(kind, which))
    model = load_model(str(tmp_path), device="cpu")
    tokens = model.tokenizer.encode(TEXT)
    weights, logits = trace_tokens(tokens, model).weights, next_logits(tokens, model)
    state = model.start(model.tokenizer.from_ids(tokens.ids[:3]))
    np.testing.assert_allclose(state.weights, weights[:, :, :3, :3], atol=1e-5)
    np.testing.assert_allclose(state.logits, logits[2], atol=1e-4)
    for n, identity in enumerate(tokens.ids[3:], 4):
        step = state.step(identity)
        assert (step.n, step.weights.shape) == (n, (model.n_layers, model.n_heads, n))
        np.testing.assert_allclose(step.weights, weights[:, :, n - 1, :n], atol=1e-5)
        np.testing.assert_allclose(step.logits, logits[n - 1], atol=1e-4)
    assert state.ids == tokens.ids
    state.max_tokens = len(tokens.ids)
    with pytest.raises(InputError, match="full"):
        state.step(tokens.ids[0])


def test_grouped_queries_keep_a_cache_of_their_share(tmp_path):
    sizes = []
    for groups in (6, 3, 1):
        folder = tmp_path / str(groups)
        write_decoder(folder, random_decoder("llama", 1, num_key_value_heads=groups))
        model = load_model(str(folder), device="cpu")
        state = model.start(model.tokenizer.encode(TEXT))
        held = [x for store in state._stores for x in (store.k, store.v)]
        assert state.n_bytes == 2 * 3 * groups * len(state.ids) * 10 * 4
        assert (
            sum(x.untyped_storage().nbytes() for x in held)
            == 2 * 3 * groups * min(41, len(state.ids) + 64) * 40
        )
        sizes.append(state.n_bytes)
    assert (sizes[1] / sizes[0], sizes[2] / sizes[0]) == (3 / 6, 1 / 6)
