"""A text that goes on: its record by one cached step is the record of the longer text, and a draw can be repeated."""

import numpy as np
import pytest
from decoder_folders import SIZES, random_decoder, write_decoder

from mha_core import load_model, trace_tokens
from mha_core.models.extended_record import begin, extended, sample_token

pytestmark = pytest.mark.slow  # the embedded decoder reads every text

pytest.importorskip("transformers")
TEXT = "the cat it is"


@pytest.fixture
def llama(tmp_path):
    write_decoder(tmp_path, random_decoder("llama", 1))
    return load_model(str(tmp_path), device="cpu")


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("which", range(3))
def test_a_record_that_was_extended_is_a_trace_of_the_longer_text(kind, which, tmp_path):
    write_decoder(tmp_path, random_decoder(kind, which))
    model = load_model(str(tmp_path), device="cpu")
    ids = model.tokenizer.encode(TEXT).ids
    record, state = begin(model.tokenizer.from_ids(ids[:2]), model)
    assert state.weights.size == 0, "the state holds on to no weights"
    for n in range(3, len(ids) + 1):
        tokens = model.tokenizer.from_ids(ids[:n])
        record = extended(record, tokens, [state.step(ids[n - 1]).weights])
        whole = trace_tokens(tokens, model)
        np.testing.assert_allclose(record.weights, whole.weights, atol=1e-5)
        assert (record.tokens, record.model) == (tokens, whole.model)
        assert dict(record.versions) == dict(whole.versions)
        assert not record.weights.flags.writeable


def test_without_a_temperature_the_likeliest_token_is_chosen(llama):
    logits = np.zeros(llama.tokenizer.vocab_size + 3, np.float32)
    logits[5], logits[-1] = 1, 9  # the last stands for no token: embeddings may be more than tokens
    assert sample_token(logits, llama) == 5
    assert all(sample_token(logits, llama, 1.5, 3, place) < llama.tokenizer.vocab_size for place in range(50))


def test_a_draw_follows_from_seed_and_place_and_keeps_the_probabilities(llama):
    logits = np.full(llama.tokenizer.vocab_size, -50, np.float32)
    logits[[3, 7]] = np.log([0.2, 0.8])

    def draws(seed, temperature=1.0):
        return np.array([sample_token(logits, llama, temperature, seed, place) for place in range(800)])

    assert (draws(1) == draws(1)).all()
    assert (draws(1) != draws(2)).any()
    assert set(draws(1)) == {3, 7}
    assert abs((draws(1) == 7).mean() - 0.8) < 0.05
    # exp(logit / 0.5) squares the probabilities: .64 / (.64 + .04)
    assert abs((draws(1, 0.5) == 7).mean() - 0.941) < 0.03
