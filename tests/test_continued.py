"""A text that goes on: its record by one cached step is the record of the longer text, and a draw can be repeated."""

import numpy as np
import pytest
from decoder_folders import SIZES, random_decoder, write_decoder

from mha_core import InputError, SizeError, load_model, trace, trace_tokens
from mha_core.continued import begin, check_choice, choose, extended, say
from mha_core.experiments import Factor, trace_changed

pytestmark = pytest.mark.slow  # the embedded decoder reads every text

pytest.importorskip("transformers")
TEXT = "the cat it is"
ANIMAL = "The animal didn't cross the street because it was too"


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


def test_a_record_that_was_extended_says_what_was_done_to_its_heads(llama):
    tokens = llama.tokenizer.encode(TEXT)
    first, row = llama.tokenizer.from_ids(tokens.ids[:-1]), np.zeros((3, 6, len(tokens)), np.float32)
    row[..., 0] = 1
    gates = np.ones((3, 6), np.float32)
    gates[1, 4] = 0
    gated = extended(trace_tokens(first, llama, gates=gates), tokens, [row])
    np.testing.assert_array_equal(gated.gates, gates)
    without = (Factor(((1, 4),)),)
    assert extended(trace_changed(first, llama, without), tokens, [row]).interventions == without


def test_rows_that_do_not_go_on_from_a_record_are_refused(llama, model):
    tokens = llama.tokenizer.encode(TEXT)
    record, state = begin(llama.tokenizer.from_ids(tokens.ids[:-1]), llama)
    row = state.step(tokens.ids[-1]).weights
    for other, rows in (
        (llama.tokenizer.from_ids((*tokens.ids[1:-1], tokens.ids[0], tokens.ids[-1])), [row]),
        (tokens, []),
        (tokens, [row[..., :-1]]),
        (record.tokens, [row]),
    ):
        with pytest.raises(SizeError, match="rows were given"):
            extended(record, other, rows)
    bert = trace("The cat", model)
    with pytest.raises(InputError, match="sees the whole text at once"):
        extended(bert, bert.tokens, [])


def test_without_a_temperature_the_likeliest_token_is_chosen(llama):
    logits = np.zeros(llama.tokenizer.vocab_size + 3, np.float32)
    logits[5], logits[-1] = 1, 9  # the last stands for no token: embeddings may be more than tokens
    assert choose(logits, llama) == 5
    assert all(choose(logits, llama, 1.5, 3, place) < llama.tokenizer.vocab_size for place in range(50))


def test_a_draw_follows_from_seed_and_place_and_keeps_the_probabilities(llama):
    logits = np.full(llama.tokenizer.vocab_size, -50, np.float32)
    logits[[3, 7]] = np.log([0.2, 0.8])

    def draws(seed, temperature=1.0):
        return np.array([choose(logits, llama, temperature, seed, place) for place in range(800)])

    assert (draws(1) == draws(1)).all()
    assert (draws(1) != draws(2)).any()
    assert set(draws(1)) == {3, 7}
    assert abs((draws(1) == 7).mean() - 0.8) < 0.05
    # exp(logit / 0.5) squares the probabilities: .64 / (.64 + .04)
    assert abs((draws(1, 0.5) == 7).mean() - 0.941) < 0.03


@pytest.mark.parametrize(
    ("temperature", "seed"), [(-0.1, 0), (2.1, 0), (float("nan"), 0), (1, -1), (1, 2**32)]
)
def test_a_choice_that_cannot_be_made_is_refused_in_a_sentence(temperature, seed):
    with pytest.raises(InputError, match=r"was given; it goes from 0 to"):
        check_choice(temperature, seed)


def test_a_character_that_is_cut_into_tokens_is_said_whole(smollm2):
    text = "I love this 🦙"
    ids = smollm2.tokenizer.encode(text).ids
    first = next(i for i, at in enumerate(ids) if "\ufffd" in smollm2.tokenizer.typed(at))
    assert smollm2.tokenizer.spell(ids[first:]).strip() == "🦙"
    _, state = begin(smollm2.tokenizer.from_ids(ids[:first]), smollm2)
    spelled, rows = say(state, ids[first], smollm2)
    assert len(rows) > 1
    assert state.ids[: first + 1] == ids[: first + 1]
    assert "\ufffd" not in spelled or len(rows) == 4


def test_smollm2_goes_on_as_it_was_measured(smollm2):
    record, state = begin(smollm2.tokenizer.encode(ANIMAL), smollm2)
    said = []
    for _ in range(4):
        spelled, rows = say(state, choose(state.logits, smollm2), smollm2)
        said.append(spelled)
        record = extended(record, smollm2.tokenizer.encode(ANIMAL + "".join(said)), rows)
    assert said[:2] == [" far", " away"]
    np.testing.assert_allclose(record.weights, trace(ANIMAL + "".join(said), smollm2).weights, atol=1e-5)
