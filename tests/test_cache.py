"""The key-value cache: a token at a time gives what all at once gives, and costs what grouped queries promise."""

import hashlib

import numpy as np
import pytest
import torch
from decoder_folders import SIZES, random_decoder, write_decoder

from mha_core import InputError, SizeError, load_model, predict_next, trace_tokens
from mha_core import cached as cached_module
from mha_core.prediction import likeliest, next_logits

pytest.importorskip("transformers")
TEXT = "the cat it is"
EVERY = [(kind, which) for kind in SIZES for which in range(3)]


@pytest.fixture
def llama(tmp_path):
    write_decoder(tmp_path, random_decoder("llama", 1))
    return load_model(str(tmp_path), device="cpu")


def digest(model):
    found = hashlib.sha256()
    for name, tensor in model.encoder.state_dict().items():
        found.update(name.encode() + tensor.numpy().tobytes())
    return found.hexdigest()


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


def kept(module):
    """What hangs on a module, but for the functions that the first run of all makes of its weights."""
    return set(vars(module)) - {"_straight"}


def test_two_readers_do_not_disturb_each_other_and_the_model_stays_as_it_is(llama):
    before = digest(llama)
    names = {id(m): kept(m) for m in llama.encoder.modules()}
    tokens = llama.tokenizer.encode(TEXT)
    one, other, alone = (llama.start(tokens) for _ in range(3))
    expected = alone.step(7).logits
    other.step(200)
    np.testing.assert_array_equal(one.step(7).logits, expected)
    assert np.abs(other.step(7).logits - expected).max() > 1e-3
    assert digest(llama) == before
    assert {id(m): kept(m) for m in llama.encoder.modules()} == names


def test_the_scores_of_a_state_are_those_of_predict_next(llama):
    tokens = llama.tokenizer.encode(TEXT)
    best = predict_next(tokens, llama, k=4)
    again = likeliest(llama.start(tokens).logits, llama, 4)
    assert [guess.id for guess in again] == [guess.id for guess in best]
    np.testing.assert_allclose([g.probability for g in again], [g.probability for g in best], rtol=1e-4)
    scores = torch.from_numpy(next_logits(tokens, llama).copy())
    for position in (0, 2, -1):
        found = predict_next(tokens, llama, position, k=261)
        assert found[0].id == int(scores[position][: llama.tokenizer.vocab_size].argmax())
        assert found[0].logit == pytest.approx(float(scores[position].max()), abs=1e-4)
    assert sum(guess.probability for guess in found) == pytest.approx(1, abs=1e-5)


def test_what_a_state_cannot_read_is_said_in_a_sentence(llama, model):
    state = llama.start(llama.tokenizer.encode("a" * 40))
    for identity in (-1, 263):
        with pytest.raises(InputError, match=f"no token {identity}; .* has 263, from 0"):
            state.step(identity)
    assert state.step(5).n == 41
    with pytest.raises(InputError, match=r"The text is full: .* takes 41 tokens at most"):
        state.step(5)
    assert len(state.ids) == 41
    with pytest.raises(SizeError, match=r"41 tokens were given; .* takes 40"):
        cached_module.start(llama.encoder, llama.next_head, llama.tokenizer.from_ids(state.ids), "x", 40)
    with pytest.raises(InputError, match="MiniLM predicts no next word"):
        model.start(model.tokenizer.encode("it"))


@pytest.mark.parametrize(("position", "k"), [(9, 1), (-10, 1)])
def test_a_position_outside_the_text_is_refused(position, k, llama):
    tokens = llama.tokenizer.encode("the cat")
    with pytest.raises(InputError, match=f"no position {position}; the text has {len(tokens)} tokens"):
        predict_next(tokens, llama, position, k)


@pytest.mark.parametrize("k", [0, 263])
def test_a_number_of_guesses_that_cannot_be_is_refused(k, llama):
    with pytest.raises(InputError, match=f"{k} guesses were asked for; give 1 to 262"):
        predict_next(llama.tokenizer.encode("it"), llama, k=k)
